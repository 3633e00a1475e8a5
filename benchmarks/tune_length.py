"""What trials shorter than the fit do to the choice of a scene's sigma.

    python benchmarks/tune_length.py [--steps 2000]      # 15 minutes on 2 cores

The scale that is best after a fit, over the one that is best after a fifth of its steps
and after as many steps of an eighth of its rays, on views that do not train: `LATER` in
`passband.tuning.instruments` is the first of the two. 64 channels, on Lego at
100 pixels and on the toy scene.
"""

import argparse

import numpy as np

from passband.data.scenes import Scene, read_scene
from passband.data.store import check
from passband.paper import nerf_study
from passband.tasks.nerf import nerf_task, views_in
from passband.tuning.instruments import nerf_problem
from passband.tuning.ladder import top_of
from passband.tuning.sweep import Plan, sweep
from passband.words import parse_mapping

NOBODY = 99, 99
"""Scales to keep, so that none falls out."""


def main() -> None:
    parser = argparse.ArgumentParser(description="trials shorter than the fit")
    parser.add_argument("--steps", type=int, default=2000, help="of the fit")
    steps = parser.parse_args().steps
    scenes = {
        "lego": (lego(), [0.33, 0.5, 0.75, 1.1, 1.7, 2.5, 3.8, 5.7]),
        "toy": (
            nerf_study.scene_of(nerf_study.SMALL),
            [0.25, 0.35, 0.5, 0.75, 1.1, 1.7, 2.5, 3.8],
        ),
    }
    for name, (scene, sigmas) in scenes.items():
        print(name)
        fit = top(scene, sigmas, steps, 128)
        for trial in ((steps // 5, 128), (steps, 16)):
            print(f"  the fit has {fit / top(scene, sigmas, *trial):.2f} times that")


def lego() -> Scene:
    return read_scene(
        check("lego"), background="none", near=nerf_study.NEAR, far=nerf_study.FAR,
        box=(0.5, 0.5, 0.5, 1), offset=0, most=100,
    )  # fmt: skip


def top(scene: Scene, sigmas: list[float], steps: int, rays: int) -> float:
    assert scene.val is not None
    task = nerf_task(scene, batch=rays, samples=48)
    held = nerf_problem(task, views_in(nerf_study.WORLD, scene.val)).held
    assert held is not None
    plan = Plan((steps // 4, steps // 2, steps), NOBODY, lr=2e-3, width=64, slots=2)
    words = [parse_mapping(f"gaussian:{s},m=64") for s in sigmas]
    swept = sweep(held, words, plan, d=3, out=4, output="identity")
    levels = swept.mean(-1)
    found = top_of(np.asarray(sigmas), levels)
    print(
        f"  {steps} steps of {rays} rays: {found:.2f}", np.round(levels, 2), flush=True
    )
    return found


if __name__ == "__main__":
    main()
