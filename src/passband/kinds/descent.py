"""How a step meets an instrument: by all of its grid, or split (`tasks.splitting`)."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..domain import grid_coords
from ..errors import InputError
from ..field import Field
from ..members import Members
from ..tasks.instrument import InstrumentTask
from ..tasks.splitting import Splitting
from .defaults import stuck
from .kind import History, Training
from .options import InstrumentOptions, TrainOptions

T = TypeVar("T", bound=InstrumentTask)
PROBES, FLAT = 1024, 1e-6
"""Points of the grid at which a field that learns by points is watched, and how far one
of its values, at least, is from both ends of the output: there its slope is 0."""


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
    """How often the picture that steps learn is made anew, at least. Each costs the
    evaluation of its grid and so many uses of the instrument:"""
    iterations: int
    ratio: float
    most: int
    """Steps that learn one picture, at most."""

    def look(self, steps: int) -> int:
        """How many learn one, of so many steps."""
        return max(1, min(self.most, steps // self.pictures))


def with_descent(
    task: T,
    training: Training,
    how: Split,
    norm: Callable[[], float],
    ends: tuple[float, float] = (0.0, 1.0),
) -> T:
    """The task, split if the training is.

    Args:
        norm: `tasks.splitting.norm_of` the task, which a kind works out once.
    """
    if training.descent != "split":
        return task
    return task.split(
        pull=how.pull,
        batch=training.batch,
        look=how.look(training.steps),
        iterations=how.iterations,
        ratio=how.ratio,
        norm=norm(),
        ends=ends,
    )


def split_remark(
    task: InstrumentTask, grid: tuple[int, ...], full: tuple[int, ...]
) -> str:
    """What is said of a split training before it begins.

    Args:
        full: sides of the picture that is asked for, which may be finer.
    """
    assert task.splitting is not None
    finer = "" if grid == full else f" for {by_sides(full)}"
    return (
        f"learns from {task.step_points} points a step of a picture of {by_sides(grid)}"
        f"{finer}, which is fitted to the measurements anew every "
        f"{task.splitting.look} steps"
    )


def by_sides(sides: tuple[int, ...]) -> str:
    """A grid as people write it: 96 x 96 x 96."""
    return " x ".join(map(str, sides))


def at_an_end(
    task: InstrumentTask, field: Field, entry: Mapping[str, float], history: History
) -> str | None:
    """What is wrong if the field is at an end of its output, where no step moves it."""
    if task.splitting is None:
        return stuck(entry, history, lambda: task.empty_loss)
    each = field.each() if isinstance(field, Members) else [field]
    away = min(float(_from_the_ends(task.splitting, one)) for one in each)
    if away < FLAT < entry.get("loss_worst", entry["loss"]):
        return "it is at an end of its output everywhere, where no step moves it"
    return None


@eqx.filter_jit
def _from_the_ends(split: Splitting, field: Field) -> Float[Array, ""]:
    """The most that a value on the grid differs from the nearer end of the output."""
    index = jnp.arange(0, split.points, max(1, split.points // PROBES))
    seen = field.batch(grid_coords(index, split.sides, split.extent))
    low, high = split.ends
    return jnp.max(jnp.minimum(seen - low, high - seen)) / (high - low)
