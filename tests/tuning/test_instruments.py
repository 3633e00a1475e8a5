"""What each instrument holds out is what its task scores, and what it does not show."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.masks import gaussian_mask, hold_out
from passband.data.meshes import normalise
from passband.data.primitives import sphere
from passband.data.sinograms import Sinogram
from passband.field import make_field
from passband.forward.kspace import KSpace
from passband.labels.pool import make_labels
from passband.tasks.ct import ct_task
from passband.tasks.mri import MriTask
from passband.tuning.instruments import (
    HeldLabels,
    HeldRays,
    ct_problem,
    kspace_guess,
    mri_problem,
    shape_problem,
    stretches,
)
from passband.tuning.spectrum import first_guess


@eqx.filter_jit
def error(held, network):
    return held.error(network)


def field(d: int):
    return make_field("gaussian:2,m=8", d=d, out=1, key=jax.random.key(0), width=8)


@pytest.mark.parametrize("holdout", [0.0, 0.2])
def test_held_rays_are_neither_trained_on_nor_the_fits_own_test(holdout):
    values = np.random.default_rng(0).random((6, 24)).astype(np.float32)
    sinogram = Sinogram(values, 30.0 * np.arange(6), "rays")
    task = ct_task(sinogram, high=1.0, holdout=holdout)
    held = ct_problem(task).held
    assert isinstance(held, HeldRays)
    train, out = np.asarray(held.task.train_mask), np.asarray(held.out)
    known = (
        np.ones((6, 24), bool)
        if task.train_mask is None
        else np.asarray(task.train_mask)
    )
    assert not (train & out).any()
    np.testing.assert_array_equal(train | out, known)
    network = field(2)
    apart = (np.asarray(held.task.project(network)) - np.asarray(task.sinogram))[out]
    assert float(error(held, network)) == pytest.approx(np.mean(apart**2), rel=1e-4)


def test_the_guess_for_rays_grows_with_the_views_up_to_a_tenth_of_the_grids_nyquist():
    values = np.random.default_rng(0).random((20, 40)).astype(np.float32)
    sinogram = Sinogram(values, 9.0 * np.arange(20), "rays")
    coarse, fine = (ct_task(sinogram, high=1.0, grid=grid) for grid in (64, 160))
    assert ct_problem(coarse).guess == pytest.approx(64 / 2 / 10)
    assert ct_problem(fine).guess == pytest.approx(0.7 * 20 / np.pi, rel=0.02)


def test_a_held_out_stretch_is_as_wide_as_views_are_apart():
    for views, bins, wide in ((20, 512, 27), (180, 512, 3), (400, 64, 1), (3, 64, 8)):
        gone = stretches((views, bins), 0.1, 0)
        assert gone.mean() == pytest.approx(0.1, abs=0.03)
        edges = np.diff(gone.astype(int), axis=1, prepend=0, append=0)
        begin, end = np.nonzero(edges == 1)[1], np.nonzero(edges == -1)[1]
        assert (begin % wide == 0).all()
        assert ((end % wide == 0) | (end == bins)).all()
        assert (stretches((views, bins), 0.1, 1) != gone).any()


def test_held_frequencies_are_those_that_the_task_tests():
    mask = gaussian_mask((12, 12), 0.4)
    train, held = hold_out(mask, 0.2)
    forward = KSpace(jnp.asarray(train))
    image = jnp.asarray(np.random.default_rng(0).random((12, 12)), jnp.float32)
    task = MriTask(forward, forward.transform(image), jnp.asarray(held))
    problem = mri_problem(task, out=1, output="sigmoid", nyquist=6.0)
    assert problem.held is not None
    network = field(2)
    power = np.mean(np.abs(np.asarray(task.measured)[held]) ** 2)
    want = task.metrics(network)["error_test"] ** 2 * power
    assert float(error(problem.held, network)) == pytest.approx(want, rel=1e-4)
    assert problem.blank == pytest.approx(power, rel=1e-5)


def test_the_guess_for_a_volume_is_that_for_its_slices():
    y, x = np.mgrid[:16, :16] / 16
    picture = 0.5 + 0.3 * np.sin(9 * x + 4 * y) + 0.2 * np.cos(14 * y * x)
    volume = np.broadcast_to(picture, (16, 16, 16))
    same = np.fft.fftn(volume, norm="ortho"), np.ones((16, 16, 16), bool)
    slices = [np.take(volume, 8, axis)[..., None] for axis in range(3)]
    each = [first_guess(s.astype(np.float32), 1 / 16) for s in slices]
    want = np.prod(each) ** (1 / 3)
    assert kspace_guess(*same, (1.0, 1.0, 1.0)) == pytest.approx(want, rel=1e-3)
    flat = np.fft.fftn(picture, norm="ortho"), np.ones((16, 16), bool)
    assert kspace_guess(*flat, (1.0, 1.0)) == pytest.approx(each[0], rel=1e-3)


def test_a_held_block_of_labels_is_never_trained_on():
    mesh, _ = normalise(sphere(1).mesh)
    labels = make_labels(mesh, blocks=3, block=64, test_points=64)
    problem = shape_problem(labels, steps=20, batch=32)
    assert isinstance(problem.held, HeldLabels)
    order = np.asarray(problem.held.task.order)
    assert set(order.tolist()) == {0, 1, 2, 3}  # parts of the first two blocks
    points, inside = labels.pool.batch(2)
    np.testing.assert_array_equal(problem.held.points, points)
    mean = float(np.mean(np.asarray(inside)))
    entropy = -mean * np.log(mean) - (1 - mean) * np.log(1 - mean)
    assert problem.blank == pytest.approx(entropy)
