"""What the tasks behind a linear instrument share: a loss of values on its grid, with a
prior, which steps lower on all of the grid or, split, at points drawn at random."""

import abc
import dataclasses
import math
from typing import TypeVar

import equinox as eqx
from jaxtyping import Array, Float, Int, Scalar

from ..field import Field
from ..forward.linear import LinearForward
from ..mappings import AnyKey
from .prior import TotalVariation
from .splitting import Quadratic, Splitting, norm_of, splitting
from .task import Task, points_at_once

T = TypeVar("T", bound="InstrumentTask")


class InstrumentTask(Task):
    """Fit a field to what a linear instrument sees of its values on a grid."""

    forward: LinearForward
    prior: TotalVariation | None = eqx.field(default=None, kw_only=True)
    splitting: Splitting | None = eqx.field(default=None, kw_only=True)

    @abc.abstractmethod
    def on_grid(self, field: Field) -> Float[Array, "..."]:
        """The field on the grid of the instrument."""

    @abc.abstractmethod
    def loss_of(self, values: Float[Array, "..."], /) -> Scalar:
        """The loss of values on that grid, however they came about."""

    @abc.abstractmethod
    def with_prior(self: T, weight: float) -> T:
        """The same task with total variation in its loss (`TotalVariation`)."""

    @abc.abstractmethod
    def quadratic(self) -> Quadratic:
        """The same loss as a sum of squares."""

    @abc.abstractmethod
    def held_out_error(self, values: Float[Array, "..."], /) -> float:
        """Relative error of what was held out; NaN where nothing was."""

    @property
    @abc.abstractmethod
    def empty_loss(self) -> float:
        """The loss of values that are 0 everywhere."""

    @property
    @abc.abstractmethod
    def lengths(self) -> tuple[float, ...]:
        """Of the grid's sides; the longest is 1."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        if self.splitting is not None:
            return self.splitting.loss(field, key)
        values = self.on_grid(field)
        loss = self.loss_of(values)
        return loss if self.prior is None else loss + self.prior(values)

    def split(
        self: T,
        *,
        pull: float,
        batch: int,
        look: int,
        iterations: int,
        ratio: float = 2.0,
        norm: float | None = None,
        ends: tuple[float, float] = (0.0, 1.0),
    ) -> T:
        """The same task, learned at points drawn at random (`splitting.splitting`)."""
        data = self.quadratic()
        found = splitting(
            data, norm=norm_of(data) if norm is None else norm, pull=pull, batch=batch,
            look=look, iterations=iterations, ratio=ratio, extent=self.lengths,
            ends=ends,
        )  # fmt: skip
        return dataclasses.replace(self, splitting=found)

    def look_up(
        self, field: Field, step: Int[Array, ""] | int
    ) -> Float[Array, "points c"] | None:
        """The picture that the next steps learn, where they are split."""
        if self.splitting is None:
            return None
        return self.splitting.picture(field, step, self.quadratic(), self.prior)

    def with_found(self: T, found: Float[Array, "points c"] | None) -> T:
        if self.splitting is None:
            return self
        split = dataclasses.replace(self.splitting, target=found)
        return dataclasses.replace(self, splitting=split)

    @property
    def steps_a_look(self) -> int:
        return 1 if self.splitting is None else self.splitting.look

    @property
    def grid_points(self) -> int:
        """Points of the instrument's grid."""
        return math.prod(self.forward.input_shape[: len(self.lengths)])

    @property
    def step_points(self) -> int:
        return (
            self.grid_points if self.splitting is None else self.splitting.step_points
        )

    @property
    def microbatch_points(self) -> int:
        if self.splitting is None:
            return self.step_points
        return points_at_once(self.step_points)
