"""Split training: its picture against SciPy's minimum, its end against direct steps."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from passband.data.masks import gaussian_mask
from passband.data.phantoms import paper_phantoms
from passband.data.sinograms import Sinogram
from passband.domain import grid_coords
from passband.field import Field, make_field
from passband.forward.kspace import KSpace
from passband.forward.operator import linear
from passband.forward.radon import radon
from passband.tasks.ct import CTTask, ct_task
from passband.tasks.instrument import InstrumentTask
from passband.tasks.linear import linear_task
from passband.tasks.metrics import psnr
from passband.tasks.mri import MriTask
from passband.tasks.splitting import Splitting, weighted
from passband.train import driver, programs
from passband.train.driver import Config
from passband.train.optimisers import muon
from passband.train.schedules import constant_rate, schedule

SIDE = 16
SPLIT: dict[str, Any] = {"pull": 0.05, "batch": 64, "look": 10, "iterations": 60}


def ct(side: int = SIDE, *, counts: bool = False) -> CTTask:
    phantom = paper_phantoms(64, 1)[0][:: 64 // side, :: 64 // side]
    angles = np.arange(0, 180, 15.0)
    seen = radon(angles, side, pixel=1 / side)(jnp.asarray(phantom))
    data = Sinogram(np.asarray(side * seen), angles, "phantom")
    task = ct_task(data, high=1.0, holdout=0.1)
    if not counts:
        return task
    rays = np.random.default_rng(0).random(seen.shape).astype(np.float32)
    return dataclasses.replace(task, weights=jnp.asarray(rays))


def mri(*, coils: bool = False) -> MriTask:
    sides = (8, 6, 5)
    rng = np.random.default_rng(0)
    if not coils:
        forward = KSpace(jnp.asarray(gaussian_mask(sides, 0.3)))
        return MriTask(forward, forward(jnp.asarray(rng.random(sides, np.float32))))
    maps = rng.normal(size=(2, 3, *sides)).astype(np.float32)
    maps = jnp.asarray(maps[0] + 1j * maps[1])
    forward = KSpace(jnp.asarray(gaussian_mask(sides, 0.3)), maps, pair=True)
    return MriTask(
        forward, forward(jnp.asarray(rng.random((*sides, 2), np.float32) - 0.5))
    )


def own(*, complex: bool = False) -> InstrumentTask:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(40, 30)) + (1j * rng.normal(size=(40, 30)) * complex)
    matrix = matrix if complex else matrix.real
    y = matrix @ (5 * rng.random(30) - 2)
    return linear_task(linear(matrix, (6, 5)), y, low=-2.0, high=3.0, holdout=0.2)


TASKS = {
    "rays": ct(),
    "rays by their counts": ct(counts=True),
    "k-space": mri(),
    "k-space of coils, complex": mri(coils=True),
    "a matrix": own(),
    "a complex matrix": own(complex=True),
}
EVERY = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def ends_of(task: InstrumentTask) -> tuple[float, float]:
    pair = isinstance(task, MriTask) and task.forward.pair
    return (-1.0, 1.0) if pair else (0.0, 1.0)


def field_of(task: InstrumentTask) -> Field:
    out = 2 if ends_of(task)[0] < 0 else 1
    return make_field(
        "gaussian:2,m=16", d=len(task.lengths), out=out, key=0, width=32,
        output="tanh" if out == 2 else "sigmoid",
    )  # fmt: skip


@EVERY
def test_the_sum_of_squares_is_the_loss(task):
    values = np.random.default_rng(1).random(task.forward.input_shape, np.float32)
    forward, y = weighted(task.quadratic())
    error = np.abs(np.asarray(forward(jnp.asarray(values)) - y)).astype(np.float64)
    loss = float(task.loss_of(jnp.asarray(values)))
    assert 0.5 * np.sum(error**2) == pytest.approx(loss, rel=1e-5)


@EVERY
def test_the_picture_is_the_minimum_that_scipy_finds(task):
    """Of the task's own loss and prior, pulled towards the field."""
    prior = 1e-2
    task = task.with_prior(prior).split(
        **SPLIT | {"iterations": 1500}, ends=ends_of(task)
    )
    split, field = task.splitting, field_of(task)
    shape = task.forward.input_shape
    centre = split.values(field).reshape(shape)
    pull = float(split.pull) * float(split.norm) ** 2

    @jax.jit
    def objective(values):
        near = 0.5 * pull * jnp.sum((values - centre) ** 2)
        return task.loss_of(values) + task.prior(values) + near

    slopes = jax.jit(jax.grad(objective))

    def both(x):
        at = jnp.asarray(x.reshape(shape), jnp.float32)
        return float(objective(at)), np.asarray(slopes(at), np.float64).ravel()

    best = scipy.optimize.minimize(
        both, np.asarray(centre, np.float64).ravel(), jac=True, method="L-BFGS-B",
        bounds=[split.ends] * int(np.prod(shape)), options={"maxiter": 2000},
    )  # fmt: skip
    found = np.asarray(task.look_up(field, 1), np.float64)
    ours, start = (
        float(objective(jnp.asarray(found.reshape(shape)))),
        both(np.asarray(centre))[0],
    )
    assert best.fun < 0.9 * start  # there was something to find
    # The prior of the loss is smoothed where slopes are below 0.01.
    assert ours <= best.fun + 0.01 * (start - best.fun)
    apart = np.linalg.norm(found.ravel() - best.x)
    assert apart <= 0.1 * np.linalg.norm(best.x - np.asarray(centre).ravel())


def trained(task, field, steps, **options):
    config = Config(steps, schedule("cosine", 2e-3, steps), every=task.steps_a_look)
    [found], [history] = driver.train(
        [task], [field], config, keys=[jax.random.key(1)], optimiser=muon(), **options
    )
    return found, history


def test_points_drawn_at_random_reach_what_whole_grids_do():
    """With as many points in all; the instrument's own slowness, which whole grids
    descend with, is met by the picture."""
    whole = ct(32).with_prior(1e-5)
    truth = paper_phantoms(64, 1)[0][::2, ::2]
    field = make_field("gaussian:3,m=64", d=2, out=1, key=0, width=64, start=0.1)
    split = whole.split(pull=3e-3, batch=256, look=20, iterations=60)
    direct, _ = trained(whole, field.with_leak(0.01), 300)
    by_points, history = trained(split, field.with_leak(0.01), 1200)

    def score(found: Field) -> float:
        seen = found.with_leak(0.0).predict(grid_coords(jnp.arange(32**2), (32, 32)))
        return psnr(seen.reshape(32, 32), truth, data_range=1.0)

    assert split.step_points == 256 and whole.step_points == 32**2
    assert score(by_points) > score(direct) + 5  # 44.7 and 29.3 dB when written
    assert history["loss"][-1] < 0.1 * history["loss"][0]


def test_a_run_taken_up_again_ends_with_the_same_bits():
    split = ct().split(**SPLIT)
    field = make_field("gaussian:2,m=16", d=2, out=1, key=0, width=32)
    config = Config(40, schedule("cosine", 2e-3, 40), every=10)
    key, states = jax.random.key(1), []

    def keep(state, entry):
        if entry["step"] == 20:
            states.append(jax.tree.map(lambda x: x.copy(), state))

    options = {"keys": [key], "optimiser": muon()}
    [once], _ = driver.train([split], [field], config, on_log=keep, **options)
    [again], _ = driver.train([split], [field], config, state=states[0], **options)
    for a, b in zip(jax.tree.leaves(once), jax.tree.leaves(again), strict=True):
        assert np.array_equal(a, b)


def test_runs_of_a_stack_have_pictures_of_their_own():
    tasks = [ct().split(**SPLIT), ct(counts=True).split(**SPLIT)]
    tasks[1] = dataclasses.replace(tasks[0], sinogram=0.5 * tasks[0].sinogram)
    fields = [
        make_field("gaussian:2,m=16", d=2, out=1, key=k, width=32) for k in (0, 1)
    ]
    config, key = Config(20, 1e-3, every=10), jax.random.key(1)
    stacked, _ = driver.train(tasks, fields, config, keys=[key, key])
    for task, field, found in zip(tasks, fields, stacked, strict=True):
        [lone], _ = driver.train([task], [field], config, keys=[key])
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(lone), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("every", [20, 43])
def test_pictures_are_made_after_as_many_steps_whenever_training_is_logged(
    alone, every, monkeypatch
):
    """And in a stack too, whose losses nobody looks at."""
    made, picture = [], Splitting.picture

    def counted(split, field, step, *data):
        jax.debug.callback(lambda at: made.append(int(at)), jnp.asarray(step))
        return picture(split, field, step, *data)

    monkeypatch.setattr(Splitting, "picture", counted)
    monkeypatch.setattr(programs, "_PROGRAMS", {})
    split = ct().split(pull=0.05, batch=64, look=5, iterations=3)
    assert split.steps_a_look == 5
    field = make_field("gaussian:2,m=16", d=2, out=1, key=0, width=32)
    key, config = jax.random.key(1), Config(43, 1e-3, every=every)
    if alone:
        driver.train([split], [field], config, keys=[key])
        assert sorted(made) == list(range(0, 43, 5))
    else:
        rates = [constant_rate(1e-3)] * 2
        driver.begin_stack(
            [split] * 2, [field] * 2, config, keys=[key] * 2, lrs=rates,
            optimiser=muon(),
        ).result()  # fmt: skip
        assert sorted(made) == sorted(2 * list(range(0, 43, 5)))
