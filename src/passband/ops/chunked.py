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


Rows = Callable[..., Float[Array, " k"]]


def chunked_sum(f: Rows, params: Any, arrays: tuple[Array, ...], at_once: int) -> Array:
    """The sum of `f(params, *arrays)`, one number a row, few rows at a time.

    Where a gradient is asked for (of `params`, in reverse mode, once), each part's is
    worked out with its value, while what its layers left is still in the caches.
    """
    n = arrays[0].shape[0]
    if n <= at_once:
        return jnp.sum(f(params, *arrays))
    parts = math.ceil(n / at_once)
    size = math.ceil(n / parts)

    def lay(array: Array) -> Array:
        more = [(0, parts * size - n)] + [(0, 0)] * (array.ndim - 1)
        padded = jnp.pad(array, more, mode="edge") if parts * size > n else array
        return padded.reshape(parts, size, *array.shape[1:])

    counts = (jnp.arange(parts * size) < n).reshape(parts, size)
    total: Array = _total(f, params, (counts, *map(lay, arrays)))
    return total


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _total(f: Rows, params: Any, laid: tuple[Array, ...]) -> Array:
    def body(total: Array, part: tuple[Array, ...]) -> tuple[Array, None]:
        return total + _sum_of(f, params, part), None

    return lax.scan(body, jnp.float32(0), laid)[0]


def _sum_of(f: Rows, params: Any, part: tuple[Array, ...]) -> Array:
    counts, *arrays = part
    return jnp.sum(jnp.where(counts, f(params, *arrays), 0))


def _total_forward(f: Rows, params: Any, laid: Any):
    moving = jax.tree.map(lambda p: p.value if p.perturbed else None, params)
    resting = jax.tree.map(lambda p: None if p.perturbed else p.value, params)

    def body(totals: Any, part: tuple[Array, ...]):
        found = jax.value_and_grad(lambda m: _sum_of(f, _merged(m, resting), part))
        return jax.tree.map(jnp.add, totals, found(moving)), None

    none = jnp.float32(0), jax.tree.map(jnp.zeros_like, moving)
    (total, slopes), _ = lax.scan(body, none, tuple(a.value for a in laid))
    return total, (slopes, resting)


def _total_backward(f: Rows, residuals: Any, g: Array):
    slopes, resting = residuals
    if isinstance(g, SymbolicZero):
        return jax.tree.map(lambda _: None, _merged(slopes, resting)), None
    return jax.tree.map(lambda s: g * s, slopes), None


_total.defvjp(_total_forward, _total_backward, symbolic_zeros=True)


def _merged(moving: Any, resting: Any) -> Any:
    def one(m: Array | None, r: Array | None) -> Array | None:
        return r if m is None else m

    return jax.tree.map(one, moving, resting, is_leaf=lambda x: x is None)
