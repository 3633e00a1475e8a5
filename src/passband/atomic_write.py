"""Files that are either whole or not there."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from .errors import InputError

_PART = re.compile(r"\.(?P<stem>.+)\.[0-9a-f]{8}(?P<suffix>\.[^.]*)?")


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to, then rename it to `path`.

    A failure on the way leaves what stood under `path` untouched and nothing else
    behind. What the system refuses (no folder, no permission, a full disk) becomes an
    `InputError`.
    """
    path = Path(path)
    if os.path.isdir(path):
        raise InputError(f"`{path}` is a folder; give the name of a file to write")
    # The suffix stays last, because writers such as numpy.save look at it.
    part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}{path.suffix}")
    try:
        yield part
        os.replace(part, path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"`{path}` cannot be written: {reason}") from error
    finally:
        with contextlib.suppress(OSError):  # gone, or its folder is
            part.unlink()


def write_bytes(path: Path, data: bytes) -> None:
    """Put `data` under `path`, on the disk before it has the name; make its folder."""
    make_folder(path.parent)
    with atomic_write(path) as part, open(part, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"folder `{path}` cannot be made: {error.strerror}") from error


def part_of(name: str) -> str | None:
    """The file that a temporary name stands for, if it is one: a process that is killed
    leaves it behind."""
    found = _PART.fullmatch(name)
    return None if found is None else found["stem"] + (found["suffix"] or "")
