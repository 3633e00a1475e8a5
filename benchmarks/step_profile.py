"""Where a training step's time goes on a GPU: its kernels and the fixed part.

    python benchmarks/step_profile.py --json FILE [--only image,scene] [--small]
                                      [--timeline FOLDER]

One compiled chunk of steps runs under JAX's profiler. Kernels of a step are counted and
timed by name; "between kernels" is the time of the step in which none ran. The fixed
part is where a line through the times of several batches meets zero points. With
`--timeline`, FOLDER/NAME.txt has the kernels of four steps in the order of their start.
"""

import argparse
import collections
import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from passband.data.masks import gaussian_mask
from passband.data.toy_scene import FAR, NEAR
from passband.data.volumes import head_phantom
from passband.field import make_field
from passband.forward.kspace import KSpace
from passband.tasks.mri import MriTask
from passband.tasks.nerf import NerfTask
from passband.tasks.toy_views import toy_views
from passband.train.device import device_name
from passband.train.driver import Config, start
from passband.train.haste import Haste
from passband.train.optimisers import adam, muon
from passband.train.programs import chunk, program
from passband.train.throughput import Shape, prepare
from passband.version import __version__

STEPS = 40 if jax.default_backend() != "cpu" else 2


def kernels(
    call: Callable[[], Any], steps: int, timeline: Path | None = None
) -> dict[str, Any]:
    """Of one step: every kernel's count and microseconds, by falling time."""
    with tempfile.TemporaryDirectory() as place:
        with jax.profiler.trace(place):
            call()
        path = next(Path(place).rglob("*.xplane.pb"))
        data = jax.profiler.ProfileData.from_file(str(path))
        events = [
            (event.start_ns, event.duration_ns, event.name)
            for plane in data.planes
            if "GPU" in plane.name
            for line in plane.lines
            if "Stream" in line.name
            for event in line.events
        ]
    if timeline is not None:
        in_order, few = sorted(events), 4 * len(events) // steps
        lines = [
            f"{(start - in_order[few][0]) / 1e3:9.2f} {duration / 1e3:8.2f}  {name}"
            for start, duration, name in in_order[few : 2 * few]
        ]
        timeline.write_text("\n".join(lines) + "\n")
    spent: dict[str, list[float]] = collections.defaultdict(list)
    for _, duration, name in events:
        spent[_family(name)].append(duration / 1e3)
    rows = [
        {"kernel": name, "a step": len(all_) / steps, "us": sum(all_) / steps}
        for name, all_ in spent.items()
    ]
    busy = sum(row["us"] for row in rows)
    if not events:
        return {"kernels": []}
    begun = min(s for s, _, _ in events)
    ended = max(s + d for s, d, _ in events)
    whole = (ended - begun) / 1e3 / steps
    return {
        "kernels": sorted(rows, key=lambda row: -row["us"]),
        "kernels a step": sum(row["a step"] for row in rows),
        "us a step": whole,
        "us in kernels": busy,
        "us between kernels": whole - busy,
    }


def _family(name: str) -> str:
    """A kernel's name without the number that XLA gives to each of its kind."""
    return re.sub(r"(_\d+)+$", "", name)


def ready(task: Any, field: Any, steps: int, moves: Any) -> Callable[[], None]:
    """A warm chunk of training."""
    state = start(field, Config(), key=jax.random.key(0), optimiser=moves)
    take = program(chunk, task, state, None, moves, steps, haste=Haste.PATIENT)

    def call() -> None:
        nonlocal state
        state, losses = take(task, state, None, moves, steps)
        np.asarray(losses)

    call()
    return call


def image(small: bool, moves: Any, points: int = 65_536, runs: int = 1) -> Any:
    shape = Shape(points=1024 if small else points)
    return prepare(shape, runs=runs, steps=STEPS, optimiser=moves).call


def scene(small: bool, moves: Any) -> Any:
    rays = 32 if small else 1024
    task = NerfTask(
        toy_views(4, 64, seed=0), None, jnp.float32(NEAR), jnp.float32(FAR),
        jnp.zeros(3), jnp.uint32(0), rays, 128,
    )  # fmt: skip
    field = make_field(
        "gaussian:26,units=rad", d=3, out=4, key=jax.random.PRNGKey(0),
        output="identity", bits2020=True,
    )  # fmt: skip
    return ready(task, field, STEPS, moves)


def mri(small: bool, moves: Any) -> Any:
    side = 16 if small else 96
    forward = KSpace(jnp.asarray(gaussian_mask((side,) * 3, 0.1256)))
    task = MriTask(forward, forward(jnp.asarray(head_phantom(side))))
    field = make_field("gaussian:5", d=3, out=1, key=jax.random.PRNGKey(0))
    return ready(task, field, STEPS, moves)


def fixed_part(small: bool, moves: Any) -> dict[str, float]:
    """Microseconds of a step without points, and nanoseconds a point."""
    sizes = [512, 1024] if small else [32_768, 65_536, 131_072]
    taken = []
    for points in sizes:
        call, all_ = image(small, moves, points), []
        for _ in range(7):
            begun = time.perf_counter()
            call()
            all_.append((time.perf_counter() - begun) / STEPS)
        taken.append(float(np.median(all_)))
    slope, at_zero = np.polyfit(sizes, taken, 1)
    return {
        "us fixed": 1e6 * at_zero, "ns a point": 1e9 * slope,
        **{f"us, {n} points": 1e6 * t for n, t in zip(sizes, taken, strict=True)},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", default="image,muon,stack,scene,mri,fixed")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--timeline", type=Path, help="a folder")
    asked = parser.parse_args()
    cases: dict[str, Callable[[], Any]] = {
        "image": lambda: image(asked.small, adam()),
        "muon": lambda: image(asked.small, muon()),
        "stack": lambda: image(asked.small, adam(), runs=16),
        "scene": lambda: scene(asked.small, adam()),
        "mri": lambda: mri(asked.small, adam()),
    }
    found: dict[str, Any] = {
        "passband": __version__, "jax": jax.__version__, "device": device_name(),
    }  # fmt: skip
    for name in asked.only.split(","):
        if name == "fixed":
            found[name] = fixed_part(asked.small, adam())
        else:
            line = asked.timeline and asked.timeline / f"{name}.txt"
            found[name] = kernels(cases[name](), STEPS, line)
            print(name, {k: v for k, v in found[name].items() if k != "kernels"})
            for row in found[name]["kernels"][:40]:
                print(f"  {row['us']:9.2f} us {row['a step']:7.2f}  {row['kernel']}")
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    print(found.get("fixed"))


if __name__ == "__main__":
    main()
