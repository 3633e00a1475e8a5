"""The perceptron in each precision, against NumPy in float64."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.activations import RELU
from passband.errors import InputError
from passband.ops.mlp import SMALL_FAN_IN, Precision, hidden_of_few, mlp


def _network(seed=0, sizes=(40, 64, 64, 3)):
    rng = np.random.default_rng(seed)
    pairs = itertools.pairwise(sizes)
    weights = [rng.normal(size=(i, o)) / np.sqrt(i) for i, o in pairs]
    biases = [0.1 * rng.normal(size=o) for o in sizes[1:]]
    x, g = rng.normal(size=(50, sizes[0])), rng.normal(size=(50, sizes[-1]))
    return x, weights, biases, g


def _reference(x, weights, biases, g):
    """Outputs and the gradients of sum(y * g), by hand, in float64."""
    hidden = [x]
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        hidden.append(np.maximum(hidden[-1] @ W + b, 0))
    y = hidden[-1] @ weights[-1] + biases[-1]
    dW, db = [], []
    for k in range(len(weights) - 1, -1, -1):
        dW.insert(0, hidden[k].T @ g)
        db.insert(0, g.sum(0))
        g = g @ weights[k].T
        if k:
            g = g * (hidden[k] > 0)
    return y, dW, db, g


@pytest.mark.parametrize(
    ("precision", "tolerance", "slope"),
    # A sum within bfloat16 rounding of zero falls on the other side of the ReLU, so its
    # whole share of the gradient is lost or gained.
    [(Precision.FLOAT32, 1e-5, 1e-5), (Precision.BFLOAT16, 1e-2, 8e-2)],
)
def test_values_and_gradients(precision, tolerance, slope):
    x, weights, biases, g = _network()
    y, dW, db, dx = _reference(x, weights, biases, g)
    f32 = jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), (x, weights, biases))

    def total(x, W, b):
        return jnp.sum(mlp(x, W, b, precision) * jnp.asarray(g, jnp.float32))

    out = mlp(f32[0], f32[1], f32[2], precision)
    assert out.dtype == jnp.float32
    _close(out, y, tolerance)
    gx, gW, gb = jax.grad(total, argnums=(0, 1, 2))(*f32)
    _close(gx, dx, slope)
    for found, want in zip([*gW, *gb], [*dW, *db], strict=True):
        assert found.dtype == jnp.float32
        _close(found, want, slope)


def _close(found, want, tolerance):
    error = np.linalg.norm(np.asarray(found, np.float64) - want) / np.linalg.norm(want)
    assert error < tolerance


def test_raw_coordinates_are_not_rounded():
    # 510/512 and 511/512 are one number in bfloat16. The bias takes off all but what
    # tells them apart.
    x = jnp.asarray(np.arange(500, 512)[:, None] / 512, jnp.float32)
    W, b = jnp.asarray([[1.0, -1.0]]), jnp.asarray([-500 / 512, 511 / 512])
    expected = np.stack([np.arange(12), np.arange(11, -1, -1)], axis=1) / 512
    found = jax.jit(hidden_of_few, static_argnums=0)(RELU, x, W, b)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(found, np.float64), expected)


def test_the_gradient_of_a_few_inputs_has_twice_the_bits():
    rng = np.random.default_rng(1)
    x = rng.random((3000, SMALL_FAN_IN)).astype(np.float32)
    W = (rng.normal(size=(SMALL_FAN_IN, 32)) / 4).astype(np.float32)
    g = rng.integers(-3, 4, size=(3000, 32)).astype(np.float64)  # exact in bfloat16
    layer = functools.partial(hidden_of_few, RELU)
    _, pull = jax.vjp(layer, jnp.asarray(x), jnp.asarray(W), jnp.zeros(32))
    dx, dW, db = pull(jnp.asarray(g, jnp.bfloat16))
    g = g * (x.astype(np.float64) @ W > 0)
    _close(dW, x.astype(np.float64).T @ g, 1e-4)
    _close(dx, g @ W.astype(np.float64).T, 1e-6)
    _close(db, g.sum(0), 1e-6)


def test_a_stack_of_networks_is_each_of_them():
    ones = [_network(seed)[:3] for seed in range(3)]
    stack = jax.tree.map(lambda *a: jnp.asarray(np.stack(a), jnp.float32), *ones)
    together = jax.vmap(lambda x, W, b: mlp(x, W, b, Precision.BFLOAT16))(*stack)
    for k in range(3):
        x, W, b = jax.tree.map(lambda a, k=k: a[k], stack)
        alone = mlp(x, W, b, Precision.BFLOAT16)
        np.testing.assert_allclose(together[k], alone, atol=2e-2)


def test_precision_words():
    assert Precision.resolve("auto", "cpu") is Precision.FLOAT32
    assert Precision.resolve("auto", "gpu") is Precision.BFLOAT16
    assert Precision.resolve("tf32", "cpu") is Precision.FLOAT32
    assert Precision.resolve("tf32", "gpu") is Precision.TF32
    with pytest.raises(InputError, match="`precision` \\(=half\\)"):
        Precision.resolve("half", "gpu")
