"""Files that are either whole or not there."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from .errors import InputError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to, then rename it to `path`.

    A failure on the way leaves what stood under `path` untouched and nothing else
    behind. What the system refuses (no folder, no permission, a full disk) becomes an
    `InputError`.
    """
    path = Path(path)
    if path.is_dir():
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
        part.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Put `data` under `path`, on the disk before it has the name; make its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"`{path}` cannot be written: {error.strerror}") from error
    with whole_file(path) as part, open(part, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
