"""Pictures made ready for paper: range, alpha, size, and where the detail is."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import INK, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[int, int, int, int]
"""Row, column, height and width of a part of a picture."""

COLOUR_CHANNELS = {1: 1, 2: 1, 3: 3, 4: 3}
"""Colour channels of a picture with c channels: 2 is grey and alpha, 4 RGBA."""

CHECKER = (0.93, 0.82)


def as_picture(image: ArrayLike, name: str = "image") -> np.ndarray:
    """A float (rows, cols, c) array, in [0, 1] if it came as unsigned integers.

    Other numbers keep their values.
    """
    array = np.asarray(image)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in COLOUR_CHANNELS or array.size == 0:
        raise ValueError(
            f"`{name}` has shape {np.shape(image)}; "
            "a picture is (rows, cols) or (rows, cols, 1 to 4)"
        )
    if array.dtype.kind == "u":
        return array.astype(np.float32) / np.iinfo(array.dtype).max
    return array.astype(np.float32)


def picture_pair(
    target: ArrayLike, prediction: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Both as pictures of one shape."""
    first, second = as_picture(target, "target"), as_picture(prediction, "prediction")
    if first.shape != second.shape:
        raise ValueError(
            f"`prediction` has shape {second.shape} and `target` {first.shape}; "
            "they must be equal"
        )
    return first, second


def value_range(picture: np.ndarray) -> tuple[float, float]:
    """The values shown black and white: 0 and 1, unless the picture leaves [0, 1]."""
    finite = picture[np.isfinite(picture)]
    if finite.size == 0 or (finite.min() >= 0 and finite.max() <= 1):
        return 0.0, 1.0
    return float(finite.min()), float(finite.max())


def as_rgb(picture: np.ndarray, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """What the eye sees: (rows, cols, 3) in [0, 1], alpha laid over a light checker.

    Values outside [low, high] are clipped and NaN is drawn black.
    """
    unit = np.nan_to_num((picture - low) / (high - low), nan=0.0, posinf=1, neginf=0)
    unit = np.clip(unit, 0, 1)
    rows, cols, channels = unit.shape
    colours = COLOUR_CHANNELS[channels]
    rgb = np.broadcast_to(unit[:, :, :colours], (rows, cols, 3))
    if colours == channels:
        return rgb
    tile = max(2, max(rows, cols) // 40)
    odd = (np.arange(rows)[:, None] // tile + np.arange(cols) // tile) % 2
    paper = np.where(odd, *CHECKER)[:, :, None]
    alpha = unit[:, :, -1:]
    return alpha * rgb + (1 - alpha) * paper


def shrink(picture: np.ndarray, limit: int) -> np.ndarray:
    """Area-averaged so that no side exceeds `limit`; colours weighted by alpha.

    Every output pixel is the mean of the input area it covers, parts of pixels
    included, so nothing aliases. A picture that fits already comes back as it is.
    """
    rows, cols, channels = picture.shape
    scale = min(1.0, limit / max(rows, cols))
    if scale == 1.0:
        return picture
    picture = np.nan_to_num(picture)
    colours = COLOUR_CHANNELS[channels]
    if colours < channels:
        alpha = picture[:, :, -1:]
        picture = np.concatenate([picture[:, :, :colours] * alpha, alpha], axis=2)
    size = max(1, round(rows * scale)), max(1, round(cols * scale))
    small = _area_mean(_area_mean(picture, size[0], 0), size[1], 1)
    if colours < channels:
        alpha = small[:, :, -1:]
        seen = np.maximum(alpha, np.finfo(np.float32).tiny)
        small = np.concatenate([small[:, :, :colours] / seen, alpha], axis=2)
    return small


def detailed_box(picture: np.ndarray) -> Box | None:
    """The window with the most detail, where detail is the squared gradient.

    It is about a sixth of the picture and at most 128 pixels wide, so that each pixel
    can be seen; None where a window would show more than half of the picture.
    """
    rows, cols, _ = picture.shape
    side = int(np.clip(round(np.sqrt(rows * cols) / 6), 24, 128))
    height, width = min(side, rows), min(side, cols)
    if 2 * height * width > rows * cols:
        return None
    detail = _window_sums(detail_map(picture), height, width)
    best = detail.max()
    if not best > 0:
        return (rows - height) // 2, (cols - width) // 2, height, width
    row, col = np.unravel_index(int(np.argmax(detail)), detail.shape)
    return int(row), int(col), height, width


def detail_map(picture: np.ndarray) -> np.ndarray:
    """Squared gradient of the mean of the colours, weighted by alpha, at each pixel."""
    channels = picture.shape[2]
    grey = np.nan_to_num(picture[:, :, : COLOUR_CHANNELS[channels]].mean(axis=2))
    if COLOUR_CHANNELS[channels] < channels:
        grey = grey * picture[:, :, -1]
    down, right = np.zeros_like(grey), np.zeros_like(grey)
    down[:-1] = np.diff(grey, axis=0) ** 2
    right[:, :-1] = np.diff(grey, axis=1) ** 2
    return down + right


def whole(picture: np.ndarray) -> Box:
    """The box of a whole picture."""
    return 0, 0, picture.shape[0], picture.shape[1]


def cut(picture: np.ndarray, box: Box) -> np.ndarray:
    """The part of a picture inside a box."""
    row, col, height, width = box
    return picture[row : row + height, col : col + width]


def check_box(box: Box, picture: np.ndarray) -> Box:
    """The box, if it is a part of the picture."""
    row, col, height, width = box
    rows, cols, _ = picture.shape
    inside = min(row, col) >= 0 and row + height <= rows and col + width <= cols
    if not (inside and height > 0 and width > 0):
        raise ValueError(
            f"`zoom` (={tuple(box)}) must be (row, col, height, width) "
            f"inside {rows} x {cols} pixels"
        )
    return box


def show(
    axes: "Axes",
    pixels: np.ndarray,
    box: Box,
    *,
    interpolation: str = "auto",
    true_shape: bool = True,
    **options: Any,
) -> None:
    """Fill axes with the pixels of a box, in its coordinates, behind a thin frame."""
    row, col, height, width = box
    axes.imshow(
        pixels,
        extent=(col, col + width, row + height, row),
        interpolation=interpolation,
        aspect="equal" if true_shape else "auto",
        **options,
    )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)


def outline(axes: "Axes", box: Box) -> None:
    """Draw a box on a picture, dark on light so that it shows on any."""
    from matplotlib.patches import Rectangle

    row, col, height, width = box
    for colour, thickness in ((INK, 2.6), (PAPER, 1.2)):
        axes.add_patch(
            Rectangle(
                (col, row),
                width,
                height,
                fill=False,
                edgecolor=colour,
                linewidth=thickness,
                joinstyle="miter",
                clip_on=False,
            )
        )


def _area_mean(values: np.ndarray, count: int, axis: int) -> np.ndarray:
    """Means over `count` equal stretches of an axis, ends weighted by their share."""
    length = values.shape[axis]
    if count == length:
        return values
    values = np.moveaxis(values, axis, 0)
    edges = np.linspace(0, length, count + 1)[:-1]
    first = edges.astype(int)
    # A pixel that an edge cuts belongs to both sides, each by the share it covers.
    share = (edges - first).reshape(-1, *[1] * (values.ndim - 1))
    before = share * values[first]
    sums = np.add.reduceat(values, first, axis=0) - before
    sums[:-1] += before[1:]
    mean = sums * (count / length)
    return np.moveaxis(mean.astype(np.float32), 0, axis)


def _window_sums(values: np.ndarray, height: int, width: int) -> np.ndarray:
    """The sum in every height x width window, by a summed-area table."""
    table = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    np.cumsum(values, axis=0, out=table[1:, 1:])
    np.cumsum(table, axis=1, out=table)
    return (
        table[height:, width:]
        - table[:-height, width:]
        - table[height:, :-width]
        + table[:-height, :-width]
    )
