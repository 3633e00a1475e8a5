"""The axis of rotation, found from the views themselves.

Opposite views of parallel rays are mirror images of each other about the axis. For any
geometry, half of the views predict the other half best where the axis is right.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32
from scipy.ndimage import shift as shifted

from ..forward.fan import Projector

OPPOSITE = 2.0
"""Degrees that two views may miss half a turn by, to be compared as mirror images."""
COARSE, FINE = 96, 256
"""Bins that the views are averaged to, to search and to refine."""
VIEWS = 64
"""That are compared at most: two that lie side by side are alike, whatever the axis."""
ITERATIONS = 12
REACH = 0.2
"""Of the detector, how far from its middle the axis is searched."""

MakeProjector = Callable[[Float[np.ndarray, " views"], int, float, float], Projector]
"""From angles, bins, the column of the axis, and by how much wider the bins are."""


def by_opposite_views(
    values: Float32[np.ndarray, "views bins"], angles: Float[np.ndarray, " views"]
) -> float | None:
    """The column about which views half a turn apart are mirror images, within a
    hundredth; None where there are no two such views."""
    apart = (angles[:, None] - angles) % 360
    away = np.abs(apart - 180)
    pairs = [(i, int(np.argmin(away[i]))) for i in range(len(angles))]
    pairs = [(i, j) for i, j in pairs if away[i, j] <= OPPOSITE and i < j]
    if not pairs:
        return None
    best = min(away[i, j] for i, j in pairs)
    pairs = [(i, j) for i, j in pairs if away[i, j] <= best + 0.25][:64]
    first = values[[i for i, _ in pairs]].astype(np.float64)
    second = values[[j for _, j in pairs]].astype(np.float64)[:, ::-1]
    bins = values.shape[1]

    def error(move: float) -> float:
        """Of the mirrored views, moved on by so many bins, where both are."""
        at = np.arange(bins) - move
        inside = (at >= 0) & (at <= bins - 1)
        if inside.sum() < bins // 3:
            return np.inf
        low = np.clip(np.floor(at[inside]).astype(int), 0, bins - 2)
        part = at[inside] - low
        there = second[:, low] * (1 - part) + second[:, low + 1] * part
        here = first[:, inside]
        return float(np.mean((here - there) ** 2) / (np.mean(here**2) + 1e-30))

    whole = np.arange(-int(0.6 * bins), int(0.6 * bins) + 1)
    start = whole[int(np.argmin([error(float(m)) for m in whole]))]
    # Between two bins views are averaged, which lowers noise, and the error with it:
    # a curve through whole moves is not drawn towards halves.
    near = np.arange(start - 3, start + 4)
    move = _lowest(near, np.array([error(float(m)) for m in near]))
    return float((bins - 1 + move) / 2)


def by_moments(
    values: Float32[np.ndarray, "views bins"], angles: Float[np.ndarray, " views"]
) -> float | None:
    """The column that the centre of mass of parallel views swings about, a sinusoid;
    None where it does not swing like one, as where views are cut off."""
    mass = values.sum(axis=1, dtype=np.float64)
    if not (mass > 0).all():
        return None
    place = (values @ np.arange(values.shape[1], dtype=np.float64)) / mass
    turn = np.deg2rad(angles)
    basis = np.stack([np.ones_like(turn), np.cos(turn), np.sin(turn)], axis=1)
    found, *_ = np.linalg.lstsq(basis, place, rcond=None)
    rough = np.sqrt(np.mean((place - basis @ found) ** 2))
    steady = np.std(mass) < 0.03 * np.mean(mass)
    if not steady or rough > 0.002 * values.shape[1] or np.linalg.cond(basis) > 50:
        return None
    return float(found[0])


class HeldOut:
    """How well half of the views predict the others, for any column of the axis.

    The views are moved and not the projector, so that one compiled program serves all
    columns.
    """

    def __init__(
        self,
        values: Float32[np.ndarray, "views bins"],
        angles: Float[np.ndarray, " views"],
        make: MakeProjector,
        bins: int,
    ):
        self.wide = max(1, values.shape[1] // bins)
        kept = values.shape[1] // self.wide
        cut = values[:, : kept * self.wide]
        self.values = cut.reshape(len(values), kept, self.wide).mean(axis=2)
        self.kept = kept
        few = np.linspace(0, len(angles) - 1, min(len(angles), VIEWS)).astype(int)
        self.values, angles = self.values[few], angles[few]
        self.train = np.arange(len(few)) % 2 == 0
        middle = (kept - 1) / 2
        self.see = make(angles[~self.train], kept, middle, self.wide)
        self.back = make(angles[self.train], kept, middle, self.wide)

    def error(self, column: float) -> float:
        """Relative, of the views that were not reconstructed from."""
        at = (column - (self.wide - 1) / 2) / self.wide
        move = (self.kept - 1) / 2 - at
        moved = shifted(self.values, (0, move), order=3, mode="constant", cval=0.0)
        known = np.arange(self.kept) - move
        known = (known >= 0) & (known <= self.kept - 1)
        seen = _predicted(
            self.back, self.see, jnp.asarray(moved[self.train]), jnp.asarray(known)
        )
        wanted = moved[~self.train]
        off = np.linalg.norm((np.asarray(seen) - wanted)[:, known])
        return float(off / max(np.linalg.norm(wanted[:, known]), 1e-30))

    def best(self, columns: np.ndarray) -> float:
        return _lowest(columns, np.array([self.error(c) for c in columns]))


@jax.jit
def _predicted(back: Projector, see: Projector, y: Array, known: Array) -> Array:
    """What one instrument sees of the least-squares picture of the other's views, after
    a few conjugate gradients, which leave out the noise."""

    def step(_, carry):
        x, r, p, size = carry
        q = jnp.where(known, back(p), 0)
        length = size / jnp.maximum(jnp.sum(q**2), 1e-30)
        x, r = x + length * p, r - length * q
        s = back.H(r)
        new = jnp.sum(s**2)
        return x, r, s + new / jnp.maximum(size, 1e-30) * p, new

    r = jnp.where(known, y, 0)
    s = back.H(r)
    x = jax.lax.fori_loop(0, ITERATIONS, step, (0 * s, r, s, jnp.sum(s**2)))[0]
    return see(x)


def by_held_out_views(
    values: Float32[np.ndarray, "views bins"],
    angles: Float[np.ndarray, " views"],
    make: MakeProjector,
    near: float | None = None,
) -> float:
    """The column for which half of the views predict the others best.

    Args:
        near: where it must be within a few columns; searched for otherwise.
    """
    bins = values.shape[1]
    if near is None:
        search = HeldOut(values, angles, make, COARSE)
        reach = REACH * bins
        columns = (bins - 1) / 2 + np.arange(-reach, reach + 1, search.wide)
        near = search.best(columns)
    fine = HeldOut(values, angles, make, FINE)
    step = max(1.0, fine.wide)
    return fine.best(near + step * np.arange(-3, 4))


def _lowest(at: np.ndarray, errors: np.ndarray) -> float:
    """Where a parabola through the smallest and its neighbours is lowest."""
    k = int(np.argmin(errors))
    if not 0 < k < len(at) - 1:
        return float(at[k])
    before, here, after = errors[k - 1 : k + 2]
    bend = before - 2 * here + after
    if not bend > 0:
        return float(at[k])
    return float(at[k] + 0.5 * (before - after) / bend * (at[k + 1] - at[k]))
