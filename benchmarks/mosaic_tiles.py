"""Layers of the fused step by warps with different jobs (Pallas Mosaic GPU, Hopper)."""

import functools
import inspect

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

ROWS = 64
WORKERS = 2
SMALL, LARGE = 40, 232
TILED = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))


def dense(x, W, b, *, programs, columns, chunk, slots, interpret=None):
    (n, fan_in), width = x.shape, W.shape[1]
    tiles, chunks, outs = n // ROWS, fan_in // chunk, columns // chunk

    def dense_relu(x_ref, w_ref, b_ref, h_ref, s):
        program, part = lax.axis_index("program"), lax.axis_index("part")
        worker = lax.axis_index("worker")
        mine = pl.ds(part * columns, columns)
        share = lax.div(tiles - program + programs - 1, programs)

        def rows(t):
            return pl.ds((program + t * programs) * ROWS, ROWS)

        @pl.when(worker == WORKERS)
        def copies():
            plgpu.set_max_registers(SMALL, action="decrease")
            plgpu.copy_gmem_to_smem(b_ref.at[mine], s["b"], s["ready"])
            plgpu.copy_gmem_to_smem(w_ref.at[:, mine], s["W"], s["ready"])

            @pl.loop(0, share)
            def _(t):
                of, j = lax.rem(t, WORKERS) * slots, lax.div(t, WORKERS)
                for k in range(chunks):
                    slot = of + lax.rem(j * chunks + k, slots)

                    @pl.when(j * chunks + k >= slots)
                    def _():
                        plgpu.barrier_wait(s["empty"].at[slot])

                    part = x_ref.at[rows(t), pl.ds(k * chunk, chunk)]
                    plgpu.copy_gmem_to_smem(part, s["x"].at[slot], s["full"].at[slot])

            for of in range(WORKERS):
                for i in range(slots):
                    used = lax.div(share - of + WORKERS - 1, WORKERS) * chunks

                    @pl.when(used > i)
                    def _():
                        plgpu.barrier_wait(s["empty"].at[of * slots + i])

        @pl.when(worker < WORKERS)
        def products():
            plgpu.set_max_registers(LARGE, action="increase")
            plgpu.barrier_wait(s["ready"])

            @pl.loop(0, lax.div(share - worker + WORKERS - 1, WORKERS))
            def _(j):
                def slot(k):
                    return worker * slots + lax.rem(j * chunks + k, slots)

                def product(y):
                    for k in range(chunks):
                        plgpu.barrier_wait(s["full"].at[slot(k)])
                        plgpu.wgmma(y, s["x"].at[slot(k)], s["W"].at[pl.ds(k * chunk, chunk)])
                        if 0 < k <= chunks - outs:
                            plgpu.wgmma_wait(1)
                            plgpu.barrier_arrive(s["empty"].at[slot(k - 1)])
                    return y[...]

                y = pl.run_scoped(product, plgpu.ACC((ROWS, columns), jnp.float32))
                for c in range(outs):
                    h = s["x"].at[slot(chunks - outs + c)]
                    part = pl.ds(c * chunk, chunk)
                    b = plgpu.load(s["b"].at[part], layout=plgpu.Layout.WGMMA.reduce(0))
                    z = y[:, c * chunk : (c + 1) * chunk]
                    z = z + lax.broadcast_in_dim(b, z.shape, [1])
                    h[...] = jnp.where(z < 0, 0.0, z).astype(jnp.bfloat16)
                    plgpu.commit_smem()
                    to = h_ref.at[rows(j * WORKERS + worker), pl.ds(part.start + mine.start, chunk)]
                    plgpu.copy_smem_to_gmem(h, to)
                for c in range(outs):
                    plgpu.wait_smem_to_gmem(outs - 1 - c, wait_read_only=True)
                    plgpu.barrier_arrive(s["empty"].at[slot(chunks - outs + c)])

            plgpu.wait_smem_to_gmem(0)

    scratch = {
        "W": plgpu.SMEM((fan_in, columns), jnp.bfloat16, transforms=TILED),
        "x": plgpu.SMEM((WORKERS * slots, ROWS, chunk), jnp.bfloat16, transforms=TILED),
        "b": plgpu.SMEM((columns,), jnp.float32),
        "ready": plgpu.Barrier(num_arrivals=2),
        "full": plgpu.Barrier(num_barriers=WORKERS * slots),
        "empty": plgpu.Barrier(num_barriers=WORKERS * slots),
    }
    return plgpu.kernel(
        dense_relu,
        out_type=jax.ShapeDtypeStruct((n, width), jnp.bfloat16),
        scratch_types=[scratch],
        grid=(programs, width // columns),
        grid_names=("program", "part"),
        num_threads=WORKERS + 1,
        thread_name="worker",
        interpret=interpret,
    )(x, W, b)


def back(g, W, h, *, programs, slots, interpret=None):
    (n, width), fan_out = h.shape, W.shape[1]
    tiles, columns = n // ROWS, WORKERS * ROWS

    def back_relu(g_ref, w_ref, h_ref, d_ref, db_ref, dw_ref, s):
        program, part = lax.axis_index("program"), lax.axis_index("part")
        worker = lax.axis_index("worker")
        share = lax.div(tiles - program + programs - 1, programs)

        def rows(t):
            return pl.ds((program + t * programs) * ROWS, ROWS)

        def mine(worker):
            return pl.ds(part * columns + worker * ROWS, ROWS)

        @pl.when(worker == WORKERS)
        def copies():
            plgpu.set_max_registers(SMALL, action="decrease")
            for of in range(WORKERS):
                plgpu.copy_gmem_to_smem(w_ref.at[mine(of)], s["W"].at[of], s["ready"])

            @pl.loop(0, share)
            def _(t):
                slot = lax.rem(t, slots)

                @pl.when(t >= slots)
                def _():
                    plgpu.barrier_wait(s["empty"].at[slot])

                full = s["full"].at[slot]
                plgpu.copy_gmem_to_smem(g_ref.at[rows(t)], s["g"].at[slot], full)
                for of in range(WORKERS):
                    to = s["h"].at[slot, of]
                    plgpu.copy_gmem_to_smem(h_ref.at[rows(t), mine(of)], to, full)

            for i in range(slots):

                @pl.when(share > i)
                def _():
                    plgpu.barrier_wait(s["empty"].at[i])

        @pl.when(worker < WORKERS)
        def products():
            plgpu.set_max_registers(LARGE, action="increase")
            plgpu.barrier_wait(s["ready"])

            def sums(dW):
                def tile(t, db):
                    slot = lax.rem(t, slots)
                    g, h = s["g"].at[slot], s["h"].at[slot, worker]
                    plgpu.barrier_wait(s["full"].at[slot])

                    def product(d):
                        plgpu.wgmma(d, g, s["W"].at[worker].transpose((1, 0)))
                        plgpu.wgmma(dW, h.transpose((1, 0)), g)
                        return plgpu.wgmma_accumulator_load(d, wait_n=1)

                    d = pl.run_scoped(product, plgpu.ACC((ROWS, ROWS), jnp.float32))
                    on = plgpu.load(h, layout=plgpu.Layout.WGMMA)
                    d = jnp.where(on > 0, d, 0.0)
                    plgpu.wgmma_wait(0)
                    h[...] = d.astype(jnp.bfloat16)
                    plgpu.commit_smem()
                    plgpu.copy_smem_to_gmem(h, d_ref.at[rows(t), mine(worker)])
                    db = db + d
                    plgpu.wait_smem_to_gmem(0, wait_read_only=True)
                    plgpu.barrier_arrive(s["empty"].at[slot])
                    return db

                zero = jnp.zeros((ROWS, ROWS), jnp.float32)
                zero = plgpu.layout_cast(zero, plgpu.Layout.WGMMA)
                db = lax.fori_loop(0, share, tile, zero)
                return db, dW[...]

            db, dW = pl.run_scoped(sums, plgpu.ACC((ROWS, fan_out), jnp.float32))
            db_ref[program, mine(worker)] = jnp.sum(db, axis=0)
            dw_ref[program, mine(worker), :] = dW
            plgpu.wait_smem_to_gmem(0)

    scratch = {
        "W": plgpu.SMEM((WORKERS, ROWS, fan_out), jnp.bfloat16, transforms=TILED),
        "g": plgpu.SMEM((slots, ROWS, fan_out), jnp.bfloat16, transforms=TILED),
        "h": plgpu.SMEM((slots, WORKERS, ROWS, ROWS), jnp.bfloat16, transforms=TILED),
        "ready": plgpu.Barrier(num_arrivals=WORKERS),
        "full": plgpu.Barrier(num_arrivals=1 + WORKERS, num_barriers=slots),
        "empty": plgpu.Barrier(num_arrivals=WORKERS, num_barriers=slots),
    }
    return plgpu.kernel(
        back_relu,
        out_type=(
            jax.ShapeDtypeStruct((n, width), jnp.bfloat16),
            jax.ShapeDtypeStruct((programs, width), jnp.float32),
            jax.ShapeDtypeStruct((programs, width, fan_out), jnp.float32),
        ),
        scratch_types=[scratch],
        grid=(programs, width // columns),
        grid_names=("program", "part"),
        num_threads=WORKERS + 1,
        thread_name="worker",
        interpret=interpret,
    )(g, W, h)
