"""Layers by Mosaic GPU beside Triton and XLA, on a Hopper GPU: right first, then fast.

    python benchmarks/mosaic_layers.py --json FILE [--only dense,back]
    python benchmarks/mosaic_layers.py --interpret

Every program first multiplies integers, which must come out exact, with one NaN that
must not be lost. Then it is timed, for 65,536 points alone and for 16 networks stacked
by `vmap`: two sets of inputs in turns, so that none of them waits in the cache, `CALLS`
calls one after the other in one compiled function, launches of it in a row; the
median of `REPEATS`. Where sums over points come in parts, their sum is left out unless
a row says otherwise. Each kind of layer runs in a process of its own with a time limit:
a program that fails, hangs or takes the device down costs its own rows only.

`--interpret` runs the checks on a CPU, small, with JAX's detection of races.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mosaic_joined as joined
import mosaic_tiles as mosaic
from jax import lax

from passband.ops import fused_tiles as triton

POINTS, FEATURES, WIDTH, LANES, STACK = 65_536, 512, 256, triton.LANES, 16
CALLS, LAUNCHES, REPEATS = 10, 8, 7
SECONDS, ALL_SECONDS = 60, 235
"""The most that one kind of layer and all of them may take."""

Timed = Callable[..., Any]


class Layer(NamedTuple):
    """A kind of layer: what it takes, what it gives, and who makes it."""

    inputs: tuple[str, ...]
    exact: Timed
    gigaflop: float
    mosaic: Timed
    tilings: list[dict[str, int]]
    stacked: list[dict[str, int]]
    triton: dict[str, Timed]
    parts: bool = False
    """Whether sums over points come in parts, one for each program."""


def relu(y: jax.Array) -> jax.Array:
    return jnp.where(y < 0, 0, y)


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.dot(x, y, preferred_element_type=jnp.float32)


def dense(x, W, b):
    return relu(product(x, W) + b).astype(jnp.bfloat16)


def back(g, W, h):
    d = jnp.where(h > 0, product(g, W.T), 0)
    return d.astype(jnp.bfloat16), jnp.sum(d, axis=0), product(h.T, g)


def gradient(x, g):
    return product(x.T, g)


def dense_outputs(x, W, b, V):
    h = dense(x, W, b)
    return h, product(h, V.T)


def back_outputs(e, V, k, W, h):
    g, dc, dV = back(e, V, k)
    return *back(g, W, h), dc, dV


def triton_outputs(x, W, b, V):
    h = triton.dense(x, W, b, tiles=8)
    return h, product(h, V.T)


def triton_back_outputs(e, V, k, W, h):
    g, dc, dV = triton.back(e, V, k, tiles=8)
    return *triton.back(g, W, h, tiles=16), dc, dV


def summed(f: Timed) -> Timed:
    """Partial gradients and their sums, as the step needs them."""

    @functools.wraps(f)
    def whole(*arguments, **tiling):
        out = f(*arguments, **tiling)
        if not isinstance(out, tuple | list):
            return jnp.sum(out, axis=0)
        return out[0], *(jnp.sum(part, axis=0) for part in out[1:])

    return whole


def tilings(*rows: str) -> list[dict[str, int]]:
    """`programs columns chunk slots`, or programs and slots alone, and `multicast`."""
    every = []
    for row in rows:
        *values, last = row.split()
        shared = {"multicast": True} if last == "multicast" else {}
        values += [] if shared else [last]
        names = ("programs", "slots")
        if len(values) > 2:
            names = ("programs", "columns", "chunk", "slots")
        every.append(dict(zip(names, map(int, values), strict=True)) | shared)
    return every


def spelled(tiling: dict[str, int]) -> str:
    return ", ".join(
        name if value is True else f"{value} {name}" for name, value in tiling.items()
    )


def layers() -> dict[str, Layer]:
    forward = 2e-9 * POINTS * WIDTH
    return {
        "back": Layer(
            ("g", "W", "h"), back, 2 * forward * WIDTH, mosaic.back,
            tilings("66 3", "66 3 multicast", "66 2"),
            tilings("33 3", "33 3 multicast", "66 3"),
            {"16 tiles": functools.partial(triton.back, tiles=16)}, True,
        ),
        "dense": Layer(
            ("x", "W", "b"), dense, forward * WIDTH, mosaic.dense,
            tilings("132 256 64 6", "132 256 128 3", "66 128 64 10 multicast"),
            tilings("33 256 64 6", "132 256 64 6", "33 128 64 10 multicast"),
            {"8 tiles": functools.partial(triton.dense, tiles=8)},
        ),
        "dense_first": Layer(
            ("features", "W_first", "b"), dense, forward * FEATURES, mosaic.dense,
            tilings("66 128 64 6", "66 128 64 6 multicast", "66 128 128 3"),
            tilings("33 128 64 6", "33 128 64 6 multicast", "66 128 64 6"),
            {"": triton.dense_first},
        ),
        "back_outputs": Layer(
            ("e", "V", "k", "W", "h"), back_outputs, 2 * forward * (WIDTH + LANES),
            joined.back_outputs,
            tilings("66 3", "66 2"), tilings("33 3", "33 2"),
            {"8 and 16 tiles": triton_back_outputs}, True,
        ),
        "dense_outputs": Layer(
            ("x", "W", "b", "V_turned"), dense_outputs, forward * (WIDTH + LANES),
            mosaic.dense_outputs,
            [{"programs": 132, "chunk": 64, "slots": 5}],
            [{"programs": 33, "chunk": 64, "slots": 5}],
            {"8 tiles, and a product": triton_outputs},
        ),
        "gradient": Layer(
            ("features", "g"), gradient, forward * FEATURES, mosaic.gradient,
            tilings("33 4", "33 3"), tilings("33 4", "8 4"), {}, True,
        ),
    }  # fmt: skip


def shapes(n: int) -> dict[str, tuple[int, ...]]:
    return {
        "x": (n, WIDTH), "h": (n, WIDTH), "g": (n, WIDTH), "features": (n, FEATURES),
        "k": (n, WIDTH), "e": (n, LANES), "V": (WIDTH, LANES),
        "V_turned": (LANES, WIDTH), "W": (WIDTH, WIDTH), "W_first": (FEATURES, WIDTH),
        "b": (WIDTH,),
    }  # fmt: skip


def drawn(layer: Layer, n: int, seed: int, stack: int = 0, whole: bool = True):
    """Inputs of a layer: whole numbers from -1 to 1, or normal ones."""
    keys = jax.random.split(jax.random.key(seed), len(layer.inputs))
    arrays = []
    for name, key in zip(layer.inputs, keys, strict=True):
        shape = (stack, *shapes(n)[name]) if stack else shapes(n)[name]
        if whole:
            array = jax.random.randint(key, shape, -1, 2).astype(jnp.float32)
        else:
            array = jax.random.normal(key, shape) / (8 if name[0] in "VW" else 1)
        array = relu(array) if name in "hk" else array
        arrays.append(array if name == "b" else array.astype(jnp.bfloat16))
    return arrays


def wrong(f: Timed, exact: Timed, arguments: list[jax.Array]) -> str:
    """What is not as it must be; nothing where all is well."""
    spoilt = [arguments[0].at[..., 5, 3].set(jnp.nan), *arguments[1:]]
    for what, inputs in (("integers", arguments), ("NaN", spoilt)):
        found, want = jax.tree.leaves(f(*inputs)), jax.tree.leaves(exact(*inputs))
        for i, (ours, theirs) in enumerate(zip(found, want, strict=True)):
            same = (ours == theirs) | (jnp.isnan(ours) & jnp.isnan(theirs))
            if missed := int(jnp.sum(~same)):
                return f"{what}: {missed} of {same.size} wrong in output {i}"
    return ""


def microseconds(f: Timed, sets: list[list[jax.Array]], calls: int) -> float:
    line = jax.jit(functools.partial(in_a_row, jax.jit(f), calls))
    out = jax.block_until_ready(line(sets))
    taken = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        for _ in range(LAUNCHES):
            out = line(sets)
        jax.block_until_ready(out)
        taken.append((time.perf_counter() - begun) / (LAUNCHES * calls))
    return 1e6 * statistics.median(taken)


def in_a_row(f: Timed, calls: int, sets: list[list[jax.Array]]) -> list[Any]:
    """Calls that wait for each other and are all asked for: none is compiled away."""
    outs = [f(*sets[0])]
    for i in range(1, calls):
        arguments, outs[-1] = lax.optimization_barrier((sets[i % len(sets)], outs[-1]))
        outs.append(f(*arguments))
    return outs


def candidates(layer: Layer, stack: int) -> Iterator[tuple[str, str, Timed, Timed]]:
    """Who makes a layer and how: what is checked and what is timed."""
    parts = layer.parts
    for tiling in layer.stacked if stack else layer.tilings:
        f = functools.partial(layer.mosaic, **tiling)
        how = spelled(tiling)
        yield "mosaic", how, summed(f) if parts else f, f
    for how, f in layer.triton.items():
        yield "triton", how, summed(f) if parts else f, f
    yield "xla", "", layer.exact, layer.exact
    if parts:
        tiling = (layer.stacked if stack else layer.tilings)[0]
        f = summed(functools.partial(layer.mosaic, **tiling))
        yield "mosaic", "the first, with its sums", f, f
        for how, g in layer.triton.items():
            yield "triton", f"{how}, with its sums", summed(g), summed(g)


def measured(name: str, note: Callable[[dict[str, Any]], None]) -> None:
    layer = layers()[name]
    # A program that hangs takes all after it along: those with a cluster come last.
    for late, stack in ((False, 0), (False, STACK), (True, 0), (True, STACK)):
        every = [
            candidate
            for candidate in candidates(layer, stack)
            if ("multicast" in candidate[1]) == late
        ]
        if not every:
            continue
        sets = [drawn(layer, POINTS, seed, stack) for seed in (0, 1)]
        exact = jax.jit(jax.vmap(layer.exact) if stack else layer.exact)
        for maker, how, right, timed in every:
            if stack:
                right, timed = jax.vmap(right), jax.vmap(timed)
            row: dict[str, Any] = {
                "layer": name, "networks": stack or 1, "by": maker, "how": how,
                "device": jax.devices()[0].device_kind,
            }  # fmt: skip
            try:
                row["wrong"] = wrong(jax.jit(right), exact, sets[0])
                each = microseconds(timed, sets, 4 if stack else CALLS) / (stack or 1)
                row["us"] = each
                row["tflops"] = layer.gigaflop / each * 1e3
            except Exception as error:  # any: the other rows are worth having
                row["failed"] = f"{type(error).__name__}: {error}"[:300]
            note(row)


def line(row: dict[str, Any]) -> str:
    head = f"{row['layer']:12} {row['networks']:3} {row['by']:7}"
    if "us" not in row:
        return f"{head} {row.get('failed', '')}  {row['how']}"
    said = f"  WRONG {row['wrong']}" if row["wrong"] else ""
    return (
        f"{head} {row['us']:8.1f} us {row['tflops']:6.0f} TFLOP/s  {row['how']}{said}"
    )


def child(name: str, path: Path) -> None:
    rows: list[dict[str, Any]] = []

    def note(row: dict[str, Any]) -> None:
        rows.append(row)
        print(line(row), flush=True)
        path.write_text(json.dumps(rows))

    measured(name, note)


def in_processes(names: list[str]) -> list[dict[str, Any]]:
    rows, begun = [], time.monotonic()
    for name in names:
        left = min(SECONDS, ALL_SECONDS - (time.monotonic() - begun))
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "rows.json"
            command = [sys.executable, __file__, "--child", name, "--json", str(path)]
            try:
                code = subprocess.run(command, timeout=left, check=False).returncode
                said = f"ended with {code}" if code else ""
            except subprocess.TimeoutExpired:
                said = f"stopped after {left:.0f} s"
            if path.exists():
                rows += json.loads(path.read_text())
        if said:
            rows.append({
                "layer": name, "networks": 0, "by": "", "how": "", "failed": said,
            })  # fmt: skip
            print(line(rows[-1]), flush=True)
    return rows


def interpreted(names: list[str], multicast: bool = False) -> dict[str, str]:
    """What is wrong with each program, run by JAX's interpreter on a CPU.

    Those with `multicast` hang where XLA has fewer threads than two programs.
    """
    said = {}
    for name in names:
        layer = layers()[name]
        for tiling in layer.tilings:
            if "multicast" in tiling and not multicast:
                continue
            few = tiling | {"programs": 2}
            f = functools.partial(layer.mosaic, **few, interpret=True)
            f = summed(f) if layer.parts else f
            how = f"{name}: {spelled(few)}"
            said[how] = wrong(f, layer.exact, drawn(layer, 7 * mosaic.ROWS, 0))
            said[how] += off(f, layer.exact, drawn(layer, 5 * mosaic.ROWS, 1, 0, False))
            said[how] += "a race" if races() else ""
    return said


def off(f: Timed, exact: Timed, arguments: list[jax.Array]) -> str:
    """Of normal numbers: more than sums in another order and a rounding explain."""
    pairs = zip(*map(jax.tree.leaves, (f(*arguments), exact(*arguments))), strict=True)
    for i, (ours, theirs) in enumerate(pairs):
        scale = jnp.sqrt(jnp.mean(jnp.square(theirs.astype(jnp.float32))))
        bound = 2.0**-7 * jnp.abs(theirs.astype(jnp.float32)) + 1e-5 * scale
        apart = jnp.abs(ours.astype(jnp.float32) - theirs.astype(jnp.float32))
        if not bool(jnp.all(apart <= bound)):
            return f"output {i} is off by {float(jnp.max(apart)):.3g}"
    return ""


def races() -> bool:
    """Whether the last interpreted program had a race (JAX 0.12 raises by itself)."""
    from jax._src.pallas.mosaic_gpu.interpret import gpu_callbacks

    found: Any = gpu_callbacks.get_races()
    return bool(found.races_found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default=",".join(layers()))
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    names = asked.only.split(",")
    if asked.child:
        child(asked.child, asked.json)
        return
    if asked.interpret:
        jax.config.update("jax_platforms", "cpu")
        os.environ["NPROC"] = "16"  # XLA's threads
        for name, said in interpreted(names, multicast=True).items():
            print(f"{said or 'right':8} {name}")
        return
    found = {"jax": jax.__version__, "points": POINTS, "rows": in_processes(names)}
    print()
    for row in found["rows"]:
        print(line(row))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
