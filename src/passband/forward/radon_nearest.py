"""The paper's projector: nearest-neighbour means, a constant sparse matrix.

The notebook resampled the picture on a turned copy of its own grid, nearest neighbours
and zero outside, and averaged over the rows (protocol 6).
"""

import functools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..errors import InputError
from .linear import LinearForward

UNROLLED = 64
"""Up to here a sum is written out, term by term: XLA makes one loop of it, 40 times as
fast on a CPU as gathering first and summing then."""


class NearestRadon(LinearForward):
    """A as two tables of indices, one for each direction, so that both are gathers.

    y[ray] = (1 / side) sum_k x[reads[k, ray]],  x[pixel] = (1 / side) sum_k y[...]

    An index one past the end stands for zero.
    """

    reads: Int[Array, "side rays"]
    """The pixels of every ray."""
    read_by: Int[Array, "k pixels"]
    """The rays of every pixel, sorted."""
    views: int = eqx.field(static=True)
    side: int = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, int]:
        return self.side, self.side

    @property
    def output_shape(self) -> tuple[int, int]:
        return self.views, self.side

    def __call__(
        self, values: Float[Array, "{self.side} {self.side}"]
    ) -> Float[Array, "{self.views} {self.side}"]:
        total = _sum_listed(values.ravel(), self.reads, self.read_by)
        return total.reshape(self.output_shape) / self.side

    def H(
        self, measurements: Float[Array, "{self.views} {self.side}"]
    ) -> Float[Array, "{self.side} {self.side}"]:
        """The exact transpose, from its own table."""
        total = _sum_listed(measurements.ravel(), self.read_by, self.reads)
        return total.reshape(self.input_shape) / self.side


def nearest_radon(angles: Sequence[float] | np.ndarray, side: int) -> NearestRadon:
    """The projector of `side` bins at angles in degrees, about index side / 2."""
    turns = np.deg2rad(np.asarray(angles, np.float64))
    if turns.ndim != 1 or turns.size == 0 or side < 2:
        raise InputError(
            f"`angles` has shape {turns.shape} and `side` is {side}; a projector needs "
            "one angle a view and at least 2 pixels"
        )
    views = len(turns)
    c, s = np.cos(turns)[:, None], np.sin(turns)[:, None]
    across = np.arange(side) - side / 2
    reads = np.empty((side, views * side), np.int32)
    for k, along in enumerate(across):
        column = np.rint(across * c + along * s + side / 2)
        row = np.rint(along * c - across * s + side / 2)
        inside = (np.minimum(row, column) >= 0) & (np.maximum(row, column) < side)
        pixel = np.where(inside, row * side + column, side * side)
        reads[k] = pixel.ravel()
    return NearestRadon(
        jnp.asarray(reads), jnp.asarray(_transposed(reads, side**2)), views, side
    )


def _transposed(reads: np.ndarray, pixels: int) -> np.ndarray:
    """For every pixel the rays that read it, one column each."""
    rays = reads.shape[1]
    order = np.argsort(reads.T.ravel(), kind="stable")  # rays ascend for each pixel
    pixel, ray = reads.T.ravel()[order], order // reads.shape[0]
    pixel, ray = pixel[pixel < pixels], ray[pixel < pixels]
    count = np.bincount(pixel, minlength=pixels)
    rank = np.arange(len(pixel)) - np.repeat(np.cumsum(count) - count, count)
    # Half the bytes where they can count the rays: the table is read every step.
    kind = np.int16 if rays <= np.iinfo(np.int16).max else np.int32
    table = np.full((max(1, count.max()), pixels), rays, kind)
    table[rank, pixel] = ray
    return table


@jax.custom_vjp
@jax.jit
def _sum_listed(x: Array, lists: Array, back: Array) -> Array:
    """sum_k x[lists[k]]; `back` has the transposed lists, which its derivative sums."""
    del back
    x = jnp.pad(x, (0, 1))
    if lists.shape[0] <= UNROLLED:
        parts = (jnp.take(x, row, mode="clip") for row in lists)
        return functools.reduce(jnp.add, parts)
    return jnp.sum(jnp.take(x, lists, mode="clip"), axis=0)


_sum_listed.defvjp(
    lambda x, lists, back: (_sum_listed(x, lists, back), (lists, back)),
    lambda tables, g: (_sum_listed(g, tables[1], tables[0]), None, None),
)
