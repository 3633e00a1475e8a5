"""Panels of a figure as JPEG in the arrays of a result: a tenth of their bytes."""

import io

import numpy as np
from jaxtyping import UInt8

from ..field import Field
from ..tasks.image import render

QUALITY = 92


def predicted(
    field: Field, shape: tuple[int, int]
) -> UInt8[np.ndarray, "rows columns c"]:
    """What a field of a picture of `shape` gives at its pixels, as bytes."""
    values = render(field, shape, shape)
    return np.round(255 * np.clip(values, 0, 1)).astype(np.uint8)


def packed(picture: UInt8[np.ndarray, "rows columns 3"]) -> UInt8[np.ndarray, " n"]:
    """A picture as the bytes of a JPEG file, colours at full resolution."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "JPEG", quality=QUALITY, subsampling=0)
    return np.frombuffer(stream.getvalue(), np.uint8)


def unpacked(content: UInt8[np.ndarray, " n"]) -> UInt8[np.ndarray, "rows columns 3"]:
    """The picture of `packed`, as near as JPEG keeps it."""
    from PIL import Image

    with Image.open(io.BytesIO(content.tobytes())) as image:
        return np.asarray(image.convert("RGB"))
