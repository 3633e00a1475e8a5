"""Volumes that are written slice by slice as they are made: NPY, NIfTI, TIFF stacks."""

import gzip
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..atomic_write import atomic_write
from ..errors import InputError
from .images import quantise, to_user
from .tiff import write_tiff_stack
from .volumes import suffix_of

LONGEST = 2**15 - 1
"""Voxels along a side of a NIfTI file, which counts them in 16 bits."""


def write_slices(
    path: Path,
    slices: Iterable[Float[np.ndarray, "y x c"]],
    shape: tuple[int, int, int, int],
    *,
    low: float,
    high: float,
    order: str,
    affine: Float[np.ndarray, "4 4"],
    bits: int = 32,
) -> None:
    """Write slices with values in [0, 1], from the first z to the last, all or nothing.

    Args:
        shape: slices, rows, columns and channels.
        low: the user's unit at 0.
        high: the user's unit at 1.
        order: of the axes of an NPY file: `zyx`, or `xyz` (in Fortran order, so that
            a slice is in one piece there too). NIfTI has x, y, z, a TIFF z, y, x.
        affine: of a NIfTI file; a TIFF has the lengths of its columns.
        bits: 8 or 16 of a TIFF are levels from `low` to `high`; else float32 in the
            user's units.
    """
    suffix = suffix_of(path)
    *sides, channels = shape
    if suffix != ".npy" and channels > 1:
        raise InputError(
            f"`{path}`: a volume of {channels} channels is written to .npy alone"
        )
    with atomic_write(path) as part:
        if suffix in (".tif", ".tiff"):
            dtype = {8: np.uint8, 16: np.uint16}.get(bits, np.float32)
            across, down, apart = np.linalg.norm(affine[:3, :3], axis=0)
            write_tiff_stack(
                part, _levels(slices, low, high, bits), (sides[0], sides[1], sides[2]),
                dtype, spacing=(apart, down, across), unit="mm",
            )  # fmt: skip
            return
        if suffix == ".npy":
            head = _npy_head(shape, order)
        else:
            head = _nifti_head(path, shape, affine)
        with part.open("wb") as raw:
            # Without a time in it, the same volume gives the same bytes.
            packed = suffix == ".nii.gz"
            stream = gzip.GzipFile("", "wb", 6, raw, mtime=0) if packed else raw
            stream.write(head)
            for values in slices:
                stream.write(to_user(values, low, high).tobytes())
            if packed:
                stream.close()


def _levels(
    slices: Iterable[np.ndarray], low: float, high: float, bits: int
) -> Iterator[np.ndarray]:
    for values in slices:
        grey = values[..., 0]
        yield quantise(grey, bits) if bits in (8, 16) else to_user(grey, low, high)


def _npy_head(shape: tuple[int, int, int, int], order: str) -> bytes:
    z, y, x, channels = shape
    turned = order == "xyz" and channels == 1
    sides = (x, y, z) if turned else (z, y, x)
    stream = io.BytesIO()
    about = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(np.float32)),
        "fortran_order": turned,
        "shape": sides if channels == 1 else (*sides, channels),
    }
    np.lib.format.write_array_header_1_0(stream, about)
    return stream.getvalue()


def _nifti_head(
    path: Path, shape: tuple[int, int, int, int], affine: np.ndarray
) -> bytes:
    from nibabel.nifti1 import Nifti1Image

    z, y, x, _ = shape
    if max(x, y, z) > LONGEST:
        raise InputError(f"`{path}`: a NIfTI file has at most {LONGEST} voxels a side")
    # Nothing is held for the voxels: what is repeated is one number.
    image = Nifti1Image(np.broadcast_to(np.float32(0), (x, y, z)), affine)
    image.header.set_xyzt_units("mm")
    image.header.set_data_offset(352)
    image.header.set_slope_inter(1.0, 0.0)
    return image.header.binaryblock + bytes(4)
