"""Newton and Schulz's iteration as three programs a turn on a Hopper GPU, and no more.

What Muon's products cost there is the time of starting them, one after the other, and
whatever XLA makes a kernel of its own adds another: a sum, a norm, a transpose. Here a
product and what is added to it are one program (H200, four matrices of 256 x 512, three
turns: 31 us; XLA with float16 45, with TF32 62). The norm is the trace of the first
product, so the programs of the first turn take matrices of any norm and divide what
they read. Matrices may stand or lie. Factors are float16, whose mantissa is TF32's and
whose range is enough for matrices of norm 1; sums are float32.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float

TILE = 64
"""Rows and columns of what a program makes, and how much of the inner side it takes at
a time; both sides of a matrix are multiples of it."""
OF_ANY_NORM = lax.DotAlgorithmPreset.BF16_BF16_F32_X3
"""How float32 is multiplied: the sum of three products of bfloat16, with more bits than
TF32. Hopper's TF32 wants its inner side next to each other in memory, which that of a
standing matrix is not: Triton would turn each tile and load none ahead."""
LEAST = 1e-30
"""Added to the square of a norm, so that 0 stays 0."""
_OWN = pl.BlockSpec((1, TILE, TILE), lambda m, i, j: (m, i, j))
_COMPILED = triton.CompilerParams(num_warps=4, num_stages=3)


def iterate(
    X: Float[Array, "n r c"],
    coefficients: Sequence[tuple[float, float, float]],
    *,
    interpret: bool = False,
) -> Float[Array, "n r c"]:
    """X / |X|, then X <- a X + b (X X^T) X + c (X X^T)^2 X for each (a, b, c).

    A standing X is multiplied from the right, which is the same: X (X^T X) = (X X^T) X.
    """
    stands = X.shape[1] > X.shape[2]
    across = (0, 0) if stands else (1, 1)
    traces = None
    for turn, (a, b, c) in enumerate(coefficients):
        if turn == 0:
            A, traces = _first_square(X, across, interpret)
        else:
            A, traces = _add_product(X, X, across, interpret=interpret), None
        B = _add_product(
            A, A, (1, 0), times=c, added=(b, A), squares=traces, interpret=interpret
        )
        X = _add_product(
            *((X, B) if stands else (B, X)), (1, 0), added=(a, X), norms=traces,
            out=jnp.float32 if turn == len(coefficients) - 1 else jnp.float16,
            interpret=interpret,
        )  # fmt: skip
    return X


def _first_square(
    X: Float[Array, "n r c"], over: tuple[int, int], interpret: bool
) -> tuple[Float[Array, "n k k"], Float[Array, "n t t"]]:
    """X times its transpose in float32, and the trace of each tile of it: those on the
    diagonal add up to the square of X's norm."""

    def first_square(p_ref, q_ref, out_ref, trace_ref):
        total = _product(p_ref, q_ref, over)
        row, column = (lax.broadcasted_iota(jnp.int32, (TILE, TILE), k) for k in (0, 1))
        out_ref[0] = total
        trace_ref[0, 0, 0] = jnp.sum(jnp.where(row == column, total, 0.0))

    n, side = X.shape[0], X.shape[2 - over[0]]
    tiles = side // TILE
    return pl.pallas_call(
        first_square,
        grid=(n, tiles, tiles),
        in_specs=_factors(X, X, over),
        out_specs=(_OWN, pl.BlockSpec((1, 1, 1), lambda m, i, j: (m, i, j))),
        out_shape=(
            jax.ShapeDtypeStruct((n, side, side), jnp.float32),
            jax.ShapeDtypeStruct((n, tiles, tiles), jnp.float32),
        ),
        compiler_params=_COMPILED,
        interpret=interpret,
    )(X, X)


def _add_product(
    P: Float[Array, "n _ _"],
    Q: Float[Array, "n _ _"],
    over: tuple[int, int],
    *,
    times: float = 1.0,
    added: tuple[float, Float[Array, "n r c"]] | None = None,
    squares: Float[Array, "n t t"] | None = None,
    norms: Float[Array, "n t t"] | None = None,
    out: Any = jnp.float16,
    interpret: bool,
) -> Float[Array, "n r c"]:
    """u C + times P Q, where (u, C) is what is added.

    Args:
        over: the axes of P and Q that the product sums over.
        squares: traces of tiles: what is of float32 is divided by their sum.
        norms: likewise, by the root of their sum.
    """
    traces = norms if squares is None else squares

    def add_product(p_ref, q_ref, *others):
        *others, out_ref = others
        scale = None
        if traces is not None:
            *others, trace_ref = others
            scale = lax.rsqrt(_trace(trace_ref) + LEAST)
            scale = scale if squares is None else scale * scale
        total = times * _product(p_ref, q_ref, over, scale)
        if added is not None:
            plus = others[0][0]
            scaled = scale is not None and plus.dtype == jnp.float32
            plus = plus * scale if scaled else plus.astype(jnp.float32)
            total += added[0] * plus
        out_ref[0] = total.astype(out)

    rows, columns = P.shape[2 - over[0]], Q.shape[2 - over[1]]
    operands, specs = [P, Q], _factors(P, Q, over)
    if added is not None:
        operands, specs = [*operands, added[1]], [*specs, _OWN]
    if traces is not None:
        whole = pl.BlockSpec((1, *traces.shape[1:]), lambda m, i, j: (m, 0, 0))
        operands, specs = [*operands, traces], [*specs, whole]
    return pl.pallas_call(
        add_product,
        grid=(P.shape[0], rows // TILE, columns // TILE),
        in_specs=specs,
        out_specs=_OWN,
        out_shape=jax.ShapeDtypeStruct((P.shape[0], rows, columns), out),
        compiler_params=_COMPILED,
        interpret=interpret,
    )(*operands)


def _factors(P: Array, Q: Array, over: tuple[int, int]) -> list[pl.BlockSpec]:
    """Of a tile's product: P's i-th rows or columns and Q's j-th, whole."""
    inner = P.shape[1 + over[0]]
    return [
        pl.BlockSpec((1, TILE, inner), lambda m, i, j: (m, i, 0))
        if over[0]
        else pl.BlockSpec((1, inner, TILE), lambda m, i, j: (m, 0, i)),
        pl.BlockSpec((1, TILE, inner), lambda m, i, j: (m, j, 0))
        if over[1]
        else pl.BlockSpec((1, inner, TILE), lambda m, i, j: (m, 0, j)),
    ]


def _product(p_ref, q_ref, over: tuple[int, int], scale: Any = None) -> Array:
    """A tile of the product. With a `scale`, factors of float32 are multiplied by it
    and then small enough for float16."""
    rule = OF_ANY_NORM if scale is None and p_ref.dtype == jnp.float32 else None

    def factor(ref, axis, part):
        x = ref[0, :, part] if axis else ref[0, part, :]
        if scale is not None and x.dtype == jnp.float32:
            x = (x * scale).astype(jnp.float16)
        return x

    def chunk(k, total):
        part = pl.ds(k * TILE, TILE)
        return total + lax.dot_general(
            factor(p_ref, over[0], part),
            factor(q_ref, over[1], part),
            (((over[0],), (over[1],)), ((), ())),
            precision=rule,
            preferred_element_type=jnp.float32,
        )

    steps = p_ref.shape[1 + over[0]] // TILE
    total = jnp.zeros((TILE, TILE), jnp.float32)
    return lax.fori_loop(0, steps, chunk, total)


def _trace(ref) -> Array:
    """The sum of a diagonal, by so many loads: Triton's vectors are powers of 2."""
    total = jnp.float32(0)
    for i in range(ref.shape[1]):
        total += ref[0, i, i]
    return total
