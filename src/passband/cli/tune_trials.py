"""What a choice tries for each kind of file: the problem, and for how long.

On a GPU all trials together cost less than two trainings. On a CPU they see a part of
the data, with networks as much smaller, and end within a minute, volumes in two.
"""

import copy
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..auto import Auto
from ..tasks.ct import ct_task
from ..tasks.image import split_pixels
from ..tasks.nerf import nerf_task, views_in
from ..tune.grid import grid_problem
from ..tune.instruments import (
    ct_problem,
    kspace_guess,
    mri_problem,
    nerf_problem,
    shape_problem,
)
from ..tune.ladder import rung_at
from ..tune.problem import Problem
from ..tune.sweep import Plan, rungs_to
from .ct_job import CTJob
from .fit_job import FitJob
from .image_job import ImageJob
from .mri_job import MriJob, coarser
from .nerf_job import NerfJob
from .shape_job import ShapeJob
from .signal_job import SignalJob

HOLDOUT = 0.05  # of frequencies, where the fit itself holds none out
CPU_SHARE = 0.25
"""Of the network's weights and frequencies, where a CPU sees a coarser problem."""


@dataclasses.dataclass(frozen=True)
class Size:
    """Steps of the longest trial, and the points of a step."""

    steps: int
    points: int


GPU = {
    "image": Size(1536, 2**12),
    "signal": Size(1536, 2**12),
    "shape": Size(896, 2**15),
    "ct": Size(640, 160**2),
    "mri": Size(608, 56**3),
    "nerf": Size(10_000, 1024),  # rays
}
CPU = {
    "image": Size(1280, 1024),
    "signal": Size(1280, 1024),
    "shape": Size(400, 1024),
    "ct": Size(400, 64**2),
    "mri": Size(160, 20**3),
    "nerf": Size(400, 64),
}
MOST, CPU_MOST, CPU_LEAST = 2**18, 2**14, 2**12
"""Samples of a grid that the trials see: on a CPU a quarter, between these two."""
CPU_PASS = 16
"""Steps that a pass over these takes on a CPU, at least."""


def trials(
    job: FitJob, options: Any, auto: Auto, *, steps: int | None, batch: int | None
) -> tuple[Problem, Plan]:
    """The problem of a job that has read its files, and the plan of its trials.

    Args:
        steps: of the longest trial, at most; None leaves it to the device.
        batch: points a step; None likewise.
    """
    on_cpu = jax.default_backend() == "cpu"
    size = (CPU if on_cpu else GPU)[job.name]
    size = Size(
        min(size.steps, steps or size.steps), min(size.points, batch or size.points)
    )
    problem = PROBLEMS[job.name](job, options, size, on_cpu)
    again = copy.copy(job)
    if isinstance(again, ShapeJob):  # its rate depends on the steps
        again.steps = size.steps
    lr = options.lr or again.rate(rung_at(auto, problem.guess).mapping)
    rungs = rungs_to(size.steps)
    plan = Plan(
        rungs=rungs,
        rate=again.schedule(lr, rungs[-1]),
        layers=options.layers,
        width=options.width,
        precision=options.precision,
        # A CPU does one network after another as fast as all of them side by side.
        slots=2 if on_cpu else None,
    )
    return problem, plan


def _image(job: ImageJob, options: Any, size: Size, on_cpu: bool) -> Problem:
    values, known = job.image.normalised(), None
    step = 1 / max(values.shape[:2])
    if options.holdout == "quarter":
        values, step = values[::2, ::2], 2 * step
    elif options.holdout != "none":
        index, _ = split_pixels(values.shape[:2], options.holdout, options.seed)
        known = np.zeros(values.shape[:2], bool)
        known.flat[slice(None) if index is None else index] = True
    most, batch = _cut(values[..., 0].size, size, on_cpu)
    return grid_problem(
        values, step=step, known=known, most=most, batch=batch, seed=options.seed,
        start=job.field_options()["start"], name="pixels",
    )  # fmt: skip


def _signal(job: SignalJob, options: Any, size: Size, on_cpu: bool) -> Problem:
    low, high = job.signal.low, job.signal.high
    values = (job.signal.values - low) / (high - low)
    most, batch = _cut(len(values), size, on_cpu)
    return grid_problem(
        values, most=most, batch=batch, seed=options.seed,
        start=job.field_options()["start"], name="samples",
    )  # fmt: skip


def _cut(samples: int, size: Size, on_cpu: bool) -> tuple[int, int]:
    """How many samples the trials see, and how many of them a step."""
    if not on_cpu:
        return MOST, size.points
    most = int(np.clip(samples // 4, CPU_LEAST, CPU_MOST))
    return most, int(np.clip(min(most, samples) // CPU_PASS, 64, size.points))


def _shape(job: ShapeJob, options: Any, size: Size, on_cpu: bool) -> Problem:
    return shape_problem(
        job.labels, steps=size.steps, batch=min(size.points, job.labels.pool.block),
        seed=options.seed, share=CPU_SHARE if on_cpu else 1.0,
    )  # fmt: skip


def _ct(job: CTJob, options: Any, size: Size, on_cpu: bool) -> Problem:
    bins = job.data.values.shape[1]
    task = ct_task(
        job.data, high=job.high, grid=min(bins, math.isqrt(size.points)),
        pixel=options.pixel, offset=options.offset,
        holdout=options.holdout, seed=options.seed,
    )  # fmt: skip
    share = CPU_SHARE if on_cpu else 1.0
    start = job.field_options()["start"]
    return ct_problem(task, start=start, share=share, seed=options.seed)


def _mri(job: MriJob, options: Any, size: Size, on_cpu: bool) -> Problem:
    from ..data.masks import hold_out

    data = job.data
    if data.test_mask is None:
        train, held = hold_out(data.train_mask, HOLDOUT, seed=options.seed)
        data = dataclasses.replace(data, train_mask=train, test_mask=held)
    sides = coarser(data.sides, size.points)
    task = job._task(data.cropped(sides), None)
    guess = kspace_guess(data.measured, data.train_mask, task.extent)
    field = job.field_options()
    # The network is a CPU's already where the options leave its width to the device.
    small = on_cpu and options.width > 128
    return mri_problem(
        task, out=field["out"], output=field["output"], nyquist=job.nyquist(options),
        guess=guess, share=CPU_SHARE if small else 1.0,
    )  # fmt: skip


def _nerf(job: NerfJob, options: Any, size: Size, on_cpu: bool) -> Problem:
    scene = job.scene
    views, train = scene.val, scene.train
    if views is None:  # every 8th photograph stands in for them
        count = len(train.names)
        out = np.arange(count) % 8 == 4
        views, train = train.part(np.flatnonzero(out)), train.part(np.flatnonzero(~out))
    task = nerf_task(
        dataclasses.replace(scene, train=train), batch=size.points,
        samples=job.samples, seed=options.seed,
    )  # fmt: skip
    nyquist = job.nyquist(options)
    return nerf_problem(
        task, views_in(scene.space, views), rays=256 if on_cpu else 2048,
        guess=min(17.0, max(2.0, nyquist / 14)), nyquist=nyquist, seed=options.seed,
        share=CPU_SHARE if on_cpu else 1.0,
    )  # fmt: skip


PROBLEMS: dict[str, Callable[[Any, Any, Size, bool], Problem]] = {
    "image": _image,
    "signal": _signal,
    "shape": _shape,
    "ct": _ct,
    "mri": _mri,
    "nerf": _nerf,
}
