"""The multilayer perceptron: a plain reference, and the same in faster arithmetic."""

import enum
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..errors import InputError


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
    x: Float[Array, "*n f"],
    weights: Sequence[Float[Array, "i o"]],
    biases: Sequence[Float[Array, " o"]],
    precision: Precision = Precision.FLOAT32,
) -> Float[Array, "*n c"]:
    """ReLU layers and a linear one: `x @ W + b` all the way, float32 out."""
    layer = _LAYERS[precision]
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        x = jax.nn.relu(layer(x, W, b))
    return layer(x, weights[-1], biases[-1]).astype(jnp.float32)


def _dense_float32(x: Array, W: Array, b: Array) -> Array:
    # XLA's default on NVIDIA hardware is TF32; float32 has to be asked for.
    return jnp.dot(x, W, precision=lax.Precision.HIGHEST) + b


def _dense_tf32(x: Array, W: Array, b: Array) -> Array:
    return jnp.dot(x, W, precision=lax.DotAlgorithmPreset.TF32_TF32_F32) + b


@jax.custom_vjp
def _dense_bfloat16(x: Array, W: Array, b: Array) -> Array:
    y = jnp.dot(x.astype(jnp.bfloat16), W.astype(jnp.bfloat16))
    return y + b.astype(jnp.bfloat16)


def _dense_bfloat16_forward(x: Array, W: Array, b: Array):
    x = x.astype(jnp.bfloat16)
    return _dense_bfloat16(x, W, b), (x, W)


def _dense_bfloat16_backward(residuals, g: Array):
    # Weight gradients are sums over the batch: they leave the product in float32.
    x, W = residuals
    points = tuple(range(x.ndim - 1))
    dx = lax.dot_general(g, W.astype(jnp.bfloat16), (((g.ndim - 1,), (1,)), ((), ())))
    dW = lax.dot_general(
        x, g, ((points, points), ((), ())), preferred_element_type=jnp.float32
    )
    db = jnp.sum(g, axis=points, dtype=jnp.float32)
    return dx, dW, db


_dense_bfloat16.defvjp(_dense_bfloat16_forward, _dense_bfloat16_backward)

_LAYERS = {
    Precision.FLOAT32: _dense_float32,
    Precision.TF32: _dense_tf32,
    Precision.BFLOAT16: _dense_bfloat16,
}
