"""Arrays in MATLAB files, versions 5 to 7 (SciPy) and 7.3 (HDF5), by name."""

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, one_line
from ..file_gate import check_cost, open_file, reader
from . import hdf5

WHAT = "a MATLAB file"
_COMPRESSED = 15  # the kind of an element that is packed
LONGEST_TEXT = 1000
_DEEPEST = 4  # structs inside structs
_MATRIX = 14
_TYPES = frozenset({*range(1, 8), 9, *range(12, 19)})
"""Of the elements of a file: numbers, matrices, packed ones, text."""
_DEEPEST_ELEMENTS = 32


@reader(WHAT)
def read_matlab(path: Path, *, texts: bool = False) -> dict[str, Any]:
    """Every array of numbers, by its name; a struct's are `struct.field`.

    Axes are in MATLAB's order in both versions.

    Args:
        texts: strings too, as such.
    """
    found = _read_hdf5(path) if hdf5.is_hdf5(path) else _read_classic(path)
    arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray)}
    if not arrays:
        raise InputError(f"`{path}` holds no array of numbers")
    return found if texts else arrays


def chosen(
    path: Path, arrays: dict[str, np.ndarray], name: str | None, *, axes: int = 2
) -> tuple[str, np.ndarray]:
    """The array of a name, or the only one that can be meant: complex ones before real
    ones, then those of at least so many axes."""
    if name is not None:
        if name not in arrays:
            raise InputError(
                f"`array` (={name}): `{path}` has no array of that name; it has "
                f"{_listed(arrays)}"
            )
        return name, arrays[name]
    # MATLAB has no vectors: a row has two axes, one of them of length 1.
    wide = {k: v for k, v in arrays.items() if sum(n > 1 for n in v.shape) >= axes}
    left = {k: v for k, v in wide.items() if np.iscomplexobj(v)} or wide
    if len(left) != 1:
        raise InputError(
            f"`{path}` has {_listed(arrays)}; name the one with `array=NAME`"
        )
    return next(iter(left.items()))


def _listed(arrays: dict[str, np.ndarray]) -> str:
    names = [f"`{one_line(name)}` {value.shape}" for name, value in arrays.items()]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if names[8:] else "")


def _read_classic(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat

    size = path.stat().st_size
    check_cost(path, 3 * _unpacked(path), size, "so many bytes unpacked")
    _check_types(path)
    with open_file(path, WHAT) as stream:
        content = loadmat(stream, struct_as_record=False, squeeze_me=False)
    found: dict[str, Any] = {}
    for name, value in content.items():
        if not name.startswith("__"):
            _collect(found, name, value, 0)
    return found


def _unpacked(path: Path) -> int:
    """Bytes of all variables, by what each says before it is unpacked."""
    total, size = 0, path.stat().st_size
    with open_file(path, WHAT) as stream:
        head = stream.read(128)
        order: Any = {b"IM": "<", b"MI": ">"}.get(head[126:128])
        if order is None:  # version 4, which packs nothing
            return size
        while len(tag := stream.read(8)) == 8:
            kind, length = struct.unpack(f"{order}II", tag)
            at = stream.tell()
            if at + length > size:
                raise ValueError("a variable is longer than the file: cut short")
            if kind == _COMPRESSED:
                inner = zlib.decompressobj().decompress(stream.read(256), 8)
                total += struct.unpack(f"{order}II", inner)[1]
            stream.seek(at + length)
    return size + total


def _check_types(path: Path) -> None:
    """Refuse data of a type that there is not: SciPy looks it up in a table as long as
    the types, and the process dies."""
    with open_file(path, WHAT) as stream:
        content = memoryview(stream.read())
    order: Any = {b"IM": "<", b"MI": ">"}.get(bytes(content[126:128]))
    if order is not None:
        _check_elements(content[128:], order, 0)


def _check_elements(content: memoryview, order: str, depth: int) -> None:
    if depth > _DEEPEST_ELEMENTS:
        raise ValueError("variables lie too deep in one another")
    at = 0
    while at + 8 <= len(content):
        kind, length = struct.unpack_from(f"{order}II", content, at)
        at += 8
        if short := kind >> 16:  # up to four bytes, in the tag itself
            kind, length = kind & 0xFFFF, 0
        if kind not in _TYPES or short > 4:
            raise ValueError(f"there is no data of type {kind}")
        part = content[at : at + length]
        if len(part) < length:
            raise ValueError("a variable is longer than what holds it: cut short")
        if kind == _COMPRESSED:
            _check_elements(memoryview(zlib.decompress(part)), order, depth + 1)
        elif kind == _MATRIX:
            _check_elements(part, order, depth + 1)
        at += length if kind == _COMPRESSED else -(-length // 8) * 8


def _collect(found: dict[str, Any], name: str, value: Any, depth: int) -> None:
    """The numeric arrays of a variable: itself, or the fields of a struct."""
    fields = getattr(value, "_fieldnames", None)
    if fields is not None and depth < _DEEPEST:
        for field in fields:
            _collect(found, f"{name}.{field}", getattr(value, field), depth + 1)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind in "buifc" and value.size:
            found[name] = value
        elif value.dtype.kind == "U" and value.size == 1:
            found[name] = str(value.flat[0])
        elif value.dtype == object and value.size == 1:
            _collect(found, name, value.flat[0], depth)


def _read_hdf5(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    room = 0
    with hdf5.open_hdf5(path) as file:
        for name in hdf5.names(file):
            data = hdf5.entry(file, name)
            numeric = data.dtype.kind in "buif" or data.dtype.names is not None
            if name.startswith("#refs#") or not numeric or not data.shape:
                continue
            if data.attrs.get("MATLAB_empty", 0):
                continue
            hdf5.checked(path, data, name)
            if _is_text(data):
                codes = np.ravel(data[()])[:LONGEST_TEXT]
                found[name.replace("/", ".")] = "".join(chr(int(c)) for c in codes)
                continue
            room += 3 * data.size * data.dtype.itemsize
            check_cost(path, room, path.stat().st_size, "so many arrays")
            found[name.replace("/", ".")] = hdf5.numbers(data[()]).T
    return found


def _is_text(data: Any) -> bool:
    kind = data.attrs.get("MATLAB_class", b"")
    return bytes(kind) == b"char" if isinstance(kind, bytes) else kind == "char"
