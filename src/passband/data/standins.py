"""Pictures that need no data set: scikit-image's photographs and generated text."""

import importlib.util
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from ..errors import InputError
from .images import read_image
from .text import text_image

# Colour photographs that lie inside scikit-image's own package; nothing is fetched.
PHOTOGRAPHS = (
    "astronaut.png",
    "coffee.png",
    "chelsea.png",
    "rocket.jpg",
    "motorcycle_left.png",
    "retina.jpg",
    "hubble_deep_field.jpg",
    "ihc.png",
)


def standin_images(
    kind: str, count: int, size: int = 256
) -> UInt8[np.ndarray, "count size size 3"]:
    """Square pictures in place of the data set `natural` or `text`.

    Photographs are cut to their central square and reduced to `size`, never enlarged.
    """
    if count < 1:
        raise InputError(f"`count` (={count}) must be at least 1")
    if kind == "text":
        return np.stack([text_image(seed, size) for seed in range(count)])
    if kind != "natural":
        raise InputError(f"`kind` (={kind}) must be `natural` or `text`")
    squares = (_central_square(name) for name in PHOTOGRAPHS)
    large = [square for square in squares if square.shape[0] >= size]
    if count > len(large):
        raise InputError(
            f"`count` (={count}) is more than the {len(large)} photographs that are at "
            f"least {size} pixels wide"
        )
    return np.stack([_reduced(square, size) for square in large[:count]])


def _central_square(name: str) -> UInt8[np.ndarray, "side side 3"]:
    spec = importlib.util.find_spec("skimage")
    if spec is None or spec.origin is None:
        raise InputError("scikit-image is not installed; its photographs stand in")
    pixels = read_image(Path(spec.origin).parent / "data" / name).values[..., :3]
    rows, columns, _ = pixels.shape
    side = min(rows, columns)
    top, left = (rows - side) // 2, (columns - side) // 2
    return pixels[top : top + side, left : left + side]


def _reduced(
    square: UInt8[np.ndarray, "side side 3"], size: int
) -> UInt8[np.ndarray, "size size 3"]:
    from PIL import Image

    if square.shape[0] == size:
        return square
    resized = Image.fromarray(square).resize((size, size), Image.Resampling.LANCZOS)
    return np.asarray(resized)
