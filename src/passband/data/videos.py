"""Videos: GIF, a folder of frames, NPZ, NPY, and MP4 where a decoder is installed."""

import contextlib
import math
import os
import re
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from jaxtyping import Shaped
from PIL import Image as Pillow

from ..errors import InputError
from ..file_gate import (
    check_cost,
    check_file,
    library,
    npz_shapes,
    read_npy,
    read_npz,
    reader,
    room_for,
)
from .arrays import stored
from .images import read_image
from .raster import pillow_pixels

FRAMES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
FILMS = (".mp4", ".mov", ".avi", ".mkv", ".webm")
VIDEO = "a GIF, NPZ, NPY or MP4 file, or a folder of frames"
_MOST_FRAMES = 1_000_000


@dataclass(frozen=True, eq=False)
class Video:
    """Frames of one size."""

    values: Shaped[np.ndarray, "h w t c"]
    """Rows, columns, frames: (x, y, t) in the order of coordinates."""
    low: float
    high: float
    """What 0 and 1 stand for."""
    name: str
    rate: float | None
    """Frames a second, where the file says."""


def read_video(
    path: Path, *, frames: str | None = None, longest: int | None = None
) -> Video:
    """The video in a file or a folder.

    Args:
        frames: `FIRST:STOP`, those that are taken; STOP is not among them.
        longest: reduce frames by a whole factor until no side is longer.
    """
    path = Path(path)
    rate = None
    if os.path.isdir(path):
        values = _read_folder(path)
    elif path.suffix.lower() in (".npy", ".npz"):
        values, rate = read_frames(path)
    elif path.suffix.lower() == ".gif":
        values, rate = read_gif(path)
    elif path.suffix.lower() in FILMS:
        values, rate = read_film(path)
    else:
        check_file(path, VIDEO)
        raise InputError(f"`{path}` ends in `{path.suffix}`; give {VIDEO}")
    if values.ndim == 3:
        values = values[..., None]
    if values.ndim != 4 or not 1 <= values.shape[3] <= 4:
        raise InputError(
            f"`{path}` has shape {values.shape}; a video is (frames, rows, columns) or "
            "(frames, rows, columns, channels) with 1 to 4 channels"
        )
    values = values[_span(frames, len(values))]
    if min(values.shape[:3]) < 2:
        count, rows, columns = values.shape[:3]
        raise InputError(
            f"`{path}` has {count} frames of {rows} x {columns} pixels; a video needs "
            "at least 2 of 2 x 2"
        )
    values, low, high = stored(values, f"`{path}`")
    if longest is not None:
        values = _reduced(values, max(1, -(-max(values.shape[1:3]) // longest)))
    name = path.stem if os.path.isfile(path) else os.path.basename(path.resolve())
    values = np.ascontiguousarray(np.moveaxis(values, 0, 2))
    return Video(values, low, high, name, rate)


def video_files(path: Path) -> list[Path]:
    """Every file that `read_video` reads."""
    return _frames_in(path) if os.path.isdir(path) else [path]


@reader("an NPZ or NPY file of frames")
def read_frames(path: Path) -> tuple[np.ndarray, float | None]:
    """An array, or of an archive `frames` (or its only array of frames) and `fps`."""
    if path.suffix.lower() == ".npy":
        return _numbers(path, read_npy(path)), None
    shapes = npz_shapes(path)
    films = [name for name, shape in shapes.items() if len(shape) in (3, 4)]
    name = "frames" if "frames" in shapes else films[0] if len(films) == 1 else None
    if name is None:
        raise InputError(
            f"`{path}` has no array `frames`; it has "
            + ", ".join(f"`{name}` {shape}" for name, shape in shapes.items())
        )
    arrays = read_npz(path, (name, "fps"))
    rate = None
    if "fps" in arrays and arrays["fps"].size == 1:
        rate = float(arrays["fps"].ravel()[0])
        if not 0 < rate < math.inf:
            raise InputError(f"`{path}`: `fps` is {rate}; it must be positive")
    return _numbers(path, arrays[name]), rate


def _numbers(path: Path, values: np.ndarray) -> np.ndarray:
    if np.iscomplexobj(values):
        raise InputError(f"`{path}` holds complex numbers; frames are real")
    return values


@reader("a GIF file")
def read_gif(path: Path) -> tuple[np.ndarray, float | None]:
    """Every frame as it is shown, in RGB."""
    size = check_file(path, "a GIF file")
    with _at_most(room_for(size)), Pillow.open(path, formats=("GIF",)) as image:
        count = min(getattr(image, "n_frames", 1), _MOST_FRAMES)
        claims = f"{count} frames of {image.width} x {image.height} pixels"
        check_cost(path, 8.0 * count * image.width * image.height, size, claims)
        frames, waits = [], []
        for k in range(count):
            image.seek(k)
            frames.append(pillow_pixels(image.convert("RGB")))
            waits.append(float(image.info.get("duration", 0)))
    wait = float(np.mean(waits))
    return np.stack(frames), 1000 / wait if wait > 0 else None


@contextlib.contextmanager
def _at_most(room: int) -> Iterator[None]:
    """Pillow refuses frames of more pixels than there is room for: any of them may
    make the picture larger than its header says, and it sees them all to count them."""
    before, Pillow.MAX_IMAGE_PIXELS = Pillow.MAX_IMAGE_PIXELS, room // 32
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            yield
    finally:
        Pillow.MAX_IMAGE_PIXELS = before


@reader("an MP4 file")
def read_film(path: Path) -> tuple[np.ndarray, float | None]:
    """Every frame of a film that ffmpeg decodes, in RGB."""
    with warnings.catch_warnings():
        # JAX warns of any fork; this one turns into ffmpeg at once.
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
        ffmpeg = library("imageio_ffmpeg", "MP4 files", extra="video").get_ffmpeg_exe()
    size = check_file(path, "an MP4 file")
    words = [ffmpeg, "-nostdin", "-i", os.fspath(path.resolve()), "-f", "image2pipe"]
    words += ["-vcodec", "ppm", "-"]
    frames, taken = [], 0
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said) as process:
            assert process.stdout is not None
            try:
                while (frame := _ppm(process.stdout)) is not None:
                    taken += 2 * frame.nbytes
                    claims = f"{len(frames) + 1} frames or more"
                    check_cost(path, taken, size, claims)
                    frames.append(frame)
            finally:
                process.kill()
        said.seek(0)
        rate = re.search(rb"([\d.]+) fps", said.read())
    if not frames:
        raise InputError(f"`{path}` is damaged or no film: ffmpeg finds no frame in it")
    return np.stack(frames), float(rate[1]) if rate else None


def _ppm(stream: IO[bytes]) -> np.ndarray | None:
    """The next picture of a stream of PPM, 8 bits; None at its end."""
    if stream.readline().strip() != b"P6":
        return None
    columns, rows = map(int, stream.readline().split())
    stream.readline()
    data = stream.read(3 * rows * columns)
    if len(data) < 3 * rows * columns:
        return None
    return np.frombuffer(data, np.uint8).reshape(rows, columns, 3)


def _read_folder(folder: Path) -> np.ndarray:
    paths = _frames_in(folder)
    if not paths:
        raise InputError(f"`{folder}` has no frames: {', '.join(FRAMES)} files")
    first = read_image(paths[0]).values
    packed = sum(path.stat().st_size for path in paths)
    rows, columns, _ = first.shape
    claims = f"{len(paths)} frames of {rows} x {columns} pixels"
    check_cost(folder, 2.0 * first.nbytes * len(paths), packed, claims)
    frames = [first]
    for path in paths[1:]:
        values = read_image(path).values
        if values.shape != first.shape or values.dtype != first.dtype:
            raise InputError(
                f"`{path}` is {values.shape} of {values.dtype} and `{paths[0]}` "
                f"{first.shape} of {first.dtype}; the frames of a video are alike"
            )
        frames.append(values)
    return np.stack(frames)


def _frames_in(folder: Path) -> list[Path]:
    """In the order of the numbers in their names: 2 before 10."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in FRAMES and p.is_file()]

    def place(path: Path) -> list[tuple[int, str]]:
        parts = re.findall(r"\d+|\D+", path.name)
        return [(int(p), "") if p.isdecimal() else (-1, p) for p in parts]

    return sorted(found, key=place)


def _span(frames: str | None, count: int) -> slice:
    if frames is None:
        return slice(None)
    try:
        first, stop = (int(part) if part else None for part in frames.split(":"))
    except ValueError:
        raise InputError(f"`frames` (={frames}) must be FIRST:STOP") from None
    span = slice(first, stop)
    if len(range(*span.indices(count))) < 2:
        raise InputError(f"`frames` (={frames}) leaves fewer than 2 of {count} frames")
    return span


def _reduced(values: np.ndarray, factor: int) -> np.ndarray:
    """Means of factor x factor pixels; rows and columns over are cut."""
    if factor == 1:
        return values
    count, rows, columns, channels = values.shape
    rows, columns = rows // factor, columns // factor
    out = np.empty((count, rows, columns, channels), values.dtype)
    for k, frame in enumerate(values):
        whole = frame[: rows * factor, : columns * factor].astype(np.float64)
        mean = whole.reshape(rows, factor, columns, factor, channels).mean(axis=(1, 3))
        out[k] = np.rint(mean) if values.dtype.kind in "ui" else mean
    return out
