"""The volume renderer: what a pinhole camera sees of colour and density (protocol 9).

Everything is written for one ray; `render` and `render_view` take many.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..mappings import AnyKey

Radiance = Callable[
    [Float[Array, "n 3"]], tuple[Float[Array, "n 3"], Float[Array, " n"]]
]
"""Colour in [0, 1] and density, 0 or more, at points."""

UNDISTORT_STEPS = 6
"""Of Newton's iteration: to float32 rounding for lenses of cameras, 3 to 4."""
BEHIND = 1e10
"""What the last sample stands for: all that lies behind it."""


class Rendered(NamedTuple):
    """What came along rays."""

    colour: Float[Array, "*n 3"]
    """Without background: black where nothing was hit."""
    depth: Float[Array, "*n"]
    """Expected ray parameter; what passed through counts as zero."""
    opacity: Float[Array, "*n"]


def ray(
    pose: Float[Array, "3 4"], lens: Float[Array, " k"], pixel: Float[Array, "2"]
) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Origin and direction of the ray through a pixel (column, row).

    d = R ((x - cx) / fx, -(y - cy) / fy, -1) with `lens` = (fx, fy, cx, cy) and `pose`
    = [R, origin] from camera to world. d is not normalised: the ray parameter is the
    depth along the camera's axis. A lens of 8 numbers goes on with its distortion k1,
    k2, p1, p2, which is taken back first.
    """
    x = (pixel[0] - lens[2]) / lens[0]
    y = (lens[3] - pixel[1]) / lens[1]
    if lens.shape[0] > 4:
        x, down = undistorted(x, -y, lens[4:])
        y = -down
    # Written out, because a GPU would round a matrix product.
    direction = pose[:, 0] * x + pose[:, 1] * y - pose[:, 2]
    return pose[:, 3], direction


def undistorted(
    x: Float[Array, ""], y: Float[Array, ""], bent: Float[Array, "4"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Where light came from that a bent lens shows at (x, y), y pointing down.

    Newton's iteration for the (u, v) with x = u g + 2 p1 u v + p2 (r^2 + 2 u^2) and
    y = v g + p1 (r^2 + 2 v^2) + 2 p2 u v, where g = 1 + k1 r^2 + k2 r^4 (OpenCV).
    """
    k1, k2, p1, p2 = bent

    def closer(_, at):
        u, v = at
        r2 = u * u + v * v
        g, slope = 1 + r2 * (k1 + r2 * k2), 2 * (k1 + 2 * k2 * r2)
        off_x = u * g + 2 * p1 * u * v + p2 * (r2 + 2 * u * u) - x
        off_y = v * g + p1 * (r2 + 2 * v * v) + 2 * p2 * u * v - y
        xx = g + slope * u * u + 2 * p1 * v + 6 * p2 * u
        yy = g + slope * v * v + 6 * p1 * v + 2 * p2 * u
        xy = slope * u * v + 2 * p1 * u + 2 * p2 * v
        det = xx * yy - xy * xy
        # A lens that folds the picture over has no answer there: stay where it was.
        det = jnp.where(det > 1e-3, det, jnp.inf)
        return (
            u - (off_x * yy - off_y * xy) / det,
            v - (off_y * xx - off_x * xy) / det,
        )

    return jax.lax.fori_loop(0, UNDISTORT_STEPS, closer, (x, y))


def ndc(
    origin: Float[Array, "3"], direction: Float[Array, "3"], frustum: Float[Array, "4"]
) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """A ray of the frustum's camera frame in normalised device coordinates.

    It starts on the near plane, z = -n, and stays straight: with o there and its
    parameter t' = a (1 - o_z / (o_z + t d_z)) / (1 - n / far), x and y of the field are
    1/2 - s o_x / o_z - s (d_x / d_z - o_x / o_z) t' and likewise, and its third
    coordinate is the disparity, from 0 at n to 1 at far. `frustum` is (n, s, (1 - n /
    far) / a, 1 / a).
    """
    near, scale, disparity, rise = frustum
    start = origin - direction * (near + origin[2]) / direction[2]
    across = -start[:2] / near  # x / z and y / z on the near plane
    shift = (direction[:2] / direction[2] - across) * disparity
    return (
        jnp.append(0.5 - scale * across, 0.0),
        jnp.append(-scale * shift, rise),
    )


def depths(
    near: Float[Array, ""] | float,
    far: Float[Array, ""] | float,
    samples: int,
    jitter: Float[Array, "*n samples"] | None = None,
) -> Float[Array, "*n samples"]:
    """Ray parameters from `near` to `far`, both included.

    A jitter in [0, 1) moves each sample on by up to (far - near) / samples, less than
    the way to the next: the stratified samples of training.
    """
    t = near + (far - near) * jnp.linspace(0.0, 1.0, samples)
    return t if jitter is None else t + jitter * (far - near) / samples


def composite(
    colour: Float[Array, "s 3"], density: Float[Array, " s"], t: Float[Array, " s"]
) -> Rendered:
    r"""One ray from its samples: $\sum_i T_i (1 - e^{-\sigma_i \Delta_i}) c_i$.

    $T_i = \exp(-\sum_{j<i} \sigma_j \Delta_j)$ is summed before it is exponentiated, so
    that it neither underflows on the way nor needs a floor, and its gradient is finite
    at zero and at huge density. The last $\Delta$ is `BEHIND`.
    """
    thick = density[:-1] * jnp.diff(t)
    before = jnp.concatenate([jnp.zeros_like(t[:1]), jnp.cumsum(thick)])
    thick = jnp.append(thick, density[-1] * BEHIND)
    weight = jnp.exp(-before) * -jnp.expm1(-thick)
    # Sums and not products of matrices, which a GPU would round.
    return Rendered(
        jnp.sum(weight[:, None] * colour, axis=0),
        jnp.sum(weight * t),
        jnp.sum(weight),
    )


def render(
    radiance: Radiance,
    origins: Float[Array, "n 3"],
    directions: Float[Array, "n 3"],
    near: Float[Array, ""] | float,
    far: Float[Array, ""] | float,
    *,
    samples: int,
    key: AnyKey | None = None,
) -> Rendered:
    """Rays through a field, all their points in one batch; with a `key`, jittered."""
    n = origins.shape[0]
    jitter = None if key is None else jax.random.uniform(key, (n, samples))
    t = jnp.broadcast_to(depths(near, far, samples, jitter), (n, samples))
    colour, density = radiance(points_along(origins, directions, t))
    return jax.vmap(composite)(
        colour.reshape(n, samples, 3), density.reshape(n, samples), t
    )


def points_along(
    origins: Float[Array, "n 3"],
    directions: Float[Array, "n 3"],
    t: Float[Array, "n samples"],
) -> Float[Array, "points 3"]:
    """Points of all rays, one after the other."""
    return (origins[:, None] + directions[:, None] * t[..., None]).reshape(-1, 3)


def rays_of(
    index: Int[Array, " n"],
    columns: int,
    pose: Float[Array, "3 4"],
    lens: Float[Array, " k"],
    frustum: Float[Array, "4"] | None,
) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Origins and directions of the pixels with these numbers, row by row."""
    pixel = jnp.stack([index % columns, index // columns], -1).astype(jnp.float32)
    o, d = jax.vmap(ray, (None, None, 0))(pose, lens, pixel)
    if frustum is not None:
        o, d = jax.vmap(ndc, (0, 0, None))(o, d, frustum)
    return o, d


def points_at_once() -> int:
    """As many as keep the device busy: layers of a CPU's caches, or of half a
    gigabyte."""
    return 2**14 if jax.default_backend() == "cpu" else 2**19


@eqx.filter_jit
def render_view(
    radiance: Radiance,
    pose: Float[Array, "3 4"],
    lens: Float[Array, " k"],
    near: Float[Array, ""] | float,
    far: Float[Array, ""] | float,
    *,
    size: tuple[int, int],
    samples: int,
    frustum: Float[Array, "4"] | None = None,
) -> Rendered:
    """A whole picture of (rows, columns), part by part in one program; with a `frustum`
    the field is in its normalised device coordinates."""
    rows, columns = size
    at_once = max(1, min(rows * columns, points_at_once() // samples))
    parts = -(-rows * columns // at_once)

    def part(first):
        index = first + jnp.arange(at_once)
        o, d = rays_of(index, columns, pose, lens, frustum)
        return render(radiance, o, d, near, far, samples=samples)

    seen = jax.lax.map(part, at_once * jnp.arange(parts))

    def picture(x):
        flat = x.reshape(parts * at_once, *x.shape[2:])[: rows * columns]
        return flat.reshape(rows, columns, *x.shape[2:])

    return Rendered(*map(picture, seen))


def on_background(
    seen: Rendered, background: Float[Array, "3"]
) -> Float[Array, "*n 3"]:
    """Colours with the background behind what is not opaque."""
    return seen.colour + (1 - seen.opacity[..., None]) * background
