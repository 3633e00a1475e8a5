"""The axis of rotation, of sinograms whose axis was put somewhere on purpose."""

import jax.numpy as jnp
import numpy as np
import pytest
from skimage.transform import radon as skimage_radon

from passband.forward.fan import fan
from passband.reconstruct.axis import HeldOut, by_moments, by_opposite_views

BINS = 80


def picture(side: int = BINS) -> np.ndarray:
    """Blobs off the middle, inside the circle that every view sees."""
    y, x = (np.mgrid[:side, :side] - side // 2) / side
    first = np.hypot(x - 0.12, y + 0.08) < 0.13
    second = np.exp(-((x + 0.15) ** 2 + (y - 0.1) ** 2) / 0.005)
    inside = np.hypot(x, y) < 0.47
    return np.where(inside, first + 0.7 * second, 0).astype(np.float32)


def sinogram(angles: np.ndarray, move: float) -> np.ndarray:
    """scikit-image's, its axis moved from column 40 by so many columns."""
    whole = skimage_radon(picture(), theta=angles, circle=True).T
    at = np.arange(BINS) - move
    return np.stack([np.interp(at, np.arange(BINS), row) for row in whole])


@pytest.mark.parametrize("move", [-6.4, 0.0, 3.25])
@pytest.mark.parametrize("last", [180.0, 360.0])
def test_opposite_views_are_mirror_images_about_the_axis(move: float, last: float):
    angles = np.linspace(0, last, 37)
    found = by_opposite_views(sinogram(angles, move).astype(np.float32), angles)
    assert found == pytest.approx(40 + move, abs=0.1)


def test_views_that_have_no_opposite_say_nothing():
    angles = np.arange(12) * 14.0
    assert by_opposite_views(np.ones((12, BINS), np.float32), angles) is None


@pytest.mark.parametrize("move", [-6.4, 0.0, 3.25])
def test_centres_of_mass_swing_about_the_axis(move: float):
    angles = np.arange(20) * 9.0
    found = by_moments(sinogram(angles, move).astype(np.float32), angles)
    assert found == pytest.approx(40 + move, abs=0.1)


def test_views_that_are_cut_off_have_no_centre_of_mass():
    angles = np.arange(20) * 9.0
    cut = sinogram(angles, 0.0)[:, 25:60].astype(np.float32)
    assert by_moments(cut, angles) is None


def test_views_of_a_fan_predict_each_other_best_where_the_axis_is():
    def make(angles, bins, axis, wide):
        return fan(
            angles, bins, side=48, source_origin=90, source_detector=140, pitch=wide,
            pixel=1.0, offset=axis - bins // 2, centre=23.5,
        )  # fmt: skip

    angles = np.arange(24) * 15.0
    seen = np.asarray(make(angles, BINS, 42.3, 1.0)(jnp.asarray(picture(48))))
    held = HeldOut(seen, angles, make, BINS)
    assert held.best(np.arange(39.0, 46.0)) == pytest.approx(42.3, abs=0.3)
    assert held.error(42.3) < 0.5 * held.error(40)
