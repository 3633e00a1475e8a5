"""Pictures are read in their own units, and bad files give one clear line."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image as Pillow

from passband.data.images import quantise, read_image, write_image
from passband.errors import InputError

RNG = np.random.default_rng(0)
RGB8 = RNG.integers(0, 256, (5, 7, 3)).astype(np.uint8)
RGB16 = RNG.integers(0, 65536, (5, 7, 3)).astype(np.uint16)


def save(path: Path, pixels: np.ndarray, **options) -> Path:
    Pillow.fromarray(pixels).save(path, **options)
    return path


@pytest.mark.parametrize(
    ("pixels", "channels"),
    [(RGB8[..., 0], 1), (RGB8[..., :2], 2), (RGB8, 3), (RGB8[..., [0, 1, 2, 0]], 4)],
)
@pytest.mark.parametrize("suffix", [".png", ".tiff"])
def test_8_bit_files_keep_every_pixel_and_channel(tmp_path, pixels, channels, suffix):
    image = read_image(save(tmp_path / f"a{suffix}", pixels))
    assert image.values.dtype == np.uint8
    assert image.values.shape == (5, 7, channels)
    np.testing.assert_array_equal(image.values, pixels.reshape(5, 7, channels))
    assert (image.low, image.high, image.name) == (0.0, 255.0, "a")


def test_jpeg_is_what_pillow_decodes(tmp_path):
    path = save(tmp_path / "a.JPG", RGB8, quality=95)
    np.testing.assert_array_equal(
        read_image(path).values, np.asarray(Pillow.open(path))
    )


def test_content_decides_and_not_the_name(tmp_path):
    path = save(tmp_path / "photo.png", RGB8, format="JPEG")
    assert read_image(path).values.shape == (5, 7, 3)


def test_cmyk_jpeg_becomes_rgb(tmp_path):
    flat = np.full((8, 8, 3), (200, 100, 50), np.uint8)
    path = tmp_path / "a.jpg"
    Pillow.fromarray(flat).convert("CMYK").save(path, quality=100)
    assert np.abs(read_image(path).values.astype(int) - flat).max() <= 3


def test_one_bit_becomes_black_and_white(tmp_path):
    mask = RGB8[..., 0] > 128
    for name in ("a.png", "a.tif"):
        Pillow.fromarray(mask).save(tmp_path / name)
        values = read_image(tmp_path / name).values
        np.testing.assert_array_equal(values[..., 0], mask * np.uint8(255))


def test_palettes_are_expanded(tmp_path):
    colours = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 8, 7]], np.uint8)
    index = RNG.integers(0, 4, (5, 7)).astype(np.uint8)
    image = Pillow.fromarray(index).convert("P")
    image.putpalette(colours.tobytes())
    for name in ("a.png", "a.tif"):
        image.save(tmp_path / name)
        np.testing.assert_array_equal(
            read_image(tmp_path / name).values, colours[index]
        )
    image.save(tmp_path / "clear.png", transparency=2)
    values = read_image(tmp_path / "clear.png").values
    np.testing.assert_array_equal(values[..., 3], np.where(index == 2, 0, 255))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_exif_orientation_is_applied(tmp_path, orientation, suffix):
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    path = save(tmp_path / f"a{suffix}", RGB8, exif=exif)
    # The tag says where row 0 and column 0 of the stored picture are to be seen.
    upright = {
        1: RGB8,
        2: RGB8[:, ::-1],
        3: RGB8[::-1, ::-1],
        4: RGB8[::-1],
        5: RGB8.swapaxes(0, 1),
        6: np.rot90(RGB8, -1),
        7: RGB8.swapaxes(0, 1)[::-1, ::-1],
        8: np.rot90(RGB8, 1),
    }[orientation]
    np.testing.assert_array_equal(read_image(path).values, upright)


def test_npy_types_and_their_ranges(tmp_path):
    def read(values):
        np.save(tmp_path / "a.npy", values)
        image = read_image(tmp_path / "a.npy")
        x = image.normalised()
        assert x.dtype == np.float32
        assert x.min() >= 0.0 and x.max() <= 1.0
        error = np.abs(image.to_user(x) - np.reshape(values, x.shape)).max()
        assert error <= 1e-7 * (image.high - image.low)
        return image.values.dtype.name, image.values.shape, image.low, image.high

    grey = RGB8[..., 0]
    assert read(grey) == ("uint8", (5, 7, 1), 0, 255)
    assert read(RGB16) == ("uint16", (5, 7, 3), 0, 65535)
    assert read(RGB16.astype(">u2")) == ("uint16", (5, 7, 3), 0, 65535)
    assert read(grey > 9) == ("uint8", (5, 7, 1), 0, 1)
    assert read(grey / 512) == ("float32", (5, 7, 1), 0, 1)
    assert read(np.array([[-3, 4], [5, 90]])) == ("float32", (2, 2, 1), -3, 90)
    assert read(np.array([[0, 1e30], [-1e38, 3e38]]))[2:] == (
        pytest.approx(-1e38),
        pytest.approx(3e38),
    )


@pytest.mark.parametrize("level", [0.0, 0.3, 1.0, 7.0, -2.0, 1e9])
def test_a_constant_picture_divides_by_nothing(tmp_path, level):
    np.save(tmp_path / "a.npy", np.full((3, 3), level))
    image = read_image(tmp_path / "a.npy")
    np.testing.assert_allclose(image.to_user(image.normalised()), level, rtol=1e-6)


def test_a_phone_sized_photograph_is_read_without_a_warning(tmp_path):
    Pillow.new("RGB", (4000, 3000), (9, 99, 199)).save(tmp_path / "a.jpg")
    assert read_image(tmp_path / "a.jpg").values.shape == (3000, 4000, 3)
    # Above 89 megapixels Pillow warns; warnings are errors here.
    Pillow.new("1", (10000, 9000)).save(tmp_path / "wide.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_image(tmp_path / "wide.png").values.shape == (9000, 10000, 1)


def bad_npy(path: Path, values) -> None:
    np.save(path, values, allow_pickle=True)


BAD = {
    "a folder": ("folder.png", lambda p: p.mkdir(), "is a folder"),
    "empty": ("a.png", lambda p: p.write_bytes(b""), "is empty"),
    "text": ("a.png", lambda p: p.write_text("hello there"), "starts with b'hello th'"),
    "one word": ("a.jpg", lambda p: p.write_text("x"), "starts with b'x'"),
    "unknown suffix": ("a.gif", lambda p: save(p, RGB8), r"ends in `\.gif`"),
    "one pixel": ("a.png", lambda p: save(p, RGB8[:1, :1]), "1 x 1 pixels"),
    "one row": ("a.tif", lambda p: save(p, RGB8[:1]), "1 x 7 pixels"),
    "NaN": ("a.npy", lambda p: bad_npy(p, [[0, np.nan], [1, 2]]), r"1 NaN.*\(0, 1"),
    "infinite": ("a.npy", lambda p: bad_npy(p, [[0, 1], [2, np.inf]]), "infinite"),
    "too large": ("a.npy", lambda p: bad_npy(p, [[0, 1], [2, 1e300]]), "infinite"),
    "rank 1": ("a.npy", lambda p: bad_npy(p, np.zeros(9)), r"shape \(9,\)"),
    "rank 4": ("a.npy", lambda p: bad_npy(p, np.zeros((2,) * 4)), "shape"),
    "5 channels": ("a.npy", lambda p: bad_npy(p, np.zeros((4, 4, 5))), "1 to 4"),
    "no pixels": ("a.npy", lambda p: bad_npy(p, np.zeros((0, 4))), "0 x 4 pixels"),
    "complex": ("a.npy", lambda p: bad_npy(p, np.eye(3) * 1j), "complex128"),
    "objects": ("a.npy", lambda p: bad_npy(p, np.array([{}, {}])), "Python objects"),
    "text array": ("a.npy", lambda p: bad_npy(p, np.array([["a"]])), "<U1"),
    "two pages": (
        "a.tif",
        lambda p: tifffile.imwrite(p, np.stack([RGB8, RGB8]), photometric="rgb"),
        "more than one page",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_in_one_line(tmp_path, case):
    name, make, message = BAD[case]
    make(tmp_path / name)
    with pytest.raises(InputError, match=message) as caught:
        read_image(tmp_path / name)
    assert f"`{tmp_path / name}`" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.png` does not exist"):
        read_image(tmp_path / "none.png")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "zip.tif", "a.npy"])
def test_a_file_cut_anywhere_is_refused(tmp_path, name, capfd):
    path = tmp_path / name
    big = RNG.integers(0, 256, (40, 30, 3)).astype(np.uint8)
    if name == "a.npy":
        np.save(path, big)
    elif name == "zip.tif":
        tifffile.imwrite(path, big, compression="zlib", photometric="rgb")
    else:
        save(path, big)
    whole = path.read_bytes()
    for size in [*range(1, 200, 7), *range(200, len(whole) - 40, 97)]:
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="`"):
            read_image(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "a.npy"])
def test_damaged_bytes_give_a_picture_or_an_input_error(tmp_path, name, capfd):
    path = tmp_path / name
    small = RGB8.repeat(2, axis=0)
    if name == "a.npy":
        np.save(path, small)
    else:
        save(path, small)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(150):
        hurt = whole.copy()
        at = rng.integers(0, min(hurt.size, 400), 3)
        hurt[at] = rng.integers(0, 256, 3)
        path.write_bytes(hurt.tobytes())
        try:
            read_image(path)
        except InputError:
            refused += 1
    assert refused > 10
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_what_is_written_reads_back(tmp_path, channels, bits, suffix):
    x = np.random.default_rng(channels).random((6, 4, channels)).astype(np.float32)
    write_image(tmp_path / f"a{suffix}", x, bits=bits)
    image = read_image(tmp_path / f"a{suffix}")
    assert image.high == 2**bits - 1
    np.testing.assert_array_equal(image.values, np.rint(x * (2**bits - 1)))
    assert [p.name for p in tmp_path.iterdir()] == [f"a{suffix}"]


def test_floats_are_written_in_the_users_units(tmp_path):
    x = np.linspace(0, 1, 12, dtype=np.float32).reshape(2, 2, 3)
    for name in ("a.tif", "a.npy"):
        write_image(tmp_path / name, x, low=-40.0, high=60.0)
        image = read_image(tmp_path / name)
        np.testing.assert_allclose(image.values, -40 + 100 * x, atol=1e-5)
        assert (image.low, image.high) == (-40.0, 60.0)


def test_the_range_chooses_the_bits(tmp_path):
    x = np.full((2, 2, 1), 0.5)
    for high, dtype in ((255.0, "uint8"), (65535.0, "uint16")):
        for suffix in (".png", ".tif"):
            write_image(tmp_path / f"a{suffix}", x, high=high)
            assert read_image(tmp_path / f"a{suffix}").values.dtype == dtype


def test_quantising_clips_and_rounds():
    x = np.array([-1.0, 0.0, 0.5 / 255 + 1e-4, 0.999, 1.0, 2.0])
    np.testing.assert_array_equal(quantise(x, 8), [0, 0, 1, 255, 255, 255])


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"precious")

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Pillow.Image, "save", full)
    with pytest.raises(InputError, match=r"a\.png` cannot be written: No space"):
        write_image(path, np.zeros((2, 2, 3)))
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


def test_bad_outputs_are_refused(tmp_path):
    x = np.zeros((2, 2, 3))
    with pytest.raises(InputError, match="cannot be written: No such file"):
        write_image(tmp_path / "no" / "a.png", x)
    with pytest.raises(InputError, match="is a folder"):
        write_image(tmp_path, x)
    with pytest.raises(InputError, match=r"ends in `\.bmp`"):
        write_image(tmp_path / "a.bmp", x)
    with pytest.raises(InputError, match=r"`bits` \(=32\)"):
        write_image(tmp_path / "a.png", x, bits=32)
    with pytest.raises(InputError, match="NaN"):
        write_image(tmp_path / "a.png", x * np.nan)
    with pytest.raises(InputError, match=r"shape \(2, 2\)"):
        write_image(tmp_path / "a.png", x[..., 0])
    assert list(tmp_path.iterdir()) == []
