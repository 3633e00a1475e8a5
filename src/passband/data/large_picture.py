"""Pictures that are written as they are made: TIFF in tiles, NPY as a map."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import tifffile

from ..atomic_write import atomic_write
from .images import quantise, to_user

TILE = 512
"""Rows and columns of a tile, and rows of a band."""
BIG = 2**31
"""Bytes from which a TIFF counts its own in 64 bits."""


def write_bands(
    path: Path,
    bands: Iterable[np.ndarray],
    shape: tuple[int, int, int],
    *,
    low: float,
    high: float,
    bits: int,
) -> None:
    """Write bands of `TILE` rows with values in [0, 1], all or nothing.

    Args:
        shape: rows, columns and channels of the whole.
        bits: 8, 16 or 32 of a TIFF; an NPY file has float32 in the user's units.
    """
    with atomic_write(path) as part:
        if path.suffix.lower() == ".npy":
            out = np.lib.format.open_memmap(part, "w+", np.float32, shape)
            start = 0
            for band in bands:
                out[start : start + len(band)] = to_user(band, low, high)
                start += len(band)
            out.flush()
            return
        dtype = {8: np.uint8, 16: np.uint16, 32: np.float32}[bits]

        def levels(band: np.ndarray) -> np.ndarray:
            return to_user(band, low, high) if bits == 32 else quantise(band, bits)

        channels = shape[2]
        tifffile.imwrite(
            part,
            _tiles(map(levels, bands), dtype),
            shape=shape if channels > 1 else shape[:2],
            dtype=dtype,
            tile=(TILE, TILE),
            photometric="minisblack" if channels < 3 else "rgb",
            planarconfig=None if channels == 1 else "contig",
            extrasamples=["unassalpha"] if channels in (2, 4) else None,
            compression="zlib",
            bigtiff=math.prod(shape) * np.dtype(dtype).itemsize > BIG,
            metadata=None,
        )


def _tiles(bands: Iterable[np.ndarray], dtype: type) -> Iterator[np.ndarray]:
    """The tiles of bands, from left to right, filled up where the picture ends."""
    for band in bands:
        rows, columns, channels = band.shape
        for left in range(0, columns, TILE):
            tile = np.zeros((TILE, TILE, channels), dtype)
            part = band[:, left : left + TILE]
            tile[:rows, : part.shape[1]] = part
            yield tile if channels > 1 else tile[..., 0]
