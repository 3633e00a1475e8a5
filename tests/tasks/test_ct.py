"""The CT task: its loss, units and held-out rays."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.images import Image
from passband.data.phantoms import shepp_logan
from passband.data.sinograms import Sinogram
from passband.errors import InputError
from passband.field import make_field
from passband.forward.radon_nearest import nearest_radon
from passband.tasks.ct import (
    CTTask,
    ct_task,
    kept_rays,
    simulated,
    squared,
)
from passband.train.driver import Config, train

SIDE, ANGLES = 32, np.arange(16) * 11.25


@pytest.fixture(scope="module")
def head() -> np.ndarray:
    return shepp_logan(SIDE)


@pytest.fixture(scope="module")
def sinogram(head) -> Sinogram:
    """In units of their own: densities up to 300 in pixels of 0.5."""
    picture = Image(300 * head[..., None], 0.0, 300.0, "head")
    seen, _ = simulated(picture, ANGLES, noise=0.01, seed=0)
    return Sinogram(0.5 * seen.values, ANGLES, "head")


def field_of(word: str = "gaussian:4,m=16"):
    return make_field(word, d=2, out=1, key=jax.random.key(0), layers=2, width=16)


@eqx.filter_jit
def loss_of(task, field):
    return task.loss(field, jax.random.key(0))


def test_the_loss_is_half_the_mean_square_of_the_rays_kept(sinogram):
    task = ct_task(sinogram, high=300.0, pixel=0.5, holdout=0.2)
    field = field_of()
    values = task.predict(field)
    seen = np.asarray(task.forward(jnp.asarray(values)))
    square = (seen - np.asarray(task.sinogram)) ** 2
    mean = square[np.asarray(task.train_mask)].mean()
    np.testing.assert_allclose(loss_of(task, field), mean / 2, rtol=1e-4)
    whole = ct_task(sinogram, high=300.0, pixel=0.5, holdout=0.0)
    np.testing.assert_allclose(loss_of(whole, field), square.mean() / 2, rtol=1e-4)


def test_the_users_units_become_those_of_the_unit_square(sinogram, head):
    task = ct_task(sinogram, high=300.0, pixel=0.5, holdout=0.0)
    seen = np.asarray(task.forward(jnp.asarray(head)))
    error = np.linalg.norm(seen - np.asarray(task.sinogram))
    assert error < 0.03 * np.linalg.norm(seen)  # the noise


def test_few_views_lose_rays_and_many_lose_views():
    train_mask = kept_rays((20, 500), 0.05, 0)
    assert train_mask is not None and 0.03 < 1 - train_mask.mean() < 0.07
    assert train_mask.any(axis=1).all()
    train_mask = kept_rays((60, 50), 0.05, 0)
    assert (
        train_mask is not None
        and (train_mask.all(axis=1) | ~train_mask.any(axis=1)).all()
    )
    assert (~train_mask.any(axis=1)).sum() == 3
    assert kept_rays((20, 50), 0.0, 0) is None
    with pytest.raises(InputError, match=r"`holdout` \(=1\)"):
        kept_rays((20, 50), 1.0, 0)


def test_what_is_held_out_does_not_reach_the_loss(sinogram):
    task = ct_task(sinogram, high=300.0, pixel=0.5)
    assert task.train_mask is not None
    spoilt = CTTask(
        task.forward,
        jnp.where(task.train_mask, task.sinogram, 7.0),
        task.train_mask,
        SIDE,
    )
    field = field_of()
    assert loss_of(task, field) == loss_of(spoilt, field)
    assert task.metrics(field)["error_test"] != spoilt.metrics(field)["error_test"]


def test_training_lowers_the_held_out_error(sinogram):
    task = ct_task(sinogram, high=300.0, pixel=0.5, grid=16)
    assert task.step_points == 256
    field = field_of("gaussian:2,m=16")
    config = Config(steps=200, lr=1e-2)
    [trained], _ = train([task], [field], config, keys=[jax.random.key(0)])
    before, after = task.metrics(field), task.metrics(trained)
    assert after["error_test"] < 0.3 * before["error_test"]
    assert task.predict(trained).shape == (SIDE, SIDE)


def test_the_papers_projector_fits_in_too(head):
    forward = nearest_radon(ANGLES, SIDE)
    task = CTTask(forward, forward(jnp.asarray(head)), None, SIDE)
    assert set(task.metrics(field_of())) == {"error_train"}


def test_simulation_makes_room_for_the_corners():
    picture = Image(np.ones((6, 8, 3), np.uint8), 0.0, 255.0, "bright")
    sinogram, square = simulated(picture, ANGLES, noise=0.0, seed=0)
    assert square.shape == (12, 12) and square.sum() == 48
    assert square[3:9, 2:10].all()
    np.testing.assert_allclose(sinogram.values[0].sum(), 48, rtol=1e-5)
    with pytest.raises(InputError, match=r"`noise` \(=-1\)"):
        simulated(picture, ANGLES, noise=-1.0, seed=0)


def test_a_truth_larger_than_the_detector_is_refused():
    with pytest.raises(InputError, match="9 x 4 pixels does not fit into the 8 x 8"):
        squared(np.ones((9, 4), np.float32), 8)


def test_a_density_must_be_bounded(sinogram):
    with pytest.raises(InputError, match=r"`high` \(=0\)"):
        ct_task(sinogram, high=0.0)
