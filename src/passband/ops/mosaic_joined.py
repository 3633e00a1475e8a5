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
    FULL,
    HALF,
    ROWS,
    WORKERS,
    call,
    chunk,
    columns_of,
    dealt,
    finish,
    masked,
    nothing,
    on_chip,
    plgpu,
    turned,
)

BLOCKS = 4
"""Columns of k by the warp group that makes g: 64 at a time."""
MAKES, MULTIPLIES = 104, 200
"""Registers of a thread that makes g and of one that multiplies: 104 + 2 * 200 is what
three warp groups start with."""


def back_outputs(
    e: BFloat16[Array, "n c"],
    V: BFloat16[Array, "k c"],
    k: BFloat16[Array, "n k"],
    W: BFloat16[Array, "w k"],
    h: BFloat16[Array, "n w"],
    *,
    programs: int,
    slots: int = 3,
    h_slots: int = 3,
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
    the sum of g over the points and `k.T @ e`. The warp group that copies makes the
    next tile's g, over k, while two multiply this one's. It also has the two sums, for
    half of the columns of k: two programs share the points of a part.

    k and h have slots of their own: those of k are free once multiplied, those of h
    once d has been copied out from there, which is waited for in the next tile.
    """
    (n, width), (last, channels) = h.shape, V.shape
    if width != 2 * WORKERS * ROWS or last != width:
        raise ValueError(f"`h` and `k` are {width} and {last} wide, but must be 256")

    def back_joined(
        e_ref, v_ref, k_ref, w_ref, h_ref, d_ref, db_ref, dw_ref, dc_ref, dv_ref, at
    ):
        program, worker = lax.axis_index("program"), lax.axis_index("worker")
        part = lax.axis_index("part")
        share, rows = dealt(n, programs)

        def block(i):
            """Columns of k: of the last two blocks, a program has the sums."""
            return chunk(lax.rem(2 * (1 - part) + i, BLOCKS))

        def copy_k(t):
            slot = lax.rem(t, slots)

            @pl.when(t >= slots)
            def wait():
                plgpu.barrier_wait(at["empty"].at[slot])

            full = at["full"].at[slot]
            plgpu.copy_gmem_to_smem(k_ref.at[rows(t)], at["k"].at[slot], full)
            plgpu.copy_gmem_to_smem(e_ref.at[rows(t)], at["e"].at[slot], full)

        def copy_h(t):
            slot = lax.rem(t, h_slots)

            @pl.when(t >= h_slots)
            def wait():
                plgpu.barrier_wait(at["h empty"].at[slot])

            for of in range(WORKERS):
                plgpu.copy_gmem_to_smem(
                    h_ref.at[rows(t), columns_of(of)],
                    at["h"].at[slot, of],
                    at["h full"].at[slot],
                )

        @pl.when(worker == WORKERS)
        def make():
            plgpu.set_max_registers(MAKES, action="decrease")
            plgpu.copy_gmem_to_smem(v_ref, at["V"], at["small"])
            copy_k(jnp.int32(0))
            for of in range(WORKERS):
                plgpu.copy_gmem_to_smem(
                    w_ref.at[columns_of(of)], at["W"].at[of], at["weights"]
                )
            copy_h(jnp.int32(0))
            pl.loop(1, jnp.minimum(share, slots))(copy_k)
            pl.loop(1, jnp.minimum(share, h_slots))(copy_h)
            plgpu.barrier_wait(at["small"])

            def sums(*dV):
                def tile(t, dc):
                    slot = lax.rem(t, slots)
                    k, e, f = at["k"].at[slot], at["e"].at[slot], at["f"]
                    plgpu.barrier_wait(at["full"].at[slot])
                    # XLA would need a program of its own to turn e.
                    turned(f)[...] = plgpu.load(e, layout=plgpu.Layout.WGMMA)
                    plgpu.commit_smem()
                    for i, of in enumerate(dV):
                        plgpu.wgmma(of, turned(k.at[:, block(2 + i)]), turned(f))

                    # Blocks in a row would make ptxas run all products alone (C7514).
                    def one(i, dc):
                        over = turned(k.at[:, block(i)])

                        def through(g):
                            plgpu.wgmma(g, at["V"].at[block(i)], turned(e))
                            live = plgpu.load(over, layout=plgpu.Layout.WGMMA) > 0
                            return jnp.where(live, g[...], 0.0)

                        g = pl.run_scoped(through, plgpu.ACC((ROWS, ROWS), FULL))
                        over[...] = g.astype(HALF)

                        def added():
                            return dc[0] + jnp.sum(g, axis=1)

                        return dc[1], lax.cond(i < BLOCKS // 2, lambda: dc[0], added)

                    dc = lax.fori_loop(0, BLOCKS, one, dc)
                    plgpu.commit_smem()
                    plgpu.barrier_arrive(at["made"].at[slot])

                    # What the next tile frees late is asked for a tile late.
                    @pl.when((t > 1) & (t - 2 + h_slots < share))
                    def more_h():
                        copy_h(t - 2 + h_slots)

                    @pl.when((t > 0) & (t - 1 + slots < share))
                    def more_k():
                        copy_k(t - 1 + slots)

                    return dc

                dc = lax.fori_loop(0, share, tile, (nothing(), nothing()))
                return dc, tuple(of[...] for of in dV)

            narrow = plgpu.ACC((ROWS, channels), FULL)
            dc, dV = pl.run_scoped(sums, narrow, narrow)
            for i in range(2):
                dc_ref[program, block(2 + i)] = dc[i]
                dv_ref[program, block(2 + i), :] = dV[i]
            finish(at["empty"], slots, share)
            finish(at["h empty"], h_slots, share)

        @pl.when(worker < WORKERS)
        def multiply():
            plgpu.set_max_registers(MULTIPLIES, action="increase")
            plgpu.barrier_wait(at["weights"])

            def free(t):
                plgpu.wait_smem_to_gmem(0, wait_read_only=True)
                plgpu.barrier_arrive(at["h empty"].at[lax.rem(t, h_slots)])

            def sums(dW):
                def tile(t, db):
                    slot, h_slot = lax.rem(t, slots), lax.rem(t, h_slots)
                    g, h = at["k"].at[slot], at["h"].at[h_slot, worker]
                    plgpu.barrier_wait(at["h full"].at[h_slot])
                    plgpu.barrier_wait(at["made"].at[slot])

                    def products(d):
                        plgpu.wgmma(d, at["W"].at[worker], turned(g))
                        plgpu.wgmma(dW, turned(h), g)
                        pl.when(t > 0)(lambda: free(t - 1))
                        return plgpu.wgmma_accumulator_load(d, wait_n=1)

                    d = pl.run_scoped(products, plgpu.ACC((ROWS, ROWS), FULL))
                    d = masked(d, turned(h))
                    db = db + jnp.sum(d, axis=1)
                    plgpu.wgmma_wait(0)
                    plgpu.barrier_arrive(at["empty"].at[slot])
                    turned(h)[...] = d.astype(HALF)
                    plgpu.commit_smem()
                    plgpu.copy_smem_to_gmem(h, d_ref.at[rows(t), columns_of(worker)])
                    return db

                return lax.fori_loop(0, share, tile, nothing()), dW[...]

            db, dW = pl.run_scoped(sums, plgpu.ACC((ROWS, last), FULL))
            db_ref[program, columns_of(worker)] = db
            dw_ref[program, columns_of(worker), :] = dW
            free(share - 1)
            plgpu.wait_smem_to_gmem(0)

    return call(
        back_joined,
        interpret,
        (programs, width // (WORKERS * ROWS)),
        (
            jax.ShapeDtypeStruct((n, width), HALF),
            jax.ShapeDtypeStruct((programs, width), FULL),
            jax.ShapeDtypeStruct((programs, width, last), FULL),
            jax.ShapeDtypeStruct((programs, last), FULL),
            jax.ShapeDtypeStruct((programs, last, channels), FULL),
        ),
        {
            "W": on_chip(WORKERS, ROWS, last),
            "V": on_chip(last, channels),
            "k": on_chip(slots, ROWS, last),
            "e": on_chip(slots, ROWS, channels),
            "f": on_chip(channels, ROWS),
            "h": on_chip(h_slots, WORKERS, ROWS, ROWS),
            "small": plgpu.Barrier(),
            "weights": plgpu.Barrier(num_arrivals=WORKERS),
            "full": plgpu.Barrier(num_arrivals=2, num_barriers=slots),
            "made": plgpu.Barrier(num_barriers=slots),
            "empty": plgpu.Barrier(num_arrivals=WORKERS, num_barriers=slots),
            "h full": plgpu.Barrier(num_arrivals=WORKERS, num_barriers=h_slots),
            "h empty": plgpu.Barrier(num_arrivals=WORKERS, num_barriers=h_slots),
        },
    )(e, V, k, W, h)
