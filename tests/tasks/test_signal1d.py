import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.noise import DenseSignals, power_law_signals
from passband.field import make_field, standard
from passband.tasks.signal1d import Signal1D, signal_tasks
from passband.tasks.task import half_sum_square
from passband.train.driver import Config, train
from passband.train.optimisers import sgd
from passband.train.stack import stack


def signals(count: int = 2) -> DenseSignals:
    keys = jax.random.split(jax.random.key(0), count)
    return power_law_signals(keys, n=16, c=4, alpha=1.0)


def field(key: int = 1, width: int = 32):
    return make_field(
        "dense:p=1,m=8,norm=1",
        d=1,
        out=1,
        key=jax.random.key(key),
        layers=3,
        width=width,
        output="identity",
        init=standard,
    )


def test_loss_is_half_the_sum_over_train_points_alone():
    s = signals()
    task, f = signal_tasks(s)[1], field()
    seen = f.predict(s.x[:, None])[:, 0].astype(float)
    expected = 0.5 * np.sum((seen[::4] - s.y[1, ::4]) ** 2)
    assert float(task.loss(f, jax.random.key(0))) == pytest.approx(expected, rel=1e-5)


def test_metrics_part_the_grid_into_train_and_test():
    s = signals()
    task, f = signal_tasks(s)[0], field()
    error = task.predict(f)[:, 0].astype(float) - s.y[0]
    train = np.arange(64) % 4 == 0
    found = task.metrics(f)
    assert found["mse_train"] == pytest.approx(np.mean(error[train] ** 2), rel=1e-5)
    assert found["mse_test"] == pytest.approx(np.mean(error[~train] ** 2), rel=1e-5)


def test_one_step_of_descent_is_the_gradient_of_the_sum():
    task, f = signal_tasks(signals())[0], field()
    rate = 1e-3
    (moved,), _ = train(
        [task],
        [f],
        Config(steps=1, lr=rate, precision="float32"),
        keys=[jax.random.key(0)],
        optimiser=sgd(),
    )

    def loss(weights):
        h = jax.vmap(f.encoding)(task.coords)
        for k, (w, b) in enumerate(zip(weights, f.mlp.biases, strict=True)):
            h = jnp.dot(h, w, precision="highest") + b
            h = jax.nn.relu(h) if k < 2 else h
        return 0.5 * jnp.sum((h - task.values) ** 2)

    for new, old, g in zip(
        moved.mlp.weights, f.mlp.weights, jax.grad(loss)(f.mlp.weights), strict=True
    ):
        np.testing.assert_allclose(new, old - rate * g, atol=1e-6)


def test_a_stack_holds_the_coordinates_once():
    task, axes = stack(signal_tasks(signals(3)))
    assert isinstance(task, Signal1D) and isinstance(axes, Signal1D)
    assert task.coords.shape == (16, 1) and axes.coords is None
    assert task.values.shape == (3, 16, 1) and axes.values == 0


def test_the_loss_does_not_broadcast():
    with pytest.raises(ValueError, match=r"`prediction` \(4, 1\) and `target` \(4,\)"):
        half_sum_square(jnp.zeros((4, 1)), jnp.zeros(4))
