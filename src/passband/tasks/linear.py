"""A field seen through any linear instrument: half the mean squared error of what it
measures."""

import dataclasses
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Int, Scalar

from ..domain import extent_of, grid_coords
from ..errors import InputError
from ..field import Field
from ..forward.linear import LinearForward, relative_error
from ..ops.chunked import chunked_map
from ..ops.without_autotune import jit_without_autotune
from .instrument import InstrumentTask
from .prior import total_variation
from .splitting import Quadratic


class LinearTask(InstrumentTask):
    """Fit a field in [0, 1], which stands for values from `low` to `high`, on the grid
    of an instrument to what it measured.

    A step evaluates the field on the whole grid: a measurement may see all of it.
    """

    measured: Inexact[Array, "*runs_and_shape"]
    """In the user's units."""
    train_mask: Bool[Array, "*shape"] | None
    """The measurements to train on; None for all."""
    test_mask: Bool[Array, "*shape"] | None
    """Measurements kept for testing; None where there are none."""
    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    unit: Float[Array, "*runs"]
    """Root mean square of the measurements that train: errors are divided by it."""
    extent: tuple[float, ...] = eqx.field(static=True)
    """Lengths of the sides; the longest is 1."""
    at_once: int | None = eqx.field(static=True, default=None)
    """Points whose network is in memory together; None is all of them."""

    def with_prior(self, weight: float) -> "LinearTask":
        """The same task with total variation in its loss (`TotalVariation`)."""
        # Errors are in units of the measurements already.
        prior = total_variation(weight, 1.0, self.forward.input_shape, self.extent)
        return dataclasses.replace(self, prior=prior)

    def loss_of(self, values: Float[Array, "..."]) -> Scalar:
        """Half the mean squared error of what values in [0, 1] are measured as, in
        units of the measurements' root mean square."""
        return 0.5 * self.mean_square(values, self.train_mask)

    def mean_square(
        self, values: Float[Array, "..."], among: Bool[Array, "..."] | None
    ) -> Scalar:
        """The mean squared error of some measurements, in those units."""
        error = (self.see(values) - self.measured) / self.unit
        square = jnp.square(jnp.real(error)) + jnp.square(jnp.imag(error))
        if among is None:
            return jnp.mean(square)
        return jnp.sum(jnp.where(among, square, 0)) / jnp.sum(among)

    def see(self, values: Float[Array, "..."]) -> Inexact[Array, "..."]:
        """The measurements of values in [0, 1], in the user's units."""
        return self.forward(self.low + (self.high - self.low) * values)

    def quadratic(self) -> Quadratic:
        low = self.forward(jnp.full(self.forward.input_shape, self.low))
        weight = jnp.ones(self.forward.output_shape)
        if self.train_mask is not None:
            weight = jnp.where(self.train_mask, weight, 0)
        return Quadratic(
            self.forward,
            (self.high - self.low) / self.unit,
            (self.measured - low) / self.unit,
            weight / jnp.sum(weight),
        )

    def held_out_error(self, values: Float[Array, "..."]) -> float:
        return self.errors(values).get("error_test", math.nan)

    @property
    def lengths(self) -> tuple[float, ...]:
        return self.extent

    @property
    def empty_loss(self) -> float:
        """The loss of a field that is 0 everywhere."""
        return float(self.loss_of(jnp.zeros(self.forward.input_shape)))

    def values(self, field: Field) -> Float[Array, "..."]:
        """The field on the grid of the instrument."""
        sides, n = self.forward.input_shape, self.grid_points

        def part(field: Field, index: Int[Array, " k"]) -> Float[Array, "k c"]:
            coords = grid_coords(index, sides, self.extent)
            return field.batch(coords, still=True)

        return chunked_map(part, field, n, self.at_once or n).reshape(sides)

    def on_grid(self, field: Field) -> Float[Array, "..."]:
        return self.values(field)

    def predict(self, field: Field) -> np.ndarray:
        return np.asarray(_values(self, field))

    def metrics(self, field: Field) -> dict[str, float]:
        """Relative errors of the measurements that were trained on, and of those held
        out."""
        return self.errors(_values(self, field))

    def errors(self, values: np.ndarray | Array) -> dict[str, float]:
        """The metrics of values in [0, 1] on the grid, whoever made them."""
        seen = _see(self, jnp.asarray(values, jnp.float32))
        found = {"error_train": relative_error(seen, self.measured, self.train_mask)}
        if self.test_mask is not None:
            found["error_test"] = relative_error(seen, self.measured, self.test_mask)
        return found

    @property
    def microbatch_points(self) -> int:
        if self.splitting is not None:
            return super().microbatch_points
        return min(self.step_points, self.at_once or self.step_points)

    @property
    def microbatched(self) -> bool:
        return self.at_once is not None


@jit_without_autotune
def _values(task: LinearTask, field: Field) -> Array:
    return task.values(field)


@jit_without_autotune
def _see(task: LinearTask, values: Array) -> Array:
    return task.see(values)


def linear_task(
    forward: LinearForward,
    measured: Inexact[np.ndarray, "..."] | Inexact[Array, "..."],
    *,
    low: float = 0.0,
    high: float = 1.0,
    mask: Bool[np.ndarray, "..."] | None = None,
    holdout: float = 0.05,
    seed: int = 0,
    extent: tuple[float, ...] | None = None,
    at_once: int | None = None,
) -> LinearTask:
    """The task of measurements in the user's units.

    Args:
        forward: what was measured with; `forward.linear` makes one of what one has.
        measured: an array of its `output_shape`, complex where it is.
        low: the value that the field's 0 stands for; its 1 is `high`.
        mask: which measurements were taken; all by default.
        holdout: the share of these kept for testing, at random.
        seed: of that choice.
        extent: lengths of the sides, where `forward` has a coarser grid than the field.
    """
    if not -math.inf < low < high < math.inf:
        raise InputError(f"`low` (={low:g}) must be below `high` (={high:g})")
    known = check_measured(forward, measured, mask)
    train, test = held_out(known, holdout, seed)
    there = np.asarray(measured)[train]
    unit = float(np.sqrt(np.mean(np.square(np.abs(there)))))
    kind = jnp.complex64 if np.iscomplexobj(there) else jnp.float32
    return LinearTask(
        forward,
        jnp.asarray(np.where(known, measured, 0), kind),
        None if train.all() else jnp.asarray(train),
        jnp.asarray(test) if test.any() else None,
        jnp.float32(low),
        jnp.float32(high),
        jnp.float32(unit),
        extent or extent_of(forward.input_shape),
        at_once,
    )


def check_measured(
    forward: LinearForward,
    measured: Inexact[np.ndarray, "..."] | Inexact[Array, "..."],
    mask: Bool[np.ndarray, "..."] | None,
) -> Bool[np.ndarray, "..."]:
    """Which measurements were taken; what cannot be fitted is refused."""
    y, shape = np.asarray(measured), forward.output_shape
    if y.shape != shape:
        raise InputError(f"`y` has shape {y.shape}; the operator measures {shape}")
    known = np.ones(shape, bool) if mask is None else np.asarray(mask)
    if known.shape != shape or known.dtype != bool:
        raise InputError(
            f"`mask` has shape {known.shape} and {known.dtype}; give one True or False "
            f"a measurement, {shape}"
        )
    if not known.any():
        raise InputError("`mask` leaves no measurement")
    if not np.isfinite(y[known]).all():
        bad = int(np.count_nonzero(~np.isfinite(y[known])))
        raise InputError(
            f"`y` has {bad} NaN or infinite numbers; leave them out by `mask`"
        )
    seen = eqx.filter_eval_shape(forward, jnp.zeros(forward.input_shape))
    kinds = np.iscomplexobj(y), bool(jnp.issubdtype(seen.dtype, jnp.complexfloating))
    if kinds == (True, False):
        raise InputError("`y` is complex, and the operator measures real numbers")
    if kinds == (False, True):
        raise InputError("`y` is real, and the operator measures complex numbers")
    if not y[known].any():
        raise InputError("`y` is 0 everywhere; there is nothing to fit")
    return known


def held_out(
    known: Bool[np.ndarray, "..."], share: float, seed: int
) -> tuple[Bool[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
    """Which measurements train and which test: a share of those taken, at random, one
    at least and never all."""
    if not 0 <= share < 1:
        raise InputError(f"`holdout` (={share:g}) must be 0 or more and less than 1")
    test = np.zeros(known.shape, bool)
    there = np.flatnonzero(known)
    if share > 0 and there.size > 1:
        count = min(max(1, round(share * there.size)), there.size - 1)
        picked = np.random.default_rng(seed).choice(there, count, replace=False)
        test.flat[picked] = True
    return known & ~test, test
