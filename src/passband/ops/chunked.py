"""A long evaluation in parts, so that its backward pass needs the memory of one."""

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float, Int

Part = Callable[[Any, Int[Array, " k"]], Float[Array, "k c"]]
Deal = tuple[Part, int, int, int]
"""f, how many indices there are, in how many parts, and how many one has."""


def chunked_map(f: Part, params: Any, n: int, at_once: int) -> Float[Array, "n c"]:
    """`f(params, jnp.arange(n))`, at most `at_once` indices at a time.

    Gradients are of `params` alone, in reverse mode. What the last part keeps for them
    stays in memory; that of the others is worked out once more, which makes the three
    passes over a network four, less what the last part saves.
    """
    if n <= at_once:
        return f(params, jnp.arange(n))
    parts = math.ceil(n / at_once)
    size = math.ceil(n / parts)
    out: Array = _parts((f, n, parts, size), params)
    return out.reshape(parts * size, -1)[:n]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _parts(deal: Deal, params: Any) -> Float[Array, "parts size c"]:
    start, earlier = _earlier(deal, params)
    return jnp.concatenate([earlier, _part(deal, start, params)[None]])


def _part(deal: Deal, start: Int[Array, ""], params: Any) -> Float[Array, "size c"]:
    f, n, _, size = deal
    return f(params, jnp.minimum(start + jnp.arange(size), n - 1))


def _earlier(deal: Deal, params: Any) -> tuple[Array, Array]:
    """Where the last part starts, and all parts before it."""
    _, _, parts, size = deal

    def body(start: Array, _: None) -> tuple[Array, Array]:
        return start + size, _part(deal, start, params)

    return lax.scan(body, jnp.int32(0), length=parts - 1)


def _forward(deal: Deal, params: Any):
    # Only what is differentiated moves: gradients of the rest would cost their time in
    # every turn of the loop, wanted or not.
    moving = jax.tree.map(lambda p: p.value if p.perturbed else None, params)
    resting = jax.tree.map(lambda p: None if p.perturbed else p.value, params)
    whole = _merged(moving, resting)
    # The last part starts where the loop ends: were both ready to run at once, what the
    # one keeps and what the other works with could be in memory together.
    start, earlier = _earlier(deal, whole)
    last, pull = jax.vjp(lambda m: _part(deal, start, _merged(m, resting)), moving)
    return jnp.concatenate([earlier, last[None]]), (moving, resting, pull)


def _backward(deal: Deal, residuals: Any, g: Float[Array, "parts size c"]):
    moving, resting, pull = residuals
    _, _, parts, size = deal
    if isinstance(g, SymbolicZero):
        return (jax.tree.map(lambda _: None, _merged(moving, resting)),)

    def body(total: Any, one: tuple[Array, Array]):
        start, g = one
        _, pull = jax.vjp(lambda m: _part(deal, start, _merged(m, resting)), moving)
        return jax.tree.map(jnp.add, total, pull(g)[0]), None

    starts = size * jnp.arange(parts - 1, dtype=jnp.int32)
    # The sum begins with the last part's share, which so is done and forgotten first.
    total, _ = lax.scan(body, pull(g[-1])[0], (starts, g[:-1]))
    return (total,)


_parts.defvjp(_forward, _backward, symbolic_zeros=True)


def _merged(moving: Any, resting: Any) -> Any:
    def one(m: Array | None, r: Array | None) -> Array | None:
        return r if m is None else m

    return jax.tree.map(one, moving, resting, is_leaf=lambda x: x is None)
