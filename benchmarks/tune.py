"""Choosing sigma: fixed, by each stage, by all of them, and the oracle.

    python benchmarks/tune.py --only natural --json DIR [--items 16] [--small]

Sets: natural, text, shepp, mri, lego, mesh; each leaves DIR/SET.json, and a set that is
there is not run again. `--table DIR` prints the Markdown table of all that are there.

Every choice sees training data alone: the pixels [::2, ::2] of a picture, the rays of a
sinogram, the measured frequencies, the training and validation views, the labels. Then
networks at the chosen scale are trained as the paper's tables train them and scored as
these are: other pixels, the true density, the true volume, test views, test points.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from passband.cli.device import device_name
from passband.data.masks import hold_out
from passband.data.sinograms import Sinogram
from passband.field import Field
from passband.forward.kspace import KSpace, crop
from passband.paper import ct_runs, image_runs, mri_runs, nerf_runs, shape_runs
from passband.paper.item import Preset
from passband.tasks.ct import ct_task
from passband.tasks.mri import MriTask
from passband.tasks.nerf import views_in
from passband.tasks.task import Task
from passband.train.loop import Config, run
from passband.train.state import Rate, decaying_rate
from passband.tune.choice import rank_agreement
from passband.tune.choose import choose
from passband.tune.grid import grid_problem
from passband.tune.instruments import (
    ct_problem,
    mri_problem,
    nerf_problem,
    shape_problem,
)
from passband.tune.problem import Problem
from passband.tune.sweep import Plan

KEYS = (10, 11)
"""Of B and the weights of pictures, and their scores are means over these: of one key
alone, the best of many scales is the luckiest as well (up to 0.5 dB)."""
Final = Callable[[Sequence[tuple[int, str]]], np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Set:
    """Data, how a scale is chosen for each, and how it is judged."""

    problems: list[Problem]
    plan: Plan
    auto: str
    fixed: float
    """The paper's scale."""
    grid: tuple[float, ...]
    final: Final
    """Scores of (item, word) pairs, each trained as the paper's table trains it."""
    single: tuple[Task, Callable[[], Field], int, float | Rate]
    """One training of the table, to be timed: task, field, steps, rate."""
    unit: str = "dB"

    def word(self, scale: float) -> str:
        return self.auto.replace("auto", f"{scale:.4g}")


def plan_of(steps: int, rate: float | Rate, **network: Any) -> Plan:
    quarter = max(1, steps // 4)
    return Plan(rungs=(quarter, 2 * quarter, 4 * quarter), rate=rate, **network)


def pictures(name: str, items: int, small: bool, split: str = "test_data") -> Set:
    side, m, width, steps = (64, 64, 64, 200) if small else (512, 256, 256, 1976)
    share = side / 512
    images = image_runs.load_pictures(name, items, side, full=not small, split=split)
    problems = [
        grid_problem(p[::2, ::2].astype(np.float32) / 255, batch=2**15) for p in images
    ]

    def final(pairs: Sequence[tuple[int, str]]) -> np.ndarray:
        runs = [image_runs.Run(k, word, key=key) for key in KEYS for k, word in pairs]
        found = image_runs.train_runs(images, runs, steps=steps, width=width).test
        return found.reshape(len(KEYS), -1).mean(axis=0)

    grid = {
        "natural": (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17),
        "text": (8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 21),
    }[name]
    fixed = {"natural": 10.0, "text": 14.0}[name] * share
    task = image_runs.picture_tasks(images[:1])[0]
    return Set(
        problems, plan_of(100 if small else 896, 1e-3, width=width),
        f"gaussian:auto,m={m}", fixed, tuple(share * g for g in grid), final,
        (task, lambda: _field(f"gaussian:{fixed},m={m}", 2, 3, width), steps, 1e-3),
    )  # fmt: skip


def shepp(items: int, small: bool) -> Set:
    setting = ct_runs.Setting(images=items)
    if small:
        setting = ct_runs.Setting(items, 48, 64, 64, 100, 8)
    truth = ct_runs.densities("shepp", setting)
    tasks = ct_runs.tasks_of(truth, setting.views)
    angles = 180 / setting.views * np.arange(setting.views)
    bins = setting.side
    problems = []
    for task in tasks:
        seen = Sinogram(bins * np.asarray(task.sinogram), angles, "shepp")
        cut = ct_task(seen, high=1.0, grid=min(bins, 256), holdout=0.05)
        problems.append(ct_problem(cut))

    def final(pairs: Sequence[tuple[int, str]]) -> np.ndarray:
        runs = [ct_runs.Run(k, word) for k, word in pairs]
        return ct_runs.train_runs(truth, runs, setting).scores

    return Set(
        problems, plan_of(60 if small else 880, 1e-3, width=setting.width),
        f"gaussian:auto,m={setting.m}", 4.0, (2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8),
        final,
        (tasks[0], lambda: _field(f"gaussian:4,m={setting.m}", 2, 1, setting.width),
         setting.steps, 1e-3),
    )  # fmt: skip


def mri(items: int, small: bool) -> Set:
    setting = mri_runs.Setting(volumes=items)
    if small:
        setting = mri_runs.Setting(items, 16, 32, 32, 60, 5e-3, standin=False)
    volumes = mri_runs.load_volumes(setting)
    tasks = mri_runs.measure(volumes)
    share = setting.side / 96
    sides = (min(setting.side, 64),) * 3
    problems = []
    for task in tasks:
        full = tuple(task.forward.mask.shape)
        train, held = hold_out(np.asarray(task.forward.mask), 0.05)
        cut = MriTask(
            KSpace(jnp.asarray(crop(train, full, sides))),
            jnp.asarray(crop(np.asarray(task.measured), full, sides)),
            jnp.asarray(crop(held, full, sides)),
        )
        problems.append(
            mri_problem(cut, out=1, output="sigmoid", nyquist=setting.side / 2)
        )

    def final(pairs: Sequence[tuple[int, str]]) -> np.ndarray:
        found = {}
        for word in dict.fromkeys(word for _, word in pairs):
            mine = sorted({k for k, w in pairs if w == word})
            scores = mri_runs.train_words([word], volumes[mine], setting).scores[0]
            found |= {(k, word): s for k, s in zip(mine, scores, strict=True)}
        return np.asarray([found[pair] for pair in pairs])

    return Set(
        problems, plan_of(60 if small else 720, setting.rate, width=setting.width),
        f"gaussian:auto,m={setting.m}", 5.0 * share,
        tuple(share * g for g in (2, 3, 3.5, 4, 4.5, 5, 6, 7)), final,
        (tasks[0], lambda: _field(f"gaussian:{5 * share},m={setting.m}", 3, 1,
                                  setting.width), setting.steps, setting.rate),
    )  # fmt: skip


def lego(items: int, small: bool) -> Set:
    del items
    preset = Preset.SMOKE if small else Preset.FULL
    setting, task = nerf_runs.SETTINGS[preset], nerf_runs.task_of(preset)
    scene = nerf_runs.scene_of(preset)
    assert scene.val is not None and scene.test is not None
    views, test = views_in(nerf_runs.WORLD, scene.val), scene.test
    steps = 40 if small else 10_000
    problem = nerf_problem(
        task, views, rays=64 if small else 4096, guess=2.0 if small else 4.2
    )

    def final(pairs: Sequence[tuple[int, str]]) -> np.ndarray:
        runs = [nerf_runs.Run(word, setting.rate) for _, word in pairs]
        fields = nerf_runs.train_runs(task, runs, (steps,), setting, lambda text: None)
        return np.asarray(
            [nerf_runs.scores(task, f, test)[0].mean() for f in fields.fields[-1]]
        )

    word = f"gaussian:auto,m={setting.m},units=rad"
    return Set(
        [problem], plan_of(40 if small else 4000, setting.rate, width=setting.width,
                           layers=setting.layers),
        word, setting.gaussian, (12, 16, 18, 20, 22, 24, 26, 28, 32, 38), final,
        (task, lambda: _field(word.replace("auto", "26"), 3, 4, setting.width,
                              setting.layers, "identity"), steps, setting.rate),
    )  # fmt: skip


def mesh(items: int, small: bool) -> Set:
    del items
    setting = shape_runs.SETTINGS[Preset.SMOKE if small else Preset.FULL]
    if not small:
        setting = dataclasses.replace(setting, blocks=512)
    name = setting.tests[0]
    labels = shape_runs.labelled(name, setting).labels
    steps = 40 if small else 896
    problem = shape_problem(labels, steps=steps, batch=setting.block)

    def final(pairs: Sequence[tuple[int, str]]) -> np.ndarray:
        words = [word for _, word in pairs]
        found, _ = shape_runs.train(words, [name] * len(words), setting)
        return np.asarray([one.iou["boundary"] for one in found])

    rate = float(np.clip(setting.rate * setting.steps / steps, 5e-4, 5e-3))
    word = f"gaussian:auto,m={setting.m},norm=1"
    return Set(
        [problem], plan_of(steps, decaying_rate(rate, 0.1, steps / 2),
                           width=setting.width, layers=setting.layers),
        word, setting.gaussian, (4, 6, 8, 10, 12, 14, 16, 20), final,
        (shape_runs.task_of(name, setting),
         lambda: shape_runs.field_of(setting.word("gaussian"), setting),
         setting.steps, setting.schedule()),
        unit="IoU near the surface",
    )  # fmt: skip


SETS: dict[str, tuple[Callable[[int, bool], Set], int]] = {
    "natural": (lambda n, small: pictures("natural", n, small), 16),
    "text": (lambda n, small: pictures("text", n, small), 16),
    # On these, and not on the two above, constants of the method may be set.
    "natural-train": (lambda n, s: pictures("natural", n, s, "train_data"), 8),
    "text-train": (lambda n, s: pictures("text", n, s, "train_data"), 8),
    "shepp": (shepp, 8),
    "mri": (mri, 3),
    "lego": (lego, 1),
    "mesh": (mesh, 1),
}


def _field(
    word: str, d: int, out: int, width: int, layers: int = 4, output: str = "sigmoid"
) -> Field:
    from passband.field import make_field

    return make_field(word, d=d, out=out, key=jax.random.key(0), width=width,
                      layers=layers, output=output)  # fmt: skip


def seconds_of_one(data: Set) -> float:
    """One training by itself, compilation apart."""
    task, draw, steps, rate = data.single
    length = max(4, min(100, steps // 8))
    config = Config(steps=3 * length, rate=rate, every=length)
    _, history = run(task, draw(), config, key=jax.random.key(0))
    spent = history["seconds"][-1] - history["seconds"][0]
    return spent / (2 * length) * steps


def measure(name: str, items: int | None, small: bool) -> dict[str, Any]:
    make, default = SETS[name]
    begun = time.perf_counter()
    data = make(items or default, small)
    reading = time.perf_counter() - begun
    ways: dict[str, list[float]] = {"spectrum": [], "kernel": [], "all": []}
    seconds: dict[str, list[float]] = {"kernel": [], "sweep": [], "compiling": []}
    agreement: dict[str, list[float | None]] = {"rungs": [], "kernel": []}
    curves = []
    for problem in data.problems:
        kernel = problem.patches is not None or problem.coarse is not None
        ways["spectrum"].append(
            choose(problem, data.auto, data.plan, train=False).scale
        )
        if kernel:
            by_kernel = choose(problem, data.auto, data.plan, kernel=True, train=False)
            ways["kernel"].append(by_kernel.scale)
        choice = choose(problem, data.auto, data.plan, kernel=kernel)
        ways["all"].append(choice.scale)
        for stage, spent in choice.seconds.items():
            seconds[stage].append(spent)
        agreement["rungs"].append(choice.agreement)
        agreement["kernel"].append(choice.kernel_agreement)
        curves.append(dataclasses.asdict(choice))
    count = len(data.problems)
    pairs = [(k, data.word(s)) for s in (*data.grid, data.fixed) for k in range(count)]
    asked = {way: found for way, found in ways.items() if found}
    for found in asked.values():
        pairs += [(k, data.word(s)) for k, s in enumerate(found)]
    unique = list(dict.fromkeys(pairs))
    trained = dict(zip(unique, data.final(unique), strict=True))
    scores = np.asarray([[trained[k, data.word(s)] for s in data.grid]
                         for k in range(count)])  # fmt: skip

    best = [max(v for (i, _), v in trained.items() if i == k) for k in range(count)]

    def mean(found: Sequence[float]) -> float:
        return float(np.mean([trained[k, data.word(s)] for k, s in enumerate(found)]))

    ranks = [
        rank_agreement(
            np.interp(
                np.log(data.grid),
                np.log(c["scales"]),
                np.asarray(c["predicted"], float),
            ),
            row,
        )
        for c, row in zip(curves, scores, strict=True)
        if c["predicted"] is not None
    ]
    one = seconds_of_one(data)
    sweeping = float(np.median(seconds["sweep"]))
    return {
        "set": name,
        "device": device_name(),
        "jax": jax.__version__,
        "items": count,
        "unit": data.unit,
        "fixed scale": data.fixed,
        "fixed": mean([data.fixed] * count),
        **{way: mean(found) for way, found in asked.items()},
        "oracle": float(np.mean(best)),
        "oracle scales": [float(data.grid[i]) for i in scores.argmax(axis=1)],
        "scales": ways,
        "log2 of chosen over oracle": float(np.mean(
            np.log2(np.asarray(ways["all"]) / np.asarray(data.grid)[scores.argmax(1)])
        )),
        "seconds": {k: float(np.median(v)) for k, v in seconds.items() if v},
        "seconds of one training": one,
        "trainings that a choice costs": sweeping / one,
        "seconds of reading": reading,
        "rank agreement of rungs": agreement["rungs"],
        "rank agreement of kernel and trials": agreement["kernel"],
        "rank agreement of kernel and final scores": ranks,
        "grid": list(data.grid),
        "grid scores": scores.tolist(),
        "choices": curves,
        "seconds in all": time.perf_counter() - begun,
    }  # fmt: skip


def table(folder: Path) -> str:
    """Every set that was run, a row each."""
    lines = [
        "| set | fixed | spectrum | kernel | chosen | oracle | seconds: kernel, sweep, "
        "one training |",
        "|---|---|---|---|---|---|---|",
    ]
    for path in sorted(folder.glob("*.json")):
        r = json.loads(path.read_text())
        digits = 2 if r["unit"] == "dB" else 4
        kernel = f"{r['kernel']:.{digits}f}" if "kernel" in r else "-"
        spent = r["seconds"]
        took = f"{spent['kernel']:.1f}" if "kernel" in spent else "-"
        lines.append(
            f"| {r['set']} ({r['items']}, {r['unit']}) | {r['fixed']:.{digits}f} at "
            f"{r['fixed scale']:g} | {r['spectrum']:.{digits}f} | {kernel} | "
            f"**{r['all']:.{digits}f}** | {r['oracle']:.{digits}f} | {took}, "
            f"{spent['sweep']:.1f}, {r['seconds of one training']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="choosing sigma")
    parser.add_argument("--only", nargs="*", choices=list(SETS), default=list(SETS))
    parser.add_argument("--items", type=int, help="pictures, phantoms or volumes")
    parser.add_argument("--small", action="store_true", help="sizes for a CPU")
    parser.add_argument("--json", type=Path, default=Path("tune"))
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    if args.table is not None:
        print(table(args.table))
        return
    args.json.mkdir(parents=True, exist_ok=True)
    for name in args.only:
        path = args.json / f"{name}.json"
        if not path.is_file():
            result = measure(name, args.items, args.small)
            path.write_text(json.dumps(result, indent=1) + "\n")
            shown = ("fixed", "spectrum", "kernel", "all", "oracle", "seconds in all")
            print(name, {k: result[k] for k in shown if k in result}, flush=True)
    print(table(args.json))


if __name__ == "__main__":
    main()
