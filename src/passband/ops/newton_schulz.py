"""Newton and Schulz's iteration as three programs a turn on a Hopper GPU, and no more.

What Muon's products cost there is the time of starting them, one after the other, and
whatever XLA makes a kernel of its own adds another: a sum, a norm, a transpose. Here a
product and what is added to it are one program, and the norm is the trace of the first
product, so the programs of the first turn take matrices of any norm and divide what
they read. Matrices may stand or lie. Factors are float16, whose mantissa is TF32's and
whose range is enough for matrices of norm 1; sums are float32.

A program's time is that of its loads, so tiles are small (many multiprocessors share
the loads) and all that a program reads is asked for before the first product.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, BFloat16, Float

LEAST = 1e-30
"""Added to the square of a norm, so that 0 stays 0."""


class Form(NamedTuple):
    """How the programs are cut. Both sides of a matrix are multiples of 64."""

    square: tuple[int, int] = (32, 32)
    """Rows and columns of a program's tile of X X^T and of its square, up to 64."""
    update: tuple[int, int] = (32, 32)
    """Likewise of the next X."""
    chunk: int = 128
    """How much of the inner side is multiplied at a time, at most."""
    cast: int = 128
    """Likewise of factors that are divided and cast before."""
    ahead: int = 128 << 10
    """Bytes of factors that are asked for ahead, at most; 227 KiB are on chip."""
    warps: int = 4


FORM = Form()


class _Cut(NamedTuple):
    """How one product is cut, and whether it is interpreted."""

    tile: tuple[int, int]
    form: Form
    interpret: bool

    def chunk(self, inner: int, *, cast: bool) -> int:
        return math.gcd(self.form.cast if cast else self.form.chunk, inner)

    def compiled(self, inner: int, chunk: int, bits: int) -> triton.CompilerParams:
        """With all chunks asked for before the first product, where there is room."""
        fit = self.form.ahead // (sum(self.tile) * chunk * bits // 8)
        stages = max(1, min(fit, inner // chunk)) + 1
        return triton.CompilerParams(num_warps=self.form.warps, num_stages=stages)


def iterate(
    X: Float[Array, "n r c"],
    coefficients: Sequence[tuple[float, float, float]],
    *,
    form: Form = FORM,
    interpret: bool = False,
) -> Float[Array, "n r c"]:
    """X / |X|, then X <- a X + b (X X^T) X + c (X X^T)^2 X for each (a, b, c).

    A standing X is multiplied from the right, which is the same: X (X^T X) = (X X^T) X.
    """
    stands = X.shape[1] > X.shape[2]
    across = (0, 0) if stands else (1, 1)
    square = _Cut(form.square, form, interpret)
    update = _Cut(form.update, form, interpret)
    traces = None
    for turn, (a, b, c) in enumerate(coefficients):
        if turn == 0:
            A, traces = _first_square(*_halves(X), across, square)
        else:
            A, traces = _add_product(X, X, across, square), None
        # A and B are symmetric: rows, which lie together in memory, serve as columns.
        B = _add_product(
            A, A, (1, 1), square, times=c, added=(b, A), traces=traces, root=False
        )
        X = _add_product(
            *((X, B, (1, 1)) if stands else (B, X, (1, 0))), update,
            added=(a, X), traces=traces, root=True,
            out=jnp.float32 if turn == len(coefficients) - 1 else jnp.float16,
        )  # fmt: skip
    return X


def _halves(
    X: Float[Array, "n r c"],
) -> tuple[BFloat16[Array, "n r c"], BFloat16[Array, "n r c"]]:
    """X as the sum of two, which XLA makes where it makes X. It would leave out a cast
    to bfloat16 and back, but not `reduce_precision`."""
    high = lax.reduce_precision(X, exponent_bits=8, mantissa_bits=7)
    return high.astype(jnp.bfloat16), (X - high).astype(jnp.bfloat16)


def _first_square(
    high: BFloat16[Array, "n r c"],
    low: BFloat16[Array, "n r c"],
    over: tuple[int, int],
    cut: _Cut,
) -> tuple[Float[Array, "n k k"], Float[Array, "n t u"]]:
    """X times its transpose in float32, and the trace that each tile has of it: they
    add up to the square of X's norm.

    Three products of bfloat16 have more bits than TF32, and its range.
    """
    rows, columns = cut.tile

    def first_square(*refs):
        p_high, p_low, q_high, q_low, out_ref, trace_ref = refs
        pairs = [(p_high, q_high), (p_high, q_low), (p_low, q_high)]
        total = _product(pairs, over, cut.tile, chunk)
        i, j = (lax.broadcasted_iota(jnp.int32, cut.tile, k) for k in (0, 1))
        own = i + pl.program_id(1) * rows == j + pl.program_id(2) * columns
        out_ref[0] = total
        trace_ref[0, 0, 0] = jnp.sum(jnp.where(own, total, 0.0))

    n, side, inner = high.shape[0], high.shape[2 - over[0]], high.shape[1 + over[0]]
    chunk = cut.chunk(inner, cast=False)
    grid = n, side // rows, side // columns
    p, q = _factors(high, high, over, cut.tile)
    return pl.pallas_call(
        first_square,
        grid=grid,
        in_specs=[p, p, q, q],
        out_specs=(_own(cut.tile), _own((1, 1))),
        out_shape=(
            jax.ShapeDtypeStruct((n, side, side), jnp.float32),
            jax.ShapeDtypeStruct(grid, jnp.float32),
        ),
        compiler_params=cut.compiled(inner, chunk, 32),
        interpret=cut.interpret,
    )(high, low, high, low)


def _add_product(
    P: Float[Array, "n _ _"],
    Q: Float[Array, "n _ _"],
    over: tuple[int, int],
    cut: _Cut,
    *,
    times: float = 1.0,
    added: tuple[float, Float[Array, "n r c"]] | None = None,
    traces: Float[Array, "n t u"] | None = None,
    root: bool = False,
    out: Any = jnp.float16,
) -> Float[Array, "n r c"]:
    """u C + times P Q, where (u, C) is what is added.

    Args:
        over: the axes of P and Q that the product sums over.
        traces: what is of float32 is divided by their sum.
        root: by its root instead.
    """

    def add_product(p_ref, q_ref, *others):
        *others, out_ref = others
        scale = jnp.float32(1)
        if traces is not None:
            *others, trace_ref = others
            scale = lax.rsqrt(_sum(trace_ref, cut.form.square) + LEAST)
            scale = scale if root else scale * scale
        # Before the products, so that it is there after them.
        plus = others[0][0] if added is not None else None
        total = times * _product([(p_ref, q_ref)], over, cut.tile, chunk, scale)
        if added is not None and plus is not None:
            plus = plus * scale if plus.dtype == jnp.float32 else plus
            total += added[0] * plus.astype(jnp.float32)
        out_ref[0] = total.astype(out)

    n, rows, columns = P.shape[0], P.shape[2 - over[0]], Q.shape[2 - over[1]]
    inner, cast = P.shape[1 + over[0]], traces is not None
    chunk = cut.chunk(inner, cast=cast)
    operands, specs = [P, Q], _factors(P, Q, over, cut.tile)
    if added is not None:
        operands, specs = [*operands, added[1]], [*specs, _own(cut.tile)]
    if traces is not None:
        whole = pl.BlockSpec((1, *traces.shape[1:]), lambda m, i, j: (m, 0, 0))
        operands, specs = [*operands, traces], [*specs, whole]
    return pl.pallas_call(
        add_product,
        grid=(n, rows // cut.tile[0], columns // cut.tile[1]),
        in_specs=specs,
        out_specs=_own(cut.tile),
        out_shape=jax.ShapeDtypeStruct((n, rows, columns), out),
        compiler_params=cut.compiled(inner, chunk, 32 if cast else 16),
        interpret=cut.interpret,
    )(*operands)


def _own(tile: tuple[int, int]) -> pl.BlockSpec:
    """A program's tile of what it makes."""
    return pl.BlockSpec((1, *tile), lambda m, i, j: (m, i, j))


def _factors(
    P: Array, Q: Array, over: tuple[int, int], tile: tuple[int, int]
) -> list[pl.BlockSpec]:
    """Of a tile's product: P's i-th rows or columns and Q's j-th, whole."""
    inner, (rows, columns) = P.shape[1 + over[0]], tile
    return [
        pl.BlockSpec((1, rows, inner), lambda m, i, j: (m, i, 0))
        if over[0]
        else pl.BlockSpec((1, inner, rows), lambda m, i, j: (m, 0, i)),
        pl.BlockSpec((1, columns, inner), lambda m, i, j: (m, j, 0))
        if over[1]
        else pl.BlockSpec((1, inner, columns), lambda m, i, j: (m, 0, j)),
    ]


def _product(
    pairs: Sequence[tuple[Any, Any]],
    over: tuple[int, int],
    tile: tuple[int, int],
    step: int,
    scale: Any = None,
) -> Array:
    """A tile of the sum of products. Factors of float32 are multiplied by `scale` and
    then small enough for float16."""

    def multiply(k, total):
        part = pl.ds(k * step, step)
        for refs in pairs:
            # Both are loaded before either is cast: one wait, not two.
            x, y = (
                ref[0, :, part] if axis else ref[0, part, :]
                for ref, axis in zip(refs, over, strict=True)
            )
            if x.dtype == jnp.float32:
                x = (x * scale).astype(jnp.float16)
            if y.dtype == jnp.float32:
                y = (y * scale).astype(jnp.float16)
            total += lax.dot_general(
                x, y, (((over[0],), (over[1],)), ((), ())),
                preferred_element_type=jnp.float32,
            )  # fmt: skip
        return total

    inner = pairs[0][0].shape[1 + over[0]]
    return lax.fori_loop(0, inner // step, multiply, jnp.zeros(tile, jnp.float32))


def _sum(ref, tile: tuple[int, int]) -> Array:
    """Of the tiles that have some of the diagonal, by so many loads: Triton's vectors
    are powers of 2."""
    total = jnp.float32(0)
    for i in range(ref.shape[1]):
        first, last = i * tile[0] // tile[1], ((i + 1) * tile[0] - 1) // tile[1]
        for j in range(first, last + 1):
            total += ref[0, i, j]
    return total
