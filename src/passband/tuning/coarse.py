"""Linear instruments on a grid that a kernel matrix can hold.

Scales are in cycles per unit, so that they mean the same on every grid; what lies above
the Nyquist frequency of a coarse one cannot be seen there, and is not judged by it.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data.masks import hold_out
from ..domain import extent_of
from ..errors import InputError
from ..forward.kspace import crop
from ..tasks.ct import CTTask, kept_rays
from ..tasks.ct_rows import RowsTask
from ..tasks.mri import MriTask
from .problem import Coarse

POINTS = 1024
"""Values of the field on the coarse grid: 32 x 32."""
HOLDOUT = 0.1
FEWEST = 8
"""Measurements held out below which nothing is predicted."""


def ct_coarse(task: CTTask, *, points: int = POINTS, seed: int = 0) -> Coarse | None:
    """A sinogram with its rays averaged to as many bins as a coarse grid has columns.

    The field lies between the points of that grid in straight lines, so that the
    instrument is the task's own. All measured rays count, and a tenth of the averaged
    ones is held out. None where these are too few. Of several rows it is the sums of
    all, which are what the instrument sees of the sum of their slices.
    """
    forward, seen = task.forward, np.asarray(task.sinogram, np.float64)
    sides, steps, summed = (), (), None
    if isinstance(task, RowsTask):
        forward, rows = task.slices.plane, task.slices.rows
        seen = seen.sum(axis=1) / math.sqrt(rows)
        sides, steps, summed = (rows,), (task.row_step,), 2
    views, bins = seen.shape
    grid, _ = forward.input_shape
    side = min(grid, bins, math.isqrt(points))
    widen = jnp.asarray(straight_lines(side, grid), jnp.float32)
    narrow = strips(bins, side)
    train_mask = kept_rays((views, side), HOLDOUT, seed)
    assert train_mask is not None
    held = ~train_mask.ravel()
    if not FEWEST <= held.sum() < held.size:
        return None

    def A(values: Float[Array, " n"]) -> Float[Array, " rows"]:
        fine = widen @ values.reshape(side, side) @ widen.T
        return (forward(fine) @ jnp.asarray(narrow.T, fine.dtype)).ravel()

    measured, step = seen @ narrow.T, task.plane_extent / side
    return Coarse(
        (side, side, *sides), (step, step, *steps), A, measured.ravel(), held, summed
    )


def mri_coarse(task: MriTask, *, points: int = POINTS, seed: int = 0) -> Coarse | None:
    """The centre of k-space, in 3D that of its plane with the most frequencies.

    The centre is the same field on a coarser grid, and a plane through frequency 0 has
    the sums of the field across it. None where too little was measured, and for a
    volume heard by several coils, whose sensitivities do not let it be summed.
    """
    forward = task.forward
    full = forward.mask.shape
    known = np.asarray(forward.mask)
    if task.test_mask is not None:
        known = known | np.asarray(task.test_mask)
    measured, maps = np.asarray(task.measured), forward.maps
    summed = None
    if len(full) == 3:
        if maps is not None:
            return None
        summed = 2 - int(np.argmin(full[::-1]))
    channels = 2 if forward.pair else 1
    plane = tuple(n for axis, n in enumerate(full) if axis != summed)
    if summed is not None:
        known, measured = (np.take(x, 0, axis=summed) for x in (known, measured))
    sides = _within(plane, points // channels)
    known, measured = crop(known, plane, sides), crop(measured, plane, sides)
    try:
        _, held = hold_out(known, HOLDOUT, seed=seed)
    except InputError:
        return None
    there = np.flatnonzero(known)
    coils = 1 if maps is None else len(maps)
    out = np.tile(held.ravel()[there], coils)
    if out.sum() < FEWEST:
        return None
    heard = None if maps is None else _at(np.asarray(maps), plane, sides)

    def A(values: Float[Array, " n"]) -> Array:
        parts = values.reshape(*sides, channels)
        image = parts[..., 0] + 1j * parts[..., 1] if channels == 2 else parts[..., 0]
        seen = image if heard is None else heard * image
        samples = jnp.fft.fftn(seen, axes=(-2, -1), norm="ortho")
        return samples.reshape(coils, -1)[:, there].ravel()

    extent = task.extent or extent_of(full)
    every = list(sides)
    if summed is not None:
        every.insert(summed, full[summed])
    steps = tuple(e / n for e, n in zip(extent, every, strict=True))
    rows = measured.reshape(coils, -1)[:, there].ravel()
    return Coarse(tuple(every), steps, A, rows, out, summed, channels)


def straight_lines(few: int, many: int) -> Float[np.ndarray, "many few"]:
    """Values at i/many from those at j/few, constant past the last of these."""
    at = np.minimum(np.arange(many) * few / many, few - 1)
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(few)))


def strips(bins: int, few: int) -> Float[np.ndarray, "few bins"]:
    """Means over stretches of a detector, about its middle bin bins // 2."""
    wide = bins / few
    middle = bins // 2 + (np.arange(few) - few // 2) * wide
    begin, end = (middle - wide / 2)[:, None], (middle + wide / 2)[:, None]
    bin = np.arange(bins)
    shared = np.minimum(bin + 0.5, end) - np.maximum(bin - 0.5, begin)
    weights = np.maximum(0, shared)
    return weights / weights.sum(axis=1, keepdims=True)


def _within(sides: tuple[int, ...], points: int) -> tuple[int, ...]:
    """Sides of about the same shape with at most so many points."""
    scale = min(1.0, (points / math.prod(sides)) ** (1 / len(sides)))
    return tuple(max(2, int(n * scale + 1e-9)) for n in sides)


def _at(maps: np.ndarray, full: tuple, sides: tuple) -> np.ndarray:
    """Sensitivities, which are smooth, at the points next to those of the grid."""
    for axis, (n, s) in enumerate(zip(full, sides, strict=True)):
        maps = np.take(maps, np.arange(s) * n // s, axis=axis + 1)
    return maps
