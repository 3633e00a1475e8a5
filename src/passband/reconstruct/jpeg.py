"""A picture as a JPEG of no more bytes than there is room for."""

import io
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

BEST = 100


class Jpeg(NamedTuple):
    """A picture in [0, 1] as its file gives it back."""

    values: Float[np.ndarray, "h w c"]
    bytes: int
    quality: int


def jpeg_within(picture: Float[np.ndarray, "h w c"], room: int) -> Jpeg | None:
    """The best JPEG of at most `room` bytes, by bisection of its quality.

    With colours at full and at half resolution; None where not even the worst of them
    fits, or where the picture is neither grey nor of three colours.
    """
    if picture.shape[2] not in (1, 3):
        return None
    pixels = np.round(255 * np.clip(picture, 0, 1)).astype(np.uint8)
    found = [_largest(pixels, room, subsampling) for subsampling in (0, 2)]
    tried = [jpeg for jpeg in found if jpeg is not None]
    return min(tried, key=lambda j: np.mean((j.values - picture) ** 2), default=None)


def _largest(pixels: np.ndarray, room: int, subsampling: int) -> Jpeg | None:
    low, high, best = 1, BEST, None
    while low <= high:
        quality = (low + high) // 2
        data = _encode(pixels, quality, subsampling)
        if len(data) > room:
            high = quality - 1
        else:
            low, best = quality + 1, (data, quality)
    if best is None:
        return None
    data, quality = best
    return Jpeg(_decode(data, pixels.shape), len(data), quality)


def _encode(pixels: np.ndarray, quality: int, subsampling: int) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    picture = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    picture.save(
        stream, "JPEG", quality=quality, subsampling=subsampling, optimize=True
    )
    return stream.getvalue()


def _decode(data: bytes, shape: tuple[int, ...]) -> np.ndarray:
    from PIL import Image

    with Image.open(io.BytesIO(data)) as picture:
        return np.asarray(picture, np.float32).reshape(shape) / 255
