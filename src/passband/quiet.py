"""What other libraries say and forbid while they decode a file, kept to themselves.

Logs, warnings, a C library's standard error and Pillow's largest picture belong to the
whole process, and several threads may read files: whoever comes first turns them off,
and whoever goes last turns them on again.
"""

import contextlib
import functools
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

LOGS = ("tifffile", "nibabel", "nibabel.global", "trimesh", "PIL", "pydicom")
_NOBODY = logging.NullHandler()


def for_all_threads(
    change: Callable[[], Iterator[None]],
) -> Callable[[], AbstractContextManager[None]]:
    """A context that many may be in at once; `change` is that of one."""
    lock, inside = threading.Lock(), 0
    alone = contextlib.contextmanager(change)
    held: AbstractContextManager[None] = contextlib.nullcontext()

    @functools.wraps(change)
    @contextlib.contextmanager
    def together() -> Iterator[None]:
        nonlocal inside, held
        with lock:
            if not inside:
                held = alone()
                held.__enter__()
            inside += 1
        try:
            yield
        finally:
            with lock:
                inside -= 1
                if not inside:
                    held.__exit__(None, None, None)

    return together


@for_all_threads
def without_chatter() -> Iterator[None]:
    """Keep other libraries' logs and warnings from the terminal."""
    logs = [logging.getLogger(name) for name in LOGS]
    before = [(log.disabled, log.propagate) for log in logs]
    try:
        for log in logs:
            # What those below it say ends here, with nobody.
            log.disabled, log.propagate = True, False
            log.addHandler(_NOBODY)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, (disabled, propagate) in zip(logs, before, strict=True):
            log.disabled, log.propagate = disabled, propagate
            log.removeHandler(_NOBODY)


@for_all_threads
def without_stderr() -> Iterator[None]:
    """Keep what a C library prints past Python from the terminal, while it decodes."""
    try:
        kept = os.dup(2)
    except OSError:  # a process may have no standard error
        yield
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@for_all_threads
def any_size() -> Iterator[None]:
    """Pillow's own limit is a number of pixels; the gate's is memory, and can be
    raised."""
    from PIL import Image

    before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
