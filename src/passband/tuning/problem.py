"""What choosing a scale needs to know of a task."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Generic, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Scalar

from ..field import Field
from ..tasks.regression import RegressionTask
from ..tasks.task import Task

T = TypeVar("T", bound=Task)


class Held(eqx.Module, Generic[T]):
    """A task cut down to what may be trained on, and the error at the rest of it."""

    task: T

    @abc.abstractmethod
    def error(self, field: Field) -> Scalar:
        """How far a field is from what was held out; a mean of squares, or of
        cross-entropies: what a lower scale and a higher one are compared by."""


class HeldMeasured(Held[T]):
    """What an instrument measured and the task does not train on."""

    @abc.abstractmethod
    def measured(self) -> Inexact[Array, " k"]:
        """The measurements held out, in the units of the error's root."""


class HeldPoints(Held[RegressionTask]):
    """Values at points that the task was not shown."""

    coords: Float[Array, "k d"]
    values: Float[Array, "k c"]

    def error(self, field: Field) -> Scalar:
        return ((field.batch(self.coords) - self.values) ** 2).mean()


@dataclasses.dataclass(frozen=True, eq=False)
class Patches:
    """Small neighbourhoods at full density: what the kernel looks at.

    They lie alike, so that one kernel matrix serves all of them.
    """

    coords: Float[np.ndarray, "n d"]
    held: Bool[np.ndarray, " n"]
    values: Float[np.ndarray, "n columns"]
    """A column for every patch and channel."""


@dataclasses.dataclass(frozen=True, eq=False)
class Coarse:
    """A grid small enough for a kernel matrix, and what an instrument measures of it.

    Of a volume it is a plane, the sums of the field along the third axis: frequencies
    measured in a plane through 0 are those of these sums.
    """

    sides: tuple[int, ...]
    """Points along each axis of the array, the summed one too."""
    steps: tuple[float, ...]
    """Distances of neighbours along each."""
    A: Callable[[Array], Array]
    """Measurements of the values at all points, those of the channels side by side."""
    measured: Inexact[np.ndarray, " rows"]
    held: Bool[np.ndarray, " rows"]
    """Measurements that the kernel is not shown."""
    summed: int | None = None
    """The axis that A has the sums along, over the root of its points."""
    channels: int = 1


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Data, and how well a field does where it has not seen them."""

    name: str
    held: Held | None
    """None where there is too little to hold anything out."""
    blank: float
    """The held-out error of a field that is its mean everywhere."""
    d: int
    out: int
    output: str
    guess: float
    """The spectrum's scale, a standard deviation in cycles per unit."""
    axes: tuple[float, ...] | None = None
    """Where the axes differ: the guess along each, in units of the largest."""
    nyquist: float | None = None
    patches: Patches | None = None
    coarse: Coarse | None = None
    """What the kernel looks at behind a linear instrument."""
    above: float = 1.0
    """How much higher the best scale of the fit is than that of the trials."""
    start: float | None = None
    """Where fields begin (`make_field`)."""
    share: float = 1.0
    """Of all points, how many the trials see: their networks are as much smaller."""
    digest: str = ""
    """Of the data and the way they were cut."""
