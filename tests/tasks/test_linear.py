"""A field behind any linear instrument."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from passband.errors import InputError
from passband.field import make_field
from passband.forward.operator import linear
from passband.tasks.linear import held_out, linear_task
from passband.train.driver import Config, train

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(40, 48))
BOTH = REAL + 1j * RNG.normal(size=REAL.shape)
X = RNG.random((8, 6)).astype(np.float32)


def task_of(matrix: np.ndarray, **options):
    A = linear(aslinearoperator(matrix), (8, 6), dtype=np.float64)
    return linear_task(A, matrix @ X.ravel(), **options)


def small(seed: int = 0):
    key = jax.random.key(seed)
    return make_field("gaussian:2,m=16", d=2, out=1, key=key, layers=2, width=16)


@pytest.mark.parametrize("matrix", [REAL, BOTH], ids=["real", "complex"])
def test_the_loss_is_half_the_mean_squared_error_in_units_of_the_measurements(matrix):
    task = task_of(matrix, low=-1.0, high=3.0, holdout=0.2)
    field = small()
    seen = task.predict(field)
    train = np.asarray(task.train_mask)
    y = matrix @ X.ravel()
    error = matrix @ (-1 + 4 * seen.ravel()) - y
    share = np.mean(np.abs(error[train]) ** 2) / np.mean(np.abs(y[train]) ** 2)
    assert float(task.loss(field, jax.random.key(0))) == pytest.approx(
        0.5 * share, 1e-4
    )
    found = task.metrics(field)
    assert found["error_train"] == pytest.approx(np.sqrt(share), 1e-4)
    rest = np.linalg.norm(error[~train]) / np.linalg.norm(y[~train])
    assert found["error_test"] == pytest.approx(rest, 1e-4)


@pytest.mark.parametrize("matrix", [REAL, BOTH], ids=["real", "complex"])
def test_its_slope_is_that_of_the_matrix(matrix):
    """grad = Re A^H (A x - y) / (n unit^2), through a host function."""
    task = task_of(matrix, holdout=0.0)
    v = RNG.random((8, 6)).astype(np.float32)
    found = jax.jit(jax.grad(task.loss_of))(jnp.asarray(v))
    y = matrix @ X.ravel()
    wanted = np.real(matrix.conj().T @ (matrix @ v.ravel() - y))
    wanted /= np.sum(np.abs(y) ** 2)
    np.testing.assert_allclose(np.ravel(found), wanted, rtol=2e-4, atol=1e-6)


def test_the_grid_is_that_of_a_picture():
    """The field is at (column, row) / (longest side)."""
    task, field = task_of(REAL), small()
    at = field.predict(np.array([[5 / 8, 2 / 8]]))
    assert task.predict(field)[2, 5] == pytest.approx(float(at[0, 0]), abs=1e-6)


def test_two_runs_stack_and_are_each_by_itself():
    A = linear(aslinearoperator(REAL), (8, 6), dtype=np.float64)
    tasks = [linear_task(A, REAL @ X.ravel() * k, high=k) for k in (1.0, 2.0)]
    keys = list(jax.random.split(jax.random.key(1), 2))
    fields = [small(0), small(1)]
    config = Config(steps=20)
    together, _ = train(tasks, fields, config, keys=keys)
    for k in range(2):
        [alone], _ = train([tasks[k]], [fields[k]], config, keys=[keys[k]])
        np.testing.assert_allclose(
            tasks[k].predict(alone), tasks[k].predict(together[k]), atol=1e-5
        )


def test_parts_of_the_grid_are_the_whole():
    task = task_of(REAL, holdout=0.0)
    parts = dataclasses.replace(task, at_once=7)
    assert parts.microbatched and parts.microbatch_points == 7
    loss = [float(t.loss(small(), jax.random.key(0))) for t in (task, parts)]
    assert loss[0] == pytest.approx(loss[1], rel=1e-5)


def test_what_was_not_measured_neither_trains_nor_tests():
    mask = RNG.random(40) < 0.5
    y = np.where(mask, REAL @ X.ravel(), np.nan)
    task = linear_task(linear(REAL, (8, 6)), y, mask=mask, holdout=0.3)
    train, test = np.asarray(task.train_mask), np.asarray(task.test_mask)
    assert not (train & test).any() and ((train | test) == mask).all()
    assert test.sum() == round(0.3 * mask.sum())
    assert np.isfinite(task.metrics(small())["error_test"])


def test_a_share_is_held_out_but_never_all():
    train, test = held_out(np.ones(2, bool), 0.9, 0)
    assert train.sum() == test.sum() == 1
    train, test = held_out(np.ones(1, bool), 0.9, 0)
    assert train.all() and not test.any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measured": np.ones(39)}, r"`y` has shape \(39,\); .* measures \(40,\)"),
        ({"measured": np.full(40, np.nan)}, "`y` has 40 NaN"),
        ({"measured": np.ones(40) * 1j}, "`y` is complex"),
        ({"measured": np.zeros(40)}, "`y` is 0 everywhere"),
        ({"forward": linear(BOTH)}, "`y` is real"),
        ({"mask": np.ones(3, bool)}, r"`mask` has shape \(3,\)"),
        ({"mask": np.zeros(40, bool)}, "`mask` leaves no"),
        ({"low": 1.0}, "`low` .* below `high`"),
        ({"holdout": 1.0}, "`holdout`"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, message):
    given = {"forward": linear(REAL), "measured": np.ones(40)} | change
    with pytest.raises(InputError, match=message):
        linear_task(**given)
