"""One picture that makes the point: a target, and what each mapping made of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.pixels import Box
from passband.plot.style import (
    MUTED,
    axes_at,
    colour_of,
    family_of,
    new_figure,
    readable,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN, GAP = 0.2, 0.15
HEAD, TITLES, SCORE = 0.55, 0.5, 0.62
COLUMN, TALLEST = 3.4, 4.4
ZOOM = 1.5

Rectangle = tuple[float, float, float, float]


@styled
def demo_figure(
    target: ArrayLike,
    predictions: Mapping[str, tuple[ArrayLike, float]],
    *,
    zoom: Box | None = None,
    headline: str = "The same network, without and with Fourier features",
) -> "Figure":
    """Target and predictions side by side, each with its PSNR and a part magnified.

    Args:
        predictions: for each mapping word, the predicted picture and its PSNR in dB.
        zoom: (row, col, height, width) to magnify; by default the most detailed part.
        headline: one line above the pictures; empty for none.
    """
    if not predictions:
        raise ValueError("`predictions` is empty; give at least one to compare")
    truth = pixels.as_picture(target, "target")
    low, high = pixels.value_range(truth)
    box = pixels.detailed_box(truth) if zoom is None else pixels.check_box(zoom, truth)
    layout = _layout(truth, box)
    count = 1 + len(predictions)
    width = 2 * MARGIN + count * COLUMN + (count - 1) * GAP
    top = (HEAD if headline else 0.1) + TITLES
    below = MARGIN if layout.beside else SCORE
    figure = new_figure(width, top + layout.height + below)
    if headline:
        _write(figure, headline, MARGIN, 0.3, fontsize=12.5, fontweight="bold")

    first = next(iter(predictions.values()))[1]
    views: list[tuple[str, np.ndarray]] = [("", truth)]
    for word, (prediction, _) in predictions.items():
        views.append((word, pixels.picture_pair(target, prediction)[1]))
    for index, (word, picture) in enumerate(views):
        left = MARGIN + index * (COLUMN + GAP)
        title, subtitle = _titles(word, truth)
        _write(figure, title, left, top - 0.3, fontsize=10.5, fontweight="bold")
        _write(figure, subtitle, left, top - 0.12, fontsize=8.5, color=MUTED)
        axes = _axes(figure, left, top, layout.overview)
        small = pixels.as_rgb(pixels.shrink(picture, 1200), low, high)
        whole = pixels.whole(picture)
        pixels.show(axes, small, whole, true_shape=layout.true_shape)
        if box is not None:
            pixels.outline(axes, box)
            axes = _axes(figure, left, top, layout.zoom)
            part = pixels.as_rgb(pixels.cut(picture, box), low, high)
            pixels.show(axes, part, box, interpolation="nearest")
        if not word:
            continue
        score = predictions[word][1]
        line = top + layout.height + 0.38
        big = {"fontsize": 21, "fontweight": "bold", "color": readable(colour_of(word))}
        gain = "PSNR"
        if index > 1:
            gain = f"PSNR, {score - first:+.1f} dB".replace("-", "\N{MINUS SIGN}")
        if layout.beside:
            start, line = left + layout.zoom[2] + GAP, top + layout.zoom[1]
            _write(figure, f"{score:.1f} dB", start, line + 0.3, **big)
            _write(figure, gain, start, line + 0.55, fontsize=10.5)
        else:
            _write(figure, f"{score:.1f} dB", left, line, **big)
            _write(figure, gain, left + COLUMN, line, fontsize=10.5, ha="right")
    return figure


class _Layout(NamedTuple):
    """One column, in inches from its top left: boxes are (left, top, width, height)."""

    height: float
    overview: Rectangle
    zoom: Rectangle
    beside: bool
    """Whether there is room for the score beside the zoom."""
    true_shape: bool


def _layout(picture: np.ndarray, box: Box | None) -> _Layout:
    """The zoom below the picture, as wide as a wide one; beside a tall one. It hides
    nothing: every part of a picture is somebody's detail."""
    rows, cols, _ = picture.shape
    aspect = cols / rows
    ratio = 1.0 if box is None else box[2] / box[3]
    if aspect > 2:
        high = max(COLUMN / aspect, 0.3)  # a thinner strip is stretched to be seen
        overview = (0.0, 0.0, COLUMN, high)
        zoom = (0.0, high + GAP, COLUMN, COLUMN * ratio)
        height = high if box is None else high + GAP + COLUMN * ratio
        return _Layout(height, overview, zoom, False, high == COLUMN / aspect)
    if aspect < 0.5:
        wide = max(TALLEST * aspect, 0.3)
        left = wide + GAP
        space = COLUMN - left
        zoom = (left, 0.0, min(space, TALLEST / ratio), min(space * ratio, TALLEST))
        overview = (0.0, 0.0, wide, TALLEST)
        return _Layout(TALLEST, overview, zoom, False, wide == TALLEST * aspect)
    wide = min(COLUMN, TALLEST * aspect)
    high = wide / aspect
    overview = (0.0, 0.0, wide, high)
    if box is None:
        return _Layout(high, overview, overview, False, True)
    zoom = (0.0, high + GAP, min(ZOOM, ZOOM / ratio), min(ZOOM, ZOOM * ratio))
    return _Layout(zoom[1] + zoom[3], overview, zoom, True, True)


def _titles(word: str, picture: np.ndarray) -> tuple[str, str]:
    """What a panel is, in words, and the mapping word that makes it."""
    if not word:
        return "Target", f"{picture.shape[1]} × {picture.shape[0]} pixels"
    family = family_of(word)
    if family is None:
        return word, ""
    return f"{'Without' if family == 'none' else 'With'} Fourier features", word


def _write(figure: "Figure", text: str, left: float, down: float, **options) -> None:
    """Text whose baseline starts at that many inches from the top left corner."""
    width, height = figure.get_size_inches()
    figure.text(left / width, 1 - down / height, text, **options)


def _axes(figure: "Figure", left: float, top: float, box: Rectangle) -> "Axes":
    return axes_at(figure, left + box[0], top + box[1], box[2], box[3])
