"""Views that ask a field only where there is something: empty space is skipped.

Density is looked up once on a lattice. A sample whose cell, and the cells around it,
are empty stands for nothing and is not asked for; those that are left are packed
together, as many as the fullest part of the picture has. On Lego a view needs an eighth
of its samples.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .render import (
    Radiance,
    Rendered,
    composite,
    depths,
    points_along,
    points_at_once,
    rays_of,
)

LATTICE = 128
"""Points along each side of the box in which density is looked up."""
PAYS = 3 * LATTICE**3
"""Samples of all views from which the look pays."""
EIGHTHS = 8
"""Of a part's samples: what is left is rounded up to so many sizes, each of which is a
program."""


class Occupied(eqx.Module):
    """Where a scene is not empty; what lies outside the box counts as not."""

    cells: Bool[Array, "n n n"]
    low: Float[Array, "3"]
    high: Float[Array, "3"]

    def __call__(self, points: Float[Array, "n 3"]) -> Bool[Array, " n"]:
        n = self.cells.shape[0]
        place = (points - self.low) / (self.high - self.low) * (n - 1)
        inside = jnp.all((place >= 0) & (place <= n - 1), axis=-1)
        i, j, k = jnp.clip(jnp.round(place).astype(jnp.int32), 0, n - 1).T
        return self.cells[i, j, k] | ~inside


def occupied(
    radiance: Radiance,
    low: Float[np.ndarray, "3"],
    high: Float[np.ndarray, "3"],
    *,
    least: float = 0.0,
    lattice: int = LATTICE,
) -> Occupied:
    """Where density is above `least`, on a lattice from `low` to `high`, or at one of
    the 26 points around."""
    ends = jnp.asarray(low, jnp.float32), jnp.asarray(high, jnp.float32)
    cells = _looked(radiance, *ends, lattice, jnp.float32(least))
    return Occupied(cells, *ends)


def look(
    radiance: Radiance,
    low: Float[Array, "3"],
    high: Float[Array, "3"],
    n: int,
    least: Float[Array, ""] | float = 0.0,
) -> Bool[Array, "n n n"]:
    """The cells of `occupied`, inside a program: as many layers at once as a device is
    fast with."""
    most = max(1, points_at_once() // n**2)
    at_once = max(k for k in range(1, min(n, most) + 1) if n % k == 0)
    across = jnp.linspace(0.0, 1.0, n)

    def layers(x: Float[Array, " k"]) -> Bool[Array, "k n n"]:
        place = jnp.stack(jnp.meshgrid(x, across, across, indexing="ij"), axis=-1)
        _, density = radiance(low + place.reshape(-1, 3) * (high - low))
        return (density > least).reshape(at_once, n, n)

    found = jax.lax.map(layers, across.reshape(-1, at_once)).reshape(n, n, n)
    return jax.lax.reduce_window(
        found, False, jax.lax.bitwise_or, (3, 3, 3), (1, 1, 1), "SAME"
    )


_looked = eqx.filter_jit(look)


def box_of_views(
    poses: Float[np.ndarray, "n 3 4"],
    lenses: Float[np.ndarray, "n k"],
    size: tuple[int, int],
    ends: tuple[float, float],
    frustum: Float[Array, "4"] | np.ndarray | None = None,
) -> tuple[Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
    """The box that holds the samples of all views: those of the corners span them."""
    rows, columns = size
    corners = jnp.asarray([0, columns - 1, (rows - 1) * columns, rows * columns - 1])
    t = jnp.broadcast_to(jnp.asarray(ends, jnp.float32), (4, 2))
    bent = None if frustum is None else jnp.asarray(frustum, jnp.float32)
    found = []
    for pose, lens in zip(poses, lenses, strict=True):
        place = jnp.asarray(pose, jnp.float32), jnp.asarray(lens, jnp.float32)
        found.append(points_along(*rays_of(corners, columns, *place, bent), t))
    points = np.concatenate([np.asarray(each) for each in found])
    return points.min(axis=0), points.max(axis=0)


def render_view_of(
    occupied: Occupied,
    radiance: Radiance,
    pose: Float[Array, "3 4"],
    lens: Float[Array, " k"],
    near: Float[Array, ""],
    far: Float[Array, ""],
    *,
    size: tuple[int, int],
    samples: int,
    frustum: Float[Array, "4"] | None = None,
) -> Rendered:
    """`render.render_view`, samples in empty space left out."""
    rows, columns = size
    at_once = max(1, min(rows * columns, points_at_once() // samples))
    camera = pose, lens, near, far, frustum
    fullest = _most_occupied(occupied, *camera, size, samples, at_once)
    most = _rounded_up(int(fullest), at_once * samples)
    return _render(occupied, radiance, *camera, size, samples, at_once, most)


def render_rays_of(
    occupied: Occupied,
    radiance: Radiance,
    origins: Float[Array, "n 3"],
    directions: Float[Array, "n 3"],
    near: Float[Array, ""],
    far: Float[Array, ""],
    *,
    samples: int,
) -> Rendered:
    """`render.render` of a few rays, samples in empty space left out."""
    rays = origins, directions, near, far
    most = _rounded_up(int(_count(occupied, *rays, samples)), len(origins) * samples)
    return _render_rays(occupied, radiance, *rays, samples, most)


def _rounded_up(count: int, whole: int) -> int:
    """To eighths of the whole, so that there are few programs."""
    step = math.ceil(whole / EIGHTHS)
    return max(1, math.ceil(count / step)) * step


@eqx.filter_jit
def _count(
    occupied: Occupied, o: Array, d: Array, near: Array, far: Array, samples: int
) -> Int[Array, ""]:
    t = jnp.broadcast_to(depths(near, far, samples), (len(o), samples))
    return jnp.sum(occupied(points_along(o, d, t)))


@eqx.filter_jit
def _render_rays(
    occupied: Occupied, radiance: Radiance, o: Array, d: Array, near: Array, far: Array,
    samples: int, most: int,
) -> Rendered:  # fmt: skip
    t = jnp.broadcast_to(depths(near, far, samples), (len(o), samples))
    return _packed(occupied, radiance, points_along(o, d, t), t, most)


def _packed(
    occupied: Occupied,
    radiance: Radiance,
    points: Float[Array, "points 3"],
    t: Float[Array, "rays samples"],
    most: int,
) -> Rendered:
    """Rays from their samples, of which at most so many are not in empty space."""
    count = len(points)
    (kept,) = jnp.nonzero(occupied(points), size=most, fill_value=count)
    colour, density = radiance(points[jnp.minimum(kept, count - 1)])
    # What was not kept has no density; its colour then means nothing.
    colours = jnp.zeros((count, 3)).at[kept].set(colour, mode="drop")
    densities = jnp.zeros(count).at[kept].set(density, mode="drop")
    return jax.vmap(composite)(
        colours.reshape(*t.shape, 3), densities.reshape(t.shape), t
    )


def _samples_of(
    part: Int[Array, ""],
    camera: tuple[Array, Array, Array, Array, Array | None],
    size: tuple[int, int],
    samples: int,
    at_once: int,
) -> tuple[Float[Array, "points 3"], Float[Array, "rays samples"]]:
    """Points and ray parameters of a part: pixels from all over the picture, so that
    all parts have about as many in empty space."""
    (rows, columns), (pose, lens, near, far, frustum) = size, camera
    parts = -(-rows * columns // at_once)
    index = jnp.minimum(part + parts * jnp.arange(at_once), rows * columns - 1)
    o, d = rays_of(index, columns, pose, lens, frustum)
    t = jnp.broadcast_to(depths(near, far, samples), (at_once, samples))
    return points_along(o, d, t), t


@eqx.filter_jit
def _most_occupied(
    occupied: Occupied, pose: Array, lens: Array, near: Array, far: Array,
    frustum: Array | None, size: tuple[int, int], samples: int, at_once: int,
) -> Int[Array, ""]:  # fmt: skip
    """Samples of the part that has most of them."""
    camera = pose, lens, near, far, frustum

    def count(part):
        return jnp.sum(occupied(_samples_of(part, camera, size, samples, at_once)[0]))

    parts = -(-size[0] * size[1] // at_once)
    return jnp.max(jax.lax.map(count, jnp.arange(parts)))


@eqx.filter_jit
def _render(
    occupied: Occupied, radiance: Radiance, pose: Array, lens: Array, near: Array,
    far: Array, frustum: Array | None, size: tuple[int, int], samples: int,
    at_once: int, most: int,
) -> Rendered:  # fmt: skip
    camera = pose, lens, near, far, frustum
    rows, columns = size
    parts = -(-rows * columns // at_once)

    def some(part):
        points, t = _samples_of(part, camera, size, samples, at_once)
        return _packed(occupied, radiance, points, t, most)

    seen = jax.lax.map(some, jnp.arange(parts))

    def picture(x):
        flat = jnp.swapaxes(x, 0, 1).reshape(parts * at_once, *x.shape[2:])
        return flat[: rows * columns].reshape(rows, columns, *x.shape[2:])

    return Rendered(*map(picture, seen))
