"""The gate that every file passes before it is decoded.

A reader is a function of a path behind `reader("a PNG file")`. The gate opens nothing
but plain files, keeps what other libraries print off the terminal, and turns whatever
they raise into one `InputError`. `check_cost` is asked before memory is spent on what a
header claims, `read_bytes`, `read_json`, `read_npy` and `read_npz` are bounded already.
"""

import contextlib
import contextvars
import functools
import importlib
import io
import math
import mmap
import os
import stat
import zipfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, ParamSpec, TypeVar

import numpy as np

from .errors import InputError, one_line
from .json_text import from_json
from .quiet import without_chatter

P = ParamSpec("P")
T = TypeVar("T")
AnyPath = str | os.PathLike[str]

BEHIND = "behind_the_gate"
"""The attribute that tells a reader from any other function."""
LEAST_ROOM = 640 * 2**20
"""Bytes of memory that any file may take while it is read, however small it is."""
TIMES = 64
"""A larger file may take so many times its own size."""
LONGEST_TEXT = 256 * 2**20
"""Bytes of a text file, which takes several times that when it is read."""
LONGEST_JSON = 64 * 2**20
_MOST_MEMBERS = 10_000  # files in an NPZ archive
_room: contextvars.ContextVar[int | None] = contextvars.ContextVar("room", default=None)
_kinds = {
    stat.S_ISDIR: "is a folder",
    stat.S_ISFIFO: "is a pipe",
    stat.S_ISCHR: "is a device",
    stat.S_ISBLK: "is a device",
    stat.S_ISSOCK: "is a socket",
}


def reader(
    what: str,
) -> Callable[[Callable[Concatenate[Any, P], T]], Callable[Concatenate[AnyPath, P], T]]:
    """A function of a path, behind the gate; `what` is such as "a PNG or TIFF file"."""

    def behind(read: Callable[Concatenate[Any, P], T]):
        @functools.wraps(read)
        def gated(path: AnyPath, *args: P.args, **kwargs: P.kwargs) -> T:
            check_file(path, what)
            with decoding(path, what):
                return read(Path(path), *args, **kwargs)

        setattr(gated, BEHIND, what)
        return gated

    return behind


def check_file(path: AnyPath, what: str) -> int:
    """The bytes of a file that is there, plain and not empty; else an error."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"`{path}` does not exist; give {what}") from None
    except (OSError, ValueError) as error:  # a loop of links, a name of 300 letters
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"`{path}` cannot be read: {reason}; give {what}") from None
    _check_plain(path, found, what)
    if not found.st_size:
        raise InputError(f"`{path}` is empty (0 bytes); give {what}")
    return found.st_size


def open_file(path: AnyPath, what: str = "a file") -> BinaryIO:
    """A plain file, opened; nothing that could make the program wait for ever."""
    try:
        stream = open(path, "rb", opener=_at_once)  # noqa: SIM115
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"`{path}` cannot be read: {reason}") from error
    try:
        _check_plain(path, os.fstat(stream.fileno()), what)
    except InputError:
        stream.close()
        raise
    return stream


def _at_once(path: str, flags: int) -> int:
    """Without waiting, should it have become a pipe since it was looked at."""
    return os.open(path, flags | os.O_NONBLOCK)


def _check_plain(path: AnyPath, found: os.stat_result, what: str) -> None:
    for is_kind, words in _kinds.items():
        if is_kind(found.st_mode):
            raise InputError(f"`{path}` {words}; give {what}")


@contextlib.contextmanager
def decoding(path: AnyPath, what: str) -> Iterator[None]:
    """Whatever is raised on the bytes of a file becomes one `InputError`."""
    try:
        with without_chatter():
            yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(
            f"`{path}` needs more memory than there is; is it {what}?"
        ) from error
    except PermissionError as error:
        raise InputError(f"`{path}` cannot be read: {error.strerror}") from error
    except Exception as error:  # parsers raise whatever they run into
        raise InputError(
            f"`{path}` is damaged, cut short or not {what}: {_said(error)}"
        ) from error


def _said(error: Exception) -> str:
    """A library's words; without any, what kind of error it was."""
    if isinstance(error, ImportError):  # a parser that was tried as a last resort
        return "it is of another format"
    if isinstance(error, KeyError):
        return f"it lacks {one_line(error)}"
    return one_line(error) if str(error).strip() else type(error).__name__


@contextlib.contextmanager
def allowing(size: str | int | None) -> Iterator[None]:
    """Let every file take as much memory as this while it is read: `8GiB`, or bytes;
    None leaves the limits as they are."""
    token = _room.set(_room.get() if size is None else _bytes(size))
    try:
        yield
    finally:
        _room.reset(token)


def room_for(file_size: int) -> int:
    """Bytes of memory that a file of this size may take while it is read."""
    return _room.get() or max(LEAST_ROOM, TIMES * file_size)


def check_cost(path: AnyPath, needed: float, file_size: int, claims: str) -> None:
    """Refuse a file that would take too much memory, before any is spent on it.

    Args:
        needed: bytes while it is read, by what its header claims.
        claims: what these are for, such as `4096 x 4096 pixels`.
    """
    room = room_for(file_size)
    if needed > room:
        asked = max(1, math.ceil(needed / 2**30))
        raise InputError(
            f"`{path}` has {file_size:,} bytes and claims {claims}: reading it takes "
            f"{needed / 2**30:.3g} GiB, and {room / 2**30:.3g} are allowed for a file "
            f"of its size; if that is meant, `max_input={asked}GiB` allows it"
        )
    there = memory()
    if needed > there:
        raise InputError(
            f"`{path}` claims {claims}: reading it takes {needed / 2**30:.3g} GiB and "
            f"this machine has {there / 2**30:.3g}"
        )


def memory() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _bytes(size: str | int) -> int:
    if isinstance(size, int):
        return size
    units = {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
    number, unit = size.strip()[:-3], size.strip()[-3:].upper()
    try:
        found = int(float(number) * units[unit])
    except (KeyError, ValueError, OverflowError):
        found = 0
    if found < 1:
        raise InputError(f"`max_input` (={size}) must be a size such as 512MiB or 4GiB")
    return found


def read_bytes(path: AnyPath, what: str, most: int = LONGEST_TEXT) -> bytes:
    """All of a plain file that is not longer than `most`."""
    with open_file(path, what) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"`{path}` is longer than {most:,} bytes; give {what}")
    return data


def read_text(path: AnyPath, what: str, most: int = LONGEST_TEXT) -> str:
    """The text in a file, UTF-8 with or without its mark."""
    try:
        return read_bytes(path, what, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"`{path}` is no text file: {one_line(error)}") from None


def read_json(path: AnyPath, what: str = "a JSON file") -> Any:
    """What a JSON file says."""
    check_file(path, what)
    try:
        return from_json(read_text(path, what, LONGEST_JSON))
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"`{path}` is no JSON: {one_line(error)}") from None


def read_npy(path: AnyPath, *, times: float = 1.0) -> np.ndarray:
    """The array in an NPY file, refusing objects, as long as its header says.

    Args:
        times: memory that the caller takes with it, in copies of the array.
    """
    what = "an NPY file"
    size = check_file(path, what)
    with decoding(path, what), open_file(path, what) as stream:
        if stream.read(2) == b"PK":
            raise InputError(
                f"`{path}` is an NPZ archive; save one array with numpy.save"
            )
        stream.seek(0)
        shape, dtype = _npy_header(stream)
        if dtype.hasobject:
            raise InputError(f"`{path}` holds Python objects; save an array of numbers")
        claimed = math.prod(shape) * dtype.itemsize
        have = size - stream.tell()
        if claimed > have:
            raise InputError(
                f"`{path}` is cut short: {shape} of {dtype} are {claimed:,} bytes, and "
                f"it has {have:,}"
            )
        check_cost(path, times * claimed, size, f"{shape} of {dtype}")
        stream.seek(0)
        return np.load(stream, allow_pickle=False)


def npy_header(path: AnyPath) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of the array in an NPY file, by what its header claims."""
    what = "an NPY file"
    check_file(path, what)
    with decoding(path, what), open_file(path, what) as stream:
        return _npy_header(stream)


def map_npy(path: AnyPath, *, by_columns: bool = False) -> np.ndarray:
    """The array in an NPY file as a read-only map of it: no number is read before it is
    asked for, however many there are.

    Args:
        by_columns: take one in Fortran order too.
    """
    what = "an NPY file"
    size = check_file(path, what)
    with decoding(path, what), open_file(path, what) as stream:
        shape, dtype = _npy_header(stream)
        at = stream.tell()
        stream.seek(0)
        if b"'fortran_order': True" in stream.read(at):
            if by_columns:
                return map_part(path, stream, at, shape[::-1], dtype, size).T
            raise InputError(f"`{path}` is stored column by column; save it in C order")
        return map_part(path, stream, at, shape, dtype, size)


def map_part(
    path: AnyPath,
    stream: BinaryIO,
    at: int,
    shape: tuple[int, ...],
    dtype: np.dtype,
    size: int,
) -> np.ndarray:
    """An array that lies in an open file, mapped; it must lie there whole."""
    claimed = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or at < 0 or at + claimed > size:
        raise InputError(
            f"`{path}` is cut short: {shape} of {dtype} are {claimed:,} bytes, and it "
            f"has {max(0, size - at):,}"
        )
    return np.memmap(stream, dtype, mode="r", offset=at, shape=shape)


def give_back(values: np.ndarray) -> None:
    """Let go of the pages of a mapped file that were read: they stay the system's to
    keep, and are this process's no longer."""
    whole = getattr(values, "_mmap", None)
    if isinstance(whole, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        whole.madvise(mmap.MADV_DONTNEED)


def _npy_header(stream: Any) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type that an NPY file begins with; the stream then stands behind."""
    version = np.lib.format.read_magic(stream)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"NPY version {version} is not known")
    shape, _, dtype = read(stream)
    if any(side < 0 for side in shape):
        raise ValueError(f"it claims a shape of {shape}")
    return shape, dtype


def read_npz(
    path: AnyPath, names: Collection[str] | None = None, *, times: float = 2.0
) -> dict[str, np.ndarray]:
    """Arrays of an NPZ archive, all or those of these names that it has.

    Args:
        times: memory that reading takes, in copies of the arrays.
    """
    what = "an NPZ archive"
    size = check_file(path, what)
    with decoding(path, what), _archive(path, what) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise ValueError(f"it has {len(members)} members")
        found = {m.filename.removesuffix(".npy"): m for m in members}
        wanted = [n for n in found if names is None or n in names]
        claimed = sum(found[n].file_size for n in wanted)
        check_cost(path, times * claimed, size, f"{claimed:,} bytes of arrays")
        return {n: _member(archive, found[n]) for n in wanted}


def npz_shapes(path: AnyPath) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays in an NPZ archive, by what their headers claim."""
    what = "an NPZ archive"
    check_file(path, what)
    with decoding(path, what), _archive(path, what) as archive:
        shapes = {}
        for member in archive.infolist()[:_MOST_MEMBERS]:
            with archive.open(member) as inside:
                name = member.filename.removesuffix(".npy")
                shapes[name] = _npy_header(inside)[0]
        return shapes


@contextlib.contextmanager
def _archive(path: AnyPath, what: str) -> Iterator[zipfile.ZipFile]:
    with open_file(path, what) as stream, zipfile.ZipFile(stream) as archive:
        yield archive


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as inside:
        shape, dtype = _npy_header(inside)
        if dtype.hasobject:
            raise ValueError(f"`{one_line(member.filename)}` holds Python objects")
        have = member.file_size - inside.tell()
        if math.prod(shape) * dtype.itemsize != have:
            raise ValueError(
                f"{shape} of {dtype} do not take the {have:,} bytes that "
                f"`{one_line(member.filename)}` has"
            )
    data = archive.read(member)
    return np.load(io.BytesIO(data), allow_pickle=False)


def library(name: str, reads: str, extra: str = "formats") -> Any:
    """A module that only some files need; what to install where it is missing.

    Args:
        reads: what it is for, such as `HDF5 files`.
        extra: of passband's, that brings it.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(
            f"{reads} are read with {name}, which is not installed; "
            f'`pip install "passband[{extra}]"` brings it'
        ) from None
