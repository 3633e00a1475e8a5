"""Newton and Schulz's iteration as three programs a turn on a Hopper GPU.

What Muon's products cost there is the time of starting them, one after the other, and a
sum that XLA makes a kernel of its own adds another. Here a product and what is added to
it are one program (H200, four matrices of 256 x 512, three turns: 31 us; XLA with
float16 45, with TF32 62). Factors are float16, whose mantissa is TF32's and whose range
is enough for matrices of norm 1; sums are float32.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Float16

TILE = 64
"""Rows and columns of what a program makes, and how much of the inner side it takes at
a time; both sides of a matrix are multiples of it."""


def iterate(
    X: Float[Array, "n r c"],
    coefficients: Sequence[tuple[float, float, float]],
    *,
    interpret: bool = False,
) -> Float[Array, "n r c"]:
    """X <- a X + b (X X^T) X + c (X X^T)^2 X for each (a, b, c); X has norm 1."""
    X = X.astype(jnp.float16)
    for a, b, c in coefficients:
        A = _add_product(None, 1.0, X, X, (1, 1), interpret)
        B = _add_product((b, A), c, A, A, (1, 0), interpret)
        X = _add_product((a, X), 1.0, B, X, (1, 0), interpret)
    return X.astype(jnp.float32)


def _add_product(
    added: tuple[float, Float16[Array, "n r c"]] | None,
    v: float,
    P: Float16[Array, "n r k"],
    Q: Float16[Array, "n _ _"],
    over: tuple[int, int],
    interpret: bool,
) -> Float16[Array, "n r c"]:
    """u C + v P Q, where (u, C) is what is added; `over` are the axes of P and Q that
    the product sums over, so that Q may be a transpose."""
    (n, rows, inner), columns = P.shape, Q.shape[2 - over[1]]

    def add_product(p_ref, q_ref, *others):
        def chunk(k, total):
            part = pl.ds(k * TILE, TILE)
            q = q_ref[0, :, part] if over[1] else q_ref[0, part, :]
            dims = (((over[0],), (over[1],)), ((), ()))
            return total + lax.dot_general(
                p_ref[0, :, part], q, dims, preferred_element_type=jnp.float32
            )

        total = jnp.zeros((TILE, TILE), jnp.float32)
        total = v * lax.fori_loop(0, inner // TILE, chunk, total)
        *c_ref, out_ref = others
        if added is not None:
            total += added[0] * c_ref[0][0].astype(jnp.float32)
        out_ref[0] = total.astype(jnp.float16)

    tile = pl.BlockSpec((1, TILE, TILE), lambda m, i, j: (m, i, j))
    if over[1]:
        factor = pl.BlockSpec((1, TILE, inner), lambda m, i, j: (m, j, 0))
    else:
        factor = pl.BlockSpec((1, inner, TILE), lambda m, i, j: (m, 0, j))
    return pl.pallas_call(
        add_product,
        grid=(n, rows // TILE, columns // TILE),
        in_specs=[
            pl.BlockSpec((1, TILE, inner), lambda m, i, j: (m, i, 0)),
            factor,
            *([] if added is None else [tile]),
        ],
        out_specs=tile,
        out_shape=jax.ShapeDtypeStruct((n, rows, columns), jnp.float16),
        compiler_params=triton.CompilerParams(num_warps=4, num_stages=3),
        interpret=interpret,
    )(P, Q, *([] if added is None else [added[1]]))
