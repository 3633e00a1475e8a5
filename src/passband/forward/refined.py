"""An instrument fed from a coarser grid."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from .linear import LinearForward


class Refined(LinearForward):
    """An instrument fed from a coarser grid over the same box, linear in between.

    Index j of s is where index j n/s of the finer n is; past the last, values stay.
    """

    whole: LinearForward
    widen: tuple[Float[Array, "_ _"], ...]
    """A matrix for every axis, (fine, coarse)."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(w.shape[1] for w in self.widen)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.whole.output_shape

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self.whole(self._refined(values))

    def H(self, measurements: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        fine = self.whole.H(measurements)
        for axis, w in enumerate(self.widen):
            fine = _along(w.T, fine, axis)
        return fine

    def _refined(self, values: Array) -> Array:
        for axis, w in enumerate(self.widen):
            values = _along(w, values, axis)
        return values


def refined(whole: LinearForward, coarse: Sequence[int]) -> LinearForward:
    """The same instrument for values on a grid of `coarse` points."""
    fine = whole.input_shape
    if tuple(coarse) == fine:
        return whole
    widen = []
    for few, many in zip(coarse, fine, strict=True):
        at = np.minimum(np.arange(many) * few / many, few - 1)
        weights = np.maximum(0, 1 - np.abs(at[:, None] - np.arange(few)))
        widen.append(jnp.asarray(weights, jnp.float32))
    return Refined(whole, tuple(widen))


def _along(matrix: Array, values: Array, axis: int) -> Array:
    out = jnp.tensordot(
        matrix, values, axes=(1, axis), precision=jax.lax.Precision.HIGHEST
    )
    return jnp.moveaxis(out, 0, axis)
