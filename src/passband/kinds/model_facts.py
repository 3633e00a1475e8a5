"""What a model file says of itself, and what is asked of a render, checked."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..data.volumes import suffix_of as suffix_of_path
from ..domain import scaled_sides
from ..errors import InputError
from ..field import Field

EVERY_MODEL = (".onnx", ".html")
"""What a model of any kind is written as, by `kinds.render`."""


def shape_of(field: Field, about: dict[str, Any], dims: int) -> list[int]:
    """The samples of the fitted file along each axis, and its channels."""
    shape, channels = about.get("shape"), field.mlp.biases[-1].shape[-1]
    sides = shape[:-1] if isinstance(shape, list) else []
    if (
        len(sides) != dims
        or field.encoding.dims != dims
        or not all(isinstance(side, int) and 0 < side < 2**31 for side in sides)
        or shape != [*sides, channels]
        or (dims == 2 and channels > 4)
    ):
        raise InputError(
            f"the model's `shape` (={shape}) does not fit its network, which has "
            f"{field.encoding.dims} coordinates and {channels} channels"
        )
    return [*sides, channels]


def range_of(about: dict[str, Any]) -> tuple[float, float]:
    """What 0 and 1 stand for in the user's units."""
    ends = about.get("low"), about.get("high")
    low, high = (
        float(e) if isinstance(e, int | float) and abs(e) < 1e39 else math.nan
        for e in ends
    )
    if not low < high:
        raise InputError(f"the model's `low` and `high` (={ends}) make no sense")
    return low, high


def numbers_of(about: dict[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Finite numbers that the model has under a name, in that shape."""
    try:
        values = np.asarray(about[name], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError):
        values = np.full(shape, math.nan)
    if values.shape != shape or not np.isfinite(values).all():
        raise InputError(f"the model's `{name}` (={about.get(name)}) makes no sense")
    return values


def suffix_of(out: Path, known: tuple[str, ...]) -> str:
    """How the name of the file to write ends; what every model can be was seen to."""
    suffix = suffix_of_path(out)
    if suffix not in known:
        allowed = ", ".join((*known, *EVERY_MODEL))
        raise InputError(f"`out` (={out}) must end in {allowed}")
    return suffix


def check_room(numbers: int) -> None:
    """Refuse what this machine cannot hold: the values, and a copy of them to write."""
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 8 * numbers > room:
        raise InputError(
            f"{numbers:.3g} values need {8 * numbers / 2**30:.3g} GiB and this machine "
            f"has {room / 2**30:.3g}; take a smaller `size` or `resolution`"
        )


def size_of(options: Any, height: float, width: float) -> tuple[int, int]:
    """Rows and columns of a picture whose own are `height` and `width`."""
    if options.size is not None and options.resolution is not None:
        raise InputError("`size` and `resolution` exclude each other")
    if options.size is not None:
        parts = options.size.lower().split("x")
        if len(parts) != 2 or not all(p.isdecimal() and int(p) > 0 for p in parts):
            raise InputError(
                f"`size` (={options.size}) must be ROWSxCOLUMNS such as 1080x1920"
            )
        return int(parts[0]), int(parts[1])
    rows, columns = scaled_sides((height, width), options.resolution)
    return rows, columns


def refuse(options: Any, names: tuple[str, ...], why: str) -> None:
    """An option that means nothing to a kind is an error, not a silence."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise InputError(f"`{name}` {why}")
