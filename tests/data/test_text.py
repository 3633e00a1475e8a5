import numpy as np
import pytest

from passband.data.text import text_image
from passband.errors import InputError


@pytest.fixture(scope="module")
def pictures():
    return np.stack([text_image(seed) for seed in range(32)])


def packed(pixels: np.ndarray) -> np.ndarray:
    """A colour as one number."""
    return pixels.astype(np.int64) @ [65536, 256, 1]


def radial_power(picture: np.ndarray) -> np.ndarray:
    """Mean power at each whole number of cycles per picture, windowed."""
    grey = picture.mean(-1) / 255
    window = np.outer(np.hanning(512), np.hanning(512))
    power = np.abs(np.fft.fftshift(np.fft.fft2((grey - grey.mean()) * window))) ** 2
    y, x = np.indices(power.shape) - 256
    radius = np.hypot(y, x).astype(int).ravel()
    return np.bincount(radius, power.ravel()) / np.bincount(radius)


def test_a_seed_is_a_picture(pictures):
    np.testing.assert_array_equal(text_image(3), pictures[3])
    assert not np.array_equal(pictures[3], pictures[4])
    assert not np.array_equal(text_image([3, 1]), text_image([3, 2]))
    assert (pictures.dtype, pictures.shape[1:]) == (np.uint8, (512, 512, 3))


def test_the_ground_is_white_and_the_strings_are_coloured(pictures):
    white = (pictures == 255).all(-1)
    assert white.mean(axis=(1, 2)).min() > 0.6
    for picture in pictures[:6]:
        # One flat colour per string; the pixels of its edges differ from their
        # neighbours.
        colour = packed(picture)
        here = colour[1:-1, 1:-1]
        beside = (colour[1:-1, :-2], colour[1:-1, 2:], colour[:-2, 1:-1])
        flat = np.all([here == other for other in beside], axis=0)
        colours, counts = np.unique(here[flat], return_counts=True)
        assert 3 <= (counts > 100).sum() <= 15
        assert len(np.unique(colour)) > 10 * len(colours)


def test_the_statistics_are_those_of_the_papers_text_images(pictures):
    """Against the paper's 32 pictures: mean level 0.958, white 0.897, slope -3.21."""
    assert abs(pictures.mean() / 255 - 0.958) < 0.02
    assert abs((pictures > 253).all(-1).mean() - 0.897) < 0.04
    power = np.mean([radial_power(p) for p in pictures], axis=0)
    f = np.arange(20, 80)
    slope = np.polyfit(np.log(f), np.log(power[f]), 1)[0]
    assert abs(slope + 3.21) < 0.3


def test_smaller_pictures_hold_smaller_letters(pictures):
    small = np.stack([text_image(seed, 128) for seed in range(12)])
    ink = 255.0 - pictures[:12].mean(axis=(1, 2, 3))
    np.testing.assert_allclose(255.0 - small.mean(axis=(1, 2, 3)), ink, rtol=0.2)


def test_a_size_without_room_is_refused():
    with pytest.raises(InputError, match=r"`size` \(=8\)"):
        text_image(0, size=8)
