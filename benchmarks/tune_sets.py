"""The data on which choosing a scale is measured: what is chosen from, and the training
that the choice is judged by, which is that of the paper's table."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Scalar

from passband.data.masks import hold_out
from passband.data.sinograms import Sinogram
from passband.domain import grid_coords
from passband.field import Field
from passband.forward.kspace import KSpace, crop
from passband.ops.without_autotune import jit_without_autotune
from passband.paper import ct_study, image_study, mri_study, nerf_study, shape_study
from passband.paper.item import Preset
from passband.paper.training import chunk_length
from passband.tasks.ct import ct_task
from passband.tasks.metrics import psnr
from passband.tasks.mri import MriTask
from passband.tasks.nerf import views_in
from passband.tasks.task import Task
from passband.train.schedules import Rate, Schedule, decaying_rate, schedule
from passband.tuning.grid import grid_problem
from passband.tuning.instruments import (
    ct_problem,
    kspace_guess,
    mri_problem,
    nerf_problem,
    shape_problem,
)
from passband.tuning.problem import Problem
from passband.tuning.sweep import Plan, rungs_to


@dataclasses.dataclass(frozen=True, eq=False)
class Set:
    """Data, how a scale is chosen for each, and how it is judged."""

    problems: list[Problem]
    plan: Plan
    auto: str
    fixed: float
    """The paper's scale, which `grid` has."""
    grid: tuple[float, ...]
    tasks: list[Task]
    score: Callable[[int, Field], float]
    """How good a field is, for one of the items."""
    network: dict[str, Any]
    """Of a field, but for its mapping and key."""
    steps: int
    rate: float | Schedule
    every: int
    """Steps of one program, a divisor of `steps`."""
    looks: int = 1
    """Ends of programs whose median score counts: in full batches at a constant rate a
    loss leaps now and then (on text, 1 dB and more)."""
    together: int = 1
    """Columns of scores that train as one stack: one has a network for each item."""
    keys: tuple[int, ...] = (10, 11)
    """Of B and the weights."""
    grid_keys: int = 1
    """So many of them for the scales of the grid, the others for the fixed and the
    chosen scales alone."""
    unit: str = "dB"
    optimiser: str = "adam"
    leak: float = 0.0
    starts: tuple[float, ...] | None = None
    """Where each item's output begins; None is the middle."""

    def word(self, scale: float) -> str:
        return self.auto.replace("auto", f"{scale:.4g}")


def plan_of(steps: int, rate: float | Rate, **network: Any) -> Plan:
    return Plan(rungs=rungs_to(steps), lr=rate, **network)


@jit_without_autotune
def _square(
    field: Field, coords: Float[Array, "n 2"], values: Float[Array, "n c"]
) -> Scalar:
    return jnp.mean((field.batch(coords) - values) ** 2)


def pictures(name: str, items: int, small: bool, split: str = "test_data") -> Set:
    side, m, width, steps = (64, 64, 64, 228) if small else (512, 256, 256, 1976)
    share = side / 512
    images = image_study.load_pictures(name, items, side, full=not small, split=split)
    problems = [
        grid_problem(p[::2, ::2].astype(np.float32) / 255, batch=2**12) for p in images
    ]
    # The table's test pixels.
    where = np.arange(side * side).reshape(side, side)[1::2, 1::2].ravel()
    coords = grid_coords(jnp.asarray(where), (side, side))
    truth = [jnp.asarray(p[1::2, 1::2].reshape(-1, 3) / 255.0) for p in images]

    def score(k: int, field: Field) -> float:
        return float(-10 * np.log10(_square(field, coords, truth[k])))

    grid = {
        "natural": (3, 4, 5, 6.5, 8, 10, 12.5, 16),
        "text": (6, 8, 10, 12, 14, 16, 18.5, 22),
    }[name]
    fixed = {"natural": 10.0, "text": 14.0}[name]
    return Set(
        problems, plan_of(96 if small else 1536, 1e-3, width=width),
        f"gaussian:auto,m={m}", share * fixed, tuple(share * g for g in grid),
        [*image_study.picture_tasks(images)], score,
        {"d": 2, "out": 3, "width": width}, steps, 1e-3, 76, looks=3,
        keys=(10, 11, 12, 13, 14, 15), grid_keys=3,
    )  # fmt: skip


def shepp(items: int, small: bool) -> Set:
    setting = ct_study.CTSizes(count=items)
    if small:
        setting = ct_study.CTSizes(
            count=items, side=48, m=64, width=64, steps=96, views=8
        )
    truth = ct_study.STUDY.load("shepp", setting)
    tasks = ct_study.STUDY.tasks(truth, setting)
    angles = 180 / setting.views * np.arange(setting.views)
    bins = setting.side
    problems = []
    for task in tasks:
        seen = Sinogram(bins * np.asarray(task.sinogram), angles, "shepp")
        cut = ct_task(seen, high=1.0, grid=min(bins, 160), holdout=0)
        problems.append(ct_problem(cut))

    def score(k: int, field: Field) -> float:
        seen = np.clip(tasks[k].predict(field), 0, 1)
        return psnr(seen, truth[k], data_range=1.0)

    return Set(
        problems, plan_of(64 if small else 640, 1e-3, width=setting.width),
        f"gaussian:auto,m={setting.m}", 4.0, (2, 2.5, 3.2, 4, 5, 6.3, 8),
        [*tasks], score, {"d": 2, "out": 1, "width": setting.width}, setting.steps,
        1e-3, 48 if small else 16, looks=3, keys=(10, 11, 12, 13, 14, 15),
    )  # fmt: skip


def mri(items: int, small: bool) -> Set:
    setting = mri_study.MRISizes(count=items)
    if small:
        setting = mri_study.MRISizes(
            count=items, side=16, m=32, width=32, steps=64, lr=5e-3, full=False
        )
    volumes = mri_study.STUDY.load(mri_study.COLUMN, setting)
    tasks = mri_study.STUDY.tasks(volumes)
    share = setting.side / 96
    sides = (min(setting.side, 56),) * 3
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
            mri_problem(
                cut, out=1, output="sigmoid", nyquist=setting.side / 2,
                guess=kspace_guess(np.asarray(task.measured), train, (1.0, 1.0, 1.0)),
            )
        )  # fmt: skip
    return Set(
        problems, plan_of(64 if small else 608, setting.lr, width=setting.width),
        f"gaussian:auto,m={setting.m}", 5.0 * share,
        tuple(share * g for g in (2.5, 3.2, 4, 5, 6.2, 7.7)), [*tasks],
        lambda k, field: mri_study.score(field, volumes[k]),
        {"d": 3, "out": 1, "width": setting.width}, setting.steps, setting.lr, 16,
        looks=3, keys=(10, 11, 12),
    )  # fmt: skip


def lego(items: int, small: bool) -> Set:
    del items
    preset = Preset.SMOKE if small else Preset.FULL
    setting = nerf_study.STUDY.sizes[preset]
    scene = nerf_study.scene_of(setting)
    task = nerf_study.task_of(scene, setting)
    assert scene.val is not None and scene.test is not None
    views = views_in(nerf_study.WORLD, scene.val)
    problem = nerf_problem(
        task, views, rays=64 if small else 4096, guess=1.0 if small else 4.2
    )
    word = f"gaussian:auto,m={setting.m},units=rad"
    network = {"width": setting.width, "layers": setting.layers}
    high = setting.gaussian / 26
    return Set(
        [problem], plan_of(32 if small else 10_000, setting.lr, **network), word,
        setting.gaussian, tuple(high * g for g in (13, 18, 26, 36)),
        [task],
        lambda k, field: float(nerf_study.scores(scene, setting, field)[0].mean()),
        {"d": 3, "out": 4, "output": "identity", **network},
        setting.steps, setting.lr, 20 if small else 500, together=4, keys=(0, 1),
    )  # fmt: skip


def mesh(items: int, small: bool) -> Set:
    del items
    setting = shape_study.STUDY.sizes[Preset.SMOKE if small else Preset.FULL]
    if not small:
        setting = dataclasses.replace(setting, blocks=512)
    name = setting.tests[0]
    labels = shape_study.labelled(name, setting).labels
    task = shape_study.task_of(name, setting)
    steps = 32 if small else 896
    problem = shape_problem(labels, steps=steps, batch=setting.block)
    rate = float(np.clip(setting.lr * setting.steps / steps, 5e-4, 5e-3))
    own = shape_study.STUDY.schedule(
        shape_study.STUDY.run(name, "gaussian", setting), setting
    )
    network = {"width": setting.width, "layers": setting.layers}
    high = setting.gaussian / 12
    return Set(
        [problem], plan_of(steps, decaying_rate(rate, 0.1, steps / 2), **network),
        f"gaussian:auto,m={setting.m},norm=1", setting.gaussian,
        tuple(high * g for g in (4, 6, 8, 10, 12, 14, 16, 20)), [task],
        lambda k, field: task.metrics(field)["iou_boundary"],
        {"d": 3, "out": 1, **network}, setting.steps, own,
        chunk_length(setting.steps), together=4, keys=(0, 1),
        unit="IoU near the surface",
    )  # fmt: skip


def modern(name: str, data: Set, small: bool) -> Set:
    """The set by the modern recipe: its rate, steps and prior, for the trials too."""
    lr, steps, tv, muon = 1e-3, data.steps, 0.0, "muon"
    trial_lr = lr
    if name.startswith(("natural", "text")):
        lr = trial_lr = 2e-3
        steps = 76 if small else 500
    elif name == "shepp":
        tv = 2e-5
    elif name == "mri":
        lr = trial_lr = 2e-3
        tv, muon = 3e-4, "muon4"
    elif name == "lego":
        steps = data.steps if small else 20_000
    elif name == "mesh":
        trial_lr = lr * float(np.clip(10_000 / data.plan.rungs[-1], 1, 25)) ** 0.5
    leak = 0.0 if name == "lego" else 0.01
    starts = [problem.start for problem in data.problems]
    tasks = [task.with_prior(tv) if tv else task for task in data.tasks]  # pyright: ignore
    return dataclasses.replace(
        data,
        problems=[_with_prior(p, tv) if tv else p for p in data.problems],
        plan=dataclasses.replace(
            data.plan, lr=trial_lr, schedule="cosine", optimiser=muon, leak=leak
        ),
        tasks=tasks,
        steps=steps,
        rate=schedule("cosine", lr, steps),
        every=min(data.every, steps) if steps % data.every == 0 else steps // 4,
        looks=1,
        keys=data.keys[:3],
        grid_keys=1,
        optimiser=muon,
        leak=leak,
        starts=None if None in starts else tuple(starts),  # pyright: ignore
    )


def few(name: str, data: Set) -> Set:
    """What says how a choice does beside the paper's scale, and nothing else."""
    keys = data.keys[: 1 if name == "lego" else 2]
    together = 1 if data.together == 1 else 2 * len(keys)
    return dataclasses.replace(data, grid=(), grid_keys=0, keys=keys, together=together)


def _with_prior(problem: Problem, weight: float) -> Problem:
    """The trials with the prior of the fit, as `kinds.prior` has them."""
    held: Any = problem.held
    held = eqx.tree_at(lambda h: h.task, held, held.task.with_prior(weight))
    digest = f"{problem.digest} tv:{weight!r}"
    return dataclasses.replace(problem, held=held, digest=digest)


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
