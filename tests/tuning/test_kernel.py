"""Predictions through an instrument against the same dynamics written out at length."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from passband.data.masks import gaussian_mask, hold_out, opposite
from passband.data.sinograms import Sinogram
from passband.errors import InputError
from passband.forward.kspace import KSpace
from passband.forward.radon import radon
from passband.tasks.ct import CTTask, ct_task
from passband.tasks.mri import MriTask
from passband.theory import composed_ntk
from passband.tuning import Plan, choose
from passband.tuning.coarse import ct_coarse, mri_coarse, straight_lines, strips
from passband.tuning.instruments import ct_problem, mri_problem
from passband.tuning.kernel import predicted_errors
from passband.words import parse_mapping

NETWORK: dict[str, Any] = {"layers": 3, "width": 32}
MAPPING: Any = parse_mapping("gaussian:1,m=24")


def disc(bins: int, **options) -> CTTask:
    y, x = np.mgrid[:bins, :bins] - bins / 2
    density = jnp.asarray((x + 1) ** 2 + y**2 < (0.3 * bins) ** 2, jnp.float32)
    angles = 18.0 * np.arange(10)
    seen = np.asarray(radon(angles, bins)(density))
    return ct_task(Sinogram(seen, angles, "disc"), high=1.0, **options)


def kspace(
    sides: tuple[int, ...], *, coils: int = 0, pair: bool = False, zero: bool = True
) -> MriTask:
    """Most frequencies of noise, with 0 or without."""
    rng = np.random.default_rng(1)
    maps = None
    if coils:
        turn, size = 6 * rng.random((coils, *sides)), rng.random((coils, *sides))
        maps = jnp.asarray(size * np.exp(1j * turn), jnp.complex64)
    mask = gaussian_mask(sides, 0.8, spread=0.5)
    mask[(0,) * len(sides)] = zero
    forward = KSpace(jnp.asarray(mask), maps, pair)
    image = jnp.asarray(rng.random(forward.input_shape), jnp.float32)
    return MriTask(forward, forward(image))


def written_out(A, b, held, coords, channels: int = 1) -> float:
    """The flow of every value on the grid, by one matrix exponential."""
    encoding = MAPPING.draw(jax.random.key(0), coords.shape[1])
    k = np.kron(composed_ntk(encoding, coords, **NETWORK), np.eye(channels))
    flat = np.tile(np.eye(channels), (len(coords), 1))
    A, b = (np.concatenate([x.real, x.imag]).astype(float) for x in (A, b))
    out = np.tile(held, 2)
    A_held, b_held, A, b = A[out], b[out], A[~out], b[~out]
    constant = np.round(A @ flat, 5)
    start = flat @ np.linalg.lstsq(constant, b, rcond=None)[0]
    t = 300 / (np.linalg.norm(A, 2) ** 2 * len(coords) * k[0, 0])
    flow = np.zeros((len(k) + 1, len(k) + 1))
    flow[:-1, :-1], flow[:-1, -1] = -k @ A.T @ A, k @ A.T @ b
    end = (scipy.linalg.expm(t * flow) @ np.append(start, 1))[:-1]
    return float(np.sum((A_held @ end - b_held) ** 2) / held.sum())


def columns(function, shape: tuple[int, ...]) -> np.ndarray:
    """A as a matrix, one unit vector after another."""
    n = int(np.prod(shape))
    eye = jnp.eye(n).reshape(n, *shape)
    return np.asarray(jax.lax.map(function, eye)).reshape(n, -1).T


def coordinates(sides: tuple[int, ...]) -> np.ndarray:
    """As every task has them: the longest side is 1, and the first two exchanged."""
    parts = [m.ravel() / max(sides) for m in np.meshgrid(*map(np.arange, sides),
                                                         indexing="ij")]  # fmt: skip
    return np.stack([parts[1], parts[0], *parts[2:]], axis=1)


def test_rays_follow_the_flow_of_the_whole_grid():
    task = disc(10)
    coarse = ct_coarse(task)
    assert coarse is not None
    assert coarse.sides == (10, 10)
    A, b = columns(task.forward, (10, 10)), np.ravel(task.sinogram)
    want = written_out(A, b, coarse.held, coordinates((10, 10)))
    [found], constant = predicted_errors(coarse, [MAPPING], time=300, **NETWORK)
    assert found == pytest.approx(want, rel=1e-4)
    # The constant whose rays are nearest to those that train.
    ones, train = A.sum(axis=1), ~coarse.held
    level = ones[train] @ b[train] / np.sum(ones[train] ** 2)
    blank = np.mean((level * ones - b)[coarse.held] ** 2)
    assert constant == pytest.approx(blank, rel=1e-4)
    assert found < 0.9 * constant


@pytest.mark.parametrize(
    ("sides", "options"),
    [
        ((10, 12), {"zero": False}),
        ((10, 10), {"coils": 2, "pair": True}),
        ((10, 3, 11), {}),
    ],
)
def test_frequencies_follow_the_flow_of_the_whole_grid(sides, options):
    task = kspace(sides, **options)
    coarse = mri_coarse(task)
    assert coarse is not None
    forward = task.forward
    at = np.asarray(forward.mask).copy()
    if len(sides) == 3:  # the plane through 0 of the two longest
        assert coarse.sides == sides
        zero = [slice(None)] * 3
        zero[sides.index(3)] = slice(1, None)
        at[tuple(zero)] = False
    at = np.broadcast_to(at, forward.output_shape).ravel()
    A = columns(forward.transform, forward.input_shape)[at]
    b = np.ravel(task.measured)[at]
    np.testing.assert_allclose(coarse.measured, b)
    want = written_out(A, b, coarse.held, coordinates(sides), coarse.channels)
    [found], _ = predicted_errors(coarse, [MAPPING], time=300, **NETWORK)
    assert found == pytest.approx(want, rel=1e-4)


@pytest.mark.parametrize("coarse", [ct_coarse(disc(10)), mri_coarse(kspace((10, 10)))])
def test_what_is_held_out_does_not_enter_the_fit(coarse):
    """The error is a square about a prediction that held-out values do not move."""
    change = np.where(coarse.held, np.linspace(1, 2, len(coarse.held)), 0)

    def error(times: float) -> float:
        moved = coarse.measured + times * change
        other = dataclasses.replace(coarse, measured=moved)
        [found], _ = predicted_errors(other, [MAPPING], time=300, **NETWORK)
        return found

    want = 2 * np.sum(change**2) / coarse.held.sum()
    assert error(1) + error(-1) - 2 * error(0) == pytest.approx(want, rel=1e-9)


def test_a_frequency_and_its_opposite_are_held_out_together():
    task = kspace((12, 10))
    coarse = mri_coarse(task)
    assert coarse is not None
    known, held = np.asarray(task.forward.mask), np.zeros((12, 10), bool)
    held[known] = coarse.held
    assert held.any()
    assert not (opposite(held) & known & ~held).any()


def test_coarser_rays_are_means_of_strips_and_fields_straight_lines():
    place = np.arange(30) - 15
    np.testing.assert_allclose(
        (strips(30, 10) @ place)[1:], 3.0 * (np.arange(1, 10) - 5)
    )
    np.testing.assert_allclose(strips(30, 7).sum(axis=1), 1)
    ramp = straight_lines(10, 30) @ (np.arange(10) / 10)
    np.testing.assert_allclose(ramp[:28], np.arange(28) / 30, atol=1e-12)
    task = disc(30)
    coarse = ct_coarse(task, points=100)
    assert coarse is not None
    assert coarse.sides == (10, 10)
    assert len(coarse.measured) == 100
    fine = np.asarray(task.forward(jnp.ones((30, 30)))) @ strips(30, 10).T
    seen = coarse.A(jnp.ones(100))
    np.testing.assert_allclose(seen, fine.ravel(), rtol=1e-5)


def test_a_coarse_grid_does_not_judge_what_it_cannot_show():
    coarse = ct_coarse(disc(10))
    assert coarse is not None
    scales: Any = [parse_mapping(f"gaussian:{s},m=32") for s in (1, 2, 4, 8)]
    found, _ = predicted_errors(coarse, scales, **NETWORK)
    np.testing.assert_array_equal(np.isfinite(found), [True, True, False, False])


def test_without_frequencies_there_is_no_prediction():
    coarse = ct_coarse(disc(10))
    assert coarse is not None
    with pytest.raises(InputError, match="mapping `none` has no frequencies"):
        predicted_errors(coarse, [parse_mapping("none")], **NETWORK)  # pyright: ignore


def test_too_few_measurements_and_summed_coils_are_not_predicted():
    assert mri_coarse(kspace((4, 4))) is None
    assert mri_coarse(kspace((10, 3, 11), coils=2)) is None
    assert ct_coarse(disc(30), points=9) is None


def test_a_choice_by_the_kernel_alone():
    problem = ct_problem(disc(10, holdout=0.1))
    plan = Plan(layers=3, width=32)
    word = "gaussian:auto,m=24"
    found = choose(problem, word, plan, kernel=True, train=False)
    assert found.predicted is not None
    levels = [-np.inf if x is None else x for x in found.predicted]
    best = found.sigmas[int(np.argmax(levels))]
    assert best / 1.5 <= found.sigma <= 1.5 * best
    none = dataclasses.replace(problem, coarse=None)
    found = choose(none, word, plan, kernel=True, train=False)
    assert found.predicted is None
    assert found.notes == ["the kernel says nothing about these rays"]


def test_a_prediction_no_better_than_a_constant_chooses_nothing():
    noise = kspace((10, 10))
    train, held = hold_out(np.asarray(noise.forward.mask), 0.1)
    task = MriTask(KSpace(jnp.asarray(train)), noise.measured, jnp.asarray(held))
    problem = mri_problem(task, out=1, output="sigmoid", nyquist=5.0)
    found = choose(problem, "gaussian:auto,m=24", Plan(layers=3, width=32),
                   kernel=True, train=False)  # fmt: skip
    assert found.predicted is not None
    assert found.sigma == found.guess
    assert "a constant predicts them as well" in found.notes[0]
