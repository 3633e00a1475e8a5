"""MRI: seconds and bytes of a training step, beside the field's own pass.

    python benchmarks/mri.py [--side 96] [--width 256] [--steps 20] [--precision auto]
                             [--max-memory 1GiB] [--large 192] [--few] [--json FILE]

Three trainings of one network take turns, so that all meet the same load: on k-space
(one FFT of the predicted volume), on the same voxels seen directly (the field's own
forward and backward pass, with Adam), and on k-space in parts that fit `--max-memory`.
Bytes are XLA's own account of the compiled step. `--large N` compiles, and does not
run, the step of an N^3 volume in twice `--max-memory`. `--check` trains the paper's
Gaussian network on one volume twice, in float32 and in `--precision`. `--few` has the
first two trainings and nothing else.
"""

import argparse
import json
import platform
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from passband.data.masks import gaussian_mask
from passband.data.volumes import head_phantom
from passband.domain import grid_coords
from passband.field import Field, make_field
from passband.forward.kspace import KSpace
from passband.ops.mlp import Precision
from passband.paper.mri_study import COLUMN, STUDY, MRISizes
from passband.tasks.mri import MriTask
from passband.tasks.regression import RegressionTask
from passband.train.device import device_name
from passband.train.driver import Config, start
from passband.train.haste import Haste
from passband.train.memory import microbatch_voxels, parse_bytes
from passband.train.optimisers import adam
from passband.train.programs import chunk, program


def network(width: int, precision: str) -> Field:
    field = make_field(
        "gaussian:5", d=3, out=1, key=jax.random.PRNGKey(10), width=width
    )
    return field.with_precision(Precision.resolve(precision, jax.default_backend()))


def seen_in_k_space(side: int, at_once: int | None = None) -> MriTask:
    mask = gaussian_mask((side,) * 3, 0.1256)
    forward = KSpace(jnp.asarray(mask))
    volume = jnp.asarray(head_phantom(side))
    return MriTask(forward, forward(volume), at_once=at_once)


def seen_directly(side: int) -> RegressionTask:
    sides = (side,) * 3
    coords = grid_coords(jnp.arange(side**3), sides, (1.0,) * 3)
    values = jnp.asarray(head_phantom(side)).reshape(-1, 1)
    return RegressionTask(coords, values, jnp.float32(0), jnp.float32(1))


def compiled(task: Any, field: Field, precision: str, steps: int):
    """The program of `steps` steps, its first state, and its bytes and seconds."""
    config = Config(lr=2e-3, precision=precision)
    state = start(field, config, key=jax.random.key(0))
    begun = time.perf_counter()
    take = program(chunk, task, state, None, adam(), steps, haste=Haste.PATIENT)
    seconds = time.perf_counter() - begun
    used: Any = take.compiled.memory_analysis()
    size = used.temp_size_in_bytes + used.argument_size_in_bytes
    return take, state, size, seconds


class Running:
    """A training that goes on by `steps` at every call."""

    def __init__(self, program: Any, task: Any, state: Any, steps: int) -> None:
        self.program, self.task, self.state, self.steps = program, task, state, steps

    def __call__(self) -> None:
        arguments = self.task, self.state, None, adam(), self.steps
        self.state, losses = self.program(*arguments)
        if not np.isfinite(np.asarray(losses)).all():
            raise FloatingPointError("the timed training did not stay finite")


def timed(
    ways: dict[str, Any], field: Field, precision: str, steps: int, repeats: int
) -> dict[str, dict[str, float]]:
    calls: dict[str, Running] = {}
    found: dict[str, dict[str, float]] = {}
    for name, task in ways.items():
        program, state, size, seconds = compiled(task, field, precision, steps)
        found[name] = {"bytes": size, "compile_seconds": round(seconds, 2)}

        calls[name] = Running(program, task, state, steps)
        calls[name]()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            taken[name].append((time.perf_counter() - begun) / steps)
    for name, seconds in taken.items():
        low, middle, high = np.percentile(seconds, [25, 50, 75])
        found[name] |= {
            "ms_per_step": round(1e3 * float(middle), 4),
            "spread_ms": round(1e3 * float(high - low) / 2, 4),
        }
    return found


def check(precision: str) -> dict[str, float]:
    """PSNR of the paper's Gaussian network on one volume, in two precisions."""
    found = {}
    for word in ("float32", precision):
        sizes = MRISizes(count=1, rows=("gaussian",), precision=word)
        trained = STUDY.scored((COLUMN,), sizes)
        [score] = trained.scores[COLUMN]["gaussian"]
        found[trained.precision] = round(float(score), 3)
        found[f"{trained.precision}, seconds with compilation"] = trained.seconds
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="MRI training steps")
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--large", type=int, default=192)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--max-memory", default="1GiB")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--json")
    args = parser.parse_args()
    field = network(args.width, args.precision)
    room = parse_bytes(args.max_memory)
    at_once = microbatch_voxels(field, args.side**3, 1, room)
    ways = {
        "k-space": seen_in_k_space(args.side),
        "direct": seen_directly(args.side),
    }
    if not args.few:
        ways["k-space in parts"] = seen_in_k_space(args.side, at_once)
    found = timed(ways, field, args.precision, args.steps, args.repeats)
    whole = found["k-space"]["ms_per_step"]
    result: dict[str, Any] = {
        "device": device_name(),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "precision": field.precision.value,
        "side": args.side,
        "width": args.width,
        "max_memory": room,
        "microbatch_voxels": at_once,
        "ways": found,
        "k-space over direct": round(whole / found["direct"]["ms_per_step"], 3),
        "seconds of 1000 steps": round(whole, 2),
    }
    if not args.few:
        parts = found["k-space in parts"]["ms_per_step"]
        result["parts over whole"] = round(parts / whole, 3)
    if args.large and not args.few:
        fits = microbatch_voxels(field, args.large**3, 1, 2 * room)
        task = seen_in_k_space(args.large, fits)
        _, _, size, _ = compiled(task, field, args.precision, args.steps)
        result["large"] = {
            "side": args.large, "room": 2 * room, "bytes": size,
            "microbatch_voxels": fits,
        }  # fmt: skip
    if args.check:
        result["psnr"] = check(args.precision)
    text = json.dumps(result, indent=2)
    print(text)
    if args.json:
        with open(args.json, "w") as stream:
            stream.write(text + "\n")


if __name__ == "__main__":
    main()
