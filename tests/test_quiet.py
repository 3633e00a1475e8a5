"""Other libraries are quiet while anybody decodes, and as they were afterwards."""

import logging
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from PIL import Image

from passband.data.images import read_image
from passband.quiet import any_size, without_chatter, without_stderr


def test_the_last_to_leave_puts_everything_back():
    log, limit = logging.getLogger("PIL"), Image.MAX_IMAGE_PIXELS
    before = log.disabled, log.propagate, list(log.handlers), warnings.filters[:]
    first = [change() for change in (without_chatter, any_size)]
    second = [change() for change in (without_chatter, any_size)]
    for context in (*first, *second):
        context.__enter__()
    for context in first:
        context.__exit__(None, None, None)
    assert log.disabled and Image.MAX_IMAGE_PIXELS is None
    for context in second:
        context.__exit__(None, None, None)
    after = log.disabled, log.propagate, list(log.handlers), warnings.filters[:]
    assert after == before and limit == Image.MAX_IMAGE_PIXELS


def test_standard_error_is_back_however_threads_leave(capfd):
    meet = Barrier(4)

    def decode(k: int) -> None:
        with without_stderr():
            meet.wait(10)
            os.write(2, b"noise of a C library\n")
            meet.wait(10)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(decode, range(4)))
    os.write(2, b"said afterwards\n")
    assert capfd.readouterr().err == "said afterwards\n"


def test_threads_read_what_one_reads(tmp_path):
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 255, (9, 8, 3), np.uint8) for _ in range(40)]
    paths = [tmp_path / f"{k}.png" for k in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        Image.fromarray(picture).save(path)
    before = warnings.filters[:]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(read_image, paths))
    for image, picture in zip(found, pictures, strict=True):
        np.testing.assert_array_equal(image.values, picture)
    assert warnings.filters[:] == before
