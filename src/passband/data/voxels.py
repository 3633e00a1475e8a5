"""Volumes as they are stored, to be fitted directly: NIfTI, DICOM, NPY, TIFF stacks;
large ones stay on the disk."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Shaped

from ..errors import InputError
from ..file_gate import map_npy, reader
from . import dicom
from .arrays import KEPT, read_npy, stored, stored_map
from .images import MAPPED_FROM
from .volumes import (
    NIFTI,
    map_nifti,
    read_nifti,
    spacing_of,
    suffix_of,
    volume_of,
)

VOLUME = "a NIfTI, DICOM, NPY or TIFF file, or a folder of DICOM files"
SUFFIXES = (*NIFTI, ".npy", ".tif", ".tiff", ".dcm")


@dataclass(frozen=True, eq=False)
class Voxels:
    """Numbers on a grid of three axes, and where the grid lies."""

    values: Shaped[np.ndarray, "y x z c"]
    """As stored; rows, columns, slices, so that (x, y, z) is the order of coordinates.
    A view of the file where that is mapped: slices are in one piece there."""
    low: float
    high: float
    """What 0 and 1 stand for."""
    name: str
    order: str
    """The axes of the file: `zyx` (NPY, TIFF) or `xyz` (NIfTI, DICOM)."""
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """From row to row, column to column and slice to slice, in mm where known."""
    affine: Float[np.ndarray, "4 4"] | None = None
    """From indices (x, y, z) to mm, in NIfTI and DICOM files."""
    notes: tuple[str, ...] = ()

    @property
    def mapped(self) -> bool:
        """Whether the numbers stay on the disk."""
        return isinstance(self.values, np.memmap)


def read_voxels(path: Path, *, volume: int | None = None) -> Voxels:
    """The volume in a file, or of a DICOM series in a folder.

    Args:
        volume: which of several in a NIfTI or DICOM file, from 0.
    """
    suffix = suffix_of(path)
    if os.path.isdir(path) or suffix in dicom.SUFFIXES:
        found = volume_of(path, volume=volume)
        if found.values.ndim != 3:
            raise InputError(f"`{path}` is one slice; fit it with `fit image`")
        return _placed(path, found.values, found.affine, found.notes)
    if suffix in NIFTI:
        return _of_nifti(path, volume)
    if volume is not None:
        raise InputError("`volume` is for NIfTI and DICOM files, which hold several")
    return _of_array(path)


@reader(VOLUME)
def _of_nifti(path: Path, volume: int | None) -> Voxels:
    mapped = None
    if path.stat().st_size >= MAPPED_FROM:
        mapped = map_nifti(path, volume)
    if mapped is not None and mapped[0].dtype in KEPT:
        return _placed(path, *mapped)
    values, affine = read_nifti(path, volume)
    return _placed(path, np.array(values), affine)


def _placed(
    path: Path,
    values: np.ndarray,
    affine: np.ndarray | None,
    notes: tuple[str, ...] = (),
) -> Voxels:
    """A volume (x, y, z) with its affine."""
    if values.ndim == 4 and values.shape[3] == 1:
        values = values[..., 0]
    if values.ndim != 3:
        raise InputError(
            f"`{path}` has {values.ndim} axes, {values.shape}; one volume has 3, and "
            "`volume=0` takes the first of several"
        )
    spacing = (1.0, 1.0, 1.0)
    if affine is not None:
        x, y, z = spacing_of(affine, path)
        spacing = (y, x, z)
    turned = values.swapaxes(0, 1)[..., None]
    return _checked(path, turned, "xyz", spacing, affine, notes)


@reader(VOLUME)
def _of_array(path: Path) -> Voxels:
    """(z, y, x), or (z, y, x, channels) in an NPY file."""
    suffix, spacing = suffix_of(path), None
    large = path.stat().st_size >= MAPPED_FROM
    if suffix == ".npy":
        values = map_npy(path, by_columns=True) if large else read_npy(path)
    elif suffix in (".tif", ".tiff"):
        from .scans import read_tiff_stack
        from .tiff import map_tiff_stack, stack_spacing

        found = map_tiff_stack(path) if large else None
        if found is None or found.dtype not in KEPT:  # packed, or of other byte order
            found = read_tiff_stack(path)
        values = found
        spacing = stack_spacing(path)
    else:
        known = ", ".join(SUFFIXES)
        raise InputError(
            f"`{path}` ends in `{suffix}`; volumes are read from {known}, or a folder "
            "of DICOM files"
        )
    if values.ndim == 3:
        values = values[..., None]
    if values.ndim != 4 or not 1 <= values.shape[3] <= 4:
        raise InputError(
            f"`{path}` has shape {values.shape}; a volume is (z, y, x) or (z, y, x, "
            "channels) with 1 to 4 channels"
        )
    apart, down, across = spacing or (1.0, 1.0, 1.0)
    turned = np.moveaxis(values, 0, 2)
    return _checked(path, turned, "zyx", (down, across, apart), None)


def _checked(
    path: Path,
    values: np.ndarray,
    order: str,
    spacing: tuple[float, float, float],
    affine: np.ndarray | None,
    notes: tuple[str, ...] = (),
) -> Voxels:
    y, x, z, _ = values.shape
    if min(x, y, z) < 2:
        raise InputError(
            f"`{path}` has {x} x {y} x {z} voxels; every side needs 2 or more"
        )
    if values.dtype.kind not in "buif":
        raise InputError(f"`{path}` holds {values.dtype}; a volume has real numbers")
    mapped = isinstance(values, np.memmap)
    kept, low, high = (stored_map if mapped else stored)(values, f"`{path}`")
    suffix = suffix_of(path)
    name = path.name[: -len(suffix)] if suffix and path.is_file() else path.name
    name = name or path.resolve().name
    return Voxels(kept, low, high, name, order, spacing, affine, notes)
