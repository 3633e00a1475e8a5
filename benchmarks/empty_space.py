"""Empty space in training: PSNR and seconds of Lego with and without, side by side.

    python benchmarks/empty_space.py [--size small] [--keys 2] [--json OUT]

By Muon and a cosine, as the recipe `modern` trains. `full` is the paper's scene on a
GPU (Lego of 400 pixels, 13 test views); `small` has 100 pixels, 48 samples and a
network of 64 channels for a CPU. Seconds are of steps, compiling apart. Of the first
network, a view is timed with every sample and without those in empty space.
"""

import argparse
import dataclasses
import json
import statistics
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from passband.data.scenes import read_scene
from passband.data.store import check
from passband.field import Field, make_field
from passband.paper import nerf_study
from passband.paper.item import Preset
from passband.tasks.nerf import NerfTask, nerf_task, see, somewhere
from passband.train.device import device_name
from passband.train.driver import Config, train
from passband.train.optimisers import optimiser
from passband.train.schedules import schedule
from passband.train.work import work_done

# Skipping or not, rays a step where nothing is empty, steps. With a cosine the end is
# set before the first step, so that each is a training of its own.
FULL = [(False, 1024, 10_000), (True, 1024, 5_000), (True, 512, 10_000),
        (True, 256, 10_000), (True, 256, 20_000), (True, 1024, 20_000),
        (True, 256, 50_000)]  # fmt: skip
SMALL = [(False, 200, 3000), (True, 200, 3000), (False, 100, 3000), (True, 100, 3000)]
EVERY = 50


def view_milliseconds(task: NerfTask, field: Field) -> dict[str, float]:
    """Medians of 7 views, whole and without empty space, and of the look for it."""
    shown = task.shown
    poses, lenses = np.asarray(shown.poses), np.asarray(shown.lens)
    lenses = np.broadcast_to(lenses, (len(poses), lenses.shape[-1]))
    along: Any = {"near": task.near, "far": task.far, "samples": task.samples}

    def timed(call: Any) -> float:
        spent = []
        for _ in range(8):
            begun = time.perf_counter()
            jax.block_until_ready(call())
            spent.append(time.perf_counter() - begun)
        return round(1e3 * statistics.median(spent[1:]), 2)

    def look() -> Any:
        return somewhere(field, poses, lenses, shown.size, **along)

    def view(where: Any) -> Any:
        return see(
            field, poses[0], lenses[0], shown.size, **along,
            background=task.background, occupied=where,
        ).colour  # fmt: skip

    where = look()
    found = {"whole": timed(lambda: view(None))}
    if where is not None:
        found["without empty space"] = timed(lambda: view(where))
        found["look"] = timed(lambda: jax.tree.leaves(look()))
        found["cells, %"] = round(100 * float(where.cells.mean()), 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=("small", "full"), default="full")
    parser.add_argument("--keys", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.size == "full":
        sizes = nerf_study.STUDY.sizes[Preset.FULL]
        scene, samples, plan = nerf_study.scene_of(sizes), sizes.samples, FULL
        word, width = nerf_study.STUDY.word("gaussian", "test", sizes), sizes.width
    else:
        scene = read_scene(check("lego"), background="black", most=100)
        assert scene.test is not None
        every_fifth = np.arange(0, len(scene.test.names), 5)
        scene = dataclasses.replace(scene, test=scene.test.part(every_fifth))
        samples, plan, word, width = 48, SMALL, "gaussian:5,m=64", 64
    rows = []
    for skip, rays, steps in plan:
        for seed in range(args.keys):
            task = nerf_task(scene, batch=rays, samples=samples, seed=seed, skip=skip)
            drawn, key = jax.random.split(jax.random.key(seed))
            field = make_field(
                word, d=3, out=4, key=drawn, width=width, output="identity"
            )
            begun, before = time.perf_counter(), work_done()
            [field], _ = train(
                [task], [field],
                Config(steps, schedule("cosine", 1e-3, steps), every=EVERY),
                keys=[key], optimiser=optimiser("muon"),
            )  # fmt: skip
            spent = work_done().since(before).seconds
            row = {
                "skip": skip, "rays": rays, "points": task.step_points, "steps": steps,
                "seed": seed, "seconds": round(spent, 3),
                "with_compiling": round(time.perf_counter() - begun, 1),
                "psnr_test": round(task.metrics(field)["psnr_test"], 3),
            }  # fmt: skip
            if not rows:
                row["view, ms"] = view_milliseconds(task, field)
            rows.append(row)
            print(row, flush=True)
            if args.json is not None:
                found = {"device": device_name(), "jax": jax.__version__, "rows": rows}
                args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
