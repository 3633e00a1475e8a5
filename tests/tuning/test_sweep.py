"""Trials and slots: what a sweep trains is what each run would be by itself."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.domain import grid_coords
from passband.field import make_field
from passband.mappings import Gaussian
from passband.theory import composed_ntk, kernel_regression
from passband.train.driver import Config, train
from passband.tuning.grid import grid_points, grid_problem
from passband.tuning.kernel import predicted_errors
from passband.tuning.problem import HeldPoints
from passband.tuning.sweep import Plan, sweep

NETWORK = {"d": 2, "out": 1, "output": "sigmoid"}


def waves(rows: int = 16, columns: int = 16) -> np.ndarray:
    y, x = np.mgrid[:rows, :columns] / max(rows, columns)
    return (0.5 + 0.4 * np.sin(9 * x + 4 * y))[..., None].astype(np.float32)


def test_a_lane_is_the_run_it_would_be_alone_and_halving_drops_the_worst():
    problem = grid_problem(waves(), batch=64)
    assert isinstance(problem.held, HeldPoints)
    mappings = [Gaussian(s, m=8) for s in (0.3, 1.0, 3.0, 9.0)]
    plan = Plan(rungs=(6, 12), keep=(2,), seeds=2, lr=5e-3, layers=2, width=8,
                looks=2, revivals=0, slots=3)  # fmt: skip
    found = sweep(problem.held, mappings, plan, **NETWORK)
    assert found.steps.tolist() == [3, 6, 9, 12]
    alive = np.isfinite(found.errors).all(axis=2).sum(axis=1)
    assert alive.tolist() == [4, 4, 2, 2]
    kept = np.flatnonzero(np.isfinite(found.at(-1)).all(axis=1))
    best = found.at(0).mean(axis=1).argmin()
    assert best in kept
    # With one scale left, those beside it come back, and are as if they never left.
    plan = dataclasses.replace(plan, keep=(1,), revivals=2)
    back = sweep(problem.held, mappings, plan, beside=[[2], [3], [0], [1]], **NETWORK)
    [left] = [i for i, other in ((0, 2), (2, 0), (1, 3), (3, 1)) if other == best]
    assert np.isfinite(back.errors[-1]).all(axis=1).nonzero()[0].tolist() == sorted(
        [best, left]
    )
    key = jax.random.split(jax.random.key(0), 2)[1]
    field_key, run_key = jax.random.split(key)
    field = make_field(mappings[left], key=field_key, layers=2, width=8, **NETWORK)
    config = Config(steps=12, lr=5e-3)
    [alone], _ = train([problem.held.task], [field], config, keys=[run_key])
    error = float(eqx.filter_jit(problem.held.error)(alone))
    assert back.at(-1)[left, 1] == pytest.approx(error, rel=1e-4)


def test_held_out_points_do_not_train_and_lie_where_pixels_lie():
    picture = waves(12, 20)
    problem = grid_problem(picture)
    held = problem.held
    assert isinstance(held, HeldPoints)
    every = np.concatenate([held.task.coords, held.coords])
    assert len(np.unique(every, axis=0)) == 240
    assert len(held.coords) == 24
    index = np.arange(240)
    np.testing.assert_allclose(
        grid_points(index, (12, 20), 1 / 20),
        grid_coords(jnp.asarray(index), (12, 20)),
        atol=1e-7,
    )
    # Each value stands at its own pixel.
    column, row = np.round(20 * np.asarray(held.coords[0])).astype(int)
    assert held.values[0] == picture[row, column]


def test_a_part_of_a_grid_is_as_dense_as_the_whole():
    problem = grid_problem(waves(64, 64), most=1024)
    assert isinstance(problem.held, HeldPoints)
    coords = np.concatenate([problem.held.task.coords, problem.held.coords])
    assert len(coords) == 1024
    assert problem.share == pytest.approx(0.25)
    beside = np.abs(coords[:, None] - coords).max(axis=2)
    near = np.sort(beside, axis=1)[:, 1]
    np.testing.assert_allclose(near, 1 / 64, rtol=1e-5)


def test_the_kernels_prediction_at_the_end_is_kernel_regression():
    patches = grid_problem(waves(12, 12)).patches
    assert patches is not None
    mapping = Gaussian(4.0, m=16)
    (found,), blank = predicted_errors(
        patches, [mapping], layers=3, width=32, time=np.inf
    )
    k = composed_ntk(
        mapping.draw(jax.random.key(0), 2), patches.coords, layers=3, width=32
    )
    rest, out = ~patches.held, patches.held
    mean = patches.values[rest].mean(axis=0)
    seen = kernel_regression(
        k[np.ix_(rest, rest)], patches.values[rest] - mean, k[np.ix_(out, rest)]
    )
    want = np.mean((seen + mean - patches.values[out]) ** 2)
    assert found == pytest.approx(want, rel=1e-4)
    assert blank == pytest.approx(np.mean((mean - patches.values[out]) ** 2))
