"""What is laid beside the same of other methods, and what classical methods make."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..atomic_write import write_bytes
from ..data.images import write_image
from ..plot.style import png_bytes
from ..plot.volume_slices import planes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """What is laid beside the same of other methods."""

    values: np.ndarray
    """A picture, (rows, columns) or (rows, columns, 3), or samples, (n,)."""
    truth: "np.ndarray | None" = None
    """The same of the truth, where it is known."""
    others: "Mapping[str, np.ndarray]" = dataclasses.field(default_factory=dict)
    """The same of other methods, by name."""


@dataclasses.dataclass(frozen=True, eq=False)
class Reconstruction:
    """What a classical method makes of the same data."""

    metrics: dict[str, float]
    shown: Shown
    bytes: int | None = None
    """Of the file that it is kept in, where that is the point of it."""


Make = Callable[[], Reconstruction | None]
"""Makes a reconstruction; None where it cannot be made of these data."""


def judged_by(
    judge: Callable[[np.ndarray], Reconstruction],
    recipes: Mapping[str, Callable[[], np.ndarray]],
) -> dict[str, Make]:
    """Each recipe followed by its judgement."""
    return {name: lambda make=make: judge(make()) for name, make in recipes.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class Made:
    """What classical methods made in the time that there was."""

    scores: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    pictures: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    late: list[str] = dataclasses.field(default_factory=list)
    """Those that there was no time for."""


def made_within(makes: Mapping[str, Make], seconds: float | None) -> Made:
    """Follow recipes until the time is over; a file has its bytes in its name."""
    made, ends = Made(), time.perf_counter() + (seconds or 0.0)
    for name, make in makes.items():
        if seconds is not None and time.perf_counter() > ends:
            made.late.append(name)
        elif (found := make()) is not None:
            size = "" if found.bytes is None else f", {found.bytes:,} bytes"
            made.scores[name + size] = found.metrics
            made.pictures[name + size] = found.shown.values
    return made


def three_axes(values: np.ndarray) -> np.ndarray:
    """At most three axes: the middle of the others."""
    while values.ndim > 3:
        values = values[len(values) // 2]
    return values


def middle_plane(values: np.ndarray) -> np.ndarray:
    """A picture through the middle of an array of two or more axes."""
    return planes(three_axes(values))[-1][0]


def write_picture(path: Path, shown: "np.ndarray | Figure") -> None:
    """Pixels or a figure as a PNG."""
    if isinstance(shown, np.ndarray):
        write_image(path, shown)
    else:
        write_bytes(path, png_bytes(shown))
