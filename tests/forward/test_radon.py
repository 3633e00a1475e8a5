"""Projections against scikit-image, closed forms and the Fourier slice theorem."""

import jax.numpy as jnp
import numpy as np
import pytest
from skimage.transform import radon as skimage_radon

from passband.errors import InputError
from passband.forward.radon import radon
from passband.forward.radon_nearest import nearest_radon

ANGLES = np.arange(20) * 9.0


def bumps(side: int) -> np.ndarray:
    """Two smooth bumps inside the circle that every view sees."""
    y, x = (np.mgrid[:side, :side] - side // 2) / side
    first = np.exp(-((x - 0.1) ** 2 + (y + 0.12) ** 2) / (2 * 0.07**2))
    second = np.exp(-((x + 0.15) ** 2 + (y - 0.05) ** 2) / (2 * 0.05**2))
    return np.where(np.hypot(x, y) < 0.48, first + 0.5 * second, 0).astype(np.float32)


@pytest.mark.parametrize("side", [64, 65])
def test_scikit_image_agrees(side: int):
    picture = bumps(side)
    theirs = skimage_radon(picture, theta=ANGLES, circle=True).T
    ours = radon(ANGLES, side)(jnp.asarray(picture))
    assert np.abs(np.asarray(ours) - theirs).max() < 0.01 * theirs.max()
    mean = nearest_radon(ANGLES, side)(jnp.asarray(picture))
    if side % 2 == 0:  # the notebook turns about side / 2, not side // 2
        error = np.linalg.norm(side * np.asarray(mean) - theirs)
        assert error < 0.02 * np.linalg.norm(theirs)


def test_a_disc_has_the_chords_of_a_circle():
    n, radius = 200, 60.0
    y, x = np.mgrid[:n, :n] - n // 2
    disc = jnp.asarray(np.hypot(x, y) <= radius, jnp.float32)
    seen = np.asarray(radon([0.0, 30.0, 77.0], n, pixel=0.5)(disc))
    t = np.arange(n) - n // 2
    chord = 0.5 * 2 * np.sqrt(np.clip(radius**2 - t**2, 0, None))
    inner = np.abs(t) < 0.9 * radius
    np.testing.assert_allclose(seen[:, inner], chord[None, inner] + np.zeros((3, 1)),
                               rtol=0.03)  # fmt: skip
    assert (seen[:, np.abs(t) > radius + 2] == 0).all()


def test_projections_are_slices_of_the_spectrum():
    n = 96
    picture = bumps(n)
    angles = np.array([0.0, 20.0, 45.0, 110.0])
    seen = np.asarray(radon(angles, n)(jnp.asarray(picture)), np.float64)
    t = np.arange(n) - n // 2
    k = np.arange(1, 12) / n
    slices = seen @ np.exp(-2j * np.pi * np.outer(t, k))
    rows, columns = np.mgrid[:n, :n] - n // 2
    for angle, found in zip(np.deg2rad(angles), slices, strict=True):
        along = columns * np.cos(angle) - rows * np.sin(angle)
        waves = np.exp(-2j * np.pi * k[:, None, None] * along)
        exact = np.sum(picture * waves, axis=(1, 2))
        assert np.abs(found - exact).max() < 0.01 * np.abs(exact).max()


def test_coarse_grids_see_the_same_rays():
    fine = radon(ANGLES, 128)(jnp.asarray(bumps(128)))
    coarse = radon(ANGLES, 128, side=64)(jnp.asarray(bumps(64)))
    np.testing.assert_allclose(coarse, fine, atol=0.01 * float(fine.max()))


def test_an_offset_moves_the_shadow_by_that_many_bins():
    picture = jnp.asarray(bumps(64))
    plain, moved = radon(ANGLES, 64)(picture), radon(ANGLES, 64, offset=3.0)(picture)
    np.testing.assert_allclose(moved[:, 3:], plain[:, :-3], atol=1e-4)


def test_half_a_turn_mirrors_the_detector():
    picture = jnp.asarray(bumps(65))
    one, other = radon([25.0, 205.0], 65)(picture)
    np.testing.assert_allclose(one, other[::-1], rtol=1e-4, atol=1e-4)


def test_views_in_parts_are_the_views(monkeypatch):
    side, angles = 31, ANGLES[:11]  # in no other test, so that it is compiled here
    # 7 and 4; back, 6 and 5
    monkeypatch.setattr("passband.forward.views.AT_ONCE", 7 * side * side)
    picture = jnp.asarray(bumps(side))
    A = radon(angles, side)
    alone = jnp.concatenate([A.view(k)(picture) for k in range(11)])
    np.testing.assert_allclose(A(picture), alone, rtol=1e-5, atol=1e-6)
    back = sum(A.view(k).H(alone[k : k + 1]) for k in range(11))
    np.testing.assert_allclose(A.H(alone), back, rtol=1e-4)


def test_the_nearest_projector_averages_its_own_pixels():
    side = 16
    A = nearest_radon([0.0, 90.0], side)
    picture = np.random.default_rng(0).random((side, side)).astype(np.float32)
    seen = np.asarray(A(jnp.asarray(picture)))
    np.testing.assert_allclose(seen[0], picture.mean(axis=0), rtol=1e-5)
    # Turned about side / 2, the row at -side / 2 comes from outside.
    rows = np.concatenate([[0.0], picture.mean(axis=1)[:0:-1]])
    np.testing.assert_allclose(seen[1], rows, rtol=1e-5)


@pytest.mark.parametrize(
    ("angles", "options", "message"),
    [
        ([0.0, np.nan], {"bins": 8}, "one finite number of degrees"),
        (np.zeros((1, 1)), {"bins": 8}, r"`angles` has shape \(1, 1\)"),
        ([0.0], {"bins": 1}, r"`bins` \(=1\)"),
        ([0.0], {"bins": 8, "offset": 9.0}, r"`offset` \(=9.0\)"),
        ([0.0], {"bins": 8, "pixel": 0.0}, r"`pixel` \(=0.0\)"),
    ],
)
def test_bad_geometry_is_refused(angles, options, message):
    with pytest.raises(InputError, match=message):
        radon(angles, **options)
