"""Positions told from whole numbers, exact in float32."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def head_and_rest(values: np.ndarray) -> Float[Array, "*shape 2"]:
    """A number as two of 12 bits, whose products with whole numbers are exact."""
    head = (values.astype(np.float32).view(np.int32) & ~0xFFF).view(np.float32)
    rest = (values - head).astype(np.float32)
    rest = (rest.view(np.int32) & ~0xFFF).view(np.float32)
    return jnp.stack([jnp.asarray(head), jnp.asarray(rest)], axis=-1)


def position(start: Array, index: Array, step: Float[Array, "... 2"]) -> Array:
    """start + index * step, the same with and without fused multiply-add."""
    return (start + index * step[..., 0]) + index * step[..., 1]
