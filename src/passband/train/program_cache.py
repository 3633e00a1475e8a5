"""Compiled programs kept from one command to the next."""

import contextlib
import functools
import hashlib
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax

from ..atomic_write import make_folder, write_bytes
from ..data.store import kept_folder
from ..errors import InputError, one_line

MOST_BYTES = 512 << 20
"""Of all that is kept; beyond it the programs that were used longest ago go."""
_DIGEST = hashlib.sha256().digest_size


def keep_programs() -> str | None:
    """Let JAX keep what it compiles in the user's cache, and find it there again.

    JAX has such a cache of its own, whose files are neither written whole nor checked
    when they are read, and which is bounded only with another package: this one takes
    its place. A user who has set up JAX's, or turned it off, is left alone.

    Returns:
        Why nothing is kept, if that is worth a warning.
    """
    from jax._src import compilation_cache as of_jax

    config: Any = jax.config
    if not config.jax_enable_compilation_cache or config.jax_compilation_cache_dir:
        return None
    if not hasattr(of_jax, "_cache") or of_jax._cache is not None:
        return None  # another JAX, or a cache is there
    folder = kept_folder("programs")
    if folder is None:
        return None
    try:
        _check_owner(folder)
    except (InputError, OSError) as error:
        return f"compiled programs are not kept: {one_line(error)}"
    of_jax._cache = ProgramCache(folder)
    of_jax._cache_initialized = True
    # A program of Pallas holds the lines that it was traced from, as they were when JAX
    # first traced each function in it: the same training after trials and without them
    # would be two. One line is left where tracebacks are not full, and none of a full
    # one that is cut to nothing.
    config.update("jax_traceback_in_locations_limit", 0)
    if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
        # A fit has a hundred small programs, which together take as long as the large.
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    return None


class ProgramCache:
    """Bytes by key in a folder: JAX's `CacheInterface`.

    A file holds the digest of the bytes, then the bytes. Processes may share the
    folder: a file is there whole or not at all, and is left out if it is damaged.
    Files are written beside the work that goes on; those of a process that is killed
    are not there the next time, which costs time.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES):
        self._path = folder  # JAX's name
        self.most_bytes = most_bytes
        self._writer = ThreadPoolExecutor(1, "program-cache")
        self._size: int | None = None
        self._full = threading.Event()

    def get(self, key: str) -> bytes | None:
        path = self._place(key)
        try:
            content = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        digest, value = content[:_DIGEST], content[_DIGEST:]
        return value if hashlib.sha256(value).digest() == digest else None

    def put(self, key: str, value: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the process is ending
            self._writer.submit(self._write, self._place(key), value)

    def flush(self) -> None:
        """Wait until all is written."""
        self._writer.submit(lambda: None).result()

    def _place(self, key: str) -> Path:
        name = hashlib.sha256((key + _machine()).encode()).hexdigest()
        return self._path / name[:2] / name

    def _write(self, path: Path, value: bytes) -> None:
        if self._full.is_set():
            return
        try:
            write_bytes(path, hashlib.sha256(value).digest() + value)
            self._bound(_DIGEST + len(value))
        except (InputError, OSError):  # a full disk: it costs time, the next time
            self._full.set()

    def _bound(self, more: int) -> None:
        """Remove the programs that were used longest ago, if there are too many."""
        if self._size is not None:
            self._size += more
            if self._size <= self.most_bytes:
                return
        files = []
        for folder, _, names in os.walk(self._path):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):  # another process removed it
                    found = os.lstat(path)
                    files.append((found.st_mtime_ns, found.st_size, path))
        size = sum(bytes_ for _, bytes_, _ in files)
        for _, bytes_, path in sorted(files) if size > self.most_bytes else ():
            if size <= 0.8 * self.most_bytes:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            size -= bytes_
        self._size = size


def _check_owner(folder: Path) -> None:
    """Programs are code: nobody else may write them."""
    make_folder(folder.parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.stat(folder)
    if os.name == "posix":
        if found.st_uid != os.geteuid():
            raise InputError(f"folder `{folder}` belongs to another user")
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InputError(f"others can write to folder `{folder}`")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"folder `{folder}` cannot be written to")


@functools.cache
def _machine() -> str:
    """What the code of a CPU may rely on: machines can share a home."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            lines = file.read(1 << 13).splitlines()
    except OSError:
        return ""
    return next((x.decode() for x in lines if x.startswith(b"flags")), "")
