r"""Sensitivities of coils from a fully measured centre of k-space: ESPIRiT (Uecker et
al. 2014).

A patch of k-space of all coils is a mixture of $s_c(r) e^{-2\pi i \delta r/n}$ over the
places r of the image, so that those vectors lie in the space V of all patches. At every
r the map is the unit vector s that V contains best: the largest eigenvector of

$$H_{c'c}(r) = \frac{1}{k^d} \sum_{\delta',\delta}
  (V V^H)_{c'\delta',c\delta}\, e^{2\pi i (\delta'-\delta) r/n},$$

whose eigenvalue is 1 where there is an image and less where there is none.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Complex, Complex64, Float32

from ..errors import InputError

KERNEL, WIDEST, LEAST = 6, 24, 8
"""Samples along the side of a patch; of a centre at most, and at least."""
_MOST_NUMBERS, _MOST_MATRICES = 2048, 2**23  # of a patch; of H, coils^2 each


class CoilMaps(NamedTuple):
    """What coils hear, and how sure that is."""

    maps: Complex64[np.ndarray, "coils *sides"]
    """Of unit length over the coils everywhere."""
    certainty: Float32[np.ndarray, "*sides"]
    """The eigenvalue: 1 where there is an image."""


def calibration_box(
    mask: Bool[np.ndarray, "*sides"], widest: int = WIDEST
) -> tuple[int, ...]:
    """Widths of the largest box about frequency 0, in the middle, that was measured
    without a gap; at most `widest` along each axis, and half of a longer one, so that
    something is left to be held out."""
    widths = [1] * mask.ndim
    most = [min(widest, n, max(LEAST, n // 2)) for n in mask.shape]

    def whole(sizes: list[int]) -> bool:
        return bool(mask[_middle(mask.shape, tuple(sizes))].all())

    if not whole(widths):
        return tuple(widths)
    open_axes = set(range(mask.ndim))
    while open_axes:
        for axis in sorted(open_axes):
            more = [w + (k == axis) for k, w in enumerate(widths)]
            if more[axis] > most[axis] or not whole(more):
                open_axes.discard(axis)
            else:
                widths = more
    return tuple(widths)


def in_box(
    sides: tuple[int, ...], widths: tuple[int, ...]
) -> Bool[np.ndarray, "*sides"]:
    """The box of those widths about frequency 0, which is in the middle."""
    mask = np.zeros(sides, bool)
    mask[_middle(sides, widths)] = True
    return mask


def espirit(
    samples: Complex[np.ndarray, "coils *sides"],
    mask: Bool[np.ndarray, "*sides"],
    *,
    kernel: int = KERNEL,
    threshold: float = 0.02,
) -> CoilMaps:
    """Maps from the samples about frequency 0, which is at index 0 as in numpy.fft.

    Args:
        mask: which samples were measured.
        kernel: samples along the side of a patch.
        threshold: of the singular values of all patches, as a share of the largest one,
            below which they are noise.
    """
    coils, *rest = samples.shape
    sides, d = tuple(rest), len(rest)
    axes = tuple(range(1, d + 1))
    widths = calibration_box(np.fft.fftshift(mask))
    if min(widths) < LEAST:
        raise InputError(
            f"the coils' maps cannot be estimated: k-space is whole only in a centre "
            f"of {' x '.join(map(str, widths))}, and {LEAST} along each axis are "
            "needed; give `sens=MAPS.npy`, or `sens=learn`"
        )
    centre = np.fft.fftshift(samples, axes)[(slice(None), *_middle(sides, widths))]
    while kernel > 3 and coils * kernel**d > _MOST_NUMBERS:
        kernel -= 1
    lags = _lags(centre, kernel, threshold)
    grid = _grid(sides, coils)
    values = _eigen(lags, grid, coils, kernel)
    # The coils together, as they hear best on the whole: its phase is the image's.
    first = np.linalg.svd(centre.reshape(coils, -1), full_matrices=False)[0][:, 0]
    vectors, certainty = values
    along = np.einsum("...c,c->...", vectors, first.conj())
    vectors = vectors * np.exp(-1j * np.angle(along))[..., None]
    maps = np.moveaxis(vectors, -1, 0)
    if grid != sides:
        maps = np.stack([_finer(m, sides) for m in maps])
        maps /= np.maximum(np.linalg.norm(maps, axis=0), 1e-12)
        certainty = np.real(_finer(certainty, sides))
    return CoilMaps(maps.astype(np.complex64), certainty.astype(np.float32))


def _middle(sides: tuple[int, ...], widths: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(
        slice(n // 2 - w // 2, n // 2 - w // 2 + w)
        for n, w in zip(sides, widths, strict=True)
    )


def _lags(
    centre: Complex[np.ndarray, "..."], kernel: int, threshold: float
) -> Complex[np.ndarray, "..."]:
    """V V^H summed over patches' places that differ alike: (coils, coils, lags...)."""
    coils, d = len(centre), centre.ndim - 1
    windows = np.lib.stride_tricks.sliding_window_view(
        centre, (kernel,) * d, axis=tuple(range(1, d + 1))
    )
    # (places, coils * kernel^d)
    patches = np.moveaxis(windows, 0, d).reshape(-1, coils * kernel**d)
    power, vectors = np.linalg.eigh(patches.T @ patches.conj())
    kept = vectors[:, power > threshold**2 * power[-1]]
    space = (kept @ kept.conj().T).reshape(coils, kernel**d, coils, kernel**d)
    offsets = np.stack(np.unravel_index(np.arange(kernel**d), (kernel,) * d))
    lag = offsets[:, :, None] - offsets[:, None, :] + kernel - 1
    flat = np.ravel_multi_index(tuple(lag), (2 * kernel - 1,) * d).ravel()
    pairs = space.transpose(0, 2, 1, 3).reshape(coils * coils, -1)
    count = (2 * kernel - 1) ** d
    summed = np.stack([
        np.bincount(flat, np.real(row), count)
        + 1j * np.bincount(flat, np.imag(row), count)
        for row in pairs
    ])  # fmt: skip
    return summed.reshape(coils, coils, *(2 * kernel - 1,) * d)


def _grid(sides: tuple[int, ...], coils: int) -> tuple[int, ...]:
    """The image's own, or a coarser one where so many matrices would not fit."""
    most = _MOST_MATRICES / coils**2
    scale = min(1.0, (most / math.prod(sides)) ** (1 / len(sides)))
    if scale == 1.0:
        return sides
    return tuple(min(n, max(4 * KERNEL, int(n * scale))) for n in sides)


def _eigen(
    lags: np.ndarray, grid: tuple[int, ...], coils: int, kernel: int
) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvector and eigenvalue at every point of a grid."""
    d = len(grid)
    whole = np.zeros((coils, coils, *grid), np.complex64)
    at = [(np.arange(2 * kernel - 1) - kernel + 1) % n for n in grid]
    # A grid narrower than the lags has several at one place.
    np.add.at(whole, (slice(None), slice(None), *np.ix_(*at)), lags)  # pyright: ignore
    axes = tuple(range(2, d + 2))
    matrices = np.fft.ifftn(whole, axes=axes, norm="forward") / kernel**d
    matrices = np.moveaxis(matrices, (0, 1), (-2, -1))
    values, vectors = np.linalg.eigh(matrices)
    return vectors[..., -1], values[..., -1]


def _finer(values: np.ndarray, sides: tuple[int, ...]) -> np.ndarray:
    """Smooth values at the points of a finer grid over the same box."""
    from scipy.ndimage import map_coordinates

    at = [np.arange(n) * s / n for s, n in zip(values.shape, sides, strict=True)]
    where = np.stack(np.meshgrid(*at, indexing="ij"))
    parts = [
        map_coordinates(part, where, order=1, mode="grid-wrap")
        for part in (np.real(values), np.imag(values))
    ]
    return parts[0] + 1j * parts[1]
