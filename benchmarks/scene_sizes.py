"""What a CPU's sizes of a scene are worth: Lego at 100 pixels, validation views.

    python benchmarks/scene_sizes.py --json FILE [--keys 1] [--only N ...]

Trains as `passband fit nerf` does, by Muon and a cosine, and scores every tenth
validation view; milliseconds are of steps, compiling apart. FILE is written after each
row. `--only` takes rows of SIZES by their number, from 0.
"""

import argparse
import dataclasses
import json
from pathlib import Path

import jax
import numpy as np

from passband.data.scenes import read_scene
from passband.data.store import check
from passband.field import make_field
from passband.tasks.nerf import nerf_task
from passband.train.device import device_name
from passband.train.driver import Config, train
from passband.train.optimisers import optimiser
from passband.train.schedules import schedule
from passband.train.work import work_done

PIXELS, APART, EVERY = 100, 10, 50


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Of one training."""

    channels: int
    """Of a hidden layer, and frequencies."""
    rays: int
    samples: int
    sigma: float
    skip: bool
    steps: int = 5000
    layers: int = 4
    lr: float = 1e-3


SIZES = [
    Sizes(256, 138, 48, 5, False, steps=1000),
    Sizes(128, 138, 48, 5, False),
    Sizes(64, 138, 48, 5, False),
    Sizes(128, 100, 48, 7, False),
    Sizes(128, 100, 48, 7, True),
    Sizes(128, 64, 64, 7, True),
    Sizes(128, 64, 64, 9, True),
    Sizes(128, 64, 64, 7, True, lr=2e-3),
    Sizes(128, 42, 96, 7, True),
    Sizes(96, 96, 64, 7, True),
    Sizes(96, 64, 96, 7, True),
    Sizes(96, 64, 96, 5, True),
    Sizes(96, 64, 96, 7, False),
    Sizes(96, 48, 128, 7, True),
    Sizes(96, 64, 96, 7, True, layers=5),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--keys", type=int, default=1)
    parser.add_argument("--only", type=int, nargs="+", default=[*range(len(SIZES))])
    args = parser.parse_args()
    scene = read_scene(check("lego"), background="black", most=PIXELS)
    assert scene.val is not None
    views = scene.val.part(np.arange(0, len(scene.val.names), APART))
    rows = []
    for sizes in (SIZES[k] for k in args.only):
        for seed in range(args.keys):
            task = nerf_task(
                scene, batch=sizes.rays, samples=sizes.samples, seed=seed, test=views,
                skip=sizes.skip,
            )  # fmt: skip
            drawn, key = jax.random.split(jax.random.key(seed))
            word = f"gaussian:{sizes.sigma:g},m={sizes.channels}"
            field = make_field(
                word, d=3, out=4, key=drawn, layers=sizes.layers,
                width=sizes.channels, output="identity",
            )  # fmt: skip
            before = work_done()
            [field], _ = train(
                [task], [field],
                Config(
                    sizes.steps, schedule("cosine", sizes.lr, sizes.steps), every=EVERY
                ),
                keys=[key], optimiser=optimiser("muon"),
            )  # fmt: skip
            spent = work_done().since(before).seconds
            rows.append(
                dataclasses.asdict(sizes)
                | {"seed": seed, "psnr": round(task.metrics(field)["psnr_test"], 3),
                   "ms": round(1e3 * spent / sizes.steps, 2)}
            )  # fmt: skip
            print(rows[-1], flush=True)
            found = {"device": device_name(), "jax": jax.__version__, "rows": rows}
            args.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
