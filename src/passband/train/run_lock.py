"""One owner for a run folder: a lock that ends with its process, however that ends."""

import contextlib
import datetime
import errno
import json
import os
import socket
import threading
from pathlib import Path

from ..errors import InputError, one_line

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

NAME = ".lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
_held: dict[str, list[int]] = {}
"""Of this process: the folder, and the descriptor of its lock with how many hold it."""
_guard = threading.Lock()


class RunLock:
    """Holds a folder for this process until `release`, or until the process ends.

    The lock is the kernel's (`flock`), not the file: a process that is killed leaves
    the file, and nobody has to remove it. The file says whose it is.
    """

    def __init__(self, folder: Path):
        self._key: str | None = os.path.realpath(folder)
        self.works = True
        """Whether the file system has locks at all."""
        with _guard:
            if self._key in _held:
                _held[self._key][1] += 1
                return
            descriptor = _take(folder)
            if descriptor is None:
                self._key, self.works = None, False
            else:
                _held[self._key] = [descriptor, 1]

    def release(self) -> None:
        """Let others have the folder; doing it twice does no harm."""
        with _guard:
            key, self._key = self._key, None
            if key is None or key not in _held:
                return
            _held[key][1] -= 1
            if not _held[key][1]:
                descriptor, _ = _held.pop(key)
                # Removed while it is held, so that no other's is removed.
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(key, NAME))
                os.close(descriptor)

    __del__ = release


def _take(folder: Path) -> int | None:
    """A descriptor that holds the lock; None where the file system has none."""
    if fcntl is None:
        return None
    path = folder / NAME
    while True:
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"`{folder}` cannot be written: {reason}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            whose = _owner(descriptor)
            os.close(descriptor)
            if error.errno in _NO_LOCKS:
                return None
            raise InputError(
                f"run folder `{folder}` is in use{whose}; wait for it, stop it, or "
                "choose another `out`"
            ) from None
        if _is(descriptor, path):
            _sign(descriptor)
            return descriptor
        os.close(descriptor)  # its last owner has just removed it


def _is(descriptor: int, path: Path) -> bool:
    try:
        mine, there = os.fstat(descriptor), os.stat(path)
    except OSError:
        return False
    return (mine.st_dev, mine.st_ino) == (there.st_dev, there.st_ino)


def _sign(descriptor: int) -> None:
    now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    whose = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
    with contextlib.suppress(OSError):  # a full disk does not undo the lock
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(whose).encode(), 0)


def _owner(descriptor: int) -> str:
    """` by process 17 on host since ...`, as the lock's file says."""
    try:
        whose = json.loads(os.pread(descriptor, 1000, 0))
        text = f"process {whose['pid']} on {whose['host']} since {whose['since']}"
    except (OSError, ValueError, LookupError, TypeError):
        return " by another process"
    return f" by {one_line(text)}"
