"""Several rows of a scan: their slices as one field, through one projector."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from skimage.transform import radon as skimage_radon

from passband.data.ct_geometry import settle
from passband.data.sinograms import Sinogram
from passband.field import Field, make_field
from passband.forward.radon import radon
from passband.forward.slices import Slices
from passband.tasks.ct import ct_task
from passband.tasks.ct_rows import RowsTask, rows_task, simulated_rows, spread_over

ANGLES = np.arange(6) * 30.0
SIDE, ROWS, RADIUS = 40, 5, 15.0


def ball(side: int = SIDE, rows: int = ROWS, apart: float = 4.0) -> np.ndarray:
    """Slices of a ball about the middle one, its edge a pixel wide."""
    z = apart * (np.arange(rows) - rows // 2)[:, None, None]
    y, x = np.mgrid[:side, :side] - side // 2
    from_centre = np.sqrt(z**2 + y**2 + x**2)
    return np.clip(RADIUS - from_centre + 0.5, 0, 1).astype(np.float32)


def chords(rows: int = ROWS, apart: float = 4.0) -> np.ndarray:
    """What every view sees of it: (rows, bins), as geometry has it."""
    z = apart * (np.arange(rows) - rows // 2)[:, None]
    s = np.arange(SIDE) - SIDE // 2
    return 2 * np.sqrt(np.maximum(0, RADIUS**2 - z**2 - s**2))


def test_a_ball_is_seen_as_its_chords():
    seen = np.asarray(Slices(radon(ANGLES, SIDE), ROWS)(jnp.asarray(ball())))
    assert seen.shape == (len(ANGLES), ROWS, SIDE)
    for view in seen:
        assert np.linalg.norm(view - chords()) < 0.03 * np.linalg.norm(chords())


def test_every_slice_is_seen_as_scikit_image_has_it():
    """More slices than are projected side by side, each with something of its own."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32] - 16
    spots = rng.uniform(-7, 7, (11, 2))
    volume = np.stack([np.exp(-((x - a) ** 2 + (y - b) ** 2) / 8) for a, b in spots])
    volume *= np.hypot(x, y) < 15
    seen = np.asarray(Slices(radon(ANGLES, 32), 11)(jnp.asarray(volume, jnp.float32)))
    for k, one in enumerate(volume):
        theirs = skimage_radon(one, theta=ANGLES, circle=True).T
        assert np.abs(seen[:, k] - theirs).max() < 0.02 * theirs.max()


@pytest.fixture(scope="module")
def scan() -> Sinogram:
    rng = np.random.default_rng(1)
    values = rng.random((6, 5, 12)).astype(np.float32)
    geometry = settle({"pixel": 0.5, "row_pitch": 1.5, "pitch": 0.5}, 12)
    return Sinogram(values, ANGLES, "noise", geometry=geometry,
                    row_spacing=geometry.row_spacing)  # fmt: skip


def field_of(d: int = 3) -> Field:
    return make_field("gaussian:2,m=8", d=d, out=1, output="sigmoid", width=8, layers=2,
                      key=jax.random.key(0))  # fmt: skip


@eqx.filter_jit
def loss_of(task: RowsTask, field: Field, key: jax.Array) -> jax.Array:
    return task.loss(field, key)


def test_the_loss_is_the_mean_of_the_rows_and_a_step_sees_some_side_by_side(scan):
    task, field = rows_task(scan, high=2.0, holdout=0.2), field_of()
    density = task.density(field)
    each = np.array([task.row(k).loss_of(density[k]) for k in range(5)])
    key = jax.random.key(3)
    np.testing.assert_allclose(loss_of(task, field, key), each.mean(), rtol=1e-5)
    two = dataclasses.replace(task, at_once=2)
    assert two.step_points == 2 * 12 * 12
    pairs = (each[:-1] + each[1:]) / 2
    keys = jax.random.split(key, 600)
    seen = np.asarray(jax.vmap(lambda key: loss_of(two, field, key))(keys))
    which = np.abs(seen[:, None] - pairs).argmin(axis=1)
    np.testing.assert_allclose(seen, pairs[which], rtol=1e-5)
    # No row is seen half as often as another.
    often = np.bincount(np.concatenate([which, which + 1]), minlength=5)
    assert often.min() > 0.55 * often.max()


def test_rows_hold_out_the_same_and_are_each_in_the_units_of_a_picture(scan):
    task = rows_task(scan, high=2.0, holdout=0.2)
    assert task.train_mask is not None
    masks = np.asarray(task.train_mask)
    assert (masks == masks[:, :1]).all() and not masks.all()
    alone = ct_task(scan.row(3), high=2.0, holdout=0.2)
    np.testing.assert_array_equal(alone.sinogram, task.sinogram[:, 3])
    np.testing.assert_array_equal(alone.train_mask, masks[:, 3])


def test_z_counts_in_the_length_of_a_pixel(scan):
    """Rows 1.5 apart and 12 pixels of 0.5: the volume is 6 x 6 x 7.5."""
    task = rows_task(scan, high=2.0)
    np.testing.assert_allclose(task.extent, (0.8, 0.8, 1.0))
    np.testing.assert_allclose(task.z, 0.2 * np.arange(5), rtol=1e-6)
    field = field_of()
    v = task.predict(field)
    at = field.predict(np.array([[0.8 * 7 / 12, 0.8 * 2 / 12, 0.6]]))
    np.testing.assert_allclose(v[3, 2, 7], at[0, 0], rtol=1e-5)
    np.testing.assert_allclose(task.density(field), v, rtol=1e-4, atol=1e-6)


def test_the_prior_varies_in_three_dimensions(scan):
    """A slope along z alone costs what its length says."""
    task = rows_task(scan, high=2.0).with_prior(1.0)
    assert task.prior is not None
    ramp = jnp.broadcast_to(0.2 * task.z[:, None, None], (5, 12, 12))
    power = float(task.prior.power)
    # 4 of 5 differences, each of slope 0.2, smoothed near 0.
    want = 0.8 * (np.hypot(0.2, 1e-2) - 1e-2)
    assert float(task.prior(ramp)) / power == pytest.approx(want, rel=1e-3)


def test_rows_are_looked_at_from_all_over():
    assert spread_over(2, 3) == [0, 1]
    assert spread_over(64, 3) == [10, 32, 53]
    assert spread_over(9, 1) == [4]


def test_a_volume_is_simulated_slice_by_slice():
    data, truth = simulated_rows(
        ball(24, 3), ANGLES, name="ball", noise=0.0, seed=0, stride=2
    )
    assert data.geometry is not None
    side = data.geometry.size
    assert truth.shape == (3, side, side) and data.row_spacing == 2.0
    for k in range(3):
        theirs = skimage_radon(truth[k], theta=ANGLES, circle=True).T
        apart = np.linalg.norm(data.values[:, k] - theirs)
        assert apart < 0.02 * np.linalg.norm(theirs)
