"""Row-tile programs for a Hopper GPU: a matrix product and all that rides on it.

Each takes a few tiles of rows through one layer and writes once what the next layer or
the backward pass reads. Products are bfloat16 with float32 sums. Rows come in whole
multiples of a program's share (see `Tiling`), features in multiples of `CHUNK`.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, BFloat16, Float32

CHUNK = 64
"""Frequencies that a program encodes between two products."""
LANES = 16
"""The narrowest matrix a tensor core takes: output channels are padded to it."""
# Least-squares polynomial in r^2 for sin(2 pi r) / r, as in `turns`.


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How rows are dealt out: `tiles` tiles of `rows` rows to each program."""

    rows: int
    tiles: int
    warps: int = 8
    stages: int = 2

    @property
    def share(self) -> int:
        return self.rows * self.tiles


def encode(
    coords: Float32[Array, "n d"],
    frequencies: Float32[Array, "d m"],
    W: BFloat16[Array, "f w"],
    b: Float32[Array, " w"],
    *,
    tiling: Tiling,
    interpret: bool = False,
) -> tuple[BFloat16[Array, "n f"], BFloat16[Array, "n w"]]:
    """Features [sin, cos] and the first hidden layer.

    A program turns a chunk of frequencies into features and multiplies them at once, so
    that they are written for the backward pass but never read back here.
    """
    (n, d), m, width = coords.shape, frequencies.shape[1], W.shape[1]

    def program(v_ref, f_ref, w_ref, b_ref, features_ref, h_ref):
        columns = [v_ref[:, i] for i in range(d)]

        def chunk(k, acc):
            sines = pl.ds(k * CHUNK, CHUNK)
            cosines = pl.ds(m + k * CHUNK, CHUNK)
            turns = columns[0][:, None] * f_ref[0, sines][None, :]
            for i in range(1, d):
                turns = turns + columns[i][:, None] * f_ref[i, sines][None, :]
            sin, cos = sin_cos_turns(turns)
            sin, cos = sin.astype(jnp.bfloat16), cos.astype(jnp.bfloat16)
            features_ref[:, sines] = sin
            features_ref[:, cosines] = cos
            acc = acc + _product(sin, w_ref[sines, :])
            return acc + _product(cos, w_ref[cosines, :])

        start = jnp.zeros((tiling.rows, width), jnp.float32)
        acc = lax.fori_loop(0, m // CHUNK, chunk, start)
        h_ref[...] = jnp.maximum(acc + b_ref[...], 0).astype(jnp.bfloat16)

    assert tiling.tiles == 1
    return pl.pallas_call(
        program,
        grid=(n // tiling.rows,),
        in_specs=[_rows(tiling, d), _whole(d, m), _whole(2 * m, width), _whole(width)],
        out_specs=[_rows(tiling, 2 * m), _rows(tiling, width)],
        out_shape=[_bfloat16(n, 2 * m), _bfloat16(n, width)],
        **_options(tiling, interpret),
    )(coords, frequencies, W, b)


def dense(
    x: BFloat16[Array, "n i"],
    W: BFloat16[Array, "i w"],
    b: Float32[Array, " w"],
    *,
    tiling: Tiling,
    interpret: bool = False,
) -> BFloat16[Array, "n w"]:
    """A hidden layer, `relu(x @ W + b)`; a program keeps W on chip for all its tiles."""
    (n, fan_in), width = x.shape, W.shape[1]

    def program(x_ref, w_ref, b_ref, h_ref):
        W, b = w_ref[...], b_ref[...]

        def tile(i, _):
            rows = pl.ds(i * tiling.rows, tiling.rows)
            y = _product(x_ref[rows, :], W) + b
            h_ref[rows, :] = jnp.maximum(y, 0).astype(jnp.bfloat16)
            return 0

        lax.fori_loop(0, tiling.tiles, tile, 0)

    return pl.pallas_call(
        program,
        grid=(n // tiling.share,),
        in_specs=[_rows(tiling, fan_in), _whole(fan_in, width), _whole(width)],
        out_specs=_rows(tiling, width),
        out_shape=_bfloat16(n, width),
        **_options(tiling, interpret),
    )(x, W, b)


def dense_last(
    x: BFloat16[Array, "n i"],
    W: BFloat16[Array, "i w"],
    b: Float32[Array, " w"],
    W_last: BFloat16[Array, "w lanes"],
    b_last: Float32[Array, " lanes"],
    *,
    tiling: Tiling,
    interpret: bool = False,
) -> tuple[BFloat16[Array, "n w"], Float32[Array, "n lanes"]]:
    """The last hidden layer, and the network's output from it while it is on chip."""
    (n, fan_in), width = x.shape, W.shape[1]

    def program(x_ref, w_ref, b_ref, wl_ref, bl_ref, h_ref, out_ref):
        W, b, W_last, b_last = w_ref[...], b_ref[...], wl_ref[...], bl_ref[...]

        def tile(i, _):
            rows = pl.ds(i * tiling.rows, tiling.rows)
            y = _product(x_ref[rows, :], W) + b
            h = jnp.maximum(y, 0).astype(jnp.bfloat16)
            h_ref[rows, :] = h
            out_ref[rows, :] = _product(h, W_last) + b_last
            return 0

        lax.fori_loop(0, tiling.tiles, tile, 0)

    return pl.pallas_call(
        program,
        grid=(n // tiling.share,),
        in_specs=[
            _rows(tiling, fan_in),
            _whole(fan_in, width),
            _whole(width),
            _whole(width, LANES),
            _whole(LANES),
        ],
        out_specs=[_rows(tiling, width), _rows(tiling, LANES)],
        out_shape=[_bfloat16(n, width), jax.ShapeDtypeStruct((n, LANES), jnp.float32)],
        **_options(tiling, interpret),
    )(x, W, b, W_last, b_last)


def back_last(
    g: BFloat16[Array, "n lanes"],
    W: BFloat16[Array, "w lanes"],
    h: BFloat16[Array, "n w"],
    *,
    tiling: Tiling,
    interpret: bool = False,
):
    """Through the last layer and the ReLU before it.

    Returns the gradient before the ReLU, its sum over the rows of each program (the bias
    gradient in parts), and the last layer's weight gradient in the same parts.
    """
    n, width = h.shape

    def program(g_ref, w_ref, h_ref, d_ref, db_ref, dw_ref):
        W = w_ref[...]

        def tile(i, sums):
            db, dW = sums
            rows = pl.ds(i * tiling.rows, tiling.rows)
            g, h = g_ref[rows, :], h_ref[rows, :]
            y = jnp.where(h > 0, _product(g, W, (1, 1)), 0).astype(jnp.bfloat16)
            d_ref[rows, :] = y
            return db + y.astype(jnp.float32), dW + _product(h, g, (0, 0))

        start = (
            jnp.zeros((tiling.rows, width), jnp.float32),
            jnp.zeros((width, LANES), jnp.float32),
        )
        db, dW = lax.fori_loop(0, tiling.tiles, tile, start)
        db_ref[...] = jnp.sum(db, axis=0)
        dw_ref[...] = dW

    parts = n // tiling.share
    return pl.pallas_call(
        program,
        grid=(parts,),
        in_specs=[_rows(tiling, LANES), _whole(width, LANES), _rows(tiling, width)],
        out_specs=[_rows(tiling, width), _part(width), _part(width, LANES)],
        out_shape=[
            _bfloat16(n, width),
            jax.ShapeDtypeStruct((parts, width), jnp.float32),
            jax.ShapeDtypeStruct((parts, width, LANES), jnp.float32),
        ],
        **_options(tiling, interpret),
    )(g, W, h)


def back(
    g: BFloat16[Array, "n o"],
    W: BFloat16[Array, "w o"],
    h: BFloat16[Array, "n w"],
    *,
    tiling: Tiling,
    interpret: bool = False,
) -> tuple[BFloat16[Array, "n w"], Float32[Array, "parts w"]]:
    """Through a layer and the ReLU before it: `(g @ W.T) * (h > 0)`, and row sums."""
    n, width = h.shape
    fan_out = W.shape[1]

    def program(g_ref, w_ref, h_ref, d_ref, db_ref):
        W = w_ref[...]

        def tile(i, db):
            rows = pl.ds(i * tiling.rows, tiling.rows)
            h = h_ref[rows, :]
            y = _product(g_ref[rows, :], W, (1, 1))
            y = jnp.where(h > 0, y, 0).astype(jnp.bfloat16)
            d_ref[rows, :] = y
            return db + y.astype(jnp.float32)

        start = jnp.zeros((tiling.rows, width), jnp.float32)
        db = lax.fori_loop(0, tiling.tiles, tile, start)
        db_ref[...] = jnp.sum(db, axis=0)

    parts = n // tiling.share
    return pl.pallas_call(
        program,
        grid=(parts,),
        in_specs=[_rows(tiling, fan_out), _whole(width, fan_out), _rows(tiling, width)],
        out_specs=[_rows(tiling, width), _part(width)],
        out_shape=[
            _bfloat16(n, width),
            jax.ShapeDtypeStruct((parts, width), jnp.float32),
        ],
        **_options(tiling, interpret),
    )(g, W, h)


_SIN = (6.283185280261416, -41.34168066806313, 81.6024807428703, -76.58128455955777,
        39.760722077962036)  # fmt: skip
_ROUND = 1.5 * 2**23


def sin_cos_turns(t: Array) -> tuple[Array, Array]:
    whole = (t + _ROUND) - _ROUND
    r = t - whole
    half = jnp.abs(r)
    cos = _sin_quarter(0.25 - half)
    sin = _sin_quarter(0.25 - jnp.abs(half - 0.25))
    return jnp.where(r < 0, -sin, sin), cos


def _sin_quarter(r: Array) -> Array:
    u = r * r
    value = jnp.full_like(u, _SIN[-1])
    for c in _SIN[-2::-1]:
        value = value * u + c
    return r * value


def _product(x: Array, y: Array, over: tuple[int, int] = (1, 0)) -> Array:
    contract = ((over[0],), (over[1],))
    return lax.dot_general(
        x, y, (contract, ((), ())), preferred_element_type=jnp.float32
    )


def _rows(tiling: Tiling, width: int) -> pl.BlockSpec:
    return pl.BlockSpec((tiling.share, width), lambda i: (i, 0))


def _whole(*shape: int) -> pl.BlockSpec:
    return pl.BlockSpec(shape, lambda i: (0,) * len(shape))


def _part(*shape: int) -> pl.BlockSpec:
    return pl.BlockSpec((None, *shape), lambda i: (i, *(0,) * len(shape)))


def _bfloat16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def _options(tiling: Tiling, interpret: bool) -> dict:
    return {
        "compiler_params": triton.CompilerParams(
            num_warps=tiling.warps, num_stages=tiling.stages
        ),
        "interpret": interpret,
    }
