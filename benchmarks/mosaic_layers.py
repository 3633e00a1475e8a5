"""Layers by Mosaic GPU beside Triton and XLA, on a Hopper GPU: right first, then fast.

    python benchmarks/mosaic_layers.py --json FILE [--only dense,back]
    python benchmarks/mosaic_layers.py --interpret

Every program first multiplies integers, which must come out exact, with one NaN that
must not be lost; features and the layer behind them may be off by a rounding. Then it
is timed, as the fused step calls it, for 65,536 points alone and for 16 networks
stacked by `vmap`: two sets of inputs in turns, so that none of them waits in the cache,
`CALLS` calls one after the other in one compiled function, launches of it in a row; the
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
from jax import lax

from passband.ops import fused_tiles as triton
from passband.ops import mosaic_first, mosaic_joined
from passband.ops import mosaic_tiles as mosaic

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
    alone: dict[str, Any]
    stacked: dict[str, Any]
    triton: Timed
    parts: bool = False
    """Whether sums over points come in parts, one for each program."""
    encodes: bool = False
    """Whether it makes features, which no two makers round the same."""
    sizes: tuple[dict[str, Any], ...] = ({},)
    """Coordinates and features, where others than 2 and 512 are interpreted too."""

    @property
    def wrong(self) -> Timed:
        return encoded_wrong if self.encodes else wrong


def relu(y: jax.Array) -> jax.Array:
    return jnp.where(y < 0, 0, y)


def product(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.dot(x, y, preferred_element_type=jnp.float32)


def dense(x, W, b):
    return relu(product(x, W) + b).astype(jnp.bfloat16)


def back(g, W, h):
    d = jnp.where(h > 0, product(g, W.T), 0)
    return d.astype(jnp.bfloat16), jnp.sum(d, axis=0), product(h.T, g)


def dense_outputs(x, W, b, V):
    h = dense(x, W, b)
    return h, product(h, V.T)


def back_outputs(e, V, k, W, h):
    g, dc, dV = back(e, V, k)
    return *back(g, W, h), dc, dV


def dense_encoded(coords, frequencies, W, b):
    x = features(coords, frequencies)[0].astype(jnp.bfloat16)
    return x, dense(x, W, b)


def features(coords, frequencies):
    """Features in float32, and by how much a float32 phase can be off."""
    terms = coords[..., :, :, None] * frequencies[..., :, None, :]
    turns = jnp.sum(terms, axis=-3)
    r = (2 * jnp.pi) * (turns - jnp.round(turns))
    off = 2 * jnp.pi * 2.0**-22 * jnp.sum(jnp.abs(terms), axis=-3) + 1e-6
    x = jnp.concatenate([jnp.sin(r), jnp.cos(r)], axis=-1)
    return x, jnp.concatenate([off, off], axis=-1)


def triton_outputs(x, W, b, V):
    h = triton.dense(x, W, b, tiles=8)
    return h, product(h, V.T)


def triton_back_outputs(e, V, k, W, h):
    g, dc, dV = triton.back(e, V, k, tiles=8)
    return *triton.back(g, W, h, tiles=16), dc, dV


def triton_encoded(coords, frequencies, W, b):
    x = triton.features(coords, frequencies)
    return x, triton.dense_first(x, W, b)


def summed(f: Timed) -> Timed:
    """Partial gradients and their sums, as the step needs them."""

    @functools.wraps(f)
    def whole(*arguments, **tiling):
        out = f(*arguments, **tiling)
        if not isinstance(out, tuple | list):
            return jnp.sum(out, axis=0)
        return out[0], *(jnp.sum(part, axis=0) for part in out[1:])

    return whole


def spelled(words: dict[str, Any]) -> str:
    return ", ".join(
        name if value is True else f"{value} {name}" for name, value in words.items()
    )


def layers() -> dict[str, Layer]:
    forward = 2e-9 * POINTS * WIDTH
    every, half = {"programs": 132}, {"programs": 66}
    stacked = {"programs": 33}
    return {
        "dense": Layer(
            ("x", "W", "b"), dense, forward * WIDTH,
            mosaic.dense, every, stacked,
            functools.partial(triton.dense, tiles=8),
        ),
        "dense_first": Layer(
            ("features", "W_first", "b"), dense, forward * FEATURES,
            mosaic.dense, half, stacked, triton.dense_first,
        ),
        "dense_outputs": Layer(
            ("x", "W", "b", "V_turned"), dense_outputs, forward * (WIDTH + LANES),
            mosaic.dense_outputs, every, stacked, triton_outputs,
        ),
        "dense_encoded": Layer(
            ("coords", "frequencies", "W_first", "b"), dense_encoded,
            forward * FEATURES, mosaic_first.dense_encoded, half, stacked,
            triton_encoded, encodes=True,
            sizes=({}, {"dims": 1, "features": 256}, {"dims": 3}),
        ),
        "back": Layer(
            ("g", "W", "h"), back, 2 * forward * WIDTH,
            mosaic.back, half, stacked | {"multicast": True},
            functools.partial(triton.back, tiles=16), parts=True,
        ),
        "back_outputs": Layer(
            ("e", "V", "k", "W", "h"), back_outputs, 2 * forward * (WIDTH + LANES),
            mosaic_joined.back_outputs, half, stacked, triton_back_outputs, parts=True,
        ),
    }  # fmt: skip


def shapes(n: int, dims: int, features: int) -> dict[str, tuple[int, ...]]:
    return {
        "x": (n, WIDTH), "h": (n, WIDTH), "g": (n, WIDTH), "k": (n, WIDTH),
        "e": (n, LANES), "V": (WIDTH, LANES), "V_turned": (LANES, WIDTH),
        "W": (WIDTH, WIDTH), "W_first": (features, WIDTH), "b": (WIDTH,),
        "features": (n, features), "coords": (dims, n),
        "frequencies": (dims, features // 2),
    }  # fmt: skip


def drawn(
    layer: Layer,
    n: int,
    seed: int,
    stack: int = 0,
    whole: bool = True,
    dims: int = 2,
    features: int = FEATURES,
) -> list[jax.Array]:
    """Inputs of a layer: whole numbers from -1 to 1, or normal ones; coordinates from
    0 to 1 and the paper's frequencies (scale 10)."""
    keys = jax.random.split(jax.random.key(seed), len(layer.inputs))
    arrays = []
    for name, key in zip(layer.inputs, keys, strict=True):
        shape = shapes(n, dims, features)[name]
        shape = (stack, *shape) if stack else shape
        if name == "coords":
            array = jax.random.uniform(key, shape)
        elif name == "frequencies":
            array = 10 * jax.random.normal(key, shape)
        elif whole and not layer.encodes:
            array = jax.random.randint(key, shape, -1, 2).astype(jnp.float32)
        else:
            array = jax.random.normal(key, shape) / (8 if name[0] in "VW" else 1)
        array = relu(array) if name in "hk" else array
        full = name in ("b", "coords", "frequencies")
        arrays.append(array if full else array.astype(jnp.bfloat16))
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


def encoded_wrong(f: Timed, _: Timed, arguments: list[jax.Array]) -> str:
    """The same of features, judged by `apart`, and of the layer behind them."""
    coords, *others = arguments
    x, h = f(*arguments)
    bad_x, bad_h = map(int, apart(x, h, *arguments))
    if bad_x or bad_h:
        return f"{bad_x} of {x.size} features and {bad_h} of {h.size} of h are off"
    rows = int(spoilt(x, h, *f(coords.at[..., 0, 5].set(jnp.nan), *others)))
    return f"NaN: {rows} rows wrong" if rows else ""


@jax.jit
def apart(x, h, coords, frequencies, W, b):
    """How many numbers are further off than a rounding: of x, and of h given x."""
    want, off = features(coords, frequencies)
    bad_x = ~(jnp.abs(x - want) <= 2.0**-8 * jnp.abs(want) + off)
    y = jnp.matmul(x, W, preferred_element_type=jnp.float32)
    want = relu(y + b[..., None, :])
    off = 1e-4 * jnp.sqrt(jnp.mean(jnp.square(want)))
    bad_h = ~(jnp.abs(h - want) <= 2.0**-8 * want + off)
    return jnp.sum(bad_x), jnp.sum(bad_h)


@jax.jit
def spoilt(x, h, x_nan, h_nan):
    """How many rows a NaN in point 5 changes besides that point, or not there."""
    same = jnp.all(x == x_nan, axis=-1) & jnp.all(h == h_nan, axis=-1)
    lost = ~(jnp.isnan(x_nan[..., 5, :]).all() & jnp.isnan(h_nan[..., 5, :]).all())
    return jnp.sum(~same.at[..., 5].set(True)) + lost


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


def candidates(layer: Layer, stack: int) -> Iterator[tuple[str, str, Timed]]:
    """Who makes a layer, and how."""
    words = layer.stacked if stack else layer.alone
    f = functools.partial(layer.mosaic, **words)
    yield "mosaic", spelled(words), f
    yield "triton", "", layer.triton
    yield "xla", "", layer.exact
    if layer.parts:
        yield "mosaic", "with its sums", summed(f)
        yield "triton", "with its sums", summed(layer.triton)


def measured(name: str, note: Callable[[dict[str, Any]], None]) -> None:
    layer = layers()[name]
    for stack in (0, STACK):
        sets = [drawn(layer, POINTS, seed, stack) for seed in (0, 1)]
        exact = jax.jit(jax.vmap(layer.exact) if stack else layer.exact)
        for maker, how, f in candidates(layer, stack):
            whole = not layer.parts or maker == "xla" or "sums" in how
            right = f if whole else summed(f)
            if stack:
                right, f = jax.vmap(right), jax.vmap(f)
            row: dict[str, Any] = {
                "layer": name, "networks": stack or 1, "by": maker, "how": how,
                "device": jax.devices()[0].device_kind,
            }  # fmt: skip
            try:
                row["wrong"] = layer.wrong(jax.jit(right), exact, sets[0])
                each = microseconds(f, sets, 4 if stack else CALLS) / (stack or 1)
                row["us"] = each
                row["tflops"] = layer.gigaflop / each * 1e3
            except Exception as error:  # any: the other rows are worth having
                row["failed"] = f"{type(error).__name__}: {error}"[:300]
            note(row)


def line(row: dict[str, Any]) -> str:
    head = f"{row['layer']:13} {row['networks']:3} {row['by']:7}"
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


def interpreted(names: list[str]) -> dict[str, str]:
    """What is wrong with each program, run by JAX's interpreter on a CPU.

    Those with `multicast` hang where XLA has fewer threads than two programs.
    """
    said = {}
    for name in names:
        layer = layers()[name]
        kinds = [words | {"programs": 2} for words in (layer.alone, layer.stacked)]
        for words in kinds[: 1 + (kinds[0] != kinds[1])]:
            f = functools.partial(layer.mosaic, **words, interpret=True)
            f = summed(f) if layer.parts else f
            for size in layer.sizes:
                how = f"{name}: {spelled(words | size)}"
                whole = drawn(layer, 7 * mosaic.ROWS, 0, **size)
                said[how] = layer.wrong(f, layer.exact, whole)
                if not layer.encodes:
                    normal = drawn(layer, 5 * mosaic.ROWS, 1, whole=False)
                    said[how] += off(f, layer.exact, normal)
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
        for name in names:
            for how, said in interpreted([name]).items():
                print(f"{said or 'right':8} {how}", flush=True)
        return
    found = {"jax": jax.__version__, "points": POINTS, "rows": in_processes(names)}
    print()
    for row in found["rows"]:
        print(line(row))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
