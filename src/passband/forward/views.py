"""What projectors of a scanner's views share: their shapes, their rays marched over the
grid, and views taken in batches."""

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PyTree

from ..errors import InputError
from .linear import LinearForward

AT_ONCE = 2**24
"""Samples of rays that are laid out together; the views beyond follow in turn."""
UNROLLED = 10
"""Views whose back-projections are written out as one sum, which XLA makes one loop of:
20 times as fast on a CPU as adding up pictures."""


class ViewProjector(LinearForward):
    """Line integrals of a square grid, (views, bins); nothing of A is stored."""

    geometry: eqx.AbstractVar[Any]
    """Arrays whose first axis is the view, `cos` and `sin` of its angle among them."""
    side: eqx.AbstractVar[int]
    bins: eqx.AbstractVar[int]

    @property
    def input_shape(self) -> tuple[int, int]:
        return self.side, self.side

    @property
    def output_shape(self) -> tuple[int, int]:
        return self.geometry.cos.shape[0], self.bins

    @abc.abstractmethod
    def __call__(self, values: Float[Array, "side side"]) -> Float[Array, "views bins"]:
        """Line integrals of the values."""

    def view(self, index: Array | np.ndarray | int) -> Any:
        """The same instrument at one of its angles, or at several."""
        index = jnp.atleast_1d(jnp.asarray(index))
        some = jax.tree.map(lambda a: a[index], self.geometry)
        return eqx.tree_at(lambda r: r.geometry, self, some)


def checked_views(
    angles: Sequence[float] | np.ndarray, bins: int, side: int | None, offset: float
) -> tuple[np.ndarray, int]:
    """The angles in degrees, and the rows and columns of the grid."""
    degrees = np.asarray(angles, np.float64)
    if degrees.ndim != 1 or degrees.size == 0 or not np.isfinite(degrees).all():
        raise InputError(
            f"`angles` has shape {degrees.shape}; give one finite number of degrees a "
            "view"
        )
    side = bins if side is None else side
    if bins < 2 or side < 2:
        raise InputError(f"`bins` (={bins}) and `side` (={side}) must be at least 2")
    if not abs(offset) < bins:
        raise InputError(f"`offset` (={offset}) must be less than the {bins} bins")
    return degrees, side


def check_lengths(**lengths: float | None) -> None:
    """Refuse what is no length."""
    for name, value in lengths.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InputError(f"`{name}` (={value}) must be positive and finite")


def march(
    values: Float[Array, "n n"],
    upright: Array,
    meets: Float[Array, "bins n"],
    footprint: Callable[[Array, Array], Array],
) -> Float[Array, " bins"]:
    """Sums along rays that read their two neighbours in every row, or column.

    Args:
        upright: whether a ray goes from row to row.
        meets: where it meets each.
        footprint: the weight of a pixel, by its row and column.
    """
    n, flat = len(values), values.ravel()
    step = jnp.arange(n)
    # A ray that misses the grid would overflow an integer.
    first = jnp.floor(jnp.clip(meets, -2, n)).astype(jnp.int32)
    total = jnp.zeros((), values.dtype)
    for neighbour in (first, first + 1):
        row = jnp.where(upright, step, neighbour)
        column = jnp.where(upright, neighbour, step)
        inside = (neighbour >= 0) & (neighbour < n)
        index = jnp.where(inside, row * n + column, 0)
        total += jnp.where(inside, footprint(row, column), 0) * flat[index]
    return jnp.sum(total, axis=1)


def gather(
    data: Float[Array, " bins"],
    first: Array,
    reach: int,
    footprint: Callable[[Array], Array],
) -> Array:
    """At every pixel, the sum over the bins that its footprint reaches.

    Args:
        first: the first of them.
        footprint: the weight of a bin.
    """
    total = jnp.zeros((), data.dtype)
    for bin in (first + k for k in range(reach)):
        inside = (bin >= 0) & (bin < len(data))
        at = jnp.where(inside, bin, 0)
        total += jnp.where(inside, footprint(at), 0) * data[at]
    return total


def by_views(
    one: Callable[[Any], Array], geometry: PyTree, views: int, samples: int
) -> Float[Array, "views bins"]:
    """What each view measures, as many together as `AT_ONCE` has room for.

    Args:
        samples: of one view's rays.
    """
    batch = max(1, min(views, AT_ONCE // samples))
    parts = jax.tree.map(lambda a: _in_parts(a, batch, "edge"), geometry)
    found = lax.map(jax.vmap(one), parts)
    return found.reshape(-1, found.shape[-1])[:views]


def over_views(
    one: Callable[[Array, Any], Array],
    measurements: Float[Array, "views bins"],
    geometry: PyTree,
    side: int,
) -> Float[Array, "side side"]:
    """The sum of what each view gives back."""
    views = len(measurements)
    batch = math.ceil(views / math.ceil(views / UNROLLED))

    def some(total, part):
        for k in range(batch):
            total = total + one(*jax.tree.map(lambda a, k=k: a[k], part))
        return total, None

    parts = jax.tree.map(lambda a: _in_parts(a, batch, "edge"), geometry)
    data = _in_parts(measurements, batch, "constant")  # added views measure nothing
    start = jnp.zeros((side, side), measurements.dtype)
    return lax.scan(some, start, (data, parts))[0]


def _in_parts(array: Array, batch: int, mode: str) -> Array:
    """The views in equal batches, the last one filled up."""
    missing = -array.shape[0] % batch
    padding = ((0, missing), *[(0, 0)] * (array.ndim - 1))
    return jnp.pad(array, padding, mode=mode).reshape(-1, batch, *array.shape[1:])
