"""Rays of a training step whose samples in empty space are left out.

A step asks for a fixed number of points. Rays are taken in their order for as long as
their samples fit, so that the emptier a scene is, the more of them a step has. A sample
without density has no gradient either (its ReLU passes none, and its colour has no
weight): while the lattice is new, nothing is lost.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..mappings import AnyKey
from .empty_space import Occupied, look
from .render import Radiance, Rendered, composite, depths, points_along


class Skip(eqx.Module):
    """What a step leaves out, and how many points it asks for."""

    low: Float[Array, "3"]
    high: Float[Array, "3"]
    occupied: Occupied | None
    """None is everywhere."""
    points: int = eqx.field(static=True)
    """Those of one ray, at least."""
    lattice: int = eqx.field(static=True)
    """Points along each side of what is looked at."""

    def looked(
        self, radiance: Radiance, *, everywhere: Bool[Array, ""] | bool = False
    ) -> "Skip":
        """With the lattice of where there is density now: all cells are looked at, so
        that one which fills is found again.

        Args:
            everywhere: leave nothing out yet.
        """
        cells = look(radiance, self.low, self.high, self.lattice) | everywhere
        found = Occupied(cells, self.low, self.high)
        return dataclasses.replace(self, occupied=found)


def render_packed(
    skip: Skip,
    radiance: Radiance,
    origins: Float[Array, "n 3"],
    directions: Float[Array, "n 3"],
    near: Float[Array, ""] | float,
    far: Float[Array, ""] | float,
    *,
    samples: int,
    key: AnyKey | None = None,
) -> tuple[Rendered, Bool[Array, " n"]]:
    """`render.render`, samples in empty space left out, and which rays fitted in; the
    colours of the others mean nothing."""
    n, most = len(origins), skip.points
    jitter = None if key is None else jax.random.uniform(key, (n, samples))
    t = jnp.broadcast_to(depths(near, far, samples, jitter), (n, samples))
    points = points_along(origins, directions, t)
    keep = jnp.ones(len(points), bool)
    if skip.occupied is not None:
        keep = skip.occupied(points)
    # The last sample stands for all behind it: a trace of density there is a wall.
    keep = keep.reshape(n, samples).at[:, -1].set(True)
    # Sums along a ray and over rays, and not one long one, which a GPU is slow with.
    within = jnp.cumsum(keep, axis=1, dtype=jnp.int32)
    ends = jnp.cumsum(within[:, -1])
    fits = ends <= most
    place = (ends - within[:, -1])[:, None] + within - 1
    place = jnp.where(keep & fits[:, None], place, most).reshape(-1)
    count = len(points)
    every = jnp.arange(count, dtype=jnp.int32)
    kept = jnp.full(most, count, jnp.int32).at[place].set(every, mode="drop")
    colour, density = radiance(points[jnp.minimum(kept, count - 1)])
    # By scatter and not by gather, whose gradient would add up.
    colours = jnp.zeros((count, 3)).at[kept].set(colour, mode="drop")
    densities = jnp.zeros(count).at[kept].set(density, mode="drop")
    seen = jax.vmap(composite)(
        colours.reshape(n, samples, 3), densities.reshape(n, samples), t
    )
    return seen, fits
