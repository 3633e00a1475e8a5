"""Parallel-beam projection: the line integrals of values on a square grid.

Conventions are scikit-image's: at angle theta the detector runs along
t = x cos(theta) + y sin(theta) with x to the right and y up, and the axis of rotation
is at index side // 2 of the grid and bins // 2 of the detector. A sinogram here is
(views, bins), scikit-image's is its transpose.
"""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .positions import head_and_rest, position
from .views import (
    ViewProjector,
    by_views,
    check_lengths,
    checked_views,
    gather,
    march,
    over_views,
)


class Views(eqx.Module):
    """The geometry of every view.

    Positions are told from an integer index by products that are exact in float32: a
    number is a head of 12 bits and the rest. Otherwise XLA, which works a position out
    wherever it is needed, rounds it in two ways, and next to a whole number gives one
    pixel the weight of its neighbour.
    """

    cos: Float[Array, " views"]
    sin: Float[Array, " views"]
    start: Float[Array, "views bins"]
    """Where a ray meets the first row, or column, of the grid."""
    slope: Float[Array, "views 2"]
    """How far it moves from one to the next."""
    first: Float[Array, " views"]
    """The bin where the footprint of pixel (0, 0) begins."""
    along: Float[Array, "views 2"]
    """Bins from column to column."""
    down: Float[Array, "views 2"]
    """Bins from row to row."""


class Radon(ViewProjector):
    """Line integrals by linear interpolation across a ray's steeper axis (Joseph 1982).

    A ray meets every row (or column, whichever it crosses more steeply) once, and reads
    its two neighbours there. Seen from a pixel, that is a triangle on the detector,

        A[ray, pixel] = (pixel / w) max(0, 1 - |t_ray - t_pixel| / w),

    with w = max(|cos|, |sin|) in pixels and unit area. So A and its transpose are both
    gathers, and nothing of A is stored.
    """

    geometry: Views
    side: int = eqx.field(static=True)
    """Rows and columns of the grid."""
    bins: int = eqx.field(static=True)
    pitch: float = eqx.field(static=True)
    """From one bin to the next, in pixels of the grid."""
    centre: float = eqx.field(static=True)
    """The grid index of the axis of rotation, in both directions."""
    axis: float = eqx.field(static=True)
    """The bin that the axis of rotation falls on."""
    pixel: float = eqx.field(static=True)
    """The length of a pixel in the user's unit: integrals are in values x lengths."""

    def __call__(self, values: Float[Array, "side side"]) -> Float[Array, "views bins"]:
        return _project(self, values)

    def H(self, measurements: Float[Array, "views bins"]) -> Float[Array, "side side"]:
        """Back-projection with the same triangles: the exact transpose."""
        return _backproject(self, measurements)


def radon(
    angles: Sequence[float] | np.ndarray,
    bins: int,
    *,
    side: int | None = None,
    offset: float = 0.0,
    pixel: float = 1.0,
    pitch: float | None = None,
    centre: float | None = None,
) -> Radon:
    """The projector of a detector as long as the grid is wide, or of another.

    Args:
        angles: of the views, in degrees.
        bins: of the detector.
        side: rows and columns of the grid; as many as there are bins by default.
        offset: by how many bins the axis of rotation misses bin bins // 2.
        pixel: the distance of two bins, in the user's unit of length.
        pitch: the distance of two bins, in pixels of the grid; side / bins by default,
            so that the grid is as wide as the detector.
        centre: the grid index of the axis of rotation; (bins // 2) pitch by default.

    Example:
        >>> import jax.numpy as jnp, passband as pb
        >>> A = pb.forward.radon([0.0, 90.0], 8)
        >>> A(jnp.ones((8, 8))).shape
        (2, 8)
    """
    degrees, side = checked_views(angles, bins, side, offset)
    pitch = side / bins if pitch is None else pitch
    check_lengths(pixel=pixel, pitch=pitch)
    centre = (bins // 2) * pitch if centre is None else centre
    axis = bins // 2 + float(offset)
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    upright = np.abs(cos) >= np.abs(sin)  # march from row to row, else column to column
    steep = np.where(upright, cos, -sin)
    slope = np.where(upright, sin, -cos) / steep
    t = (np.arange(bins) - axis) * pitch
    start = t / steep[:, None] + centre - (slope * centre)[:, None]
    begin = axis - (np.abs(steep) + centre * (cos - sin)) / pitch
    geometry = Views(
        jnp.asarray(cos, jnp.float32),
        jnp.asarray(sin, jnp.float32),
        jnp.asarray(start, jnp.float32),
        head_and_rest(slope),
        jnp.asarray(begin, jnp.float32),
        head_and_rest(cos / pitch),
        head_and_rest(-sin / pitch),
    )
    return Radon(geometry, side, bins, pitch, centre, axis, pixel / pitch)


def _footprint(radon: Radon, view: Views, bin, row, column) -> Array:
    """A[ray, pixel]: one formula for both directions."""
    steep = jnp.maximum(jnp.abs(view.cos), jnp.abs(view.sin))
    t = (column - radon.centre) * view.cos - (row - radon.centre) * view.sin
    distance = jnp.abs((bin - radon.axis) * radon.pitch - t)
    return (radon.pixel / steep) * jnp.maximum(0, 1 - distance / steep)


@jax.custom_vjp
@jax.jit
def _project(radon: Radon, values: Array) -> Array:
    n, bins = radon.side, jnp.arange(radon.bins)[:, None]

    def one(view: Views) -> Array:
        upright = jnp.abs(view.cos) >= jnp.abs(view.sin)
        meets = position(view.start[:, None], jnp.arange(n), view.slope)
        return march(
            values, upright, meets, lambda *at: _footprint(radon, view, bins, *at)
        )

    return by_views(one, radon.geometry, radon.output_shape[0], n * radon.bins)


@jax.custom_vjp
@jax.jit
def _backproject(radon: Radon, measurements: Array) -> Array:
    n = radon.side
    row, column = jnp.arange(n)[:, None], jnp.arange(n)
    reach = math.ceil(2 / radon.pitch)

    def one(data: Array, view: Views) -> Array:
        begin = position(view.first, column, view.along)
        begin = position(begin, row, view.down)
        first = jnp.floor(begin).astype(jnp.int32) + 1
        return gather(
            data, first, reach, lambda bin: _footprint(radon, view, bin, row, column)
        )

    return over_views(one, measurements, radon.geometry, n)


# A and its transpose are each other's derivatives; the geometry has none.
_project.defvjp(
    lambda radon, x: (_project(radon, x), radon),
    lambda radon, g: (None, _backproject(radon, g)),
)
_backproject.defvjp(
    lambda radon, y: (_backproject(radon, y), radon),
    lambda radon, g: (None, _project(radon, g)),
)
