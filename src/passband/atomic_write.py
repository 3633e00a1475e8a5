"""Files that are either whole or not there: the one way anything is written."""

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from .errors import InputError

try:
    import fcntl
except ImportError:  # Windows: leftovers stay until somebody removes them
    fcntl = None

_PART = re.compile(r"\.(?P<stem>.+)\.[0-9a-f]{8}(?:\.part)?(?P<suffix>\.[^.]*)?")
_FULL = (errno.ENOSPC, errno.EDQUOT)
_LITTLE = 1 << 16  # bytes of a disk that is as good as full


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to, then rename it to `path`.

    A failure on the way leaves what stood under `path` untouched and nothing else
    behind; what a killed writer of the same file left is removed. The bytes are on the
    disk before they get the name. What the system refuses (no folder, no permission, a
    full disk) becomes an `InputError`.
    """
    path = Path(path)
    if os.path.isdir(path):
        raise InputError(f"`{path}` is a folder; give the name of a file to write")
    # The suffix stays last, because writers such as numpy.save look at it.
    part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part{path.suffix}")
    held = -1
    try:
        _sweep(path)
        held = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        _lock(held)  # tells others that its writer lives
        yield part
        _sync(part)
        os.replace(part, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # gone, or its folder is
            part.unlink()
        if held >= 0:
            os.close(held)


def write_bytes(path: Path, data: bytes) -> None:
    """Put `data` under `path`, whole or not at all; make its folder."""
    make_folder(path.parent)
    with atomic_write(path) as part:
        part.write_bytes(data)


def append_text(path: Path, text: str, *, sync: bool = False) -> None:
    """Add to a file of lines, of which a kill may cut the last.

    Args:
        sync: wait until it is on the disk.
    """
    try:
        with open(path, "a") as stream:
            stream.write(text)
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
    except OSError as error:
        raise unwritable(path, error) from error


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"folder `{path}` cannot be made: {_why(error)}") from error


def refuse_existing(paths: Iterable[Path], overwrite: bool) -> None:
    """An error, before the work, if one of the files to write is there already."""
    there = next((p for p in paths if os.path.lexists(p)), None)
    if there is not None and not overwrite:
        raise InputError(f"`{there}` exists; `overwrite` replaces it")


def unwritable(path: Path, error: OSError) -> InputError:
    """The error of a file that cannot be written; of a full disk it says which."""
    reason = _why(error)
    # NumPy says only how many of its numbers could be written.
    if error.errno in _FULL or (error.errno is None and _room(path) < _LITTLE):
        reason = f"No space left on the disk at `{_mount_point(path)}`"
    return InputError(f"`{path}` cannot be written: {reason}")


def part_of(name: str) -> str | None:
    """The file that a temporary name stands for, if it is one: a process that is killed
    leaves it behind."""
    found = _PART.fullmatch(name)
    return None if found is None else found["stem"] + (found["suffix"] or "")


def _why(error: OSError) -> str:
    return error.strerror or str(error)


def _mount_point(path: Path) -> str:
    place = os.path.realpath(path.parent)
    while not os.path.ismount(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return place


def _room(path: Path) -> float:
    """Bytes left on the disk of a file."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return float("inf")
    return found.f_bavail * found.f_frsize


def _sync(part: Path) -> None:
    """Wait until the bytes are on the disk."""
    with open(part, "rb+") as stream:
        os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    """Let the new name outlive a loss of power, where the file system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take a lock that ends with its process, however that ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody has it, or the file system has no locks
        return False
    return True


def _sweep(path: Path) -> None:
    """Remove what writers of this file left behind when they were killed."""
    start, end = f".{path.stem}.", f".part{path.suffix}"
    found: list[str] = []
    with contextlib.suppress(PermissionError), os.scandir(path.parent) as entries:
        found = [e.path for e in entries
                 if e.name.startswith(start) and e.name.endswith(end)]  # fmt: skip
    for left in found:
        if part_of(os.path.basename(left)) != path.name:
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(left, os.O_RDWR | os.O_CLOEXEC)
            try:
                if _lock(descriptor):
                    os.unlink(left)
            finally:
                os.close(descriptor)
