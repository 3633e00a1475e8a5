"""The training loop: Adam by hand, frozen encodings, bad runs, resumed bits."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from passband.errors import InputError
from passband.field import make_field
from passband.tasks.regression import RegressionTask, regression_task
from passband.train.loop import Config, Diverged, chunk, run, start
from passband.train.state import adam, decaying_rate, sgd

X = np.linspace(0, 1, 40, endpoint=False)[:, None]
Y = np.sin(2 * np.pi * X) + 0.3 * np.cos(10 * np.pi * X)


def _task(batch=None) -> RegressionTask:
    return regression_task(X, Y, batch=batch)


def _field(word="gaussian:2,m=16", seed=0, **options):
    return make_field(word, d=1, out=1, key=jax.random.key(seed), width=16, layers=3,
                      output="identity", **options)  # fmt: skip


def _leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_adam_is_the_published_rule():
    task, field = _task(), _field()
    trained, _ = run(task, field, Config(steps=3, rate=1e-2), key=jax.random.key(0))

    def loss(mlp):
        out = type(field)(field.encoding, mlp, field.output).batch(task.coords)
        return 0.5 * jnp.mean((out - task.values) ** 2)

    p = [leaf.astype(np.float64) for leaf in _leaves(field.mlp)]
    m = [np.zeros_like(x) for x in p]
    v = [np.zeros_like(x) for x in p]
    structure = jax.tree.structure(field.mlp)
    for t in range(1, 4):
        mlp = jax.tree.unflatten(structure, [jnp.asarray(x, jnp.float32) for x in p])
        for k, g in enumerate(_leaves(jax.grad(loss)(mlp))):
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.999 * v[k] + 0.001 * g.astype(np.float64) ** 2
            hat = m[k] / (1 - 0.9**t), v[k] / (1 - 0.999**t)
            p[k] = p[k] - 1e-2 * hat[0] / (np.sqrt(hat[1]) + 1e-8)
    for found, want in zip(_leaves(trained.mlp), p, strict=True):
        np.testing.assert_allclose(found, want, atol=2e-5)


@pytest.mark.parametrize(("trains", "still"), [("", "ab"), ("a", "b"), ("b", "a")])
def test_a_and_b_stay_to_the_bit_unless_trained(trains, still):
    field = _field(f"gaussian:2,m=16{',train=' + trains if trains else ''}")
    trained, _ = run(_task(), field, Config(steps=30), key=jax.random.key(0))
    for letter, name in (("a", "amplitudes"), ("b", "frequencies")):
        same = np.array_equal(
            getattr(trained.encoding, name), getattr(field.encoding, name)
        )
        assert same == (letter in still)


def test_fit_gets_better_and_history_counts_steps():
    _, history = run(
        _task(), _field(), Config(steps=110, every=25), key=jax.random.key(0)
    )
    assert history["step"] == [25, 50, 75, 100, 110]
    assert history["loss"][-1] < 0.2 * history["loss"][0]
    assert history["seconds"] == sorted(history["seconds"])
    want = -10 * np.log10(2 * history["loss"][-1])
    assert abs(history["psnr"][-1] - want) < 1


def test_schedule_decays_the_rate():
    rate = decaying_rate(5e-4, 0.1, 5000)
    np.testing.assert_allclose(rate(jnp.int32(10_000)), 5e-6, rtol=1e-4)


def test_any_optax_optimiser():
    for optimiser in (sgd(), optax.rmsprop(1.0), optax.chain(optax.clip(0.1), adam())):
        _, history = run(
            _task(), _field(), Config(steps=40, rate=1e-2), key=jax.random.key(0),
            optimiser=optimiser,
        )  # fmt: skip
        assert history["loss"][-1] < history["loss"][0]


@pytest.mark.parametrize("batch", [None, 8])
def test_stopping_and_going_on_gives_the_same_bits(batch):
    task, config = _task(batch), Config(steps=60, every=20)
    whole, _ = run(task, _field(), config, key=jax.random.key(5))
    states = []
    run(
        task, _field(), Config(steps=40, every=20), key=jax.random.key(5),
        on_chunk=lambda state, entry: states.append(
            jax.tree.map(lambda x: x.copy(), state)
        ),
    )  # fmt: skip
    on, _ = run(task, _field(), config, key=jax.random.key(5), state=states[-1])
    for a, b in zip(_leaves(on), _leaves(whole), strict=True):
        np.testing.assert_array_equal(a, b)


def test_batches_differ_from_step_to_step():
    task = _task(4)
    field = _field()
    keys = [jax.random.fold_in(jax.random.key(0), k) for k in range(3)]
    assert len({float(task.loss(field, key)) for key in keys}) == 3


def test_a_run_that_diverges_keeps_its_last_finite_state():
    with pytest.raises(
        Diverged, match="run `wild` stopped being finite at step"
    ) as info:
        run(_task(), _field(), Config(steps=400, rate=1e30), key=jax.random.key(0),
            name="wild")  # fmt: skip
    assert all(np.isfinite(leaf).all() for leaf in _leaves(info.value.state.field))
    assert (
        int(info.value.state.stopped) == info.value.step == int(info.value.state.step)
    )


def test_the_callers_field_survives_donation():
    field = _field()
    before = _leaves(field)
    run(_task(), field, Config(steps=5), key=jax.random.key(0))
    for a, b in zip(_leaves(field), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_losses_of_a_chunk_are_the_losses_of_its_steps():
    task, state = _task(), start(_field(), Config(), key=jax.random.key(0))
    first = float(task.loss(state.field, jax.random.key(9)))
    _, losses = chunk(task, state, adam(), 4)
    np.testing.assert_allclose(losses[0], first, rtol=1e-5)
    assert losses.shape == (4,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "`steps` \\(=0\\)"),
        ({"rate": 0.0}, "`lr` \\(=0\\)"),
        ({"rate": float("nan")}, "`lr` \\(=nan\\)"),
        ({"every": 0}, "`every` \\(=0\\)"),
        ({"minutes": -1.0}, "`minutes` \\(=-1\\)"),
    ],
)
def test_wrong_configurations_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Config(**options)


def test_a_loss_does_not_broadcast():
    task = RegressionTask(jnp.zeros((5, 1)), jnp.zeros((5, 3)), jnp.float32(0),
                          jnp.float32(1))  # fmt: skip
    with pytest.raises(ValueError, match="a loss does not broadcast"):
        task.loss(_field(), jax.random.key(0))
