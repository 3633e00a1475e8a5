"""The tasks that recipes are measured on: data, network and score of the paper's
tables. `train` takes the data on which rates may be set: the pictures of train_data,
the sweep's phantoms and volumes, validation views, the validation shape."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from passband.field import Field
from passband.kinds.nerf import NerfKind
from passband.labels.near import NearPool, make_near
from passband.paper import ct_study, image_study, mri_study, nerf_study, shape_study
from passband.paper.item import Preset
from passband.tasks.metrics import psnr
from passband.tasks.nerf import psnr_of_views, views_in
from passband.tasks.shape import shape_task
from passband.tasks.task import Task

Scores = dict[str, float]


@dataclasses.dataclass(frozen=True, eq=False)
class Set:
    """Signals of one kind, and how what is learned of them is scored."""

    tasks: list[Task]
    word: str
    """The mapping, at the paper's scale."""
    network: dict[str, Any]
    steps: int
    lr: float
    """The paper's, constant but for shapes."""
    schedule: str
    predict: Callable[[int, Field], np.ndarray]
    score: Callable[[int, np.ndarray], Scores]
    """Of a prediction: of one network, or of the mean of several."""
    starts: list[float] | None = None
    """Where each signal's output begins under a modern recipe."""
    key: int = 10
    precision: str = "auto"
    ill: Callable[[Field, int], str | None] | None = None
    """Why a fit would begin anew after so many steps, if it would."""
    near: Callable[[float], Task] | None = None
    """The task with such a share of points near the surface."""


def pictures(name: str, train: bool, preset: Preset) -> Set:
    setting = image_study.STUDY.sizes[preset]
    if train and preset is Preset.FULL:
        setting = dataclasses.replace(setting, count=8)
    study = image_study.STUDY
    signals = study.load(name, setting, sweep=train)
    tasks = study.tasks(signals, setting)
    side = signals.shape[1]
    index = np.arange(side * side).reshape(side, side)
    parts = {
        "psnr_test": index[1::2, 1::2].ravel(),
        "psnr_train": index[::2, ::2].ravel(),
    }
    where = np.concatenate(list(parts.values()))
    coords = np.stack([where % side, where // side], -1).astype(np.float32) / side
    count = len(parts["psnr_test"])
    truth = signals.reshape(len(signals), -1, 3)[:, where] / 255.0

    def score(k: int, seen: np.ndarray) -> Scores:
        square = np.square(seen - truth[k])
        halves = square[:count], square[count:]
        return {
            n: float(-10 * np.log10(h.mean()))
            for n, h in zip(parts, halves, strict=True)
        }

    return Set(
        [*tasks], study.word("gaussian", name, setting),
        {"d": 2, "out": 3, "width": setting.width}, setting.steps, 1e-3, "constant",
        lambda k, field: field.predict(coords), score,
        starts=[float(s[::2, ::2].mean() / 255) for s in signals],
    )  # fmt: skip


def tomograms(name: str, train: bool, preset: Preset) -> Set:
    setting = ct_study.STUDY.sizes[preset]
    if train and preset is Preset.FULL:
        setting = dataclasses.replace(setting, count=4)
    study = ct_study.STUDY
    truth = study.load(name, setting, sweep=train)
    tasks = study.tasks(truth, setting)
    return Set(
        [*tasks], study.word("gaussian", name, setting),
        {"d": 2, "out": 1, "width": setting.width}, setting.steps, 1e-3, "constant",
        lambda k, field: tasks[k].predict(field),
        lambda k, seen: {
            "psnr": psnr(np.clip(seen, 0, 1), truth[k], data_range=1.0)
        },
        starts=[float(task.sinogram.mean()) for task in tasks],
    )  # fmt: skip


def heads(train: bool, preset: Preset) -> Set:
    setting = mri_study.STUDY.sizes[preset]
    if train and preset is Preset.FULL:
        setting = dataclasses.replace(setting, count=2)
    study = mri_study.STUDY
    truth = study.load(mri_study.COLUMN, setting, sweep=train)
    tasks = study.tasks(truth)
    return Set(
        [*tasks], study.word("gaussian", mri_study.COLUMN, setting),
        {"d": 3, "out": 1, "width": setting.width}, setting.steps, setting.lr,
        "constant", lambda k, field: mri_study.volume_of(field, setting.side),
        lambda k, seen: {"psnr": psnr(seen, truth[k], data_range=1.0)},
        starts=[float(np.clip(t.mean(), 0.02, 0.98)) for t in truth],
    )  # fmt: skip


def lego(train: bool, preset: Preset) -> Set:
    setting = nerf_study.STUDY.sizes[preset]
    scene = nerf_study.scene_of(setting)
    task = nerf_study.task_of(scene, setting)
    photographs = scene.val if train else scene.test
    assert photographs is not None
    views = views_in(nerf_study.WORLD, photographs)
    truth = views.truth()

    def ill(field: Field, step: int) -> str | None:
        kind: Any = None  # the rule looks at the task and the field alone
        now = {"step": step, "seconds": 0.0}
        return NerfKind.health(kind, task, field, now, {}).collapse

    return Set(
        [task], nerf_study.STUDY.word("gaussian", nerf_study.COLUMN, setting),
        {"d": 3, "out": 4, "output": "identity", "width": setting.width,
         "layers": setting.layers},
        setting.steps, setting.lr, "constant",
        lambda k, field: task.predict(field, views),
        lambda k, seen: {"psnr": float(psnr_of_views(seen, truth).mean())}, key=0,
        ill=ill,
    )  # fmt: skip


def mesh(train: bool, preset: Preset) -> Set:
    setting = shape_study.STUDY.sizes[preset]
    name = setting.validation if train else setting.tests[0]
    labels = shape_study.labelled(name, setting).labels
    task = shape_study.task_of(name, setting)
    sets = {"iou_boundary": labels.boundary, "iou_uniform": labels.uniform}
    points = np.concatenate([s.points for s in sets.values()])
    pools: list[NearPool] = []

    def near(share: float) -> Task:
        if not pools:
            solid = shape_study.labelled(name, setting).mesh
            block = labels.pool.block
            pools.append(
                make_near(solid, seed=0, blocks=labels.pool.blocks, block=block)
            )
        return shape_task(
            labels, steps=setting.steps, seed=0, near=pools[0], near_surface=share
        )

    count = len(labels.boundary.points)

    def score(k: int, seen: np.ndarray) -> Scores:
        inside, found = seen[:, 0] > 0.5, {}
        for (n, s), part in zip(
            sets.items(), (inside[:count], inside[count:]), strict=True
        ):
            found[n] = float((part & s.labels).sum() / (part | s.labels).sum())
        return found

    return Set(
        [task], f"gaussian:{setting.gaussian:g},m={setting.m},norm=1",
        {"d": 3, "out": 1, "width": setting.width, "layers": setting.layers},
        setting.steps, setting.lr, "decay",
        lambda k, field: field.predict(points), score, key=0, near=near,
    )  # fmt: skip


SETS: dict[str, Callable[[bool, Preset], Set]] = {
    "natural": lambda train, preset: pictures("natural", train, preset),
    "text": lambda train, preset: pictures("text", train, preset),
    "ct-shepp": lambda train, preset: tomograms("shepp", train, preset),
    "ct-heads": lambda train, preset: tomograms("atlas", train, preset),
    "mri": heads,
    "lego": lego,
    "dragon": mesh,
}
