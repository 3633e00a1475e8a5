"""Values at points of the user's own: scattered or gridded, in any coordinates."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..field import Field
from ..members import mean_and_spread
from ..tasks.metrics import psnr
from ..tasks.regression import RegressionTask
from ..tuning.points import CPU_MOST, MOST, PASS, points_problem
from ..tuning.problem import Problem
from .defaults import on_cpu, paper_lr, resolve
from .kind import (
    SILENT,
    Evaluation,
    Health,
    History,
    Kind,
    Listener,
    Network,
    Rendered,
    Spread,
    Training,
    TrialSize,
    Units,
)
from .options import PointsOptions, TrainOptions
from .views import points_view

BATCH, CPU_BATCH = 2**18, 2**13
"""Points a step, where there are more."""


@dataclasses.dataclass(frozen=True, eq=False)
class Box:
    """Where points lie: their longest side is one unit to the field."""

    low: np.ndarray
    longest: float

    def to_unit(self, coords: np.ndarray) -> np.ndarray:
        """In float64 until the end: longitudes and metres keep their digits."""
        return ((coords - self.low) / self.longest).astype(np.float32)


@dataclasses.dataclass(frozen=True, eq=False)
class PointsKind(Kind):
    """(n, d) coordinates and (n, c) values; each channel has its own range."""

    name = "points"
    view = staticmethod(points_view)
    cpu_trials, gpu_trials = TrialSize(1600, CPU_MOST), TrialSize(1536, 2**12)

    options: PointsOptions
    coords: np.ndarray
    values: np.ndarray
    box: Box
    low: np.ndarray
    span: np.ndarray
    validation: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def read(cls, options: Any, listener: Listener = SILENT) -> "PointsKind":
        raise InputError("points come as arrays: `pb.fit(coords, values)`")

    @classmethod
    def inputs(cls, options: Any) -> list[Path]:
        return []

    def again(self, options: Any) -> "PointsKind":
        return dataclasses.replace(self, options=options)

    def hashes(self, asked: Any) -> tuple[str, dict[str, str]]:
        data = self.coords.tobytes() + self.values.tobytes()
        return hashlib.sha256(data).hexdigest(), {}

    @property
    def unit_values(self) -> np.ndarray:
        """The values with every channel from 0 to 1."""
        return ((self.values - self.low) / self.span).astype(np.float32)

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        batch = min(len(self.coords), CPU_BATCH if on_cpu() else BATCH)
        return resolve(asked, mapping, steps=2000, batch=batch, lr=paper_lr(mapping))

    def network(self, training: Training | None = None) -> Network:
        return Network(self.coords.shape[1], self.values.shape[1], "identity")

    def task(self, training: Training) -> RegressionTask:
        size = training.batch
        return RegressionTask(
            jnp.asarray(self.box.to_unit(self.coords)),
            jnp.asarray(self.unit_values),
            jnp.float32(0),
            jnp.float32(1),
            None if size >= len(self.coords) else size,
        )

    def nyquist(self) -> float:
        """That of as many points on a grid over their box."""
        unit = self.box.to_unit(self.coords)
        sides = np.ptp(unit, axis=0)
        sides = np.where(sides > 0, sides, 1.0)
        return 0.5 * float(len(unit) / np.prod(sides)) ** (1 / unit.shape[1])

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        most = CPU_MOST if on_cpu() else MOST
        batch = max(64, min(most, len(self.coords)) // PASS) if on_cpu() else 2**12
        return points_problem(
            self.box.to_unit(self.coords), self.unit_values, most=most,
            batch=min(batch, size.points), seed=asked.seed,
        )  # fmt: skip

    def health(
        self, task: Any, field: Field, entry: Mapping[str, float], history: History
    ) -> Health:
        del task, entry, history
        if self.validation is None:
            return Health()
        return Health({"psnr_val": self._psnr(field, *self.validation)})

    def _psnr(self, field: Field, coords: np.ndarray, values: np.ndarray) -> float:
        """Against the range of the training values."""
        return self._level(field.predict(self.box.to_unit(coords)), values)

    def _level(self, seen: np.ndarray, values: np.ndarray) -> float:
        return psnr(seen, (values - self.low) / self.span, data_range=1.0)

    def evaluate(
        self,
        task: Any,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        seen, apart = mean_and_spread(
            field, lambda one: one.predict(self.box.to_unit(self.coords))
        )
        metrics = {"psnr": self._level(seen, self.values)}
        if self.validation is not None:
            metrics["psnr_val"] = self._psnr(field, *self.validation)
        return Evaluation(
            metrics=metrics,
            about={
                "origin": self.box.low.tolist(),
                "longest": self.box.longest,
                "points": len(self.coords),
            },
            preview=lambda: _preview(task.predict(field)),
            figures=dict,
            spread=None if apart is None else Spread(apart * self.span, pictured=False),
        )

    def finished(self, field: Field) -> Field:
        """The field in the units of the values: its last layer is scaled to them."""
        W, b = field.mlp.weights[-1], field.mlp.biases[-1]
        return _with_last(field, W * self.span, b * self.span + self.low)

    def unfinished(self, field: Field) -> Field:
        """A finished field as it trains on these values."""
        W, b = field.mlp.weights[-1], field.mlp.biases[-1]
        return _with_last(field, W / self.span, (b - self.low) / self.span)

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        raise InputError("points have no picture of their own; ask `model(coords)`")

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        d = field.encoding.dims
        try:
            low = np.asarray(about["origin"], np.float64)
            longest = float(about["longest"])
            good = low.shape == (d,) and np.isfinite(low).all() and longest > 0
        except (KeyError, TypeError, ValueError, OverflowError):
            good, low, longest = False, np.zeros(d), 1.0
        if not good:
            raise InputError("the model's `origin` and `longest` make no sense")
        return Units(
            low, np.full(d, 1 / longest), np.zeros(d),
            "those of the fitted points", "those of the fitted values",
        )  # fmt: skip


def points_kind(
    coords: Any,
    values: Any,
    options: PointsOptions,
    *,
    validation: tuple[Any, Any] | None = None,
    box: Box | None = None,
) -> PointsKind:
    """Points and values as a kind, checked.

    Args:
        box: where the coordinates lie, if not where these points do.
    """
    x, y = checked_points("coords", coords), checked_points("values", values)
    if len(x) != len(y) or len(x) < 2:
        raise InputError(
            f"`coords` {np.shape(coords)} and `values` {np.shape(values)} must be "
            "(n, d) and (n, c) with one n of 2 or more"
        )
    held = None
    if validation is not None:
        held = tuple(checked_points("validation", part) for part in validation)
        if len(held) != 2 or len(held[0]) != len(held[1]):
            raise InputError("`validation` must be a pair of coords and values")
        if held[0].shape[1] != x.shape[1] or held[1].shape[1] != y.shape[1]:
            raise InputError("`validation` must have the channels of the data")
    if box is None:
        longest = float(np.ptp(x, axis=0).max())
        box = Box(x.min(axis=0), longest if longest > 0 else 1.0)
    low, span = y.min(axis=0), np.ptp(y, axis=0)
    span = np.where(span > 0, span, 1.0)
    return PointsKind(options, "points", x, y, box, low, span, held)


def checked_points(name: str, array: Any) -> np.ndarray:
    """(n,) or (n, k) finite real numbers as (n, k) float64."""
    try:
        found = np.asarray(array)
        if not np.iscomplexobj(found):
            found = found.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` must be an array of numbers") from None
    if np.iscomplexobj(found):
        raise InputError(
            f"`{name}` is complex; give real and imaginary parts as two channels"
        )
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or found.size == 0:
        raise InputError(
            f"`{name}` has shape {np.shape(array)}; it must be (n,) or (n, k), not "
            "empty; `.reshape(-1, k)` makes a list of points of a grid"
        )
    if not np.isfinite(found).all():
        bad = int(np.argwhere(~np.isfinite(found))[0, 0])
        raise InputError(
            f"`{name}` holds NaN or infinite values, first at index {bad}; leave "
            "these points out"
        )
    return found


def _with_last(field: Field, W: Any, b: Any) -> Field:
    last = lambda f: (f.mlp.weights[-1], f.mlp.biases[-1])  # noqa: E731
    new = jnp.asarray(W, jnp.float32), jnp.asarray(b, jnp.float32)
    return eqx.tree_at(last, field, new)


def _preview(values: np.ndarray) -> np.ndarray:
    """The values in a row, as a strip of grey."""
    return np.repeat(np.clip(values[:, :1], 0, 1)[None], 16, axis=0)
