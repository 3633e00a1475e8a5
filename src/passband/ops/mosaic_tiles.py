"""Layers of the fused step by warps with different jobs: Pallas' Mosaic GPU, Hopper.

What `passband.ops.fused_tiles` does, with the same rounding: bfloat16 products, float32
sums, NaN that survives a ReLU. A program is one warp group that asks for copies
and two that multiply. Copies land in slots on chip; a slot is "full" when its copy has
landed and "empty" when its last reader is done. A program stays on its multiprocessor
for all its tiles of `ROWS` points, so what all tiles need (W, b, sums) stays there too.
The number of points is a multiple of `ROWS`, enough for two tiles a program; widths and
features are multiples of 64.

`vmap` puts the stack in front of the grid. `programs` is how many share one
network's points: with 16 networks 33 fill 132 multiprocessors four times over.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu
from jaxtyping import Array, BFloat16, Float32

plgpu: Any = mosaic_gpu  # whose names change from release to release

ROWS = 64
"""Points in a tile, and columns in a chunk: M of Hopper's matrix instruction."""
WORKERS = 2
"""Warp groups that multiply; the one after them copies."""
FEW, MANY = 24, 240
"""Registers of a thread that copies and of one that multiplies: 24 + 2 * 240 is what
three warp groups start with."""
WEIGHTS = 256 * 256
"""Weights that a program holds: 128 KiB of the 227 there are."""

HALF, FULL = jnp.bfloat16, jnp.float32


def dense(
    x: BFloat16[Array, "n i"],
    W: BFloat16[Array, "i w"],
    b: Float32[Array, " w"],
    *,
    programs: int,
    interpret: bool = False,
) -> BFloat16[Array, "n w"]:
    """`relu(x @ W + b)`, with W on chip: of 512 features, half of its columns.

    Each multiplying warp group takes every other tile, through slots of its own that
    hold a chunk each: one multiplies while the other finishes. h is written over the
    last chunks of x, from where it is copied out.
    """
    return _dense(x, W, b, None, programs, interpret)[0]


def dense_outputs(
    x: BFloat16[Array, "n w"],
    W: BFloat16[Array, "w w"],
    b: Float32[Array, " w"],
    V: BFloat16[Array, "c w"],
    *,
    programs: int,
    interpret: bool = False,
) -> tuple[BFloat16[Array, "n w"], Float32[Array, "n c"]]:
    """h = `dense(x, W, b)` and `h @ V.T`, for which h is on chip anyway."""
    h, out = _dense(x, W, b, V, programs, interpret)
    return h, out


def _dense(x, W, b, V, programs, interpret):
    (n, fan_in), width = x.shape, W.shape[1]
    columns = min(width, WEIGHTS // fan_in)
    chunks, outs = fan_in // ROWS, columns // ROWS
    ends = V is not None
    slots = 5 if ends else 6  # V takes the room of one

    def dense_relu(x_ref, w_ref, b_ref, *refs):
        named: Any = refs if ends else (None, refs[0], None, refs[1])
        v_ref, h_ref, o_ref, at = named
        worker = lax.axis_index("worker")
        share, rows = dealt(n, programs)
        first = lax.axis_index("part") * columns

        def slot(worker, j, k):
            return worker * slots + lax.rem(j * chunks + k, slots)

        @pl.when(worker == WORKERS)
        def copy():
            plgpu.set_max_registers(FEW, action="decrease")
            mine = pl.ds(first, columns)
            plgpu.copy_gmem_to_smem(b_ref.at[mine], at["b"], at["small"])
            if ends:
                plgpu.copy_gmem_to_smem(v_ref, at["V"], at["small"])

            @pl.loop(0, share)
            def tile(t):
                j = lax.div(t, WORKERS)
                for k in range(chunks):
                    part, to = chunk(k), slot(lax.rem(t, WORKERS), j, k)

                    @pl.when(t == 0)
                    def weights(k=k, part=part):
                        plgpu.copy_gmem_to_smem(
                            w_ref.at[part, mine], at["W"].at[part], at["weights"].at[k]
                        )

                    @pl.when(j * chunks + k >= slots)
                    def wait(to=to):
                        plgpu.barrier_wait(at["empty"].at[to])

                    plgpu.copy_gmem_to_smem(
                        x_ref.at[rows(t), part], at["x"].at[to], at["full"].at[to]
                    )

            for of in range(WORKERS):
                finish(at["empty"], slots, in_turns(of, share) * chunks, of * slots)

        @pl.when(worker < WORKERS)
        def multiply():
            plgpu.set_max_registers(MANY, action="increase")
            plgpu.barrier_wait(at["small"])

            @pl.loop(0, in_turns(worker, share))
            def tile(j):
                to = rows(j * WORKERS + worker)

                def product(y):
                    for k in range(chunks):
                        now = slot(worker, j, k)

                        @pl.when(j == 0)
                        def weights(k=k):
                            plgpu.barrier_wait(at["weights"].at[k])

                        plgpu.barrier_wait(at["full"].at[now])
                        plgpu.wgmma(y, at["x"].at[now], at["W"].at[chunk(k)])
                        if 0 < k <= chunks - outs:
                            plgpu.wgmma_wait(1)
                            plgpu.barrier_arrive(at["empty"].at[slot(worker, j, k - 1)])
                    return y[...]

                def last(c):
                    return slot(worker, j, chunks - outs + c)

                y = pl.run_scoped(product, plgpu.ACC((ROWS, columns), FULL))
                for c in range(outs):
                    h = at["x"].at[last(c)]
                    b = across(at["b"].at[chunk(c)])
                    h[...] = relu(y[:, c * ROWS : (c + 1) * ROWS] + b)
                    plgpu.commit_smem()
                    plgpu.copy_smem_to_gmem(h, h_ref.at[to, chunk(c, first)])
                if ends:

                    def outputs(o):
                        for c in range(outs):
                            V = at["V"].at[:, chunk(c)]
                            plgpu.wgmma(o, at["x"].at[last(c)], turned(V))
                        return o[...]

                    o = pl.run_scoped(outputs, plgpu.ACC((ROWS, V.shape[0]), FULL))
                    o_ref[to, :] = o
                for c in range(outs):
                    plgpu.wait_smem_to_gmem(outs - 1 - c, wait_read_only=True)
                    plgpu.barrier_arrive(at["empty"].at[last(c)])

            plgpu.wait_smem_to_gmem(0)

    scratch = {
        "W": on_chip(fan_in, columns),
        "x": on_chip(WORKERS * slots, ROWS, ROWS),
        "b": plgpu.SMEM((columns,), FULL),
        "small": plgpu.Barrier(num_arrivals=1 + ends),
        "weights": plgpu.Barrier(num_barriers=chunks),
        "full": plgpu.Barrier(num_barriers=WORKERS * slots),
        "empty": plgpu.Barrier(num_barriers=WORKERS * slots),
    }
    out = [jax.ShapeDtypeStruct((n, width), HALF)]
    if ends:
        scratch["V"] = on_chip(*V.shape)
        out.append(jax.ShapeDtypeStruct((n, V.shape[0]), FULL))
    inputs = (x, W, b, V) if ends else (x, W, b)
    grid = programs, width // columns
    return call(dense_relu, interpret, grid, out, scratch)(*inputs)


def back(
    g: BFloat16[Array, "n o"],
    W: BFloat16[Array, "w o"],
    h: BFloat16[Array, "n w"],
    *,
    programs: int,
    slots: int = 3,
    multicast: bool = False,
    interpret: bool = False,
) -> tuple[
    BFloat16[Array, "n w"],
    Float32[Array, "programs w"],
    Float32[Array, "programs w o"],
]:
    """Back through a layer and the ReLU before it: `fused_tiles.back`.

    A program has 128 columns of h, so two share the points of a part, and each
    multiplying warp group has 64: it alone reads them, and writes d over them. d is
    worked out with points along its rows, where a sum over them stays in a thread.
    With `multicast` the two are neighbours, and each copies half of g for both: faster
    for networks in a stack, slower for one.
    """
    (n, width), fan_out = h.shape, W.shape[1]

    def back_relu(g_ref, w_ref, h_ref, d_ref, db_ref, dw_ref, at):
        program, worker = lax.axis_index("program"), lax.axis_index("worker")
        share, rows = dealt(n, programs)

        @pl.when(worker == WORKERS)
        def copy():
            plgpu.set_max_registers(FEW, action="decrease")
            for of in range(WORKERS):
                plgpu.copy_gmem_to_smem(
                    w_ref.at[columns_of(of)], at["W"].at[of], at["weights"]
                )

            @pl.loop(0, share)
            def tile(t):
                slot = lax.rem(t, slots)

                @pl.when(t >= slots)
                def wait():
                    plgpu.barrier_wait(at["empty"].at[slot])

                full = at["full"].at[slot]
                plgpu.copy_gmem_to_smem(
                    g_ref.at[rows(t)],
                    at["g"].at[slot],
                    full,
                    collective_axes="part" if multicast else None,
                )
                for of in range(WORKERS):
                    plgpu.copy_gmem_to_smem(
                        h_ref.at[rows(t), columns_of(of)], at["h"].at[slot, of], full
                    )

            finish(at["empty"], slots, share)

        @pl.when(worker < WORKERS)
        def multiply():
            plgpu.set_max_registers(MANY, action="increase")
            plgpu.barrier_wait(at["weights"])

            def sums(dW):
                def tile(t, db):
                    slot = lax.rem(t, slots)
                    g, h = at["g"].at[slot], at["h"].at[slot, worker]
                    plgpu.barrier_wait(at["full"].at[slot])

                    def products(d):
                        plgpu.wgmma(d, at["W"].at[worker], turned(g))
                        plgpu.wgmma(dW, turned(h), g)
                        return plgpu.wgmma_accumulator_load(d, wait_n=1)

                    d = pl.run_scoped(products, plgpu.ACC((ROWS, ROWS), FULL))
                    d = masked(d, turned(h))
                    db = db + jnp.sum(d, axis=1)
                    plgpu.wgmma_wait(0)
                    turned(h)[...] = d.astype(HALF)
                    plgpu.commit_smem()
                    plgpu.copy_smem_to_gmem(h, d_ref.at[rows(t), columns_of(worker)])
                    plgpu.wait_smem_to_gmem(0, wait_read_only=True)
                    plgpu.barrier_arrive(at["empty"].at[slot])
                    return db

                return lax.fori_loop(0, share, tile, nothing()), dW[...]

            db, dW = pl.run_scoped(sums, plgpu.ACC((ROWS, fan_out), FULL))
            db_ref[program, columns_of(worker)] = db
            dw_ref[program, columns_of(worker), :] = dW
            plgpu.wait_smem_to_gmem(0)

    empty: dict[str, Any] = {"num_arrivals": WORKERS, "num_barriers": slots}
    return call(
        back_relu,
        interpret,
        (programs, width // (WORKERS * ROWS)),
        (
            jax.ShapeDtypeStruct((n, width), HALF),
            jax.ShapeDtypeStruct((programs, width), FULL),
            jax.ShapeDtypeStruct((programs, width, fan_out), FULL),
        ),
        {
            "W": on_chip(WORKERS, ROWS, fan_out),
            "g": on_chip(slots, ROWS, fan_out),
            "h": on_chip(slots, WORKERS, ROWS, ROWS),
            "weights": plgpu.Barrier(num_arrivals=WORKERS),
            "full": plgpu.Barrier(num_arrivals=1 + WORKERS, num_barriers=slots),
            "empty": plgpu.ClusterBarrier(collective_axes=("part",), **empty)
            if multicast
            else plgpu.Barrier(**empty),
        },
        multicast=multicast,
    )(g, W, h)


def dealt(n: int, programs: int) -> tuple[Array, Callable[[Any], Any]]:
    """How many tiles a program has, and the points of one of them.

    Programs take tiles in turns, so that all of them read and write near each other.
    """
    program = lax.axis_index("program")
    share = lax.div(n // ROWS - program + programs - 1, programs)
    return share, lambda t: pl.ds((program + t * programs) * ROWS, ROWS)


def in_turns(worker: Any, share: Array) -> Array:
    """Tiles of one warp group, where they are taken in turns."""
    return lax.div(share - worker + WORKERS - 1, WORKERS)


def chunk(k: Any, start: Any = 0) -> Any:
    """64 columns, or rows of W."""
    return pl.ds(start + k * ROWS, ROWS)


def columns_of(worker: Any) -> Any:
    """The columns of which a warp group has the gradient."""
    return chunk(lax.axis_index("part") * WORKERS + worker)


def finish(empty, slots: int, used, first: int = 0) -> None:
    """Waits for the last use of each slot: no barrier is left with a phase unseen."""
    for i in range(slots):

        @pl.when(used > i)
        def wait(i=i):
            plgpu.barrier_wait(empty.at[first + i])


def turned(ref):
    return ref.transpose((1, 0))


def across(ref) -> Array:
    """A number for each column of a chunk, in all its rows."""
    row = plgpu.load(ref, layout=plgpu.Layout.WGMMA.reduce(0), optimized=False)
    return lax.broadcast_in_dim(row, (ROWS, ROWS), [1])


def relu(z: Array) -> Array:
    # A maximum would turn NaN into 0.
    return jnp.where(z < 0, 0.0, z).astype(HALF)


def masked(d: Array, h) -> Array:
    """d where a ReLU let h through."""
    return jnp.where(plgpu.load(h, layout=plgpu.Layout.WGMMA) > 0, d, 0.0)


def nothing() -> Array:
    """The start of a sum over the columns of a tile."""
    return plgpu.layout_cast(jnp.zeros((ROWS,), FULL), plgpu.Layout.WGMMA.reduce(1))


def on_chip(*shape: int):
    """As matrix instructions read it without bank conflicts."""
    minor = min(shape[-1], 64)
    tiling, swizzle = (
        plgpu.TilingTransform((8, minor)),
        plgpu.SwizzleTransform(2 * minor),
    )
    return plgpu.SMEM(shape, HALF, transforms=(tiling, swizzle))


def call(
    program,
    interpret: bool,
    grid: tuple[int, int],
    out,
    scratch: dict[str, Any],
    *,
    threads: int = WORKERS + 1,
    multicast: bool = False,
    **named: Any,
) -> Callable[..., Any]:
    """A program as often as the grid says: programs, and parts of the same points."""
    named |= {"grid": grid, "grid_names": ("program", "part")}
    if multicast:
        named |= {"grid": grid[:1], "grid_names": ("program",)}
        named |= {"cluster": grid[1:], "cluster_names": ("part",)}
    if interpret:
        named["interpret"] = plgpu.InterpretGPUParams(detect_races=True)
    return plgpu.kernel(
        program,
        out_type=out,
        scratch_types=[scratch],
        num_threads=threads,
        thread_name="worker",
        kernel_name=program.__name__,
        **named,
    )
