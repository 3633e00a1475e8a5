"""What is laid beside the same of other methods, and what classical methods make."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..atomic_write import write_bytes
from ..data.images import write_image
from ..plot.style import png_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class Shown:
    """What is laid beside the same of other methods."""

    values: np.ndarray
    """A picture, (rows, columns) or (rows, columns, 3), or samples, (n,)."""
    truth: "np.ndarray | None" = None
    """The same of the truth, where it is known."""


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


def write_picture(path: Path, shown: "np.ndarray | Figure") -> None:
    """Pixels or a figure as a PNG."""
    if isinstance(shown, np.ndarray):
        write_image(path, shown)
    else:
        write_bytes(path, png_bytes(shown))
