"""16 bits and floats survive, whatever the file's layout."""

import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image as Pillow

from passband.data.images import read_image, write_image

RNG = np.random.default_rng(0)
COLOUR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}
ADAM7 = (
    *((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4)),
    *((2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)),
)  # first row, first column, row step, column step


def smooth(rows: int, columns: int, channels: int) -> np.ndarray:
    steps = RNG.integers(0, 900, (rows, columns, channels))
    return steps.cumsum(0).cumsum(1).astype(np.uint16)


def chunk(kind: bytes, body: bytes) -> bytes:
    crc = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + crc


def paeth(a: int, b: int, c: int) -> int:
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def filtered(pixels: np.ndarray) -> bytes:
    """Rows with the five PNG filters in turn, straight from the specification."""
    rows, _, channels = pixels.shape
    lines = pixels.astype(">u2").reshape(rows, -1).view(np.uint8).astype(int)
    step, out = 2 * channels, bytearray()
    for r in range(rows):
        kind = r % 5
        out.append(kind)
        for i, x in enumerate(lines[r]):
            a = lines[r, i - step] if i >= step else 0
            b = lines[r - 1, i] if r else 0
            c = lines[r - 1, i - step] if r and i >= step else 0
            guess = (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]
            out.append((x - guess) % 256)
    return bytes(out)


def png16(pixels: np.ndarray, *, interlaced: bool, extra: bytes = b"") -> bytes:
    rows, columns, channels = pixels.shape
    kind = COLOUR_TYPE[channels]
    header = struct.pack(">IIBBBBB", columns, rows, 16, kind, 0, 0, interlaced)
    passes = [pixels[y::dy, x::dx] for y, x, dy, dx in ADAM7]
    parts = passes if interlaced else [pixels]
    body = b"".join(filtered(part) for part in parts if part.size)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + extra
        + chunk(b"IDAT", zlib.compress(body))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_16_bit_png_keeps_all_its_bits(tmp_path, channels, interlaced):
    pixels = smooth(11, 13, channels)
    path = tmp_path / "a.png"
    path.write_bytes(png16(pixels, interlaced=interlaced))
    image = read_image(path)
    assert (image.values.dtype, image.high) == (np.uint16, 65535.0)
    np.testing.assert_array_equal(image.values, pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_transparent_colour_of_a_16_bit_png_becomes_alpha(tmp_path, channels):
    pixels = smooth(4, 5, channels)
    key = chunk(b"tRNS", pixels[2, 3].astype(">u2").tobytes())
    (tmp_path / "a.png").write_bytes(png16(pixels, interlaced=False, extra=key))
    values = read_image(tmp_path / "a.png").values
    np.testing.assert_array_equal(values[..., :channels], pixels)
    clear = np.zeros((4, 5), bool)
    clear[2, 3] = True
    np.testing.assert_array_equal(values[..., channels], np.where(clear, 0, 65535))


def test_written_16_bit_png_has_the_high_bytes_that_pillow_sees(tmp_path):
    pixels = smooth(9, 6, 3)
    write_image(tmp_path / "a.png", pixels / 65535.0, bits=16)
    seen = np.asarray(Pillow.open(tmp_path / "a.png"))
    np.testing.assert_array_equal(seen, pixels >> 8)


LAYOUTS = {
    "plain": {},
    "zip": {"compression": "zlib"},
    "strips": {"rowsperstrip": 3},
    "tiles": {"tile": (16, 16)},
    "big-endian": {"byteorder": ">"},
    "BigTIFF": {"bigtiff": True},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
@pytest.mark.parametrize("channels", [1, 3])
def test_tiff_layouts_read_alike(tmp_path, layout, dtype, channels):
    pixels = smooth(20, 17, channels).astype(dtype)
    tifffile.imwrite(
        tmp_path / "a.tif",
        pixels if channels == 3 else pixels[..., 0],
        photometric="rgb" if channels == 3 else "minisblack",
        **LAYOUTS[layout],
    )
    image = read_image(tmp_path / "a.tif")
    assert image.values.dtype == dtype
    np.testing.assert_array_equal(image.values, pixels)


def test_one_plane_per_channel_is_read_as_channels(tmp_path):
    pixels = smooth(6, 5, 3)
    planes = np.moveaxis(pixels, -1, 0)
    tifffile.imwrite(
        tmp_path / "a.tif", planes, photometric="rgb", planarconfig="separate"
    )
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif").values, pixels)


def lzw(path, pixels: np.ndarray, *, predictor: int) -> None:
    """A 16-bit LZW TIFF of several strips, its bytes packed by libtiff (Pillow)."""
    channels = pixels.shape[2]
    tifffile.imwrite(
        path,
        pixels if channels > 1 else pixels[..., 0],
        rowsperstrip=4,
        photometric="rgb" if channels == 3 else "minisblack",
        compression="zlib",
        predictor=predictor == 2,
    )
    data = bytearray(path.read_bytes())
    with tifffile.TiffFile(path) as file:
        page = file.pages[0].aspage()
        spans = list(zip(page.dataoffsets, page.databytecounts, strict=True))
    offsets, counts = [], []
    for at, size in spans:
        raw = zlib.decompress(data[at : at + size])
        line = Pillow.frombytes("L", (len(raw), 1), raw)
        line.save(path.with_name("line.tif"), compression="tiff_lzw")
        with tifffile.TiffFile(path.with_name("line.tif")) as file:
            page = file.pages[0].aspage()
            assert page.predictor == 1
            ((start, packed),) = zip(page.dataoffsets, page.databytecounts, strict=True)
        offsets.append(len(data))
        counts.append(packed)
        data += path.with_name("line.tif").read_bytes()[start : start + packed]
    path.write_bytes(data)
    with tifffile.TiffFile(path, mode="r+") as file:
        tags = file.pages[0].aspage().tags
        tags[273].overwrite(offsets)
        tags[279].overwrite(counts)
        tags[259].overwrite(5)


@pytest.mark.parametrize("predictor", [1, 2])
@pytest.mark.parametrize("channels", [1, 3])
def test_16_bit_lzw_tiff_keeps_all_its_bits(tmp_path, channels, predictor):
    pixels = smooth(18, 25, channels)
    lzw(tmp_path / "a.tif", pixels, predictor=predictor)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif").values, pixels)
    if channels == 1:  # libtiff reads this one by itself
        seen = np.asarray(Pillow.open(tmp_path / "a.tif"))
        np.testing.assert_array_equal(seen, pixels[..., 0])


@pytest.mark.parametrize("packing", ["tiff_lzw", "jpeg", "packbits", "tiff_deflate"])
def test_8_bit_tiffs_of_every_compression(tmp_path, packing):
    ramp = (np.indices((32, 48)).sum(0)[..., None] + np.arange(3) * 40).astype(np.uint8)
    Pillow.fromarray(ramp).save(tmp_path / "a.tif", compression=packing)
    values = read_image(tmp_path / "a.tif").values
    np.testing.assert_array_equal(values, np.asarray(Pillow.open(tmp_path / "a.tif")))
    assert np.abs(values.astype(int) - ramp).max() <= (8 if packing == "jpeg" else 0)


def test_white_is_zero_is_turned(tmp_path):
    pixels = smooth(4, 5, 1)[..., 0]
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="miniswhite")
    values = read_image(tmp_path / "a.tif").values[..., 0]
    np.testing.assert_array_equal(values, 65535 - pixels)


@pytest.mark.parametrize("bits", [2, 4])
def test_few_bits_are_stretched_to_eight(tmp_path, bits):
    levels = RNG.integers(0, 2**bits, (3, 8)).astype(np.uint8)
    groups = levels.reshape(3, -1, 8 // bits).astype(int)
    places = np.arange(8 - bits, -1, -bits)
    packed = (groups << places).sum(-1).astype(np.uint8)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, packed, photometric="minisblack")
    with tifffile.TiffFile(path, mode="r+") as file:
        tags = file.pages[0].aspage().tags
        tags[256].overwrite(8)
        tags[258].overwrite(bits)
    image = read_image(path)
    np.testing.assert_array_equal(
        image.values[..., 0], levels.astype(int) * 255 // (2**bits - 1)
    )
    assert (image.low, image.high) == (0.0, 255.0)


def test_a_preview_page_is_not_another_picture(tmp_path):
    pixels = smooth(8, 8, 3)
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(pixels, photometric="rgb")
        file.write(pixels[::2, ::2], photometric="rgb", subfiletype=1)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif").values, pixels)
