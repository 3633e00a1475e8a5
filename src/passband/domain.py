"""Where samples lie: index k of every axis is at k / (longest side), (row, column) at
(y, x).

So a scale means the same along every axis. Functions of indices take arrays of NumPy
and of JAX alike.
"""

import math
from collections.abc import Sequence
from typing import Any, overload

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .errors import InputError

LARGEST_INDEX = 2**31 - 1
Index = Int[np.ndarray, " n"] | Int[Array, " n"]


def xy(parts: Sequence[Any]) -> tuple[Any, ...]:
    """What belongs to the axes of an array, in the order of coordinates."""
    return (*parts[1::-1], *parts[2:])


def grid_places(index: Index, sides: Sequence[int]) -> tuple[Any, ...]:
    """The column, row and further indices of flat indices."""
    places = []
    for n in reversed(sides[1:]):
        places.append(index % n)
        index = index // n
    return xy([index, *reversed(places)])


@overload
def grid_coords(
    index: Int[np.ndarray, " n"],
    sides: Sequence[int],
    extent: Sequence[float] | None = None,
) -> Float[np.ndarray, "n d"]: ...
@overload
def grid_coords(
    index: Int[Array, " n"],
    sides: Sequence[int],
    extent: Sequence[float] | None = None,
) -> Float[Array, "n d"]: ...
def grid_coords(
    index: Index, sides: Sequence[int], extent: Sequence[float] | None = None
) -> Float[np.ndarray, "n d"] | Float[Array, "n d"]:
    """Float32 coordinates (n, d) of flat indices into a grid.

    Args:
        extent: lengths of the sides where samples lie closer along one axis than along
            another (`extent_of`): index k of n is at k/n of its side.
    """
    host = isinstance(index, np.ndarray)
    # XLA multiplies by a rounded 1 / n: in the last bit the two may differ.
    kind, stack = (np.float64, np.stack) if host else (jnp.float32, jnp.stack)
    places = [place.astype(kind) for place in grid_places(index, sides)]
    if extent is None:
        parts = [place / max(sides) for place in places]
    else:
        each = zip(places, xy(sides), xy(extent), strict=True)
        parts = [place / n * e for place, n, e in each]
    return stack(parts, axis=-1).astype(np.float32)


def check_count(count: int, what: str) -> None:
    """Refuse more points than 32-bit indices tell apart, where they would wrap."""
    if count > LARGEST_INDEX:
        raise InputError(
            f"{what} has {count:,} points, and {LARGEST_INDEX:,} is the most that can "
            "be told apart; reduce it, or take a part of it"
        )


def grid(sides: Sequence[int]) -> Float[np.ndarray, "*sides d"]:
    """The field's coordinates of every sample of an array with these sides.

    Args:
        sides: of the array: (rows, columns) of a picture.

    Example:
        >>> import passband as pb
        >>> pb.grid((2, 4))[1, 3]  # row 1, column 3: x = 3/4, y = 1/4
        array([0.75, 0.25], dtype=float32)
    """
    return grid_coords(np.arange(math.prod(sides)), sides).reshape(*sides, -1)


def extent_of(
    sides: Sequence[int], spacing: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Lengths of the sides in units of the longest."""
    lengths = np.multiply(sides, spacing or (1.0,) * len(sides))
    return tuple(float(x) for x in lengths / lengths.max())


def scaled_sides(
    sides: Sequence[float], resolution: int | None = None
) -> tuple[int, ...]:
    """The sides of an array of the same shape, with `resolution` along the longest."""
    scale = 1.0 if resolution is None else resolution / max(sides)
    return tuple(max(1, round(n * scale)) for n in sides)


def crop_axes(
    sides: tuple[int, int],
    size: tuple[int, int],
    crop: tuple[float, float, float, float] | None = None,
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " columns"]]:
    """The y of the rows and the x of the columns of a part of a picture, at any size.

    `crop` is (top, left, bottom, right) in pixels of the picture. At the picture's own
    size and without a crop the samples are its own pixels.
    """
    h, w = sides
    top, left, bottom, right = crop or (0.0, 0.0, float(h), float(w))
    if not (0 <= top < bottom <= h and 0 <= left < right <= w):
        raise InputError(
            f"`crop` (={top:g},{left:g},{bottom:g},{right:g}) must lie inside the "
            f"picture of {h} x {w}: top < bottom <= {h}, left < right <= {w}"
        )
    rows, columns = size
    y = (top + (bottom - top) * np.arange(rows) / rows) / max(sides)
    x = (left + (right - left) * np.arange(columns) / columns) / max(sides)
    return y, x
