"""One run: Adam by hand, frozen encodings, bad runs, resumed bits, hooks and stops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from passband.errors import InputError
from passband.field import make_field
from passband.tasks.regression import RegressionTask, regression_task
from passband.train.driver import Config, Diverged, start, train
from passband.train.optimisers import adam, sgd
from passband.train.programs import chunk, program
from passband.train.schedules import decaying_rate
from passband.train.state import advance

X = np.linspace(0, 1, 40, endpoint=False)[:, None]
Y = np.sin(2 * np.pi * X) + 0.3 * np.cos(10 * np.pi * X)


def _task(batch=None) -> RegressionTask:
    return regression_task(X, Y, batch=batch)


def _field(word="gaussian:2,m=16", seed=0, **options):
    return make_field(word, d=1, out=1, key=jax.random.key(seed), width=16, layers=3,
                      output="identity", **options)  # fmt: skip


def run(task, field, config, *, key, **more):
    """One run by itself."""
    [trained], [history] = train([task], [field], config, keys=[key], **more)
    return trained, history


def _leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_adam_is_the_published_rule():
    task, field = _task(), _field()
    trained, _ = run(task, field, Config(steps=3, lr=1e-2), key=jax.random.key(0))

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
            _task(), _field(), Config(steps=40, lr=1e-2), key=jax.random.key(0),
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
        on_log=lambda state, entry: states.append(
            jax.tree.map(lambda x: x.copy(), state)
        ),
    )  # fmt: skip
    on, _ = run(task, _field(), config, key=jax.random.key(5), state=states[-1])
    for a, b in zip(_leaves(on), _leaves(whole), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_hook_sees_every_entry_and_ends_the_run():
    seen: list[dict] = []

    def on_log(state, entry):
        assert int(state.step) == entry["step"]
        seen.append(entry)
        return entry["step"] == 40

    config = Config(steps=100, every=20)
    key = jax.random.key(0)
    stopped, history = run(_task(), _field(), config, key=key, on_log=on_log)
    assert history["step"] == [20, 40] == [entry["step"] for entry in seen]
    assert history["psnr"] == [entry["psnr"] for entry in seen]
    want, _ = run(_task(), _field(), Config(steps=40, every=20), key=key)
    for a, b in zip(_leaves(stopped), _leaves(want), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_a_hook_raises_passes_through():
    def on_log(state, entry):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(_task(), _field(), Config(steps=2), key=jax.random.key(0), on_log=on_log)


def test_stops_between_entries_change_nothing():
    config, key = Config(steps=50, every=20), jax.random.key(0)
    whole, history = run(_task(), _field(), config, key=key)
    seen = {}

    def on_stop(step, places, field):
        assert places == [0]
        seen[step] = [leaf[0].copy() for leaf in _leaves(field)]

    trained, same = run(
        _task(), _field(), config, key=key, stops=(0, 7, 20, 50), on_stop=on_stop
    )
    assert list(seen) == [0, 7, 20, 50]
    assert same["step"] == history["step"] == [20, 40, 50]
    for column in ("loss", "psnr"):
        np.testing.assert_allclose(same[column], history[column], rtol=1e-5)
    seventh, _ = run(_task(), _field(), Config(steps=7), key=key)
    for found, want in ((seen[0], _field()), (seen[7], seventh), (seen[50], trained)):
        for a, b in zip(found, _leaves(want), strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(_leaves(trained), _leaves(whole), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_time_ends_a_run_at_an_entry_and_goes_on_counting():
    config, key = Config(steps=10**6, every=20, minutes=1), jax.random.key(0)
    _, history = run(_task(), _field(), config, key=key, seconds=59.5)
    assert history["step"][-1] % 20 == 0
    assert history["seconds"][0] > 59.5
    assert [s > 60 for s in history["seconds"]].index(True) == len(history["step"]) - 1


def test_a_state_is_of_one_run():
    state = start(_field(), Config(), key=jax.random.key(0))
    with pytest.raises(ValueError, match="`state` is of one run, but there are 2"):
        train([_task()] * 2, [_field()] * 2, Config(), keys=[state.key] * 2,
              state=state)  # fmt: skip


def test_batches_differ_from_step_to_step():
    task = _task(4)
    field = _field()
    keys = [jax.random.fold_in(jax.random.key(0), k) for k in range(3)]
    assert len({float(task.loss(field, key)) for key in keys}) == 3


def test_a_run_that_diverges_keeps_its_last_finite_state():
    with pytest.raises(
        Diverged, match="run `wild` stopped being finite at step"
    ) as info:
        run(_task(), _field(), Config(steps=400, lr=1e30), key=jax.random.key(0),
            name="wild")  # fmt: skip
    assert all(np.isfinite(leaf).all() for leaf in _leaves(info.value.state.field))
    assert (
        int(info.value.state.stopped) == info.value.step == int(info.value.state.step)
    )


class _Root(RegressionTask):
    """A loss of 0 whose gradient is not a number."""

    def loss(self, field, key, step=0):
        return jnp.sqrt(0 * super().loss(field, key, step))


def test_a_gradient_that_is_no_number_is_noticed_though_the_loss_is_one():
    task, state = _task(), start(_field(), Config(), key=jax.random.key(0))
    root = _Root(task.coords, task.values, task.low, task.high)
    assert float(root.loss(state.field, state.key)) == 0
    after, loss = advance(root, state, adam(), state.step)
    assert float(loss) == 0 and int(after.stopped) == 0
    for a, b in zip(_leaves(after.field), _leaves(state.field), strict=True):
        np.testing.assert_array_equal(a, b)


def test_no_number_that_is_not_finite_is_taken():
    def spoilt(updates, state, params=None):
        del params
        first, *others = updates.mlp.weights
        first = first.at[1, 2].set(jnp.nan)
        return eqx.tree_at(lambda u: u.mlp.weights, updates, (first, *others)), state

    moves = optax.GradientTransformation(lambda params: (), spoilt)
    state = start(_field(), Config(), key=jax.random.key(0), optimiser=moves)
    after, _ = advance(_task(), state, moves, state.step)
    before, first = (s.field.mlp.weights[0] for s in (state, after))
    same = np.asarray(first == before)
    assert np.isfinite(first).all() and same[1, 2] and not same.all()


def test_the_callers_field_survives_donation():
    field = _field()
    before = _leaves(field)
    run(_task(), field, Config(steps=5), key=jax.random.key(0))
    for a, b in zip(_leaves(field), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_losses_of_a_chunk_are_the_losses_of_its_steps():
    task, state = _task(), start(_field(), Config(), key=jax.random.key(0))
    first = float(task.loss(state.field, jax.random.key(9)))
    arguments = task, state, None, adam(), 4
    _, losses = program(chunk, *arguments)(*arguments)
    np.testing.assert_allclose(losses[0], first, rtol=1e-5)
    assert losses.shape == (4,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "`steps` \\(=0\\)"),
        ({"lr": 0.0}, "`lr` \\(=0\\)"),
        ({"lr": float("nan")}, "`lr` \\(=nan\\)"),
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
