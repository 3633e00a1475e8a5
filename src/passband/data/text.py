"""Made-up *Text* pictures: random strings on white, as in the paper's Text images."""

import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from ..errors import InputError

_STRINGS = (3, 14)
_LETTERS = (1, 12)
_CAP_HEIGHT = (8.0, 65.0)  # pixels of a picture 512 wide
_CAP_SHARE = 1493 / 2048  # DejaVu Serif's capital height over its font size
_PEN = 0.02  # a round pen around the outlines: the originals' strokes are that heavy


def text_image(
    seed: int | Sequence[int], size: int = 512
) -> UInt8[np.ndarray, "size size 3"]:
    """A white square with 3 to 14 random strings, the same for the same seed.

    Each has 1 to 12 mixed-case letters in one random colour, with capitals 8 to 65
    pixels high at size 512 and in proportion at others. Strings lie level, may overlap
    and may be cut by the border. The paper's own generator was never published: this
    follows what its pictures show (protocol, section 5), in a serif face whose strokes
    grow with the size.
    """
    from PIL import Image, ImageDraw, ImageFont

    if size < 16:
        raise InputError(f"`size` (={size}) must be at least 16 pixels")
    rng = np.random.default_rng(seed)
    picture = Image.new("RGB", (size, size), "white")
    draw = ImageDraw.Draw(picture)
    alphabet = np.array(list(string.ascii_letters))
    for _ in range(rng.integers(_STRINGS[0], _STRINGS[1] + 1)):
        length = rng.integers(_LETTERS[0], _LETTERS[1] + 1)
        word = "".join(rng.choice(alphabet, length))
        height = rng.uniform(*_CAP_HEIGHT) * size / 512
        red, green, blue = (int(level) for level in rng.integers(0, 256, 3))
        x, y = rng.uniform(0, size, 2)
        font = ImageFont.truetype(
            _font_file(), height / _CAP_SHARE, layout_engine=ImageFont.Layout.BASIC
        )
        draw.text(
            (x, y),
            word,
            fill=(red, green, blue),
            font=font,
            anchor="mm",
            stroke_width=height * _PEN,
        )
    return np.array(picture)


def _font_file() -> Path:
    """DejaVu Serif, which comes with matplotlib under a free licence."""
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSerif.ttf"
