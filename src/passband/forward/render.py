"""The volume renderer: what a pinhole camera sees of colour and density (protocol 9).

Everything is written for one ray; `render` and `render_view` take many.
"""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..mappings import AnyKey

Radiance = Callable[
    [Float[Array, "n 3"]], tuple[Float[Array, "n 3"], Float[Array, " n"]]
]
"""Colour in [0, 1] and density, 0 or more, at points."""

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
    pose: Float[Array, "3 4"], lens: Float[Array, "4"], pixel: Float[Array, "2"]
) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Origin and direction of the ray through a pixel (column, row).

    d = R ((x - cx) / fx, -(y - cy) / fy, -1) with `lens` = (fx, fy, cx, cy) and `pose`
    = [R, origin] from camera to world. d is not normalised: the ray parameter is the
    depth along the camera's axis.
    """
    x = (pixel[0] - lens[2]) / lens[0]
    y = (lens[3] - pixel[1]) / lens[1]
    # Written out, because a GPU would round a matrix product.
    direction = pose[:, 0] * x + pose[:, 1] * y - pose[:, 2]
    return pose[:, 3], direction


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
    points = origins[:, None] + directions[:, None] * t[..., None]
    colour, density = radiance(points.reshape(-1, 3))
    return jax.vmap(composite)(
        colour.reshape(n, samples, 3), density.reshape(n, samples), t
    )


@eqx.filter_jit
def render_view(
    radiance: Radiance,
    pose: Float[Array, "3 4"],
    lens: Float[Array, "4"],
    near: Float[Array, ""] | float,
    far: Float[Array, ""] | float,
    *,
    size: tuple[int, int],
    samples: int,
) -> Rendered:
    """A whole picture of (rows, columns), part by part in one program."""
    rows, columns = size
    # As many points at once as keep the device busy: layers of a CPU's caches, or of
    # half a gigabyte.
    points = 2**14 if jax.default_backend() == "cpu" else 2**19
    at_once = max(1, min(rows * columns, points // samples))
    parts = -(-rows * columns // at_once)

    def part(first):
        index = first + jnp.arange(at_once)
        pixel = jnp.stack([index % columns, index // columns], -1).astype(jnp.float32)
        o, d = jax.vmap(ray, (None, None, 0))(pose, lens, pixel)
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
