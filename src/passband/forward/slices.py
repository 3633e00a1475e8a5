"""Many rows of a detector: one projector of a plane, on every slice of a volume."""

from collections.abc import Callable

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
        return _project(self.plane, values)

    def H(
        self, measurements: Float[Array, "views rows bins"]
    ) -> Float[Array, "rows side side"]:
        """The plane's exact transpose, row by row."""
        return _backproject(self.plane, measurements)


@eqx.filter_jit
def _project(plane: LinearForward, values: Array) -> Array:
    # A CPU reads the neighbours of a ray faster in one picture after another.
    together = 1 if jax.default_backend() == "cpu" else TOGETHER
    return jnp.moveaxis(_each(plane, values, together), 0, 1)


@eqx.filter_jit
def _backproject(plane: LinearForward, measurements: Array) -> Array:
    return _each(plane.H, jnp.moveaxis(measurements, 1, 0), TOGETHER)


def _each(see: Callable[[Array], Array], parts: Array, together: int) -> Array:
    if len(parts) <= together:
        return jax.vmap(see)(parts)
    return jax.lax.map(see, parts, batch_size=None if together == 1 else together)
