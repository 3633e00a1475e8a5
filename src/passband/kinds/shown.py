"""What is laid beside the same of other methods, and what classical methods make."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np


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
