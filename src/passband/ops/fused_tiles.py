"""Row-tile programs for a Hopper GPU: a matrix product and all that rides on it.

A program takes `tiles` tiles of `ROWS` points through one layer, the next tile on its
way while one is worked on, and writes only what the next layer or the backward pass
reads. Products are bfloat16 with float32 sums. The number of points is a multiple of
what a program takes, hidden widths are 128 or 256, features a multiple of `CHUNK`.

Triton copies ahead on chip when a loop has three stages or more (with two, a copy is
asked for where it is waited for) and only for what a product reads.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, BFloat16, Float32

ROWS = 64
"""Points in a tile: the fewest that Hopper's matrix instruction takes."""
CHUNK = 64
"""Features that are multiplied at a time."""
COLUMNS = 128
"""Columns of a backward program: what its registers hold of a weight gradient."""
MULTIPROCESSORS = 132
"""Of an H100 or H200: points are dealt out so that each gets one program or two."""
LANES = 16
"""The narrowest matrix a tensor core takes; output channels are padded to it."""


def features(
    coords: Float32[Array, "d n"],
    frequencies: Float32[Array, "d m"],
    *,
    interpret: bool = False,
) -> BFloat16[Array, "n f"]:
    """[sin 2 pi B v, cos 2 pi B v], the phase in float32."""
    (d, n), m = coords.shape, frequencies.shape[1]
    rows = ROWS // 4
    columns = next(c for c in (256, 128, 64, 32) if m % c == 0)

    def encode(v_ref, f_ref, out_ref):
        turns = v_ref[0, :][:, None] * f_ref[0, :][None, :]
        for i in range(1, d):
            turns = turns + v_ref[i, :][:, None] * f_ref[i, :][None, :]
        sin, cos = _sin_cos_turns(turns, interpret)
        out_ref[:, 0, :] = sin.astype(jnp.bfloat16)
        out_ref[:, 1, :] = cos.astype(jnp.bfloat16)

    out = _call(
        encode,
        interpret,
        warps=4,
        stages=1,
        grid=(n // rows, m // columns),
        in_specs=[
            pl.BlockSpec((d, rows), lambda i, j: (0, i)),
            pl.BlockSpec((d, columns), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((rows, 2, columns), lambda i, j: (i, 0, j)),
        out_shape=jax.ShapeDtypeStruct((n, 2, m), jnp.bfloat16),
    )(coords, frequencies)
    return out.reshape(n, 2 * m)


def dense_first(
    x: BFloat16[Array, "n f"],
    W: BFloat16[Array, "f w"],
    b: Float32[Array, " w"],
    *,
    interpret: bool = False,
) -> BFloat16[Array, "n w"]:
    """`relu(x @ W + b)` for any number of features, both streamed chunk by chunk."""
    (n, fan_in), width = x.shape, W.shape[1]
    rows = 2 * ROWS

    def dense_first_relu(x_ref, w_ref, b_ref, h_ref):
        def chunk(k, y):
            part = pl.ds(k * CHUNK, CHUNK)
            return y + _product(x_ref[:, part], w_ref[part, :])

        start = jnp.zeros((rows, width), jnp.float32)
        y = lax.fori_loop(0, fan_in // CHUNK, chunk, start) + b_ref[...]
        h_ref[...] = _relu(y).astype(jnp.bfloat16)

    return _call(
        dense_first_relu,
        interpret,
        stages=4,
        grid=(n // rows,),
        in_specs=[
            pl.BlockSpec((rows, fan_in), lambda i: (i, 0)),
            pl.BlockSpec((fan_in, width), lambda i: (0, 0)),
            pl.BlockSpec((width,), lambda i: (0,)),
        ],
        out_specs=pl.BlockSpec((rows, width), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((n, width), jnp.bfloat16),
    )(x, W, b)


def dense(
    x: BFloat16[Array, "n i"],
    W: BFloat16[Array, "i w"],
    b: Float32[Array, " w"],
    *,
    tiles: int,
    interpret: bool = False,
) -> BFloat16[Array, "n w"]:
    """`relu(x @ W + b)` with all of W on chip.

    No room is left there to copy ahead, so the next tile waits in registers: it is
    asked for before the product of this one and arrives behind it.
    """
    (n, fan_in), width = x.shape, W.shape[1]
    share = tiles * ROWS

    def dense_relu(x_ref, w_ref, b_ref, h_ref):
        W, b = w_ref[...], b_ref[...]

        def tile(i, x):
            after = x_ref[pl.ds(jnp.minimum(i + 1, tiles - 1) * ROWS, ROWS), :]
            h = _relu(_product(x, W) + b)
            h_ref[pl.ds(i * ROWS, ROWS), :] = h.astype(jnp.bfloat16)
            return after

        lax.fori_loop(0, tiles, tile, x_ref[pl.ds(0, ROWS), :])

    return _call(
        dense_relu,
        interpret,
        stages=1,
        grid=(n // share,),
        in_specs=[
            pl.BlockSpec((share, fan_in), lambda i: (i, 0)),
            pl.BlockSpec((fan_in, width), lambda i: (0, 0)),
            pl.BlockSpec((width,), lambda i: (0,)),
        ],
        out_specs=pl.BlockSpec((share, width), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((n, width), jnp.bfloat16),
    )(x, W, b)


def back(
    g: BFloat16[Array, "n o"],
    W: BFloat16[Array, "w o"],
    h: BFloat16[Array, "n w"],
    *,
    tiles: int,
    interpret: bool = False,
) -> tuple[
    BFloat16[Array, "n w"], Float32[Array, "parts w"], Float32[Array, "parts w o"]
]:
    """Back through a layer and the ReLU before it, whose output was h.

    Returns `(g @ W.T) * (h > 0)`, and in parts, one for each program, its sum over the
    points (the bias gradient of the layer below) and `h.T @ g` (the weight gradient of
    this one), for which g and h are on chip anyway.
    """
    (n, width), fan_out = h.shape, W.shape[1]
    share = tiles * ROWS
    parts = n // share

    def back_relu(g_ref, w_ref, h_ref, d_ref, db_ref, dw_ref):
        W = w_ref[...]

        def tile(i, sums):
            db, dW = sums
            rows = pl.ds(i * ROWS, ROWS)
            g, h = g_ref[rows, :], h_ref[rows, :]
            d = jnp.where(h > 0, _product(g, W, (1, 1)), 0)
            d_ref[rows, :] = d.astype(jnp.bfloat16)
            return db + d, dW + _product(h, g, (0, 0))

        start = (
            jnp.zeros((ROWS, COLUMNS), jnp.float32),
            jnp.zeros((COLUMNS, fan_out), jnp.float32),
        )
        db, dW = lax.fori_loop(0, tiles, tile, start)
        db_ref[...] = jnp.sum(db, axis=0)
        dw_ref[...] = dW

    return _call(
        back_relu,
        interpret,
        stages=3 if fan_out > LANES else 4,
        grid=(parts, width // COLUMNS),
        in_specs=[
            pl.BlockSpec((share, fan_out), lambda i, j: (i, 0)),
            pl.BlockSpec((COLUMNS, fan_out), lambda i, j: (j, 0)),
            pl.BlockSpec((share, COLUMNS), lambda i, j: (i, j)),
        ],
        out_specs=[
            pl.BlockSpec((share, COLUMNS), lambda i, j: (i, j)),
            pl.BlockSpec((None, COLUMNS), lambda i, j: (i, j)),
            pl.BlockSpec((None, COLUMNS, fan_out), lambda i, j: (i, j, 0)),
        ],
        out_shape=[
            jax.ShapeDtypeStruct((n, width), jnp.bfloat16),
            jax.ShapeDtypeStruct((parts, width), jnp.float32),
            jax.ShapeDtypeStruct((parts, width, fan_out), jnp.float32),
        ],
    )(g, W, h)


_ROUND = 1.5 * 2.0**23


def _sin_cos_turns(t: Array, interpret: bool) -> tuple[Array, Array]:
    """Sine and cosine of an angle in turns, for features that will be bfloat16.

    Whole turns are taken off exactly; the special-function unit then errs by less than
    5e-7, a thousandth of a bfloat16 rounding.
    """
    if interpret:
        r = (2 * jnp.pi) * (t - jnp.round(t))
        return jnp.sin(r), jnp.cos(r)
    # Adding and taking off 1.5 * 2^23 rounds to the nearest integer in two additions.
    r = (2 * jnp.pi) * (t - ((t + _ROUND) - _ROUND))
    return _special("sin", r), _special("cos", r)


def _special(name: str, r: Array) -> Array:
    [value] = triton.elementwise_inline_asm(
        f"{name}.approx.f32 $0, $1;",
        args=[r],
        constraints="=f,f",
        pack=1,
        result_shape_dtypes=[jax.ShapeDtypeStruct(r.shape, r.dtype)],
    )
    return value


def _relu(y: Array) -> Array:
    # A maximum would turn NaN into 0 here, and a run that diverged would look well.
    return jnp.where(y < 0, 0, y)


def _product(x: Array, y: Array, over: tuple[int, int] = (1, 0)) -> Array:
    dims = (((over[0],), (over[1],)), ((), ()))
    return lax.dot_general(x, y, dims, preferred_element_type=jnp.float32)


def _call(program, interpret: bool, *, stages: int, warps: int = 8, **specs):
    params = triton.CompilerParams(num_warps=warps, num_stages=stages)
    return pl.pallas_call(program, compiler_params=params, interpret=interpret, **specs)
