"""How a step meets an instrument: by all of its grid, or split (`tasks.splitting`)."""

import dataclasses
from typing import TypeVar

from ..errors import InputError
from ..tasks.instrument import InstrumentTask
from .kind import Training
from .options import InstrumentOptions, TrainOptions

T = TypeVar("T", bound=InstrumentTask)


def descent_of(asked: TrainOptions, batch: int, grid: int, *, can: bool = True) -> str:
    """What was asked for; by the modern recipe steps of fewer points than the grid has
    are split.

    Args:
        can: whether the kind's data can be learned that way.
    """
    word = asked.descent if isinstance(asked, InstrumentOptions) else None
    if word == "split" and not can:
        raise InputError(
            "`descent` (=split) is for pictures and volumes, not for several rows of a "
            "CT scan; leave it out"
        )
    if word is None:
        fewer = can and asked.recipe == "modern" and batch < grid
        return "split" if fewer else "direct"
    return word


@dataclasses.dataclass(frozen=True)
class Split:
    """How a kind's split training goes (`tasks.splitting`)."""

    pull: float
    pictures: int
    """How often the picture that steps learn is made anew. Each costs the evaluation of
    its grid and so many uses of the instrument:"""
    iterations: int
    ratio: float


def with_descent(
    task: T, training: Training, how: Split, ends: tuple[float, float] = (0.0, 1.0)
) -> T:
    """The task, split if the training is."""
    if training.descent != "split":
        return task
    return task.split(
        pull=how.pull,
        batch=training.batch,
        look=max(1, training.steps // how.pictures),
        iterations=how.iterations,
        ratio=how.ratio,
        ends=ends,
    )


def split_remark(task: InstrumentTask, grid: str) -> str:
    """What is said of a split training before it begins."""
    assert task.splitting is not None
    return (
        f"learns from {task.step_points} points a step of a picture of {grid}, which "
        f"is fitted to the measurements anew every {task.splitting.look} steps"
    )
