"""Several rows of a CT scan as one field of three coordinates, (x, y, z)."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Float32, Int, Scalar

from ..data.ct_geometry import settle
from ..data.sinograms import Sinogram
from ..domain import extent_of, grid_coords
from ..errors import InputError
from ..field import Field
from ..forward.slices import Slices
from ..mappings import AnyKey
from ..ops.without_autotune import jit_without_autotune
from .ct import (
    CTTask,
    ct_task,
    kept_rays,
    projector,
    room_for,
    scanner_of,
    squared,
    with_noise,
)
from .prior import total_variation


class RowsTask(CTTask):
    """Fit a density to the projections of its slices, (views, rows, bins).

    A slice lies in the unit square as a picture does; along z, the third coordinate,
    one row follows another. A step sees some rows that lie side by side, at a place
    drawn anew, on the grid of the plane.
    """

    z: Float[Array, "*runs rows"] = eqx.field(kw_only=True)
    """Third coordinates of the rows."""
    extent: tuple[float, float, float] = eqx.field(static=True, kw_only=True)
    """Lengths along x, y and z of the whole volume; the longest is 1."""
    row_step: float = eqx.field(static=True, kw_only=True)
    """From one row to the next, along z."""
    at_once: int = eqx.field(static=True, kw_only=True)
    """Rows of a step."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        rows, k = self.slices.rows, self.at_once
        if k >= rows:
            part, density = self, self.density(field)
        else:
            # From beyond the ends, so that the outer rows are seen as often as others.
            first = jax.random.randint(key, (), 1 - k, rows)
            part = self._from(jnp.clip(first, 0, rows - k), k)
            density = part.density(field)
        loss = part.loss_of(density)
        return loss if self.prior is None else loss + self.prior(density)

    @property
    def slices(self) -> Slices:
        """The instrument, of all rows."""
        assert isinstance(self.forward, Slices)
        return self.forward

    def _from(self, first: Int[Array, ""], count: int) -> "RowsTask":
        """Rows that lie side by side, from one on."""

        def some(values: Array | None, axis: int) -> Any:
            if values is None:
                return None
            return lax.dynamic_slice_in_dim(values, first, count, axis)

        return self._with_rows(some, count)

    def of_rows(self, which: Sequence[int]) -> "RowsTask":
        """The task of some of the rows; a step sees all of them."""
        index = np.asarray(which)
        part = self._with_rows(
            lambda values, axis: None if values is None else values.take(index, axis),
            len(index),
        )
        return dataclasses.replace(part, at_once=len(index))

    def _with_rows(self, some: Any, count: int) -> "RowsTask":
        return dataclasses.replace(
            self,
            forward=Slices(self.slices.plane, count),
            sinogram=some(self.sinogram, 1),
            train_mask=some(self.train_mask, 1),
            weights=some(self.weights, 1),
            z=some(self.z, 0),
        )

    def row(self, index: int) -> CTTask:
        """The task of one row by itself."""
        one = [None if a is None else a[:, index]
               for a in (self.sinogram, self.train_mask, self.weights)]  # fmt: skip
        assert one[0] is not None
        return CTTask(self.slices.plane, one[0], one[1], self.side, weights=one[2])

    def with_prior(self, weight: float) -> "RowsTask":
        """With the total variation, in three dimensions, of the rows of a step."""
        k, n, _ = Slices(self.slices.plane, self.at_once).input_shape
        across, down, _ = self.extent
        prior = total_variation(
            weight, 2 * self.empty_loss, (k, n, n), (k * self.row_step, down, across)
        )
        return dataclasses.replace(self, prior=prior)

    def density(self, field: Field) -> Float[Array, "rows side side"]:
        rows, n, _ = self.slices.input_shape
        return _at(field, self.z, n, self.extent).reshape(rows, n, n)

    def predict(self, field: Field) -> Float32[np.ndarray, "rows side side"]:
        return render_slices(field, np.asarray(self.z), self.side, self.extent)

    def metrics(self, field: Field) -> dict[str, float]:
        """Of as many rows as a step sees, from first to last."""
        rows, k = self.slices.rows, self.at_once
        part = self if k >= rows else self.of_rows(spread_over(rows, k))
        return part.errors(_project(part, field))

    @property
    def step_points(self) -> int:
        _, n, m = self.slices.input_shape
        return self.at_once * n * m

    @property
    def plane_extent(self) -> float:
        return self.extent[0]


@jit_without_autotune
def _project(task: RowsTask, field: Field) -> Array:
    return task.project(field)


def _at(field: Field, z: Array, n: int, extent: tuple[float, ...]) -> Array:
    """The field on whole slices, one after another."""
    plane = grid_coords(jnp.arange(n * n), (n, n), (extent[1], extent[0]))
    plane = jnp.tile(plane, (len(z), 1))
    return field.batch(jnp.column_stack([plane, jnp.repeat(z, n * n)]))


def render_slices(
    field: Field,
    z: Float[np.ndarray, " rows"],
    side: int,
    extent: tuple[float, ...],
    *,
    on_slice: Any = None,
) -> Float32[np.ndarray, "rows side side"]:
    """The field on slices of any size at any heights.

    Args:
        z: third coordinates of the slices.
        on_slice: is called with the share that is done.
    """
    plane = grid_coords(np.arange(side * side), (side, side), (extent[1], extent[0]))
    out = np.empty((len(z), side, side), np.float32)
    for k, height in enumerate(z):
        level = np.full((len(plane), 1), height, np.float32)
        found = field.predict(np.concatenate([plane, level], axis=1))
        out[k] = found.reshape(side, side)
        if on_slice is not None:
            on_slice((k + 1) / len(z))
    return out


def heights(rows: int, extent: Sequence[float]) -> Float[np.ndarray, " rows"]:
    """Third coordinates of so many rows over the whole volume."""
    return np.arange(rows) / rows * extent[2]


def spread_over(rows: int, count: int) -> list[int]:
    """So many rows from all over the detector, each in the middle of its share."""
    count = min(rows, count)
    return [(2 * k + 1) * rows // (2 * count) for k in range(count)]


def rows_task(
    sinogram: Sinogram,
    *,
    high: float,
    grid: int | None = None,
    at_once: int | None = None,
    holdout: float = 0.05,
    seed: int = 0,
) -> RowsTask:
    """The task of several rows; rays, or views, are held out in all rows alike.

    Args:
        high: the density that becomes 1.
        grid: rows and columns of a slice that a step evaluates; the picture's by
            default.
        at_once: detector rows that a step sees; all of them by default.
    """
    views, rows, bins = sinogram.values.shape
    first = ct_task(sinogram.row(0), high=high, grid=grid, holdout=holdout, seed=seed)
    geometry = sinogram.geometry or settle({}, bins)
    extent = volume_extent(geometry.size, geometry.pixel, rows, sinogram.row_spacing)
    mask = kept_rays((views, bins), holdout, seed)
    if mask is not None:
        mask = jnp.asarray(np.repeat(mask[:, None], rows, axis=1))
    unit = high * geometry.side
    return RowsTask(
        Slices(first.forward, rows),
        jnp.asarray(sinogram.values / unit, jnp.float32),
        mask,
        geometry.size,
        weights=None if sinogram.weights is None else jnp.asarray(sinogram.weights),
        z=jnp.asarray(heights(rows, extent), jnp.float32),
        extent=extent,
        row_step=extent[2] / rows,
        at_once=rows if at_once is None else min(at_once, rows),
    )


def volume_extent(
    side: int, pixel: float, rows: int, row_spacing: float
) -> tuple[float, float, float]:
    """Lengths along x, y and z in units of the longest."""
    down, across, high = extent_of((side, side, rows), (pixel, pixel, row_spacing))
    return across, down, high


def simulated_rows(
    volume: Float[np.ndarray, "rows h w"],
    angles: Float[np.ndarray, " views"],
    *,
    name: str,
    noise: float,
    seed: int,
    stride: int = 1,
    asked: Mapping[str, Any] | None = None,
) -> tuple[Sinogram, Float32[np.ndarray, "rows side side"]]:
    """The sinograms of a volume's slices, and the squares of densities they show.

    As `simulated` has it for one picture, in one square that holds all slices.

    Args:
        stride: slices that lie between two of these, and one.
    """
    if not 0 <= noise < math.inf:
        raise InputError(f"`noise` (={noise:g}) must be 0 or more")
    slices = volume.astype(np.float32)
    side = max(room_for(one) for one in slices)
    truth = np.stack([squared(one, side) for one in slices])
    geometry, bins = scanner_of(side, dict(asked or {}))
    forward = Slices(projector(geometry, angles, bins), len(truth))
    clean = geometry.side * np.asarray(forward(jnp.asarray(truth)))
    spacing = stride * geometry.row_spacing
    values = with_noise(clean, noise, seed)
    data = Sinogram(values, angles, name, geometry=geometry, row_spacing=spacing)
    return data, truth
