r"""Fan-beam projection: line integrals along rays from one point to a detector.

At angle a, with x to the right and y up, the source is at R (sin a, -cos a), rays go
upwards at a = 0, and the detector runs along (cos a, sin a), as in ASTRA's `fanflat`. A
source that is far away sees what `radon` sees at the same angle.
"""

import math
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from .positions import head_and_rest, position
from .radon import Radon
from .views import (
    ViewProjector,
    by_views,
    check_lengths,
    checked_views,
    gather,
    march,
    over_views,
)


class Rays(eqx.Module):
    """The geometry of every view, as `radon.Views` has it, each ray with its slope."""

    cos: Float[Array, " views"]
    sin: Float[Array, " views"]
    upright: Float[Array, "views bins"]
    """1 for a ray that is marched from row to row, 0 from column to column."""
    start: Float[Array, "views bins"]
    """Where a ray meets the first row, or column, of the grid."""
    slope: Float[Array, "views bins 2"]
    """How far it moves from one to the next."""
    weight: Float[Array, "views bins"]
    """The ray's length from one to the next, in the user's unit, over its steepness."""
    across: Float[Array, " views"]
    """Along the detector, from the axis of rotation to pixel (0, 0)."""
    across_steps: Float[Array, "views 2 2"]
    """From column to column, and from row to row."""
    depth: Float[Array, " views"]
    """From the source to pixel (0, 0), along the central ray."""
    depth_steps: Float[Array, "views 2 2"]
    step: Float[Array, " views"]
    """From bin to bin: of the tangent, or of the angle on an arc."""


class Fan(ViewProjector):
    """Line integrals by linear interpolation across a ray's steeper axis (Joseph 1982).

    A ray meets every row (or column, whichever it crosses more steeply) once, at c_ray,
    and reads its two neighbours there,

        A[ray, pixel] = length_ray max(0, 1 - |c_ray(row) - column|).

    With t and s the place of a pixel along the detector and from the source on, and w
    the tangent of the ray's angle in the fan, that is

        length_ray / m max(0, m - |t - s w|),  m = max(|cos a + w sin a|, |sin a - w
        cos a|),

    in which both directions are gathers; nothing of A is stored.
    """

    geometry: Rays
    side: int = eqx.field(static=True)
    """Rows and columns of the grid."""
    bins: int = eqx.field(static=True)
    arc: bool = eqx.field(static=True)
    """Whether the detector is part of a circle about the source."""
    source_origin: float = eqx.field(static=True)
    """From the source to the axis of rotation, in pixels of the grid."""
    source_detector: float = eqx.field(static=True)
    """From the source to the detector, in pixels of the grid."""
    pitch: float = eqx.field(static=True)
    """From one bin to the next, in pixels of the grid."""
    centre: float = eqx.field(static=True)
    """The grid index of the axis of rotation, in both directions."""
    axis: float = eqx.field(static=True)
    """The bin that the ray through the axis of rotation falls on."""
    pixel: float = eqx.field(static=True)
    """The length of a pixel in the user's unit: integrals are in values x lengths."""
    wide: float = eqx.field(static=True)
    """Bins that a pixel's footprint reaches to either side, at most."""

    def __call__(self, values: Float[Array, "side side"]) -> Float[Array, "views bins"]:
        return _project(self, values)

    def H(self, measurements: Float[Array, "views bins"]) -> Float[Array, "side side"]:
        """Back-projection with the same weights: the exact transpose."""
        return _backproject(self, measurements)

    @property
    def fan_angles(self) -> np.ndarray:
        """Of the rays from the central one, in radians, bin by bin."""
        return _fan_angles(self.bins, self.axis, self.step, self.arc)

    @property
    def step(self) -> float:
        """From bin to bin: of the tangent of the fan's angle, or of the angle."""
        return self.pitch / self.source_detector


def fan(
    angles: Sequence[float] | np.ndarray,
    bins: int,
    *,
    side: int | None = None,
    source_origin: float,
    source_detector: float,
    pitch: float = 1.0,
    pixel: float | None = None,
    offset: float = 0.0,
    arc: bool = False,
    centre: float | None = None,
    unit: float = 1.0,
) -> Fan:
    """The projector of a detector opposite a source that turns about the object.

    All lengths are in one unit, such as mm; integrals come out in it.

    Args:
        angles: of the views, in degrees.
        bins: of the detector.
        side: rows and columns of the grid; as many as there are bins by default.
        source_origin: from the source to the axis of rotation.
        source_detector: from the source to the detector.
        pitch: from one bin to the next, along the detector.
        pixel: of the grid; `pitch` as it is seen at the axis by default.
        offset: by how many bins the axis of rotation misses bin bins // 2.
        arc: the detector is part of a circle about the source, not flat.
        centre: the grid index of the axis of rotation; side // 2 by default.
        unit: the length that integrals are in units of.

    Example:
        >>> import jax.numpy as jnp, passband as pb
        >>> A = pb.forward.fan([0.0, 90.0], 8, source_origin=40, source_detector=60)
        >>> A(jnp.ones((8, 8))).shape
        (2, 8)
    """
    degrees, side = checked_views(angles, bins, side, offset)
    check_lengths(
        source_origin=source_origin, source_detector=source_detector, pitch=pitch,
        pixel=pixel, unit=unit,
    )  # fmt: skip
    if pixel is None:
        pixel = pitch * source_origin / source_detector
    centre = float(side // 2) if centre is None else centre
    corner = math.sqrt(2) * max(centre, side - 1 - centre) + 1
    if source_origin <= corner * pixel:
        raise InputError(
            f"`source_origin` (={source_origin:g}) is inside the picture: {side} "
            f"pixels of {pixel:g} reach {corner * pixel:g} from the axis; are both in "
            "one unit?"
        )
    R, D, step = source_origin / pixel, source_detector / pixel, pitch / pixel
    axis = bins // 2 + float(offset)
    gamma = _fan_angles(bins, axis, step / D, arc)
    if np.abs(gamma).max() > math.radians(80):
        raise InputError(
            f"the outer rays are {math.degrees(np.abs(gamma).max()):.0f} degrees from "
            f"the central one; {bins} bins of `pitch` (={pitch:g}) are too many for "
            f"`source_detector` (={source_detector:g})"
        )
    geometry = _rays(np.deg2rad(degrees), gamma, R, step / D, centre, pixel / unit)
    wide = _footprint_reach(R, corner, D / step, np.abs(gamma).max(), arc)
    return Fan(
        geometry, side, bins, arc, R, D, step, centre, axis, pixel / unit, wide
    )  # fmt: skip


def _fan_angles(bins: int, axis: float, step: float, arc: bool) -> np.ndarray:
    across = (np.arange(bins) - axis) * step
    return across if arc else np.arctan(across)


def _rays(
    turn: np.ndarray,
    gamma: np.ndarray,
    R: float,
    step: float,
    centre: float,
    pixel: float,
) -> Rays:
    """The views' numbers, lengths in pixels of the grid."""
    cos, sin = np.cos(turn), np.sin(turn)
    # The normal of a ray, (x, y); along it the source is at `far`.
    nx, ny = np.cos(turn[:, None] - gamma), np.sin(turn[:, None] - gamma)
    far = R * np.sin(gamma)
    upright = np.abs(nx) >= np.abs(ny)
    steep = np.where(upright, nx, -ny)
    slope = np.where(upright, ny, -nx) / steep  # rows count downwards
    start = far / steep + centre - slope * centre
    return Rays(
        jnp.asarray(cos, jnp.float32),
        jnp.asarray(sin, jnp.float32),
        jnp.asarray(upright, jnp.float32),
        jnp.asarray(start, jnp.float32),
        head_and_rest(slope),
        jnp.asarray(pixel * np.cos(gamma) / np.square(steep), jnp.float32),
        jnp.asarray(centre * (sin - cos), jnp.float32),
        jnp.stack([head_and_rest(cos), head_and_rest(-sin)], axis=1),
        jnp.asarray(R + centre * (sin + cos), jnp.float32),
        jnp.stack([head_and_rest(-sin), head_and_rest(-cos)], axis=1),
        jnp.full(len(turn), step, jnp.float32),
    )


def _footprint_reach(
    R: float, corner: float, zoom: float, most: float, arc: bool
) -> float:
    """Bins from a pixel's own to the last whose ray comes within a pixel of it."""
    radius = np.linspace(0, corner, 65)[:, None]
    turn = np.linspace(0, np.pi, 257)
    along, across = R - radius * np.cos(turn), radius * np.sin(turn)
    gamma, near = np.arctan2(across, along), 1 / np.hypot(along, across)
    near = np.arcsin(np.minimum(near, 1))
    seen = np.minimum(gamma, most)  # beyond there is no detector
    last = np.minimum(seen + near, math.radians(89))
    reach = last - seen if arc else np.tan(last) - np.tan(seen)
    return 1.01 * zoom * float(reach.max()) + 1e-3


def _away(view: Rays, tan: Array, across: Array, depth: Array) -> Array:
    """How much nearer than a pixel, across its steeper axis, a pixel is to a ray."""
    steep = jnp.maximum(
        jnp.abs(view.cos + tan * view.sin), jnp.abs(view.sin - tan * view.cos)
    )
    return jnp.maximum(0, steep - jnp.abs(across - depth * tan))


def _tan(fan: Fan, bin: Array) -> Array:
    """Of a ray's angle in the fan: one formula for both directions."""
    if fan.arc:
        return jnp.asarray(np.tan(fan.fan_angles), jnp.float32)[bin]
    return (bin - fan.axis) * fan.step


def _place(view: Rays, row: Array, column: Array) -> tuple[Array, Array]:
    """A pixel in the view's own axes: along the detector, and from the source on."""
    across = position(view.across, column, view.across_steps[0])
    across = position(across, row, view.across_steps[1])
    depth = position(view.depth, column, view.depth_steps[0])
    return across, position(depth, row, view.depth_steps[1])


@jax.custom_vjp
@jax.jit
def _project(fan: Fan, values: Array) -> Array:
    n, tan = fan.side, _tan(fan, jnp.arange(fan.bins))[:, None]

    def one(view: Rays) -> Array:
        upright = view.upright[:, None] > 0
        meets = position(view.start[:, None], jnp.arange(n), view.slope[:, None])
        return view.weight * march(
            values, upright, meets, lambda *at: _away(view, tan, *_place(view, *at))
        )

    return by_views(one, fan.geometry, fan.output_shape[0], n * fan.bins)


@jax.custom_vjp
@jax.jit
def _backproject(fan: Fan, measurements: Array) -> Array:
    n = fan.side
    row, column = jnp.arange(n)[:, None], jnp.arange(n)
    reach = math.ceil(2 * fan.wide)

    def one(data: Array, view: Rays) -> Array:
        across, depth = _place(view, row, column)
        # Divided by what is no constant, which XLA would multiply by instead, with two
        # kinds of rounding.
        if fan.arc:
            middle = jnp.arctan(across / depth) / view.step
        else:
            middle = across / (depth * view.step)
        first = jnp.floor(middle + (fan.axis - fan.wide)).astype(jnp.int32) + 1
        return gather(
            data, first, reach, lambda bin: _away(view, _tan(fan, bin), across, depth)
        )

    return over_views(one, measurements * fan.geometry.weight, fan.geometry, n)


# A and its transpose are each other's derivatives; the geometry has none.
_project.defvjp(
    lambda fan, x: (_project(fan, x), fan),
    lambda fan, g: (None, _backproject(fan, g)),
)
_backproject.defvjp(
    lambda fan, y: (_backproject(fan, y), fan),
    lambda fan, g: (None, _project(fan, g)),
)

Projector = Radon | Fan
"""What a scanner in two dimensions measures with: parallel rays or a fan of them."""
