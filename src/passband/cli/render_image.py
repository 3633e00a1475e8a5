"""A picture model as a picture of any size."""

import math
from pathlib import Path
from typing import Any

from ..data.images import write_image
from ..errors import InputError
from ..field import Field
from ..tasks.image import render as render_picture
from .model_facts import check_room, range_of, shape_of, suffix_of
from .render import Options

# What each kind of file can hold; NPY has float32 whatever the bits.
BITS = {".png": (8, 16), ".tif": (8, 16, 32), ".tiff": (8, 16, 32), ".npy": (32,)}


def render(
    field: Field, about: dict[str, Any], options: Options, out: Path
) -> dict[str, Any]:
    """Write the picture."""
    suffix = suffix_of(out, tuple(BITS))
    h, w, _ = shape_of(field, about, 2)
    low, high = range_of(about)
    if options.bits not in (None, *BITS[suffix]):
        raise InputError(
            f"`--bits` (={options.bits}) must be one of "
            f"{', '.join(map(str, BITS[suffix]))} for {suffix}"
        )
    own = about.get("bits") if about.get("bits") in BITS[suffix] else None
    crop = (0.0, 0.0, float(h), float(w))
    if options.crop is not None:
        crop = _crop(options.crop, h, w)
    size = _size(options, crop[2] - crop[0], crop[3] - crop[1])
    check_room(math.prod(size) * field.mlp.biases[-1].size)
    picture = render_picture(field, (h, w), size, crop=crop)
    bits = own if options.bits is None else options.bits
    write_image(out, picture, low=low, high=high, bits=bits)
    return {"shape": list(picture.shape)}


def _size(options: Options, height: float, width: float) -> tuple[int, int]:
    if options.size is not None and options.resolution is not None:
        raise InputError("`--size` and `--resolution` exclude each other")
    scale = 1.0
    if options.size is not None:
        parts = options.size.lower().split("x")
        if len(parts) != 2 or not all(p.isdecimal() and int(p) > 0 for p in parts):
            raise InputError(
                f"`--size` (={options.size}) must be ROWSxCOLUMNS such as 1080x1920"
            )
        return int(parts[0]), int(parts[1])
    if options.resolution is not None:
        scale = options.resolution / max(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def _crop(text: str, h: int, w: int) -> tuple[float, float, float, float]:
    try:
        top, left, bottom, right = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"`--crop` (={text}) must be TOP,LEFT,BOTTOM,RIGHT in pixels"
        ) from None
    if not (0 <= top < bottom <= h and 0 <= left < right <= w):
        raise InputError(
            f"`--crop` (={text}) must lie inside the picture of {h} x {w}: "
            f"0 <= TOP < BOTTOM <= {h}, 0 <= LEFT < RIGHT <= {w}"
        )
    return top, left, bottom, right
