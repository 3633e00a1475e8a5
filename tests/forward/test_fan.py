"""Fan beams against closed forms, scikit-image's parallel rays and Fourier slices."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import map_coordinates
from skimage.transform import radon as skimage_radon

from passband.errors import InputError
from passband.forward.fan import Fan, fan
from passband.forward.radon import radon
from passband.reconstruct.backprojection import filtered_backprojection
from passband.reconstruct.sart import sart

ANGLES = np.array([0.0, 37.0, 90.0, 201.0, 318.5])
BOTH = pytest.mark.parametrize("arc", [False, True], ids=["flat", "arc"])


def bumps(side: int) -> np.ndarray:
    """Two smooth bumps inside the circle that every view sees."""
    y, x = (np.mgrid[:side, :side] - side // 2) / side
    first = np.exp(-((x - 0.1) ** 2 + (y + 0.12) ** 2) / (2 * 0.07**2))
    second = np.exp(-((x + 0.15) ** 2 + (y - 0.05) ** 2) / (2 * 0.05**2))
    return np.where(np.hypot(x, y) < 0.48, first + 0.5 * second, 0).astype(np.float32)


def rays(A: Fan, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each ray goes: the angle and the distance of its line from the axis."""
    gamma = A.fan_angles
    return np.deg2rad(angles)[:, None] - gamma, A.source_origin * np.sin(gamma)


@BOTH
@pytest.mark.parametrize("place", [(0.0, 0.0), (9.0, -5.5)], ids=["centred", "off"])
def test_a_disc_has_the_chords_of_a_circle(arc: bool, place: tuple[float, float]):
    """In mm: a disc of 6 mm, on and off the axis, with the detector off too."""
    n, pixel, radius = 240, 0.15, 6.0
    x, y = (np.arange(n) - n // 2) * pixel, -(np.arange(n) - n // 2) * pixel
    x0, y0 = 0.8 * place[0], 0.8 * place[1]
    away = np.hypot(x - x0, y[:, None] - y0)
    # Pixels at the edge are partly inside.
    disc = np.clip((radius - away) / pixel + 0.5, 0, 1).astype(np.float32)
    A = fan(
        ANGLES, 300, side=n, source_origin=60, source_detector=100, pitch=0.25,
        pixel=pixel, offset=3.25, arc=arc,
    )  # fmt: skip
    seen = np.asarray(A(jnp.asarray(disc)))
    u = (np.arange(300) - 153.25) * 0.25
    gamma = u / 100 if arc else np.arctan(u / 100)
    theta = np.deg2rad(ANGLES)[:, None] - gamma
    t = 60 * np.sin(gamma) - x0 * np.cos(theta) - y0 * np.sin(theta)
    chord = 2 * np.sqrt(np.clip(radius**2 - t**2, 0, None))
    inner = np.abs(t) < 0.9 * radius
    np.testing.assert_allclose(seen[inner], chord[inner], rtol=0.01)
    assert (seen[np.abs(t) > radius + 2 * pixel] == 0).all()


@BOTH
def test_parallel_rays_rebinned_are_a_fan(arc: bool):
    """Each ray of the fan is found in scikit-image's sinogram of a whole turn."""
    n, picture = 97, bumps(97)
    turns = np.arange(0, 360, 0.5)
    theirs = skimage_radon(picture, theta=turns, circle=True).T
    A = fan(
        ANGLES, 120, side=n, source_origin=130, source_detector=190, pixel=1.0,
        pitch=1.3, arc=arc,
    )  # fmt: skip
    theta, t = rays(A, ANGLES)
    where = [np.rad2deg(theta) % 360 / 0.5, np.broadcast_to(t + n // 2, theta.shape)]
    wanted = map_coordinates(theirs, where, order=1, mode="grid-wrap")
    wanted = np.where(np.abs(t) < n // 2 - 1, wanted, 0)
    seen = np.asarray(A(jnp.asarray(picture)))
    assert np.abs(seen - wanted).max() < 0.015 * wanted.max()


@BOTH
def test_a_far_source_sees_slices_of_the_spectrum(arc: bool):
    """And what `radon` sees, which scikit-image has checked."""
    n, picture = 96, bumps(96)
    A = fan(
        ANGLES, n, source_origin=1e6, source_detector=2e6, pitch=2.0, pixel=1.0, arc=arc
    )
    seen = np.asarray(A(jnp.asarray(picture)), np.float64)
    np.testing.assert_allclose(
        seen, radon(ANGLES, n)(jnp.asarray(picture)), atol=1e-3 * seen.max()
    )
    t, k = np.arange(n) - n // 2, np.arange(1, 12) / n
    slices = seen @ np.exp(-2j * np.pi * np.outer(t, k))
    rows, columns = np.mgrid[:n, :n] - n // 2
    for angle, found in zip(np.deg2rad(ANGLES), slices, strict=True):
        along = columns * np.cos(angle) - rows * np.sin(angle)
        waves = np.exp(-2j * np.pi * k[:, None, None] * along)
        exact = np.sum(picture * waves, axis=(1, 2))
        assert np.abs(found - exact).max() < 0.01 * np.abs(exact).max()


@BOTH
def test_the_same_line_from_the_other_side(arc: bool):
    """Ray (a, g) is ray (a + 180 - 2 g, -g)."""
    picture = jnp.asarray(bumps(65))
    options = {
        "side": 65, "source_origin": 90.0, "source_detector": 140.0, "pixel": 1.0,
        "pitch": 1.4, "offset": 0.0, "arc": arc,
    }  # fmt: skip
    gamma = np.rad2deg(fan([0.0], 81, **options).fan_angles)
    for bin in (25, 40, 52):
        there = fan([25.0], 81, **options)(picture)[0, bin]
        back = fan([205.0 - 2 * gamma[bin]], 81, **options)(picture)[0, 80 - bin]
        np.testing.assert_allclose(there, back, rtol=2e-3)


@BOTH
@pytest.mark.parametrize("span", [360, 240], ids=["whole turn", "short scan"])
def test_back_projection_gives_densities_per_length(arc: bool, span: int):
    n, picture = 64, bumps(64)
    A = fan(
        np.arange(0, span, 4.0), 100, side=n, source_origin=45, source_detector=70,
        pixel=0.5, pitch=0.5, arc=arc,
    )  # fmt: skip
    found = np.asarray(filtered_backprojection(A, A(jnp.asarray(picture))))
    inside = np.hypot(*(np.mgrid[:n, :n] - n // 2)) < 28
    error = np.linalg.norm((found - picture)[inside]) / np.linalg.norm(picture)
    assert error < 0.04
    assert found.sum() == pytest.approx(picture.sum(), rel=0.02)


def test_sart_comes_nearer_with_every_sweep():
    A = fan(
        np.arange(0, 360, 18.0), 60, side=32, source_origin=50, source_detector=80,
        pixel=1.0, pitch=1.2,
    )  # fmt: skip
    picture = bumps(32)
    y = A(jnp.asarray(picture))
    errors = [np.linalg.norm(sart(A, y, sweeps=k).values - picture) for k in (1, 4, 12)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1 * np.linalg.norm(picture)


def test_some_views_are_those_views():
    A = fan(ANGLES, 24, side=20, source_origin=40, source_detector=60)
    picture = jnp.asarray(bumps(20))
    np.testing.assert_allclose(
        A.view(np.array([3, 1]))(picture), A(picture)[jnp.array([3, 1])]
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"angles": [np.nan]}, "one finite number of degrees"),
        ({"bins": 1}, r"`bins` \(=1\)"),
        ({"offset": 60.0}, r"`offset` \(=60.0\)"),
        ({"pixel": -1.0}, r"`pixel` \(=-1.0\)"),
        ({"source_origin": 3.0, "pixel": 1.0}, "inside the picture.*one unit"),
        ({"source_detector": 0.0}, r"`source_detector` \(=0.0\)"),
        ({"pitch": 50.0, "pixel": 1.0}, "too many for `source_detector`"),
    ],
)
def test_bad_geometry_is_refused(options: dict, message: str):
    usual = {
        "angles": [0.0], "bins": 16, "source_origin": 40.0, "source_detector": 60.0,
    }  # fmt: skip
    with pytest.raises(InputError, match=message):
        fan(**{**usual, **options})
