"""Samples on a grid (a signal, a picture, a volume, a video) as a problem of scales."""

import hashlib
import itertools
import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int

from ..domain import grid_places, xy
from ..tasks.regression import RegressionTask
from .problem import HeldPoints, Patches, Problem
from .spectrum import axis_shares, first_guess

HOLDOUT = 0.1
"""The share of points held out: sparse and random, because a coarser grid would have a
lower Nyquist frequency and ask for a lower scale."""
BETWEEN = 1.2
"""A sample held out lies a whole step away from those about it; what is between samples
is nearer to them, and bears a higher scale. Found on the training sets of the paper's
pictures: from 1.1 to 1.3 natural ones and text lose less than 0.1 dB."""
FEWEST = 16
"""Points below which nothing is held out."""
SAME = 1e-10
"""The variance of values that are equal but for rounding."""
TILES = 2
"""Along each axis, where not all points can be taken: pieces at full density."""
PATCH = 576
"""Points of a neighbourhood that the kernel sees (24 x 24)."""
PATCHES = 16


def grid_problem(
    values: Float[np.ndarray, "*sides c"],
    *,
    step: float | Sequence[float] | None = None,
    known: Bool[np.ndarray, "*sides"] | None = None,
    most: int | None = None,
    batch: int | None = None,
    output: str = "sigmoid",
    start: float | None = None,
    seed: int = 0,
    name: str = "samples",
) -> Problem:
    """The problem of samples in [0, 1] at the points of a regular grid.

    Args:
        step: the distance of neighbours, one or one for each axis of the array; by
            default the longest side is one unit long.
        known: the samples there are to train on; None for all.
        most: points that the trials may take, as tiles of the grid.
        batch: points a step; None takes all of them.
        start: where fields begin (`make_field`).
    """
    values = np.asarray(values, np.float32)
    sides = values.shape[:-1]
    apart: float | list[float] = 1 / max(sides)
    if step is not None:
        apart = float(step) if isinstance(step, int | float) else list(step)
    there = np.ones(sides, bool) if known is None else known
    whole = values if known is None else _filled(values, known)
    steps = apart if isinstance(apart, list) else None
    axes, finest = axis_shares(whole, steps), np.min(apart).item()
    index = np.flatnonzero(there)
    if most is not None and len(index) > most:
        index = np.flatnonzero(there & _tiles(sides, most))
    share = len(index) / max(1, int(there.sum()))
    held, blank = None, float(np.var(values[there], axis=0, dtype=np.float64).mean())
    if blank < SAME:
        blank = 0.0
    if len(index) >= FEWEST and blank > 0:
        coords = grid_points(index, sides, apart)
        flat = values.reshape(-1, values.shape[-1])[index]
        rest, out = split(len(index), seed)
        size = None if batch is None or batch >= len(rest) else batch
        task = RegressionTask(
            jnp.asarray(coords[rest]), jnp.asarray(flat[rest]),
            jnp.float32(0), jnp.float32(1), size,
        )  # fmt: skip
        held = HeldPoints(task, jnp.asarray(coords[out]), jnp.asarray(flat[out]))
        # What a field without an idea would be: the mean of what it was shown.
        blank = float(np.mean((flat[out] - flat[rest].mean(axis=0)) ** 2))
    return Problem(
        name=name,
        held=held,
        blank=blank,
        d=len(sides),
        out=values.shape[-1],
        output=output,
        guess=first_guess(whole, finest),
        axes=None if axes is None else xy(axes),
        nyquist=0.5 / finest,
        patches=_patches(whole, apart, seed) if blank > 0 else None,
        above=BETWEEN,
        start=start,
        share=share,
        digest=_digest(values, there, apart, len(index), batch, output, start),
    )


def grid_points(
    index: Int[np.ndarray, " n"], sides: tuple[int, ...], step: float | list[float]
) -> Float[np.ndarray, "n d"]:
    """Coordinates of flat indices, neighbours `step` apart."""
    each = np.asarray(xy(step)) if isinstance(step, list) else step
    return (each * np.stack(grid_places(index, sides), axis=-1)).astype(np.float32)


def split(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of n points train, and which are held out."""
    count = max(4, round(HOLDOUT * n))
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[count:]), np.sort(order[:count])


def _tiles(sides: tuple[int, ...], most: int) -> Bool[np.ndarray, "*sides"]:
    """The middle of every part of the grid, as many points in all as there may be."""
    shrink = (most / math.prod(sides)) ** (1 / len(sides))
    taken = np.zeros(sides, bool)
    spans = []
    for n in sides:
        edges = np.linspace(0, n, TILES + 1)
        half = shrink * n / TILES / 2
        middles = (edges[:-1] + edges[1:]) / 2
        spans.append([slice(round(c - half), max(1, round(c + half))) for c in middles])
    for tile in itertools.product(*spans):
        taken[tile] = True
    return taken


def _patches(
    values: np.ndarray, step: float | list[float], seed: int
) -> Patches | None:
    sides, rng = values.shape[:-1], np.random.default_rng(seed)
    edge = max(2, int(PATCH ** (1 / len(sides)) + 1e-9))
    size = tuple(min(edge, n) for n in sides)
    if math.prod(size) < FEWEST:
        return None
    columns = []
    for _ in range(PATCHES):
        corner = [rng.integers(0, n - s + 1) for n, s in zip(sides, size, strict=True)]
        cut = tuple(slice(c, c + s) for c, s in zip(corner, size, strict=True))
        columns.append(values[cut].reshape(math.prod(size), -1))
    n = math.prod(size)
    held = np.zeros(n, bool)
    held[split(n, seed)[1]] = True
    coords = grid_points(np.arange(n), size, step).astype(np.float64)
    return Patches(coords, held, np.concatenate(columns, axis=1).astype(np.float64))


def _filled(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The grid with every gap as its nearest known sample."""
    from scipy.ndimage import distance_transform_edt

    if known.all() or not known.any():
        return values
    place = distance_transform_edt(~known, return_distances=False, return_indices=True)
    return values[tuple(np.asarray(place))]


def _digest(values: np.ndarray, known: np.ndarray, *cut: object) -> str:
    seen = hashlib.sha256(np.ascontiguousarray(values).tobytes())
    seen.update(np.packbits(known).tobytes())
    seen.update(f"{values.shape} {cut}".encode())
    return seen.hexdigest()
