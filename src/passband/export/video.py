"""Frames as a moving picture: GIF by itself, MP4 where an encoder is installed."""

import importlib.util
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..atomic_write import atomic_write
from ..errors import InputError

SUFFIXES = (".gif", ".mp4")


def check_video(path: Path) -> None:
    """Refuse a file that could not be written, before its frames are made."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"`{path}` must end in {' or '.join(SUFFIXES)}")
    if suffix == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise InputError(
            f"`{path}`: an MP4 file needs `pip install imageio-ffmpeg`; a .gif file "
            "needs nothing"
        )


def write_video(path: Path, frames: Sequence[np.ndarray], *, rate: int = 25) -> None:
    """Write (rows, columns, 3) uint8 frames, `rate` a second, all or nothing."""
    check_video(path)
    with atomic_write(path) as part:
        if path.suffix.lower() == ".gif":
            _write_gif(part, frames, rate)
        else:
            _write_mp4(part, frames, rate)


def _write_gif(path: Path, frames: Sequence[np.ndarray], rate: int) -> None:
    from PIL import Image

    # One palette for all frames, so that colours do not flicker.
    step = max(1, len(frames) // 8)
    sample = Image.fromarray(np.concatenate(list(frames[::step])))
    palette = sample.quantize(256, dither=Image.Dither.NONE)
    pictures = [Image.fromarray(f).quantize(palette=palette) for f in frames]
    pictures[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=round(1000 / rate),
        loop=0,
    )


def _write_mp4(path: Path, frames: Sequence[np.ndarray], rate: int) -> None:
    import imageio_ffmpeg  # pyright: ignore[reportMissingImports]

    rows, columns, _ = frames[0].shape
    writer = imageio_ffmpeg.write_frames(
        str(path),
        (columns, rows),
        fps=rate,
        codec="libx264",
        quality=8,
        macro_block_size=2,
        output_params=["-f", "mp4"],
    )
    with warnings.catch_warnings():
        # JAX warns of any fork; this one turns into ffmpeg at once.
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
        writer.send(None)
    for frame in frames:
        writer.send(np.ascontiguousarray(frame))
    writer.close()
