"""Many rows of a detector: one projector of a plane, on every slice of a volume."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .linear import LinearForward

TOGETHER = 8
"""Slices that are projected side by side; the others follow in turn."""


class Slices(LinearForward):
    """Line integrals within every slice of a volume, (views, rows, bins).

    What a row of the detector sees lies in one slice: parallel rays across the axis of
    rotation, or a fan in the plane of its source. The geometry is worked out once for
    the slices that are projected side by side.
    """

    plane: LinearForward
    """(side, side) -> (views, bins)."""
    rows: int = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.rows, *self.plane.input_shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        views, *rest = self.plane.output_shape
        return views, self.rows, *rest

    def __call__(
        self, values: Float[Array, "rows side side"]
    ) -> Float[Array, "views rows bins"]:
        return jnp.moveaxis(_each(self.plane, values), 0, 1)

    def H(
        self, measurements: Float[Array, "views rows bins"]
    ) -> Float[Array, "rows side side"]:
        """The plane's exact transpose, row by row."""
        return _each(self.plane.H, jnp.moveaxis(measurements, 1, 0))


def _each(see, parts: Array) -> Array:
    if len(parts) <= TOGETHER:
        return jax.vmap(see)(parts)
    return jax.lax.map(see, parts, batch_size=TOGETHER)
