"""A field of two coordinates as a picture of any size."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..data.images import to_user, write_image
from ..data.large_picture import TILE, write_bands
from ..errors import InputError
from ..field import Field
from ..tasks.image import render
from .kind import SILENT, Listener, Rendered, share_told
from .model_facts import check_room, range_of, shape_of, size_of, suffix_of

# What each kind of file can hold; NPY has float32 whatever the bits.
BY_BANDS = 2**26
"""Numbers from which a TIFF or NPY file is written as it is made."""
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
    channels = field.mlp.biases[-1].shape[-1]
    numbers = math.prod(size) * channels

    def bands() -> Iterator[np.ndarray]:
        """The picture from top to bottom, a band of tiles at a time."""
        rows, columns = size
        high = (crop[2] - crop[0]) / rows
        for start in range(0, rows, TILE):
            count = min(TILE, rows - start)
            top = crop[0] + start * high
            part = (top, crop[1], top + count * high, crop[3])
            yield render(field, (h, w), (count, columns), crop=part)
            listener.progress(f"evaluating the field  {(start + count) / rows:.0%}")

    def picture() -> np.ndarray:
        check_room(numbers)
        return render(field, (h, w), size, crop=crop, on_rows=share_told(listener))

    def write(out: Path) -> dict[str, Any]:
        suffix = suffix_of(out, tuple(BITS))
        if options.bits not in (None, *BITS[suffix]):
            raise InputError(
                f"`bits` (={options.bits}) must be one of "
                f"{', '.join(map(str, BITS[suffix]))} for {suffix}"
            )
        own = about.get("bits") if about.get("bits") in BITS[suffix] else None
        if numbers > BY_BANDS and suffix != ".png":
            write_bands(
                out, bands(), (*size, channels), low=low, high=high,
                bits=options.bits or own or 32,
            )  # fmt: skip
            return {"shape": [*size, channels]}
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
