"""A video model at any time and size: one frame, a film, or numbered pictures."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import atomic_write
from ..data.images import quantise, to_user, write_image
from ..errors import InputError
from ..export.video import SUFFIXES as FILMS
from ..export.video import check_video, write_video
from ..field import Field
from ..tasks.slices import places_along, render_slices
from .kind import Listener, Rendered, share_told
from .model_facts import check_room, range_of, refuse, shape_of, size_of, suffix_of

PICTURES = (".png", ".tif", ".tiff")
RATE = 25
"""Frames a second where the fitted file says none."""


def render_video(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """The frames at the times that are asked for, by default those of the video."""
    refuse(options, ("crop", "bits"), "is for pictures, and this is a video")
    h, w, t, channels = shape_of(field, about, 3)
    low, high = range_of(about)
    size = size_of(options, h, w)
    times = _times(options, t)
    check_room(math.prod(size) * channels * len(times))

    def frames() -> np.ndarray:
        rows, columns = size
        places = (h * np.arange(rows) / rows, w * np.arange(columns) / columns, times)
        axes = places_along(places, (h, w, t))
        return render_slices(field, axes, on_slice=share_told(listener))

    def values() -> np.ndarray:
        found = to_user(frames(), low, high)
        return found[0] if options.time is not None else found

    def write(out: Path) -> dict[str, Any]:
        suffix = suffix_of(out, (*FILMS, *PICTURES, ".npy"))
        files = [out]
        if suffix in PICTURES and len(times) > 1:
            digits = len(str(len(times) - 1))
            files = [
                out.with_stem(f"{out.stem}-{k:0{digits}d}") for k in range(len(times))
            ]
        if not options.overwrite and (there := next(filter(Path.exists, files), None)):
            raise InputError(f"`{there}` exists; `overwrite` replaces it")
        if suffix in FILMS:
            check_video(out)
            # As long as the video was, however many frames show it.
            rate = _rate(about) * len(times) / t if options.frames else _rate(about)
            shown = [_rgb(quantise(frame, 8)) for frame in frames()]
            write_video(out, shown, rate=max(1, round(rate)))
        elif suffix == ".npy":
            with atomic_write(out) as part:
                np.save(part, values())
        else:
            bits = (
                about.get("bits") if suffix != ".png" or about.get("bits") != 32 else 8
            )
            for path, frame in zip(files, frames(), strict=True):
                write_image(path, frame, low=low, high=high, bits=bits)
        return {
            "shape": [len(times), *size, channels],
            "files": [str(path) for path in files],
            "text": f"{len(times)} frame{'s' if len(times) > 1 else ''}",
        }

    return Rendered(values, write)


def _times(options: Any, count: int) -> np.ndarray:
    if options.time is not None and options.frames is not None:
        raise InputError("`time` and `frames` exclude each other")
    if options.time is not None:
        if not 0 <= options.time <= count - 1:
            raise InputError(
                f"`time` (={options.time:g}) must lie between frames 0 and {count - 1}"
            )
        return np.array([float(options.time)])
    if options.frames is not None:
        return np.linspace(0, count - 1, options.frames)
    return np.arange(count, dtype=float)


def _rate(about: dict[str, Any]) -> float:
    rate = about.get("rate")
    if rate is None:
        return RATE
    if not isinstance(rate, int | float) or not 0 < rate < math.inf:
        raise InputError(f"the model's `rate` (={rate}) makes no sense")
    return float(rate)


def _rgb(frame: np.ndarray) -> np.ndarray:
    """Three channels of 1 to 4; what is transparent lies on black."""
    channels = frame.shape[2]
    if channels in (2, 4):
        alpha = frame[..., -1:] / np.float32(255)
        frame = np.rint(frame[..., :-1] * alpha).astype(np.uint8)
    return np.repeat(frame, 3, axis=2) if frame.shape[2] == 1 else frame
