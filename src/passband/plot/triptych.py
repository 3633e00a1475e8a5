"""Target, prediction and error side by side, above a zoom into the finest detail."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.pixels import Box
from passband.plot.style import MUTED, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# White for no error, and ever darker, so that it reads in a grey print too.
ERROR_COLOURS = ["#FFFFFF", "#FCDDBB", "#F0934F", "#BE3A4B", "#571554", "#0C0520"]
WIDTH = 10.0
MARGIN = 0.15
GAP = 0.12
TITLE = 0.28
FOOT = 0.6


@styled
def triptych(
    target: ArrayLike, prediction: ArrayLike, *, zoom: Box | None = None
) -> "Figure":
    """Target, prediction and |error|, whole and zoomed, with the error's scale.

    Pictures are (rows, cols) or (rows, cols, c): grey, grey and alpha, RGB or RGBA. The
    error of a pixel is the mean over its channels. Big pictures are area-averaged for
    the overview; the zoom shows the pixels themselves.

    Args:
        zoom: (row, col, height, width) to magnify; by default the most detailed part.
    """
    from matplotlib.colors import LinearSegmentedColormap

    truth, guess = pixels.picture_pair(target, prediction)
    error = np.abs(guess - truth).mean(axis=2, keepdims=True)
    box = pixels.detailed_box(truth) if zoom is None else pixels.check_box(zoom, truth)
    low, high = pixels.value_range(truth)
    top = error_ceiling(error)

    layout = _layout(truth.shape[0], truth.shape[1], box)
    figure = new_figure(layout.width, layout.height)
    views = [
        ("Target", lambda part: pixels.as_rgb(part, low, high), truth),
        ("Prediction", lambda part: pixels.as_rgb(part, low, high), guess),
        ("|Error|", lambda part: part[:, :, 0], error),
    ]
    colours = LinearSegmentedColormap.from_list("error", ERROR_COLOURS)
    scale = {"cmap": colours, "vmin": 0.0, "vmax": top}
    for index, (title, picture_of, picture) in enumerate(views):
        options = scale if title == "|Error|" else {}
        axes = axes_at(figure, *layout.overviews[index])
        axes.set_title(title)
        small = pixels.shrink(picture, 1600)
        pixels.show(
            axes,
            picture_of(small),
            pixels.whole(picture),
            true_shape=layout.true_shape,
            **options,
        )
        if box is None:
            continue
        pixels.outline(axes, box)
        axes = axes_at(figure, *layout.zooms[index])
        part = picture_of(pixels.cut(picture, box))
        pixels.show(axes, part, box, interpolation="nearest", **options)
    finite = error[np.isfinite(error)]
    worst, mean = (finite.max(), finite.mean()) if finite.size else (np.nan, np.nan)
    of = "" if truth.shape[2] == 1 else f", mean of {truth.shape[2]} channels"
    note = (
        f"|error|{of}, for values from {low:.3g} to {high:.3g}\n"
        f"mean {mean:.3g}, largest {worst:.3g}; darkest from {top:.3g} on"
    )
    if not layout.true_shape:
        note += "\nthe whole pictures are stretched to be seen"
    _error_scale(figure, layout, colours, top, note)
    return figure


class _Layout(NamedTuple):
    """Where things go, in inches: boxes are (left, top, width, height)."""

    width: float
    height: float
    overviews: list[tuple[float, float, float, float]]
    zooms: list[tuple[float, float, float, float]]
    true_shape: bool


def _layout(rows: int, cols: int, box: Box | None) -> _Layout:
    """Three columns; three rows for a wide picture; narrow columns for a tall one."""
    aspect = cols / rows
    zoom_ratio = 0.0 if box is None else box[2] / box[3]
    column = (WIDTH - 2 * MARGIN - 2 * GAP) / 3
    lefts = [MARGIN + i * (column + GAP) for i in range(3)]
    if aspect > 2:
        wide = WIDTH - 2 * MARGIN
        high = max(wide / aspect, 0.35)  # a thinner strip is stretched to be seen
        tops = [TITLE + i * (high + TITLE) for i in range(3)]
        overviews = [(MARGIN, top, wide, high) for top in tops]
        below = tops[2] + high + GAP
        zooms = [(left, below, column, column * zoom_ratio) for left in lefts]
        height = below + column * zoom_ratio + FOOT
        return _Layout(WIDTH, height, overviews, zooms, high == wide / aspect)
    if aspect < 0.5:
        high = 8.0
        wide = max(high * aspect, 0.8)  # room for the titles
        step = wide + GAP
        overviews = [(MARGIN + i * step, TITLE, wide, high) for i in range(3)]
        left = MARGIN + 3 * step
        cell = (high - 2 * GAP) / 3
        zoom_width = 0.0 if box is None else max(cell / zoom_ratio, 1.2)
        zooms = [(left, TITLE + i * (cell + GAP), zoom_width, cell) for i in range(3)]
        width = max(left + zoom_width + MARGIN, 6.4)
        return _Layout(
            width, TITLE + high + FOOT, overviews, zooms, wide == high * aspect
        )
    high = column / aspect
    overviews = [(left, TITLE, column, high) for left in lefts]
    below = TITLE + high + GAP
    zooms = [(left, below, column, column * zoom_ratio) for left in lefts]
    return _Layout(WIDTH, below + column * zoom_ratio + FOOT, overviews, zooms, True)


def error_ceiling(error: np.ndarray) -> float:
    """The error drawn darkest: 99.5 % of pixels lie below (all, where that is 0)."""
    finite = error[np.isfinite(error)]
    if finite.size == 0:
        return 1.0
    ceiling = float(np.percentile(finite, 99.5)) or float(finite.max())
    return ceiling or 1.0


def _error_scale(
    figure: "Figure", layout: _Layout, colours: "Colormap", top: float, note: str
) -> None:
    """The colour bar of the error, with what it means, along the bottom edge."""
    length = min(2.2, layout.width / 3)
    above = layout.height - FOOT + 0.17
    axes = axes_at(figure, MARGIN, above, length, 0.12)
    axes.imshow(np.linspace(0, 1, 256)[None], aspect="auto", cmap=colours)
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
    axes.set_xticks([0, 127.5, 255], ["0", f"{top / 2:.3g}", f"{top:.3g}"])
    axes.tick_params(length=0, pad=2)
    first, _, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    figure.text(
        (MARGIN + length + 0.2) / layout.width,
        1 - (above + 0.11) / layout.height,
        note,
        fontsize=8,
        color=MUTED,
        va="center",
        linespacing=1.35,
    )
