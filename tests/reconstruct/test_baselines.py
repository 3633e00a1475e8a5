"""What the same measurements give without a network."""

import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.images import Image
from passband.data.masks import gaussian_mask, hold_out
from passband.data.phantoms import shepp_logan
from passband.data.sinograms import Sinogram
from passband.data.volumes import head_phantom
from passband.forward.kspace import KSpace
from passband.forward.radon_nearest import nearest_radon
from passband.reconstruct.backprojection import largest_density
from passband.reconstruct.baselines import baselines, enlarged
from passband.tasks.ct import CTTask, against_truth, ct_task, simulated
from passband.tasks.mri import MriTask, against
from passband.tasks.regression import regression_task

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


def test_the_bound_on_the_density_holds(sinogram):
    high = largest_density(sinogram, pixel=0.5)
    assert 300 <= high < 2.1 * 300


def test_baselines_use_the_rays_kept(sinogram, head):
    task = ct_task(sinogram, high=300.0, pixel=0.5, holdout=0.1)
    found = baselines(task, steps=100)
    assert list(found) == ["FBP", "SART", "TV", "free grid"]
    scores = {
        name: against_truth(300 * x, 300 * head, 300.0) for name, x in found.items()
    }
    psnrs = {name: score["psnr"] for name, score in scores.items()}
    assert psnrs["TV"] == max(psnrs.values())
    assert min(psnrs.values()) > 12
    assert task.train_mask is not None
    spoilt = CTTask(
        task.forward,
        jnp.where(task.train_mask, task.sinogram, 7.0),
        task.train_mask,
        SIDE,
    )
    again = baselines(spoilt, steps=100)
    for name in ("FBP", "free grid"):  # the others choose by what is held out
        np.testing.assert_array_equal(again[name], found[name])


def test_enlarging_keeps_every_other_pixel():
    coarse = np.random.default_rng(0).random((8, 8)).astype(np.float32)
    np.testing.assert_allclose(enlarged(coarse, 16)[::2, ::2], coarse, rtol=1e-6)
    assert enlarged(coarse, 8) is coarse


def test_kspace_without_a_network():
    """Held-out pairs cannot be guessed by zero filling, and TV is nearer than it."""
    truth = head_phantom(24, dims=2)
    train, test_mask = hold_out(gaussian_mask((24, 24), 0.5), 0.1)
    forward = KSpace(jnp.asarray(train))
    whole = KSpace(jnp.asarray(train | test_mask))
    one = MriTask(forward, whole(jnp.asarray(truth)), jnp.asarray(test_mask))
    images = baselines(one, steps=240)
    assert list(images) == ["zero-filled", "total variation", "free grid"]
    scores = {k: against(v, truth, 1.0) | one.errors(v) for k, v in images.items()}
    assert scores["zero-filled"]["error_test"] == pytest.approx(1, abs=1e-5)
    assert scores["total variation"]["psnr"] > scores["zero-filled"]["psnr"] + 3
    for name in ("total variation", "free grid"):
        assert scores[name]["error_test"] < 0.9
    exact = one.errors(truth)
    assert exact["error_test"] < 1e-5 and exact["error_train"] < 1e-5


def test_a_task_without_baselines_is_refused(head):
    forward = nearest_radon(ANGLES, SIDE)
    means = CTTask(forward, forward(jnp.asarray(head)), None, SIDE)
    with pytest.raises(TypeError, match="line integrals"):
        baselines(means)
    with pytest.raises(TypeError, match="no baselines are known for a RegressionTask"):
        baselines(regression_task(np.zeros((2, 1)), np.arange(2.0)))
