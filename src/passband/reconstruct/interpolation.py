"""Pixels that were not shown, from those that were: interpolation without a network."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

Known = Float[np.ndarray, "n m c"]
Values = Float[np.ndarray, "h w c"]


class Kernel(NamedTuple):
    """Weights of samples by their distance, in samples."""

    weight: Callable[[np.ndarray], np.ndarray]
    reach: int
    """No sample farther away than this counts."""


def _tent(t: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - np.abs(t))


def _keys(t: np.ndarray) -> np.ndarray:
    """Keys' cubic convolution with a = -1/2, which keeps parabolas (1981)."""
    t = np.abs(t)
    near = (1.5 * t - 2.5) * t * t + 1
    far = ((-0.5 * t + 2.5) * t - 4) * t + 2
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _lanczos(t: np.ndarray) -> np.ndarray:
    """A sinc under the middle lobe of a three times wider one."""
    return np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0)


KERNELS = {
    "bilinear": Kernel(_tent, 1),
    "bicubic": Kernel(_keys, 2),
    "lanczos": Kernel(_lanczos, 3),
}


def enlarged_by(
    kernel: Kernel, known: Known, shape: tuple[int, int], step: int = 2
) -> Values:
    """Every pixel of a picture of which each `step`th row and column is known.

    Beyond the border samples repeat; weights of a pixel add up to 1.
    """
    rows, columns = (
        _weights(kernel, size, n, step)
        for size, n in zip(shape, known.shape[:2], strict=True)
    )
    return np.einsum("ij,jkc,lk->ilc", rows, known, columns, optimize=True)


def spline(known: Known, shape: tuple[int, int], step: int = 2) -> Values:
    """The cubic spline through the known pixels, along each axis in turn."""
    from scipy.interpolate import make_interp_spline

    out = known
    for axis, size in enumerate(shape):
        n = out.shape[axis]
        degree = min(3, n - 1)
        at = np.minimum(np.arange(size) / step, n - 1)  # beyond the border, as there
        out = make_interp_spline(np.arange(n), out, k=degree, axis=axis)(at)
    return out


def scattered(
    known: Int[np.ndarray, " n"],
    values: Float[np.ndarray, "n c"],
    shape: tuple[int, int],
    *,
    smooth: bool,
) -> Values:
    """Every pixel of a picture of which some are known, over a triangulation of them.

    Linear in each triangle, or with slopes that fit together (Clough and Tocher 1965);
    outside of all triangles, the nearest pixel.

    Args:
        known: flat indices.
        values: at these.
    """
    from scipy.interpolate import (
        CloughTocher2DInterpolator,
        LinearNDInterpolator,
        NearestNDInterpolator,
    )
    from scipy.spatial import Delaunay

    places = np.stack(np.unravel_index(known, shape), axis=-1).astype(float)
    make = CloughTocher2DInterpolator if smooth else LinearNDInterpolator
    missing = np.setdiff1d(np.arange(shape[0] * shape[1]), known)
    at = np.stack(np.unravel_index(missing, shape), axis=-1).astype(float)
    found = make(Delaunay(places), values)(at)
    outside = np.isnan(found).any(axis=1)
    if outside.any():
        found[outside] = NearestNDInterpolator(places, values)(at[outside])
    out = np.empty((shape[0] * shape[1], values.shape[1]))
    out[known], out[missing] = values, found
    return out.reshape(*shape, -1)


def _weights(kernel: Kernel, size: int, n: int, step: int) -> Float[np.ndarray, "s n"]:
    """What each of n samples adds to each of `size` pixels."""
    at = np.arange(size) / step
    first = np.floor(at).astype(int)
    weights = np.zeros((size, n))
    for k in range(1 - kernel.reach, kernel.reach + 1):
        place = np.clip(first + k, 0, n - 1)
        np.add.at(weights, (np.arange(size), place), kernel.weight(at - first - k))
    return weights / weights.sum(axis=1, keepdims=True)
