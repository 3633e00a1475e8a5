"""Arrays in HDF5 files, which name other files at will: only what a file itself holds
is read, and no more of it than the gate allows."""

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, one_line
from ..file_gate import check_cost, library, open_file

MAGIC = b"\x89HDF\r\n\x1a\n"
_MOST_NAMES = 10_000


def is_hdf5(path: Path) -> bool:
    """By its first bytes; MATLAB 7.3 puts 512 others before them."""
    with open_file(path) as stream:
        if stream.read(8) == MAGIC:
            return True
        stream.seek(512)
        return stream.read(8) == MAGIC


@contextlib.contextmanager
def open_hdf5(path: Path) -> Iterator[Any]:
    """The root group of a file."""
    h5py = library("h5py", "HDF5 files")
    if not is_hdf5(path):
        raise InputError(f"`{path}` is no HDF5 file by its first bytes")
    with h5py.File(path, "r", locking=False) as file:
        yield file


def entry(group: Any, name: str) -> Any:
    """A group or data set by its path inside the file, refusing links to other files;
    None if there is none."""
    h5py = library("h5py", "HDF5 files")
    for part in name.strip("/").split("/"):
        if not isinstance(group, h5py.Group) or part not in group:
            return None
        if isinstance(group.get(part, getlink=True), h5py.ExternalLink):
            raise ValueError(f"`{one_line(name)}` is a link to another file")
        group = group[part]
    return group


def names(group: Any) -> list[str]:
    """Paths of all the data sets that a file itself holds."""
    h5py = library("h5py", "HDF5 files")
    found: list[str] = []

    def visit(name: str, item: Any) -> bool | None:
        if isinstance(item, h5py.Dataset):
            found.append(name)
        return True if len(found) >= _MOST_NAMES else None

    group.visititems(visit)
    return found


def checked(
    path: Path, data: Any, name: str, *, part: int | None = None, times: float = 3.0
) -> Any:
    """A data set that may be read: numbers of the file's own, and not too many.

    Args:
        part: how many of its numbers are read; all by default.
        times: memory that reading takes, in copies of them.
    """
    h5py = library("h5py", "HDF5 files")
    if not isinstance(data, h5py.Dataset):
        raise InputError(f"`{path}`: `{one_line(name)}` is a group, not an array")
    if data.external or data.is_virtual:
        raise ValueError(f"`{one_line(name)}` lies in another file")
    if data.shape is None:
        raise InputError(f"`{path}`: `{one_line(name)}` is empty")
    count = math.prod(data.shape) if part is None else part
    claims = f"{tuple(data.shape)} of {data.dtype} in `{one_line(name)}`"
    needed = times * count * max(data.dtype.itemsize, 1)
    check_cost(path, needed, path.stat().st_size, claims)
    return data


def numbers(values: Any) -> np.ndarray:
    """Complex numbers where a pair of real ones is stored: `real`, `imag` (MATLAB), or
    `r`, `i` (h5py)."""
    values = np.asarray(values)
    fields = values.dtype.names
    if fields is None:
        return values
    for real, imag in (("real", "imag"), ("r", "i"), ("re", "im")):
        if set(fields) == {real, imag}:
            return values[real] + 1j * values[imag]
    raise InputError(f"an array has the fields {fields}; only numbers can be read")


def text(path: Path, data: Any, name: str, most: int = 2**24) -> str:
    """The string in a data set, alone or in an array of one."""
    found = checked(path, data, name)
    if math.prod(found.shape) != 1 or found.dtype.itemsize > most:
        raise InputError(f"`{path}`: `{name}` should hold one string")
    place = found.id.get_offset()
    if found.dtype.kind == "O" and place is not None:
        # A string of any length is stored as its length and where it lies, and HDF5
        # makes room for that length before it looks there.
        with open_file(path) as stream:
            stream.seek(place)
            if int.from_bytes(stream.read(4), "little") > path.stat().st_size:
                raise InputError(f"`{path}`: `{name}` is longer than the file")
    value = found[()] if found.shape == () else found[(0,) * len(found.shape)]
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    if not isinstance(value, str) or len(value) > most:
        raise InputError(f"`{path}`: `{name}` should hold one string")
    return value
