"""The output layer's backward pass joined to the last hidden layer's: Mosaic GPU.

`fused_tiles.back` twice, for the output layer and for the one before it, without
writing what passes between them: a third of what the two move.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, BFloat16, Float32

from .mosaic_tiles import (
    FEW,
    FULL,
    HALF,
    MANY,
    ROWS,
    WORKERS,
    call,
    columns_of,
    dealt,
    finish,
    masked,
    nothing,
    on_chip,
    plgpu,
    stream,
    turned,
)

EARLY = 2
"""Slots of what a tile needs first and not for long."""


def back_outputs(
    e: BFloat16[Array, "n c"],
    V: BFloat16[Array, "k c"],
    k: BFloat16[Array, "n k"],
    W: BFloat16[Array, "w k"],
    h: BFloat16[Array, "n w"],
    *,
    programs: int,
    slots: int = 3,
    interpret: bool = False,
) -> tuple[
    BFloat16[Array, "n w"],
    Float32[Array, "programs w"],
    Float32[Array, "programs w k"],
    Float32[Array, "programs k"],
    Float32[Array, "programs k c"],
]:
    """Back through the output layer, the ReLU k and the layer before it to the ReLU h.

    With `g = (e @ V.T) * (k > 0)` in bfloat16, this gives `back(g, W, h)`, and in parts
    the sum of g over the points and `k.T @ e`. A program has all of g: each warp group
    makes half of it, written over k, and both wait until it is whole.
    """
    (n, width), (last, channels) = h.shape, V.shape
    if width != 2 * WORKERS * ROWS or last != width:
        raise ValueError(f"`h` and `k` are {width} and {last} wide, but must be 256")

    def back_joined(
        e_ref,
        f_ref,
        v_ref,
        k_ref,
        w_ref,
        h_ref,
        d_ref,
        db_ref,
        dw_ref,
        dc_ref,
        dv_ref,
        at,
    ):
        program, worker = lax.axis_index("program"), lax.axis_index("worker")
        part = lax.axis_index("part")
        share, rows = dealt(n, programs)

        def half(which):
            """Of a warp group's 128 columns of k: first those it has the sums of."""
            own = part if which == 0 else 1 - part
            return pl.ds((2 * worker + own) * ROWS, ROWS)

        @pl.when(worker == WORKERS)
        def copy():
            plgpu.set_max_registers(FEW, action="decrease")
            plgpu.copy_gmem_to_smem(v_ref, at["V"], at["weights"])
            for of in range(WORKERS):
                plgpu.copy_gmem_to_smem(
                    w_ref.at[columns_of(of)], at["W"].at[of], at["weights"]
                )

            def tile(t, slot):
                early = lax.rem(t, EARLY)

                @pl.when(t >= EARLY)
                def wait():
                    plgpu.barrier_wait(at["done"].at[early])

                full = at["early"].at[early]
                plgpu.copy_gmem_to_smem(e_ref.at[rows(t)], at["e"].at[early], full)
                plgpu.copy_gmem_to_smem(f_ref.at[:, rows(t)], at["f"].at[early], full)
                full = at["full"].at[slot]
                plgpu.copy_gmem_to_smem(k_ref.at[rows(t)], at["k"].at[slot], full)
                for of in range(WORKERS):
                    plgpu.copy_gmem_to_smem(
                        h_ref.at[rows(t), columns_of(of)], at["h"].at[slot, of], full
                    )

            stream(tile, share, slots, at["empty"])
            finish(at["done"], EARLY, share)

        @pl.when(worker < WORKERS)
        def multiply():
            plgpu.set_max_registers(MANY, action="increase")
            plgpu.barrier_wait(at["weights"])

            def sums(dW, dV):
                def tile(t, carry):
                    db, dc = carry
                    slot = lax.rem(t, slots)
                    k, h = at["k"].at[slot], at["h"].at[slot, worker]
                    early = lax.rem(t, EARLY)
                    e, f = at["e"].at[early], at["f"].at[early]
                    plgpu.barrier_wait(at["early"].at[early])
                    plgpu.barrier_wait(at["full"].at[slot])

                    square = plgpu.ACC((ROWS, ROWS), FULL)
                    # The other way round, ptxas 13.4 runs every product alone (C7514).
                    for which in (1, 0):
                        over = turned(k.at[:, half(which)])

                        def through(g, which=which, over=over):
                            plgpu.wgmma(g, at["V"].at[half(which)], turned(e))
                            if which == 0:
                                plgpu.wgmma(dV, over, turned(f))
                            return g[...]

                        g = masked(pl.run_scoped(through, square), over)
                        if which == 0:
                            dc = dc + jnp.sum(g, axis=1)
                        over[...] = g.astype(HALF)
                    plgpu.barrier_arrive(at["done"].at[early])
                    plgpu.commit_smem()
                    plgpu.barrier_arrive(at["whole"])
                    plgpu.barrier_wait(at["whole"])

                    def products(d):
                        plgpu.wgmma(d, at["W"].at[worker], turned(k))
                        plgpu.wgmma(dW, turned(h), k)
                        return plgpu.wgmma_accumulator_load(d, wait_n=1)

                    d = masked(pl.run_scoped(products, square), turned(h))
                    db = db + jnp.sum(d, axis=1)
                    plgpu.wgmma_wait(0)
                    turned(h)[...] = d.astype(HALF)
                    plgpu.commit_smem()
                    plgpu.copy_smem_to_gmem(h, d_ref.at[rows(t), columns_of(worker)])
                    plgpu.wait_smem_to_gmem(0, wait_read_only=True)
                    plgpu.barrier_arrive(at["empty"].at[slot])
                    return db, dc

                found = lax.fori_loop(0, share, tile, (nothing(), nothing()))
                return *found, dW[...], dV[...]

            db, dc, dW, dV = pl.run_scoped(
                sums,
                plgpu.ACC((ROWS, last), FULL),
                plgpu.ACC((ROWS, channels), FULL),
            )
            db_ref[program, columns_of(worker)] = db
            dw_ref[program, columns_of(worker), :] = dW
            dc_ref[program, half(0)] = dc
            dv_ref[program, half(0), :] = dV
            plgpu.wait_smem_to_gmem(0)

    return call(
        back_joined,
        interpret,
        grid=(programs, width // (WORKERS * ROWS)),
        out=(
            jax.ShapeDtypeStruct((n, width), HALF),
            jax.ShapeDtypeStruct((programs, width), FULL),
            jax.ShapeDtypeStruct((programs, width, last), FULL),
            jax.ShapeDtypeStruct((programs, last), FULL),
            jax.ShapeDtypeStruct((programs, last, channels), FULL),
        ),
        scratch={
            "W": on_chip(WORKERS, ROWS, last),
            "V": on_chip(last, channels),
            "e": on_chip(EARLY, ROWS, channels),
            "f": on_chip(EARLY, channels, ROWS),
            "k": on_chip(slots, ROWS, last),
            "h": on_chip(slots, WORKERS, ROWS, ROWS),
            "weights": plgpu.Barrier(num_arrivals=1 + WORKERS),
            "early": plgpu.Barrier(num_arrivals=2, num_barriers=EARLY),
            "done": plgpu.Barrier(num_arrivals=WORKERS, num_barriers=EARLY),
            "full": plgpu.Barrier(num_arrivals=1 + WORKERS, num_barriers=slots),
            "empty": plgpu.Barrier(num_arrivals=WORKERS, num_barriers=slots),
            "whole": plgpu.Barrier(num_arrivals=WORKERS),
        },
    )(e, e.T, V, k, W, h)
