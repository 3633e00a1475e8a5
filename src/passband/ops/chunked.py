"""A long evaluation in parts, so that its backward pass needs the memory of one."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def by_parts(
    f: Callable[[Int[Array, " k"]], Float[Array, "k c"]], n: int, at_once: int
) -> Float[Array, "n c"]:
    """`f(jnp.arange(n))`, at most `at_once` indices at a time.

    Nothing inside a part is kept for its gradient: it is worked out once more, which
    makes three passes over a network four.
    """
    if n <= at_once:
        return f(jnp.arange(n))
    parts = math.ceil(n / at_once)
    size = math.ceil(n / parts)

    def part(start: Int[Array, ""]) -> Float[Array, "k c"]:
        return f(jnp.minimum(start + jnp.arange(size), n - 1))

    # Within a loop nothing can be merged with the forward pass anyway.
    kept = jax.checkpoint(part, prevent_cse=False)
    out = jax.lax.map(kept, size * jnp.arange(parts))
    return out.reshape(parts * size, -1)[:n]
