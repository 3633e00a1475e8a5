"""Pictures from the user's files, in their own units, and back."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32, Shaped

from ..atomic_write import atomic_write
from ..errors import InputError
from ..file_gate import map_npy, open_file, reader
from . import dicom, raster
from .arrays import read_npy, stored, stored_map, write_npy

PICTURE = "a PNG, JPEG, TIFF, DICOM or NPY file"
MAPPED_FROM = 2**28
"""Bytes of a file of plain pixels (NPY, TIFF without compression) from which on these
stay on the disk."""
SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy", ".dcm")


@dataclass(frozen=True)
class Image:
    """A picture as it is stored, and the range that black and white have there."""

    values: Shaped[np.ndarray, "h w c"]
    """uint8, uint16 or float32; 1 channel is grey, 2 grey and alpha, 3 RGB, 4 RGBA."""
    low: float
    """The user's unit that becomes 0."""
    high: float
    """The user's unit that becomes 1: 255 at 8 bit, 65535 at 16 bit, 1 for floats that
    lie inside [0, 1], else the largest value."""
    name: str

    def normalised(self) -> Float32[np.ndarray, "h w c"]:
        """(values - low) / (high - low), inside [0, 1]."""
        # Floats may span more than float32 can subtract; integers never do.
        wide = np.float64 if self.values.dtype == np.float32 else np.float32
        scaled = np.subtract(self.values, self.low, dtype=wide)
        scaled /= self.high - self.low
        return scaled.astype(np.float32, copy=False)

    def to_user(self, x: Float[np.ndarray, "..."]) -> Float32[np.ndarray, "..."]:
        """low + x (high - low): the inverse of `normalised`."""
        return to_user(x, self.low, self.high)


def to_user(
    x: Float[np.ndarray, "..."], low: float, high: float
) -> Float32[np.ndarray, "..."]:
    """low + x (high - low) in float32, worked out in float64."""
    return (low + np.asarray(x, np.float64) * (high - low)).astype(np.float32)


@reader(PICTURE)
def read_image(path: Path) -> Image:
    """The picture in a PNG, JPEG, TIFF, DICOM or NPY file; its content decides which it
    is."""
    kind = _kind(path)
    mapped = _mapped(path, kind)
    if mapped is not None:
        values = mapped
    elif kind == "npy":
        values = read_npy(path)
    elif kind == "dicom":
        values = dicom.read_picture(path)
    elif kind == "tiff":
        from . import tiff  # takes 50 ms to import

        values = tiff.read_tiff(path)
    else:
        values = raster.read_raster(path)
    if values.ndim == 2:
        values = values[..., None]
    if values.ndim != 3 or not 1 <= values.shape[2] <= 4:
        raise InputError(
            f"`{path}` has shape {values.shape}; a picture is (rows, columns) or "
            "(rows, columns, channels) with 1 to 4 channels"
        )
    rows, columns, _ = values.shape
    if min(rows, columns) < 2:
        raise InputError(
            f"`{path}` has {rows} x {columns} pixels; a picture needs at least 2 x 2"
        )
    keep = stored if mapped is None else stored_map
    values, low, high = keep(values, f"`{path}`")
    return Image(values=values, low=low, high=high, name=path.stem)


def _mapped(path: Path, kind: str) -> np.ndarray | None:
    """A large picture that lies in its file pixel by pixel, left there."""
    if kind not in ("npy", "tiff") or path.stat().st_size < MAPPED_FROM:
        return None
    if kind == "npy":
        return map_npy(path)
    from . import tiff

    return tiff.map_tiff(path)


def _kind(path: Path) -> str:
    """`png`, `jpeg`, `tiff`, `dicom` or `npy`, by the first bytes of a file."""
    suffix = path.suffix.lower()
    if suffix in dicom.SUFFIXES or (not suffix and dicom.is_dicom(path)):
        return "dicom"
    if suffix not in SUFFIXES:
        raise InputError(
            f"`{path}` ends in `{path.suffix}`; pictures are read from "
            f"{', '.join(SUFFIXES)}"
        )
    with open_file(path, PICTURE) as file:
        start = file.read(8)
    magics = {
        b"\x89PNG\r\n\x1a\n": "png",
        b"\xff\xd8\xff": "jpeg",
        b"II*\0": "tiff",
        b"MM\0*": "tiff",
        b"II+\0": "tiff",
        b"MM\0+": "tiff",
        b"\x93NUMPY": "npy",
    }
    for magic, kind in magics.items():
        if start.startswith(magic):
            return kind
    raise InputError(
        f"`{path}` is no PNG, JPEG, TIFF or NPY file: it starts with {start!r}"
    )


def write_image(
    path: str | os.PathLike[str],
    values: Float[np.ndarray, "..."],
    *,
    low: float = 0.0,
    high: float = 255.0,
    bits: int | None = None,
) -> None:
    """Write a picture with values in [0, 1] to a PNG, TIFF or NPY file, all or nothing.

    8 and 16 bits round x (2^bits - 1); 32 bits are float32 in the user's units, as is
    every NPY file.

    Args:
        low: the user's unit at 0.
        high: the user's unit at 1.
        bits: 8 or 16, for TIFF also 32. Without it, what the range says: 16 for a
            `high` of 65535, 8 for 255; any other range makes a TIFF of 32 and a PNG
            of 8.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    values = np.asarray(values)
    if values.ndim != 3 or not 1 <= values.shape[2] <= 4:
        raise InputError(
            f"`values` has shape {values.shape}; a picture is (rows, columns, "
            "channels) with 1 to 4 channels"
        )
    if not np.isfinite(values).all():
        raise InputError("`values` holds NaN or infinite values; nothing was written")
    if suffix == ".npy":
        with atomic_write(path) as part:
            write_npy(part, to_user(values, low, high))
        return
    if suffix not in (".png", ".tif", ".tiff"):
        what = "is a folder" if os.path.isdir(path) else f"ends in `{suffix}`"
        raise InputError(
            f"`{path}` {what}; pictures are written to .png, .tif, .tiff or .npy files"
        )
    if bits is None:
        other = 8 if suffix == ".png" else 32
        bits = {255.0: 8, 65535.0: 16}.get(high, other)
    allowed = (8, 16) if suffix == ".png" else (8, 16, 32)
    if bits not in allowed:
        raise InputError(f"`bits` (={bits}) must be one of {allowed} for {suffix}")
    pixels = to_user(values, low, high) if bits == 32 else quantise(values, bits)
    with atomic_write(path) as part:
        if suffix == ".png":
            raster.write_png(part, pixels)
        else:
            from . import tiff

            tiff.write_tiff(part, pixels)


def quantise(values: Float[np.ndarray, "..."], bits: int) -> Shaped[np.ndarray, "..."]:
    """The nearest of the levels 0 .. 2^bits - 1 for values in [0, 1], clipped there."""
    top = 2**bits - 1
    scaled = np.rint(np.clip(values, 0.0, 1.0) * np.float32(top))
    return scaled.astype(np.uint8 if bits == 8 else np.uint16)
