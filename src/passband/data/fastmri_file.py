"""fastMRI's HDF5 files: `kspace`, slices of one coil or many, and their header."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..file_gate import reader
from . import hdf5
from .arrays import finite
from .mrd_header import parse_header
from .raw_kspace import RawKSpace, which, without_oversampling


@reader("a fastMRI file")
def read_fastmri(path: Path, *, slice_: int | None = None) -> RawKSpace:
    """One slice, (coils, readout, phase), or without coils; the middle one by default.

    The header, if there is one, gives the size of a pixel, and twofold readout
    oversampling is taken off.
    """
    with hdf5.open_hdf5(path) as file:
        data = hdf5.entry(file, "kspace")
        if data is None or data.ndim not in (3, 4):
            shape = None if data is None else tuple(data.shape)
            raise InputError(
                f"`{path}`: `kspace` has shape {shape}; fastMRI's is (slices, coils, "
                "rows, columns), or without coils"
            )
        count = data.shape[0]
        at = which("slice", slice_, count, count // 2, "slices")
        part = int(np.prod(data.shape[1:], dtype=np.int64))
        samples = hdf5.numbers(hdf5.checked(path, data, "kspace", part=part)[at])
        if not np.iscomplexobj(samples):
            raise InputError(
                f"`{path}`: `kspace` holds {data.dtype}, no complex numbers"
            )
        notes = (
            () if count == 1 else (f"slice {at} of {count} (`slice` takes another)",)
        )
        raw = RawKSpace(
            samples.astype(np.complex64), coils=data.ndim == 4, centred=True,
            mask=_mask(path, file, samples.shape[-2:]), notes=notes,
        )  # fmt: skip
        return _placed(path, file, raw, at)


def _mask(path: Path, file: Any, sides: tuple[int, ...]) -> np.ndarray | None:
    """Columns that were measured, in the files of the challenge's test set."""
    data = hdf5.entry(file, "mask")
    if data is None:
        return None
    columns = np.asarray(hdf5.checked(path, data, "mask")[()])
    if columns.size != sides[1]:
        raise InputError(
            f"`{path}`: `mask` has {columns.size} columns and `kspace` {sides[1]}"
        )
    return np.broadcast_to(columns.reshape(-1) != 0, sides).copy()


def _placed(path: Path, file: Any, raw: RawKSpace, at: int) -> RawKSpace:
    """With what the header says, and the image of all of k-space if it is as large."""
    item = hdf5.entry(file, "ismrmrd_header")
    if item is not None:
        header = parse_header(path, hdf5.text(path, item, "ismrmrd_header"))
        raw = replace(raw, spacing=header.spacing(path)[:2])
        if header.oversampling > 1 and raw.sides[0] == header.encoded.matrix[0]:
            side = header.encoded.matrix[0] // header.oversampling
            raw = without_oversampling(raw, side)
    for name in ("reconstruction_rss", "reconstruction_esc"):
        data = hdf5.entry(file, name)
        if data is not None and data.ndim == 3 and tuple(data.shape[1:]) == raw.sides:
            part = int(np.prod(raw.sides))
            values = hdf5.checked(path, data, name, part=part)[at]
            truth = finite(np.asarray(values), f"`{path}`: `{name}`")
            return replace(raw, truth=truth)
    return raw
