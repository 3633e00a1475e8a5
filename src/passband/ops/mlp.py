"""The multilayer perceptron: a plain reference, and the same in faster arithmetic."""

import enum
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, BFloat16, Float

from ..activations import RELU, Activation
from ..errors import InputError

SMALL_FAN_IN = 16
"""Inputs up to which bfloat16 leaves the first layer in float32: the 8 bits of its
mantissa would give two neighbours among 512 pixels one raw coordinate."""


class Precision(enum.Enum):
    """How matrix products are rounded; weights and optimiser state stay float32."""

    FLOAT32 = "float32"
    TF32 = "tf32"
    BFLOAT16 = "bfloat16"

    @classmethod
    def resolve(cls, word: "str | Precision", platform: str) -> "Precision":
        """What `auto`, or a word that this platform cannot do, comes to.

        A CPU has no TF32 and only slow bfloat16, so both become float32 there.
        """
        if isinstance(word, cls):
            return word
        if word not in ("auto", *(p.value for p in cls)):
            allowed = ", ".join(p.value for p in cls)
            raise InputError(f"`precision` (={word}) must be auto, {allowed}")
        if word == "auto":
            word = "float32" if platform == "cpu" else "bfloat16"
        if platform == "cpu" and word == "tf32":
            word = "float32"
        return cls(word)


def mlp(
    x: Float[Array, "*n _"],
    weights: Sequence[Float[Array, "_ _"]],
    biases: Sequence[Float[Array, " _"]],
    precision: Precision = Precision.FLOAT32,
    activation: Activation = RELU,
) -> Float[Array, "*n _"]:
    """`x @ W + b` all the way, the activation behind all but the last; float32 out."""
    hidden, last = _LAYERS[precision]
    if precision is Precision.BFLOAT16:
        if x.shape[-1] <= SMALL_FAN_IN and len(weights) > 1:
            x = hidden_of_few(activation, x, weights[0], biases[0])
            weights, biases = weights[1:], biases[1:]
        # Here and not inside a layer, so that the gradient of x is float32 again.
        x = x.astype(jnp.bfloat16)
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        x = hidden(activation, x, W, b)
    return last(x, weights[-1], biases[-1]).astype(jnp.float32)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def hidden_of_few(
    activation: Activation,
    x: Float[Array, "*n f"],
    W: Float[Array, "f w"],
    b: Float[Array, " w"],
) -> BFloat16[Array, "*n w"]:
    """The first hidden layer of a few inputs: float32 sums, rounded once at the end."""
    return activation.forward(_sum_of_few(x, W, b)).astype(jnp.bfloat16)


def _sum_of_few(x: Array, W: Array, b: Array) -> Array:
    y = b
    for i in range(x.shape[-1]):
        y = y + x[..., i : i + 1] * W[i]
    return y


def _few_forward(activation: Activation, x: Array, W: Array, b: Array):
    h, kept = _activate(activation, _sum_of_few(x, W, b))
    return h, (x, W, kept)


def _few_backward(activation: Activation, residuals, g: Array):
    x, W, kept = residuals
    g = _through(activation, kept, g)
    points = tuple(range(g.ndim - 1))
    return *slopes_of_few(x, W, g), jnp.sum(g, axis=points, dtype=jnp.float32)


def slopes_of_few(
    x: Float[Array, "*n f"], W: Float[Array, "f w"], g: BFloat16[Array, "*n w"]
) -> tuple[Float[Array, "*n f"], Float[Array, "f w"]]:
    """Gradients of a few inputs and their weights, from that of their sums."""
    # Twice 8 bits of x for the product with g. `astype` and back would be taken for
    # nothing by XLA, which is allowed to keep more precision than was asked for.
    coarse = lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)
    halves = jnp.concatenate([coarse, x - coarse], axis=-1).astype(jnp.bfloat16)
    points = tuple(range(x.ndim - 1))
    dW = lax.dot_general(
        halves, g, ((points, points), ((), ())), preferred_element_type=jnp.float32
    )
    dx = jnp.dot(g.astype(jnp.float32), W.T, precision=lax.Precision.HIGHEST)
    few = x.shape[-1]
    return dx, dW[:few] + dW[few:]


hidden_of_few.defvjp(_few_forward, _few_backward)


def _activate(activation: Activation, y: Array) -> tuple[Array, Array]:
    """A layer's output in bfloat16, and what its backward pass is to know of it."""
    if activation.pullback is None:
        h, slope = jax.jvp(activation.forward, (y,), (jnp.ones_like(y),))
        return h.astype(jnp.bfloat16), slope.astype(jnp.bfloat16)
    # The output itself, so that the sum before it is never written, and bias and
    # activation can ride on the matrix product.
    h = activation.forward(y).astype(jnp.bfloat16)
    return h, h


def _through(activation: Activation, kept: Array, g: Array) -> Array:
    return kept * g if activation.pullback is None else activation.pullback(kept, g)


def _dense_float32(x: Array, W: Array, b: Array) -> Array:
    # XLA's default on NVIDIA hardware is TF32; float32 has to be asked for.
    return jnp.dot(x, W, precision=lax.Precision.HIGHEST) + b


def _dense_tf32(x: Array, W: Array, b: Array) -> Array:
    return jnp.dot(x, W, precision=lax.DotAlgorithmPreset.TF32_TF32_F32) + b


def _bfloat16(x: Array, W: Array, b: Array) -> Array:
    y = jnp.dot(x, W.astype(jnp.bfloat16))
    return y + b.astype(jnp.bfloat16)


def _bfloat16_backward(x: Array, W: Array, g: Array) -> tuple[Array, Array, Array]:
    # Weight gradients are sums over the batch: they leave the product in float32.
    points = tuple(range(x.ndim - 1))
    dx = lax.dot_general(g, W.astype(jnp.bfloat16), (((g.ndim - 1,), (1,)), ((), ())))
    dW = lax.dot_general(
        x, g, ((points, points), ((), ())), preferred_element_type=jnp.float32
    )
    return dx, dW, jnp.sum(g, axis=points, dtype=jnp.float32)


@jax.custom_vjp
def _last_bfloat16(x: Array, W: Array, b: Array) -> Array:
    return _bfloat16(x, W, b)


def _last_forward(x: Array, W: Array, b: Array):
    return _bfloat16(x, W, b), (x, W)


def _last_backward(residuals, g: Array):
    x, W = residuals
    return _bfloat16_backward(x, W, g)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _hidden_bfloat16(activation: Activation, x: Array, W: Array, b: Array) -> Array:
    return activation.forward(_sum(activation, x, W, b)).astype(jnp.bfloat16)


def _sum(activation: Activation, x: Array, W: Array, b: Array) -> Array:
    if activation.pullback is not None:
        return _bfloat16(x, W, b)
    # A sine turns faster than its sum, so that rounding the sum would cost accuracy.
    half = W.astype(jnp.bfloat16)
    return jnp.dot(x, half, preferred_element_type=jnp.float32) + b


def _hidden_forward(activation: Activation, x: Array, W: Array, b: Array):
    h, kept = _activate(activation, _sum(activation, x, W, b))
    return h, (x, W, kept)


def _hidden_backward(activation: Activation, residuals, g: Array):
    x, W, kept = residuals
    return _bfloat16_backward(x, W, _through(activation, kept, g))


_last_bfloat16.defvjp(_last_forward, _last_backward)
_hidden_bfloat16.defvjp(_hidden_forward, _hidden_backward)

_LAYERS = {
    Precision.FLOAT32: (lambda f, *a: f.forward(_dense_float32(*a)), _dense_float32),
    Precision.TF32: (lambda f, *a: f.forward(_dense_tf32(*a)), _dense_tf32),
    Precision.BFLOAT16: (_hidden_bfloat16, _last_bfloat16),
}
