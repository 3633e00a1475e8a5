"""CT: seconds of a training step, beside the field's own pass.

    python benchmarks/ct.py [--side 512] [--views 20] [--width 256] [--runs 8]
                            [--steps 20] [--precision auto] [--few] [--json FILE]

Trainings of one network take turns, so that all meet the same load: on the densities
themselves (the field's own forward and backward pass, with Adam), through the paper's
nearest-neighbour projector, and through line integrals of parallel rays and of fans;
then the first two as `--runs` networks in one program. The operators alone, and
scikit-image's `radon`, stand beside. `--few` has the first two of one network alone.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from passband.data.phantoms import shepp_logan
from passband.domain import grid_coords
from passband.field import make_field
from passband.forward.fan import fan
from passband.forward.linear import LinearForward
from passband.forward.radon import radon
from passband.forward.radon_nearest import nearest_radon
from passband.tasks.ct import CTTask
from passband.tasks.regression import RegressionTask
from passband.tasks.task import Task
from passband.train.device import device_name
from passband.train.driver import Config, start
from passband.train.haste import Haste
from passband.train.optimisers import adam
from passband.train.programs import chunk, program
from passband.train.stack import stack, together


def training(task: Task, args: argparse.Namespace, runs: int) -> tuple[Any, float]:
    """A compiled training that a call takes `steps` on, and its seconds to compile."""
    states = []
    for k in range(runs):
        field = make_field(
            "gaussian:4", d=2, out=1, key=jax.random.key(k), width=args.width
        )
        config = Config(precision=args.precision)
        states.append(start(field, config, key=jax.random.key(k)))
    shared, axes = stack([task] * runs)
    state = together(states)
    begun = time.perf_counter()
    take = program(chunk, shared, state, axes, adam(), args.steps, haste=Haste.PATIENT)
    compiling = time.perf_counter() - begun

    def call() -> None:
        nonlocal state
        state, losses = take(shared, state, axes, adam(), args.steps)
        if not np.isfinite(np.asarray(losses)).all():
            raise FloatingPointError("the timed training did not stay finite")

    return call, compiling


def operator(forward: LinearForward) -> Callable[[], None]:
    """A call of the operator and its adjoint."""
    both = jax.jit(lambda f, x: f.N(x))
    x = jnp.ones(forward.input_shape)
    return lambda: both(forward, x).block_until_ready()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--views", type=int, default=20)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    head = jnp.asarray(shepp_logan(args.side))
    angles = 180 / args.views * np.arange(args.views)
    coords = grid_coords(jnp.arange(args.side**2), (args.side, args.side))
    direct = RegressionTask(coords, head.reshape(-1, 1), jnp.float32(0), jnp.float32(1))
    nearest = nearest_radon(angles, args.side)
    lines = radon(angles, args.side, pixel=1 / args.side)
    # Source, magnification and pitch of the Helsinki challenge's scanner.
    distances: dict[str, Any] = {
        "source_origin": 410.66, "source_detector": 553.74, "pitch": 0.2,
    }  # fmt: skip
    fans = {
        name: fan(angles, args.side, arc=arc, unit=0.14832 * args.side, **distances)
        for name, arc in (("fan, flat", False), ("fan, arc", True))
    }
    straight = {} if args.few else {"lines": lines, **fans}
    tasks: dict[str, tuple[Task, int]] = {
        "field alone": (direct, 1),
        "nearest": (CTTask(nearest, nearest(head), None, args.side), 1),
        **{k: (CTTask(f, f(head), None, args.side), 1) for k, f in straight.items()},
    }
    if args.runs > 1 and not args.few:
        tasks["field alone, stacked"] = (direct, args.runs)
        tasks["nearest, stacked"] = (tasks["nearest"][0], args.runs)
    calls: dict[str, Callable[[], None]] = {}
    compiling: dict[str, float] = {}
    for name, (task, runs) in tasks.items():
        calls[name], compiling[name] = training(task, args, runs)
    calls["nearest: A and its adjoint"] = operator(nearest)
    for name, forward in straight.items():
        calls[f"{name}: A and its adjoint"] = operator(forward)
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(args.repeats):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            spent[name].append(time.perf_counter() - begun)
    result: dict[str, Any] = {
        "device": device_name(),
        "jax": jax.__version__,
        "python": platform.python_version(),
        **{k: v for k, v in vars(args).items() if k != "json"},
        "seconds to compile": compiling,
    }
    seconds = {name: statistics.median(times) for name, times in spent.items()}
    for name, (_, runs) in tasks.items():
        seconds[name] /= args.steps * runs
        base = "field alone, stacked" if runs > 1 else "field alone"
        result[name] = {
            "milliseconds a step": 1e3 * seconds[name],
            "times the field alone": seconds[name] / seconds[base],
            "seconds for 1000 steps": 1e3 * seconds[name],
        }
    for name in fans if straight else ():
        result[name]["times parallel rays"] = seconds[name] / seconds["lines"]
    for name in list(calls)[len(tasks) :]:
        result[name] = {"milliseconds": 1e3 * seconds[name]}
    result["scikit-image radon"] = {"milliseconds": 1e3 * _peer(head, angles)}
    print(json.dumps(result, indent=2))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as stream:
            json.dump(result, stream, indent=2)


def _peer(head: jax.Array, angles: np.ndarray) -> float:
    from skimage.transform import radon as theirs

    y, x = np.mgrid[: len(head), : len(head)] - len(head) // 2
    inside = np.where(np.hypot(x, y) < len(head) // 2 - 1, np.asarray(head), 0)
    begun = time.perf_counter()
    theirs(inside, theta=angles, circle=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
