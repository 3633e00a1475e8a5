"""A field of two coordinates as a picture of any size."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..data.images import to_user, write_image
from ..errors import InputError
from ..field import Field
from ..tasks.image import render
from .kind import SILENT, Listener, Rendered, share_told
from .model_facts import check_room, range_of, shape_of, size_of, suffix_of

# What each kind of file can hold; NPY has float32 whatever the bits.
BITS = {".png": (8, 16), ".tif": (8, 16, 32), ".tiff": (8, 16, 32), ".npy": (32,)}


def render_picture(
    field: Field, about: dict[str, Any], options: Any, listener: Listener = SILENT
) -> Rendered:
    """A field of two coordinates as a picture of any size."""
    h, w, _ = shape_of(field, about, 2)
    low, high = range_of(about)
    crop = (0.0, 0.0, float(h), float(w))
    if options.crop is not None:
        crop = _crop(options.crop, h, w)
    size = size_of(options, crop[2] - crop[0], crop[3] - crop[1])
    check_room(math.prod(size) * field.mlp.biases[-1].shape[-1])

    def picture() -> np.ndarray:
        return render(field, (h, w), size, crop=crop, on_rows=share_told(listener))

    def write(out: Path) -> dict[str, Any]:
        suffix = suffix_of(out, tuple(BITS))
        if options.bits not in (None, *BITS[suffix]):
            raise InputError(
                f"`bits` (={options.bits}) must be one of "
                f"{', '.join(map(str, BITS[suffix]))} for {suffix}"
            )
        own = about.get("bits") if about.get("bits") in BITS[suffix] else None
        bits, values = own if options.bits is None else options.bits, picture()
        write_image(out, values, low=low, high=high, bits=bits)
        return {"shape": list(values.shape)}

    return Rendered(lambda: to_user(picture(), low, high), write)


def _crop(text: str, h: int, w: int) -> tuple[float, float, float, float]:
    try:
        top, left, bottom, right = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"`crop` (={text}) must be TOP,LEFT,BOTTOM,RIGHT in pixels"
        ) from None
    if not (0 <= top < bottom <= h and 0 <= left < right <= w):
        raise InputError(
            f"`crop` (={text}) must lie inside the picture of {h} x {w}: "
            f"0 <= TOP < BOTTOM <= {h}, 0 <= LEFT < RIGHT <= {w}"
        )
    return top, left, bottom, right
