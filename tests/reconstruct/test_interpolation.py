"""Pixels between those that were shown, and a picture in a few bytes."""

import numpy as np
import pytest
from PIL import Image
from scipy.interpolate import LinearNDInterpolator, RectBivariateSpline

from passband.data.images import Image as Picture
from passband.kinds.image import ImageKind
from passband.kinds.options import ImageOptions
from passband.reconstruct.interpolation import KERNELS, enlarged_by, scattered, spline
from passband.reconstruct.jpeg import jpeg_within


def smooth(h: int, w: int) -> np.ndarray:
    y, x = np.mgrid[:h, :w]
    waves = np.sin(x / 7 + y / 9), np.cos(x / 5), np.sin(y / 6)
    return 0.5 + 0.4 * np.stack(waves, axis=-1)


@pytest.mark.parametrize("name", KERNELS)
def test_known_pixels_stay_and_a_level_picture_is_level(name):
    picture = np.random.default_rng(0).random((13, 18, 2))
    known = picture[::2, ::2]
    seen = enlarged_by(KERNELS[name], known, (13, 18))
    np.testing.assert_allclose(seen[::2, ::2], known, atol=1e-12)
    level = enlarged_by(KERNELS[name], np.full((5, 6, 1), 0.3), (10, 11))
    np.testing.assert_allclose(level, 0.3, rtol=1e-12)


@pytest.mark.parametrize(("name", "degree"), [("bilinear", 1), ("bicubic", 2)])
def test_polynomials_are_kept_away_from_the_border(name, degree):
    y, x = np.mgrid[:21, :25] / 20.0
    picture = (0.2 + x**degree * y - 0.3 * y**degree)[..., None]
    seen = enlarged_by(KERNELS[name], picture[::2, ::2], (21, 25))
    inner = (slice(4, 17), slice(4, 21))
    np.testing.assert_allclose(seen[inner], picture[inner], atol=1e-12)


def test_the_spline_is_scipys_surface():
    picture = smooth(21, 17)
    seen = spline(picture[::2, ::2], (21, 17))
    for c in range(3):
        surface = RectBivariateSpline(
            np.arange(0, 21, 2), np.arange(0, 17, 2), picture[::2, ::2, c]
        )
        want = surface(np.arange(21), np.arange(17))
        np.testing.assert_allclose(seen[..., c], want, atol=1e-10)


def test_the_finer_the_kernel_the_nearer_a_smooth_picture():
    picture = smooth(64, 64)
    errors = {
        name: np.abs(enlarged_by(kernel, picture[::2, ::2], (64, 64)) - picture)[
            8:-8, 8:-8
        ].max()
        for name, kernel in KERNELS.items()
    }
    assert errors["bicubic"] < errors["bilinear"] / 3
    assert errors["lanczos"] < errors["bilinear"]


def test_scattered_pixels_are_filled_over_triangles():
    picture, rng = smooth(24, 20), np.random.default_rng(1)
    known = np.sort(rng.permutation(480)[:300])
    values = picture.reshape(480, 3)[known]
    line, cubic = (scattered(known, values, (24, 20), smooth=s) for s in (False, True))
    for seen in (line, cubic):
        assert np.isfinite(seen).all()
        np.testing.assert_array_equal(seen.reshape(480, 3)[known], values)
    at = np.stack(np.unravel_index(known, (24, 20)), axis=-1)
    want = LinearNDInterpolator(at, values)(np.moveaxis(np.mgrid[:24, :20], 0, -1))
    inside = np.isfinite(want).all(axis=-1)
    # Four corners of a square have two triangulations; few pixels lie in one.
    assert np.mean(np.abs(line - want)[inside] < 1e-9) > 0.9
    worst = [np.abs(seen - picture)[inside].mean() for seen in (line, cubic)]
    assert worst[1] < worst[0]


@pytest.mark.parametrize("channels", [1, 3])
def test_a_jpeg_is_the_largest_that_there_is_room_for(channels):
    rough = 0.1 * np.random.default_rng(0).normal(size=(48, 56, 3))
    picture = np.clip(smooth(48, 56) + rough, 0, 1)[..., :channels]
    small, large = (jpeg_within(picture, room) for room in (1200, 20_000))
    assert small is not None and large is not None
    assert small.bytes <= 1200 and large.bytes <= 20_000
    assert small.quality < large.quality == 100
    errors = [np.mean((jpeg.values - picture) ** 2) for jpeg in (small, large)]
    assert errors[1] < errors[0] < 2e-2
    assert small.values.shape == picture.shape
    assert jpeg_within(picture, 100) is None
    assert jpeg_within(np.zeros((8, 8, 4)), 10_000) is None


@pytest.mark.parametrize(
    ("holdout", "names", "best"),
    [
        ("quarter", ["bilinear", "bicubic", "lanczos", "spline"], "bicubic"),
        ("0.3", ["linear", "cubic"], "cubic"),
        ("none", ["JPEG"], "JPEG"),
    ],
)
def test_a_picture_has_its_classical_methods(holdout, names, best):
    pixels = np.round(255 * smooth(40, 32)).astype(np.uint8)
    kind = ImageKind(
        ImageOptions(holdout=holdout), "wave", Picture(pixels, 0.0, 255.0, "wave")
    )
    methods = kind.classical(3000)
    assert list(methods) == names
    made = {name: make() for name, make in methods.items()}
    found = {name: one for name, one in made.items() if one is not None}
    assert found.keys() == made.keys()
    metric = "psnr" if holdout == "none" else "psnr_test"
    assert found[best].metrics[metric] > 30
    if holdout == "none":
        assert kind.classical(100)["JPEG"]() is None  # no room
        assert found["JPEG"].bytes is not None and found["JPEG"].bytes <= 3000
    else:
        first = found[names[0]].metrics[metric]
        assert found[best].metrics[metric] > first + 1
        assert found[best].metrics["psnr_train"] > 100  # those were shown
    assert found[best].shown.values.shape == (40, 32, 3)


def test_pillow_reads_what_is_counted(tmp_path):
    picture = smooth(16, 16)
    found = jpeg_within(picture, 5000)
    assert found is not None
    pixels = np.round(255 * picture).astype(np.uint8)
    sizes = []
    for subsampling in (0, 2):
        Image.fromarray(pixels).save(
            tmp_path / "p.jpg", quality=found.quality, subsampling=subsampling,
            optimize=True,
        )  # fmt: skip
        sizes.append((tmp_path / "p.jpg").stat().st_size)
    assert found.bytes in sizes
