"""View synthesis: where a training step's time goes, and how long a view takes.

    python benchmarks/nerf.py [--rays N] [--samples N] [--side N] [--few] [--json FILE]

On the toy scene, so no data set is needed; the network is that of Table 7's Gaussian
row (512 features, 3 hidden layers of 256). The step is timed in bfloat16 and, as its
peer, in TF32, which is what the paper's notebook computes in on such a GPU. Parts are
timed alone, forward and backward, each as a loop on the device; medians of repeats.
A view is timed whole, and with empty space skipped after a few steps of training.
`--few` has the step in bfloat16 and the views.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from passband.data.toy_scene import FAR, NEAR
from passband.field import Field, make_field
from passband.forward.empty_space import Occupied
from passband.forward.render import composite, depths
from passband.ops.mlp import Precision
from passband.tasks.nerf import NerfTask, see, somewhere
from passband.tasks.toy_views import toy_views
from passband.train.device import device_name
from passband.train.driver import Config, start, train
from passband.train.haste import Haste
from passband.train.optimisers import adam
from passband.train.programs import chunk, program
from passband.train.throughput import Shape

LOOP = 200 if jax.default_backend() != "cpu" else 2
PAPER = {"steps": 50_000, "notebook_minutes": 17.5}


def seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """The median of repeats, after one that compiles."""
    jax.block_until_ready(call())
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def looped(part: Callable[[jax.Array], jax.Array]) -> float:
    """Seconds of one turn of a part that takes the number of the step.

    What it gives is fed back as nothing, so that no turn can be left out.
    """

    @jax.jit
    def run(first: jax.Array) -> jax.Array:
        def body(carry, _):
            out = part(carry)
            return carry + 1 + (out * 0).astype(jnp.int32), None

        return jax.lax.scan(body, first, length=LOOP)[0]

    return seconds(lambda: run(jnp.int32(0))) / LOOP


def parts(task: NerfTask, field: Field) -> dict[str, float]:
    """Seconds a step of each part of the loss and its gradient."""
    n, s = task.batch, task.samples
    key = jax.random.key(0)

    def rays(step):
        o, d, colour = task.views.rays(task.pick(step))
        return o.sum() + d.sum() + colour.sum()

    def sampled(step):
        jitter = jax.random.uniform(jax.random.fold_in(key, step), (n, s))
        return depths(task.near, task.far, s, jitter).sum()

    points = jax.random.uniform(key, (n * s, 3))
    weights, fixed = eqx.partition(field, field.trainable())

    def encoded(step):
        shifted = points + 1e-3 * step
        features = jax.vmap(field.encoding)(shifted).astype(jnp.bfloat16)
        return features.sum(dtype=jnp.float32)

    def network(step):
        def out(w):
            raw = eqx.combine(w, fixed).logits(points + 1e-3 * step)
            return (raw * raw).mean()

        grads = jax.grad(out)(weights)
        return jnp.stack([g.sum() for g in jax.tree.leaves(grads)]).sum()

    raw = jax.random.normal(key, (n * s, 4))
    t = jnp.broadcast_to(depths(NEAR, FAR, s), (n, s))

    def composited(step):
        def out(raw):
            colour = jax.nn.sigmoid(raw[:, :3]).reshape(n, s, 3)
            density = jax.nn.relu(raw[:, 3]).reshape(n, s)
            return (jax.vmap(composite)(colour, density, t).colour ** 2).mean()

        return jax.grad(out)(raw + 1e-6 * step).sum()

    return {
        "rays and their colours": looped(rays),
        "samples along them": looped(sampled),
        "encoding, forward": looped(encoded),
        "encoding and network, forward and backward": looped(network),
        "compositing, forward and backward": looped(composited),
    }


def step_seconds(task: NerfTask, field: Field, precision: str) -> float:
    """Seconds of a whole step, Adam and all."""
    config = Config(precision=precision)
    state = start(field, config, key=jax.random.key(0))
    take = program(chunk, task, state, None, adam(), LOOP, haste=Haste.PATIENT)

    def run():
        nonlocal state
        state, losses = take(task, state, None, adam(), LOOP)
        return losses

    return seconds(run) / LOOP


def main() -> None:
    parser = argparse.ArgumentParser(description="a step and a view of a scene")
    parser.add_argument("--rays", type=int, default=1024)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--side", type=int, default=400)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--peak", type=float, default=989.0, help="TFLOP/s, bfloat16")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    views = toy_views(4, 64, seed=0)
    task = NerfTask(
        views, None, jnp.float32(NEAR), jnp.float32(FAR), jnp.zeros(3), jnp.uint32(0),
        options.rays, options.samples,
    )  # fmt: skip
    field = make_field(
        "gaussian:26,units=rad", d=3, out=4, key=jax.random.PRNGKey(0),
        width=options.width, output="identity", bits2020=True,
    )  # fmt: skip
    points = options.rays * options.samples
    flop = Shape(points, field.encoding.features, options.width, 4, 4).flop
    result: dict[str, Any] = {
        "device": device_name(), "jax": jax.__version__, "rays": options.rays,
        "samples": options.samples, "GFLOP a step": round(flop / 1e9, 1), **PAPER,
    }  # fmt: skip
    for precision in ("bfloat16",) if options.few else ("bfloat16", "tf32"):
        spent = step_seconds(task, field, precision)
        result[f"step, {precision}"] = {
            "ms": round(1e3 * spent, 4),
            "TFLOP/s": round(flop / spent / 1e12, 1),
            "share of the bfloat16 peak": round(flop / spent / 1e12 / options.peak, 3),
            "seconds of 50,000": round(50_000 * spent, 1),
        }
    if not options.few:
        exact = Precision.resolve("bfloat16", jax.default_backend())
        found = parts(task, field.with_precision(exact))
        result["parts alone, ms"] = {k: round(1e3 * v, 4) for k, v in found.items()}
    size = (options.side, options.side)
    lens = np.asarray(views.lens[0]) * options.side / 64
    along: Any = {"near": task.near, "far": task.far, "samples": options.samples}
    asked: Any = along | {"background": task.background}
    view = seconds(lambda: see(field, views.poses[0], lens, size, **asked).colour)
    result[f"view of {options.side} x {options.side}, ms"] = round(1e3 * view, 2)
    [learned], _ = train(
        [task], [field], Config(steps=5 * LOOP, every=LOOP), keys=[jax.random.key(0)]
    )
    places = np.asarray(views.poses)
    lenses = np.tile(lens, (len(places), 1))

    def look() -> Occupied | None:
        return somewhere(learned, places, lenses, size, **along)

    if (where := look()) is not None:
        pose, known = views.poses[0], asked | {"occupied": where}
        view = seconds(lambda: see(learned, pose, lens, size, **known).colour)
        result["the same without empty space"] = {
            "ms": round(1e3 * view, 2),
            "lattice, ms": round(1e3 * seconds(lambda: jax.tree.leaves(look())), 2),
            "share of its cells": round(float(where.cells.mean()), 3),
        }
    print(json.dumps(result, indent=2))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
