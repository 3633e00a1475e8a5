"""Every optimiser and every schedule: what holds for each row of the two tables."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.errors import InputError
from passband.field import Field, make_field
from passband.tasks.regression import regression_task
from passband.train.checkpoint import read_checkpoint, write_checkpoint
from passband.train.driver import Config, start, train
from passband.train.muon import FEW
from passband.train.optimisers import OPTIMISERS, optimiser
from passband.train.schedules import SCHEDULES, schedule

X = np.linspace(0, 1, 40, endpoint=False)[:, None]
TASK = regression_task(X, np.sin(2 * np.pi * X) + 0.3 * np.cos(10 * np.pi * X))
KEY = jax.random.key(5)
ROWS = [*((o, "constant") for o in OPTIMISERS), *(("adam", s) for s in SCHEDULES)]
LR = {"sgd": 0.1, "muon4": 3e-4}  # the larger, the more rounding grows


def _field(trains="", seed=0) -> Field:
    word = f"gaussian:2,m=8{',train=' + trains if trains else ''}"
    return make_field(word, d=1, out=1, key=jax.random.key(seed), width=16, layers=3,
                      output="identity")  # fmt: skip


def _rates(way: str, shape: str, steps: int):
    lr = LR.get(way, 2e-3)
    return [schedule(shape, lr, steps), schedule(shape, 0.7 * lr, 2 * steps)]


def _leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize(("way", "shape"), ROWS)
def test_the_loss_falls_and_a_stack_is_its_runs_alone(way, shape):
    fields, rates = [_field(), _field(seed=1)], _rates(way, shape, 60)
    config = Config(steps=60, every=20)
    together, histories = train(
        [TASK] * 2, fields, config, keys=[KEY] * 2, lrs=rates, optimiser=optimiser(way)
    )
    for k in range(2):
        [alone], [history] = train(
            [TASK], [fields[k]], config, keys=[KEY], lrs=[rates[k]],
            optimiser=optimiser(way),
        )  # fmt: skip
        assert all(np.isfinite(leaf).all() for leaf in _leaves(alone))
        assert history["loss"][-1] < 0.5 * float(TASK.loss(fields[k], KEY))
        np.testing.assert_allclose(histories[k]["loss"], history["loss"], rtol=1e-3)
        for a, b in zip(_leaves(together[k]), _leaves(alone), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize(("way", "shape"), ROWS)
def test_a_checkpoint_goes_on_to_the_same_bits(way, shape, tmp_path):
    rate, path = _rates(way, shape, 20)[0], tmp_path / "state.safetensors"
    config = Config(steps=20, lr=rate, every=10)

    def on_log(state, entry):
        write_checkpoint(path, state, seconds=entry["seconds"])
        return True

    options = {"keys": [KEY], "optimiser": optimiser(way)}
    whole, _ = train([TASK], [_field("ab")], config, **options)
    half, _ = train([TASK], [_field("ab")], config, on_log=on_log, **options)
    like = start(_field("ab", seed=1), config, key=KEY, optimiser=optimiser(way))
    state, _ = read_checkpoint(path, like)
    assert int(state.step) == 10
    on, _ = train([TASK], [state.field], config, state=state, **options)
    for a, b, c in zip(*map(_leaves, (on, whole, half)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_muon_turns_weights_and_nothing_else():
    field, lr = _field("ab"), 1e-3
    moved, by_adam = (
        train([TASK], [field], Config(steps=1, lr=lr), keys=[KEY],
              optimiser=optimiser(way))[0][0]
        for way in ("muon", "adam")
    )  # fmt: skip

    def loss(mlp):
        return TASK.loss(eqx.tree_at(lambda f: f.mlp, field, mlp), KEY)

    slopes = jax.grad(loss)(field.mlp).weights
    for old, new, g in zip(field.mlp.weights, moved.mlp.weights, slopes, strict=True):
        x = np.asarray(g, np.float64) / np.linalg.norm(g)
        for a, b, c in FEW:  # Newton-Schulz, of any multiple of the gradient
            square = x @ x.T
            x = a * x + (b * square + c * square @ square) @ x
        wide = np.sqrt(max(1, old.shape[1] / old.shape[0]))
        np.testing.assert_allclose((old - new) / (10 * lr * wide), x, atol=2e-3)
    rest = [(tree.mlp.biases, tree.encoding) for tree in (moved, by_adam)]
    for a, b in zip(*map(_leaves, rest), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_adamw_is_adam_and_weights_that_decay():
    field, lr = _field("b"), 0.5
    decayed, plain = (
        train([TASK], [field], Config(steps=1, lr=lr), keys=[KEY],
              optimiser=optimiser(way))[0][0]
        for way in ("adamw", "adam")
    )  # fmt: skip
    want = eqx.tree_at(
        lambda f: f.mlp.weights,
        plain,
        tuple(
            new - 0.01 * lr * old
            for new, old in zip(plain.mlp.weights, field.mlp.weights, strict=True)
        ),
    )
    for a, b in zip(_leaves(decayed), _leaves(want), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


FORMULAS = {
    "constant": [2e-3, 2e-3, 2e-3, 2e-3],
    "cosine": [2e-3, 2e-3 * (1 + 0.5**0.5) / 2, 1e-3, 0],
    "decay": [2e-3, 2e-3 * 0.1**0.5, 2e-4, 2e-5],
}


@pytest.mark.parametrize("shape", SCHEDULES)
def test_schedules_are_their_formulas(shape):
    rate = schedule(shape, 2e-3, 1000)
    found = [float(rate(jnp.int32(step))) for step in (0, 250, 500, 1000)]
    np.testing.assert_allclose(found, FORMULAS[shape], rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("way", OPTIMISERS)
def test_an_optimiser_is_one_object(way):
    assert optimiser(way) is optimiser(way)


def test_unknown_words_name_the_nearest():
    with pytest.raises(InputError, match=r"optimiser `moun` is .* mean `muon`.*adamw"):
        optimiser("moun")
    with pytest.raises(InputError, match=r"schedule `cos` is .* mean `cosine`.*decay"):
        schedule("cos", 1e-3, 10)
    with pytest.raises(InputError, match="optimiser `xyz` is unknown; known: adam"):
        optimiser("xyz")


@pytest.mark.parametrize("shape", SCHEDULES)
def test_schedules_refuse_what_is_no_rate(shape):
    for lr in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match=r"`lr` \(=.*\) must be positive and"):
            schedule(shape, lr, 10)
