"""Total variation in the loss: its formula, its unit, its gradient."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import correlate1d
from skimage.restoration import denoise_tv_chambolle

from passband.data.masks import gaussian_mask
from passband.data.sinograms import Sinogram
from passband.field import make_field
from passband.forward.kspace import KSpace
from passband.forward.operator import linear
from passband.forward.radon import radon
from passband.tasks.ct import ct_task
from passband.tasks.linear import linear_task
from passband.tasks.mri import MriTask
from passband.tasks.prior import FLAT, TotalVariation, variation
from passband.train.driver import Config, train
from passband.train.optimisers import muon
from passband.train.schedules import schedule

SIDE = 16


def by_hand(values: np.ndarray, steps: tuple[float, ...]) -> float:
    """Slopes by SciPy, whose nearest mode has 0 at the far ends."""
    square = np.zeros(values.shape[: len(steps)])
    for axis, step in enumerate(steps):
        slope = correlate1d(values, [0, -1, 1], axis=axis, mode="nearest") / step
        square += np.sum(slope.reshape(*square.shape, -1) ** 2, axis=-1)
    return float(np.mean(np.sqrt(square + FLAT**2) - FLAT))


@pytest.mark.parametrize(
    ("sides", "steps"),
    [
        ((7,), (0.1,)),
        ((7, 5), (0.1, 0.2)),
        ((4, 5, 6), (0.1, 0.2, 0.3)),
        ((4, 5, 6, 2), (0.1, 0.2, 0.3)),  # real and imaginary parts
    ],
)
def test_the_formula_in_every_dimension(sides, steps):
    values = np.random.default_rng(0).random(sides)
    found = variation(jnp.asarray(values, jnp.float32), steps)
    assert float(found) == pytest.approx(by_hand(values, steps), rel=1e-5)


def test_a_complex_image_counts_by_the_size_of_its_gradient():
    """So its total variation does not change when its phase is turned."""
    rng = np.random.default_rng(0)
    image = rng.random((6, 5)) + 1j * rng.random((6, 5))

    def of(image: np.ndarray) -> float:
        pair = np.stack([np.real(image), np.imag(image)], -1)
        return float(variation(jnp.asarray(pair, jnp.float32), (0.1, 0.1)))

    assert of(np.exp(0.7j) * image) == pytest.approx(of(image), rel=1e-5)
    assert of(image.real + 0j) == pytest.approx(by_hand(image.real, (0.1, 0.1)), 1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_a_constant_has_none_and_a_finite_gradient(d):
    values = jnp.full((SIDE,) * d, 0.3)
    found, slope = jax.value_and_grad(variation)(values, (1 / SIDE,) * d)
    assert found == pytest.approx(0, abs=1e-8)
    assert np.isfinite(slope).all() and np.abs(slope).max() < 1e-6


@pytest.mark.parametrize("d", [2, 3])
def test_it_is_the_integral_of_the_slopes_on_every_grid(d):
    """A ramp has 1 and a box the surface of its sides; not so by the step."""

    def of(n: int) -> tuple[float, float]:
        at = np.indices((n,) * d) / n
        box = np.all((at >= 0.25) & (at < 0.75), axis=0)
        steps = (1 / n,) * d
        ramp, box = (jnp.asarray(x, jnp.float32) for x in (at[0], box))
        return float(variation(ramp, steps)), float(variation(box, steps))

    surface = 2 * d * 0.5 ** (d - 1)
    for n in (16, 32):
        ramp, box = of(n)
        # The last of n rows has no neighbour; edges meet in few points.
        assert ramp == pytest.approx(1 - 1 / n - FLAT, abs=0.005)
        assert box == pytest.approx(surface, rel=0.08)


def test_less_of_it_is_smoother_as_scikit_image_has_it():
    """Descending it takes noise off as the classical method does."""
    rng = np.random.default_rng(0)
    clean = np.zeros((SIDE, SIDE))
    clean[4:12, 4:12] = 1
    noisy = clean + 0.1 * rng.normal(size=clean.shape)
    smooth = denoise_tv_chambolle(noisy, weight=0.1)
    of = [
        float(variation(jnp.asarray(x, jnp.float32), (1 / SIDE,) * 2))
        for x in (noisy, smooth, clean)
    ]
    assert of[0] > 1.5 * of[1] and of[1] == pytest.approx(of[2], rel=0.25)


def disc(n: int) -> np.ndarray:
    y, x = np.mgrid[:n, :n] - n // 2
    return (np.hypot(x, y) < n / 4).astype(np.float32)


def tasks(n: int = SIDE, noise: float = 0.0) -> dict:
    """One disc behind three instruments; noise is a share of what is measured."""
    rng = np.random.default_rng(0)
    angles, truth = np.linspace(0, 180, 8, endpoint=False), jnp.asarray(disc(n))

    def rough(y: Any) -> np.ndarray:
        y = np.asarray(y)
        size = noise * np.sqrt(np.mean(np.abs(y) ** 2))
        return (y + size * rng.normal(size=y.shape)).astype(y.dtype)

    space = KSpace(jnp.asarray(gaussian_mask((n, n), 0.3)))
    matrix = rng.normal(size=(120, n * n)).astype(np.float32)
    own, sinogram = linear(matrix, (n, n)), radon(angles, n)(truth)
    return {
        "ct": ct_task(Sinogram(rough(sinogram), angles, "disc"), high=1.0, grid=n),
        "mri": MriTask(space, jnp.asarray(rough(space(truth)))),
        # In units of its own: the disc is 7.
        "own": linear_task(own, rough(7 * own(truth)), low=0.0, high=7.0),
    }


@pytest.mark.parametrize("name", ["ct", "mri", "own"])
def test_a_weight_is_in_units_of_the_measurements(name):
    """loss / power = |Ax - y|^2 / (2 |y|^2) + weight |grad x|: with no measurement
    explained, a slope of 1 costs 2 weight of what that does."""
    task = tasks()[name]
    with_prior = task.with_prior(0.3)
    assert isinstance(with_prior.prior, TotalVariation)
    ramp = jnp.broadcast_to(jnp.arange(SIDE) / SIDE, (SIDE, SIDE))
    cost = float(with_prior.prior(ramp)) / float(task.loss_of(jnp.zeros((SIDE, SIDE))))
    slope = float(variation(ramp, (1 / SIDE,) * 2))
    assert cost == pytest.approx(2 * 0.3 * slope, rel=1e-3)


@pytest.mark.parametrize("name", ["ct", "mri"])
def test_a_weight_means_the_same_on_a_finer_grid(name):
    few, many = (tasks(n=n)[name].with_prior(1.0) for n in (16, 32))

    def cost(task) -> float:
        n = task.forward.input_shape[0]
        y, x = np.mgrid[:n, :n] / n
        bump = jnp.asarray(np.exp(-8 * (np.square(x - 0.5) + np.square(y - 0.5))))
        return float(task.prior(bump.astype(jnp.float32))) / task.empty_loss

    assert cost(few) == pytest.approx(cost(many), rel=0.05)


@pytest.fixture(scope="module")
def trained() -> dict:
    """Fields of every instrument, trained without a prior and with one side by side, as
    one program: weights are arrays."""
    found = {}
    for name, task in tasks(noise=0.1).items():
        field = make_field(
            "gaussian:4,m=16", d=2, out=1, key=jax.random.key(0), layers=3, width=16
        )
        both = [task.with_prior(weight) for weight in (0.0, 3e-3)]
        assert len({jax.tree.structure(t) for t in both}) == 1
        config = Config(steps=300, lr=schedule("cosine", 3e-3, 300), every=300)
        fields, _ = train(
            both, [field] * 2, config, keys=[jax.random.key(1)] * 2, optimiser=muon()
        )
        found[name] = task, both, fields
    return found


@pytest.mark.parametrize("name", ["ct", "mri", "own"])
def test_flat_parts_come_out_better(trained, name):
    task, _, fields = trained[name]
    truth = disc(SIDE)
    plain, flat = (
        np.mean(np.square(task.predict(field).reshape(truth.shape) - truth))
        for field in fields
    )
    assert flat < {"ct": 0.5, "mri": 1.0, "own": 0.5}[name] * plain


@pytest.mark.parametrize("name", ["ct", "mri", "own"])
def test_it_is_added_to_the_loss_and_to_nothing_else(trained, name):
    _, (plain, with_prior), (field, _) = trained[name]
    values = jnp.asarray(plain.predict(field).reshape(SIDE, SIDE))
    key = jax.random.key(0)
    more = float(with_prior.loss(field, key)) - float(plain.loss(field, key))
    assert more == pytest.approx(float(with_prior.prior(values)), rel=1e-3)
    assert float(with_prior.loss_of(values)) == float(plain.loss_of(values))


def test_a_volume_in_parts_has_the_same_gradient():
    """7 at a time do not divide 120."""
    rng = np.random.default_rng(0)
    forward = KSpace(jnp.asarray(rng.random((6, 5, 4)) < 0.4))
    volume = jnp.asarray(rng.random((6, 5, 4)), jnp.float32)
    whole = MriTask(forward, forward(volume)).with_prior(0.1)
    parts = dataclasses.replace(whole, at_once=7)
    field = make_field(
        "gaussian:2,m=4", d=3, out=1, key=jax.random.key(0), layers=2, width=8
    )

    @eqx.filter_jit
    def both(task, field):
        return eqx.filter_value_and_grad(lambda f: task.loss(f, jax.random.key(0)))(
            field
        )

    (one, slope), (two, slope7) = both(whole, field), both(parts, field)
    assert float(one) == pytest.approx(float(two), rel=1e-5)
    for a, b in zip(jax.tree.leaves(slope), jax.tree.leaves(slope7), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
