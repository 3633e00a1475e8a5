"""The first layer with its Fourier features made on chip: Mosaic GPU, Hopper.

`fused_tiles.features` and a layer as one program, which writes what both write and
reads next to nothing.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, BFloat16, Float32

from .mosaic_tiles import (
    FULL,
    HALF,
    ROWS,
    WORKERS,
    across,
    call,
    chunk,
    dealt,
    in_turns,
    on_chip,
    plgpu,
    relu,
)

COLUMNS = 128
"""Columns of W on chip: 128 KiB with the paper's 512 features."""
SLOTS = 3
"""Of a warp group: two for features, in turns, and the last for h; 16 KiB each."""
ON_CHIP = 226 * 1024
"""Bytes of shared memory that a program can have, without its barriers."""
_ROUND = 1.5 * 2.0**23


def dense_encoded(
    coords: Float32[Array, "d n"],
    frequencies: Float32[Array, "d m"],
    W: BFloat16[Array, "f w"],
    b: Float32[Array, " w"],
    *,
    programs: int,
    interpret: bool = False,
) -> tuple[BFloat16[Array, "n f"], BFloat16[Array, "n w"]]:
    """x = [sin 2 pi B v, cos 2 pi B v] and `relu(x @ W + b)`.

    Both warp groups multiply; each takes every other tile and waits for no other. It
    makes sines and cosines of 64 frequencies while the tensor cores have those before,
    and the first of the next tile while they have the last of this. Two programs that
    have half of W's columns each make the same features: one writes sines, the other
    cosines.
    """
    (d, n), m, width = coords.shape, frequencies.shape[1], W.shape[1]
    if width != 2 * COLUMNS or m % (2 * ROWS):
        raise ValueError(
            f"`W` is {width} wide, but must be {2 * COLUMNS}, and `frequencies` (={m}) "
            f"a multiple of {2 * ROWS}"
        )
    chunks = m // ROWS
    taken = 4 * m * COLUMNS + 4 * WORKERS * SLOTS * ROWS**2 + 4 * d * m
    resident = taken <= ON_CHIP  # frequencies, or else in the cache

    def encoded_relu(v_ref, f_ref, w_ref, b_ref, x_ref, h_ref, at):
        worker, part = lax.axis_index("worker"), lax.axis_index("part")
        share, rows = dealt(n, programs)
        first = part * COLUMNS
        B = at["f"] if resident else f_ref

        @pl.when(worker == 0)
        def copy():
            mine = pl.ds(first, COLUMNS)
            if resident:
                plgpu.copy_gmem_to_smem(f_ref, at["f"], at["frequencies"])
            for k in range(chunks):
                for of in (chunk(k), chunk(k, m)):
                    plgpu.copy_gmem_to_smem(
                        w_ref.at[of, mine], at["W"].at[of], at["weights"].at[k]
                    )

        def points(t):
            return tuple(down(v_ref.at[i, rows(t)]) for i in range(d))

        def waves(v, k):
            v = [lax.broadcast_in_dim(x, (ROWS, ROWS), [0]) for x in v]
            turns = v[0] * across(B.at[0, chunk(k)])
            for i in range(1, d):
                turns = turns + v[i] * across(B.at[i, chunk(k)])
            # Adding and taking off 1.5 * 2^23 rounds to the nearest integer.
            whole = jnp.round(turns) if interpret else (turns + _ROUND) - _ROUND
            r = (2 * jnp.pi) * (turns - whole)
            return jnp.sin(r).astype(HALF), jnp.cos(r).astype(HALF)

        def slot(i):
            return at["slots"].at[worker * SLOTS + i]

        def left():
            """Waits for all copies out but the last: none of them is in the way."""
            plgpu.wait_smem_to_gmem(1, wait_read_only=True)

        def make(v, k):
            plgpu.wgmma_wait(2)  # those of the slot's last chunk
            left()
            for i, x in enumerate(waves(v, k)):
                slot(k % 2)[i] = x
            plgpu.commit_smem()

        def tile(j, v):
            t = j * WORKERS + worker
            # Asked for a tile ahead: nothing else is waited for that comes from far.
            after = points(jnp.minimum(t + WORKERS, share - 1))

            def product(y):
                for k in range(chunks):

                    @pl.when(j == 0)
                    def weights(k=k):
                        plgpu.barrier_wait(at["weights"].at[k])

                    x = slot(k % 2)
                    for i in range(2):
                        plgpu.wgmma(y, x.at[i], at["W"].at[chunk(k, i * m)])
                    to = x_ref.at[rows(t), chunk(k, part * m)]
                    plgpu.copy_smem_to_gmem(x.at[part], to)
                    if k + 1 < chunks:
                        make(v, k + 1)
                    else:
                        make(after, 0)
                return y[...]

            y = pl.run_scoped(product, plgpu.ACC((ROWS, COLUMNS), FULL))
            left()
            h = slot(SLOTS - 1)
            for i in range(2):
                b = across(b_ref.at[chunk(i, first)])
                h[i] = relu(y[:, i * ROWS : (i + 1) * ROWS] + b)
            plgpu.commit_smem()
            for i in range(2):
                to = h_ref.at[rows(t), chunk(i, first)]
                plgpu.copy_smem_to_gmem(h.at[i], to, commit_group=i == 1)
            return after

        if resident:
            plgpu.barrier_wait(at["frequencies"])
        v = points(worker)
        make(v, 0)
        lax.fori_loop(0, in_turns(worker, share), tile, v)
        plgpu.wait_smem_to_gmem(0)

    scratch = {
        "W": on_chip(2 * m, COLUMNS),
        "slots": on_chip(WORKERS * SLOTS, 2, ROWS, ROWS),
        "weights": plgpu.Barrier(num_arrivals=2, num_barriers=chunks),
    }
    if resident:
        scratch |= {"f": plgpu.SMEM((d, m), FULL), "frequencies": plgpu.Barrier()}
    return call(
        encoded_relu,
        interpret,
        (programs, width // COLUMNS),
        (
            jax.ShapeDtypeStruct((n, 2 * m), HALF),
            jax.ShapeDtypeStruct((n, width), HALF),
        ),
        scratch,
        threads=WORKERS,
        compiler_params=plgpu.CompilerParams(
            # Sines and cosines of the special-function unit: off by less than 5e-7.
            approx_math=True,
            # No thread reads what threads write on chip: copies and products do.
            unsafe_no_auto_barriers=True,
        ),
    )(coords, frequencies, W, b)


def down(ref: Any) -> Array:
    """A number for each row of a tile."""
    return plgpu.load(ref, layout=plgpu.Layout.WGMMA.reduce(1), optimized=False)
