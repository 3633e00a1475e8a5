"""The MRI task: the paper's loss, its grid and parts."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.masks import gaussian_mask
from passband.domain import extent_of
from passband.field import make_field
from passband.forward.kspace import KSpace
from passband.tasks.mri import MriTask, against, render
from passband.train.driver import Config, start
from passband.train.optimisers import adam
from passband.train.programs import chunk, program
from passband.train.stack import stack

SIDES = (6, 5, 4)


@pytest.fixture(scope="module")
def field():
    return make_field(
        "gaussian:2,m=4", d=3, out=1, key=jax.random.key(0), layers=2, width=8
    )


def task(at_once: int | None = None) -> MriTask:
    rng = np.random.default_rng(0)
    forward = KSpace(jnp.asarray(rng.random(SIDES) < 0.4))
    volume = jnp.asarray(rng.random(SIDES), jnp.float32)
    return MriTask(forward, forward(volume), at_once=at_once)


def test_loss_is_the_papers_less_what_nobody_measured():
    """Half the mean over all bins of |mask FFT(p) - FFT(x)|^2, FFT unnormalised."""
    one = task()
    p = np.random.default_rng(1).random(SIDES).astype(np.float32)
    x = np.random.default_rng(0)
    mask = np.asarray(one.forward.mask)
    assert np.array_equal(mask, x.random(SIDES) < 0.4)
    target = np.fft.fftn(x.random(SIDES).astype(np.float32))
    whole = 0.5 * np.mean(np.abs(mask * np.fft.fftn(p) - target) ** 2)
    unseen = 0.5 * np.mean(np.abs(np.where(mask, 0, target)) ** 2)
    ours = float(one.loss_of(jnp.asarray(p)))
    assert ours == pytest.approx(whole - unseen, rel=1e-4)


def test_parts_give_the_same_loss_and_gradient(field):
    """7 at a time do not divide 120."""

    @eqx.filter_jit
    def both(task, field):
        return eqx.filter_value_and_grad(lambda f: task.loss(f, jax.random.key(0)))(
            field
        )

    loss, slope = both(task(), field)
    loss7, slope7 = both(task(at_once=7), field)
    assert loss7 == pytest.approx(float(loss), rel=1e-5)
    for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(slope7), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_rendering_on_the_own_grid_is_the_prediction(field):
    one = task()
    seen = render(field, SIDES, extent_of(SIDES))[..., 0]
    np.testing.assert_allclose(seen, one.predict(field), atol=1e-5)


def test_volumes_share_their_mask_in_a_stack():
    first = task()
    second = eqx.tree_at(lambda t: t.measured, first, first.measured * 2)
    both, axes = stack([first, second])
    assert both.measured.shape == (2, *SIDES)
    assert axes.forward.mask is None and axes.measured == 0


def test_a_complex_image_is_scored_whole():
    truth = np.full((8, 8), 0.5 + 0.5j, np.complex64)
    assert against(truth, truth, 1.0)["psnr"] == np.inf
    assert against(np.abs(truth) + 0j, truth, 1.0)["psnr"] < 15


def test_steps_in_parts_take_the_memory_of_one(monkeypatch):
    """As a GPU would unroll them: the features of four steps are not held together."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    forward = KSpace(jnp.asarray(gaussian_mask((24, 24, 24), 0.2)))
    one = MriTask(forward, forward(jnp.zeros((24, 24, 24))), at_once=4608)
    wide = make_field("gaussian:2,m=64", d=3, out=1, key=jax.random.key(0), width=32)
    state = start(wide, Config(precision="float32"), key=jax.random.key(0))

    def needed(steps: int) -> int:
        made = program(chunk, one, state, None, adam(), steps)
        used: Any = made.compiled.memory_analysis()
        return used.temp_size_in_bytes

    assert needed(8) < 1.1 * needed(1)
