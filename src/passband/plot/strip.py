"""Methods side by side: one crop, one range of values, the best one marked."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.style import (
    FAMILY_COLOURS,
    INK,
    MUTED,
    RESIDUAL,
    axes_at,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN, GAP, TITLE, FOOT = 0.2, 0.14, 0.5, 0.42
PAGE, MOST, WIDEST = 11.0, 6, 2.3
LINE = 1.15
"""Inches that a panel of samples is high."""
BEST = FAMILY_COLOURS["basic"]
SHOWN = 256
"""Pixels along the longer side of a picture that is shown whole."""
SAMPLES = 240
"""Samples of a signal in a panel: more would be a smear."""


class Panel(NamedTuple):
    """What one method made."""

    name: str
    score: str
    values: ArrayLike
    best: bool = False


@styled
def strip(panels: Sequence[Panel], truth: ArrayLike | None = None) -> "Figure":
    """The truth, if it is known, and what each method made of it, under its score.

    Of a large picture all show the part with the most detail, of a long signal the
    stretch with the most; one range of values serves all.

    Args:
        panels: pictures, (rows, cols) or (rows, cols, 3), or samples, (n,), all of one
            shape.
    """
    if not panels:
        raise ValueError("`panels` is empty; give what at least one method made")
    known = None if truth is None else np.asarray(truth, np.float32)
    if np.asarray(panels[0].values).ndim == 1:
        return _signals(panels, known)
    return _pictures(panels, known)


def _pictures(panels: Sequence[Panel], truth: np.ndarray | None) -> "Figure":
    shown = [pixels.as_picture(panel.values) for panel in panels]
    first = shown[0] if truth is None else pixels.as_picture(truth)
    low, high = pixels.value_range(first)
    box = _crop(first)
    size = f"{first.shape[0]} x {first.shape[1]} pixels"
    views = [*([] if truth is None else [Panel("truth", size, first)]), *panels]
    kept = [*([] if truth is None else [first]), *shown]
    figure, places = _page(len(views), box[2] / box[3])
    for view, picture, place in zip(views, kept, places, strict=True):
        axes = axes_at(figure, *place)
        part = pixels.shrink(pixels.cut(picture, box), 2 * SHOWN)
        small = max(box[2:]) <= SHOWN
        pixels.show(
            axes, pixels.as_rgb(part, low, high), box,
            interpolation="nearest" if small else "auto",
        )  # fmt: skip
        _title(figure, axes, view, place)
    whole = box == pixels.whole(first)
    rows, columns = (
        f"{a} to {a + n - 1}" for a, n in zip(box[:2], box[2:], strict=True)
    )
    crop = "the whole picture" if whole else f"rows {rows}, columns {columns}"
    _foot(figure, f"{crop}; values from {low:.4g} to {high:.4g}")
    return figure


def _signals(panels: Sequence[Panel], truth: np.ndarray | None) -> "Figure":
    """One panel below the other: a signal is wide."""
    lines = [np.asarray(panel.values, np.float32) for panel in panels]
    first = lines[0] if truth is None else truth
    begin, end = _stretch(first)
    part = first[begin:end]
    low, high = float(np.nanmin(part)), float(np.nanmax(part))
    room = 0.12 * (high - low or 1.0)
    height = len(panels) * (LINE + TITLE) + FOOT + 0.1
    figure, wide = new_figure(PAGE * 0.75, height), PAGE * 0.75 - 2 * MARGIN
    at = np.arange(begin, end)
    for k, (panel, line) in enumerate(zip(panels, lines, strict=True)):
        place = (MARGIN, k * (LINE + TITLE) + TITLE, wide, LINE)
        axes = axes_at(figure, *place)
        if truth is not None:
            axes.plot(at, part, color=RESIDUAL, lw=2.6, label="truth")
        axes.plot(at, line[begin:end], color=BEST if panel.best else INK, lw=1.1)
        axes.set_xlim(begin, end - 1)
        axes.set_ylim(low - room, high + room)
        axes.set_yticks([])
        axes.tick_params(labelbottom=k == len(panels) - 1)
        _title(figure, axes, panel, place)
    of = "" if end - begin == len(first) else f" of {len(first)}"
    _foot(figure, f"samples {begin} to {end - 1}{of}; grey: the truth", MARGIN, 0.1)
    return figure


def _page(
    count: int, shape: float
) -> tuple["Figure", list[tuple[float, float, float, float]]]:
    """A figure with room for so many panels, and where each of them lies."""
    bands = math.ceil(count / MOST)
    across = math.ceil(count / bands)
    wide = min(WIDEST, (PAGE - 2 * MARGIN - (across - 1) * GAP) / across)
    high = wide * shape
    width = 2 * MARGIN + across * wide + (across - 1) * GAP
    figure = new_figure(max(width, 5.0), bands * (high + TITLE) + FOOT)
    corners = (divmod(k, across) for k in range(count))
    return figure, [
        (MARGIN + i * (wide + GAP), band * (high + TITLE) + TITLE, wide, high)
        for band, i in corners
    ]


def _title(
    figure: "Figure", axes: "Axes", panel: Panel, place: tuple[float, ...]
) -> None:
    """The method's name above its panel, its score below that; the best in a frame."""
    width, height = figure.get_size_inches()
    left, top = place[0] / width, place[1]
    ink = BEST if panel.best else INK
    name = f"{panel.name}  (best)" if panel.best else panel.name
    figure.text(left, 1 - (top - 0.25) / height, name, fontsize=9.5, color=ink,
                fontweight="bold")  # fmt: skip
    figure.text(left, 1 - (top - 0.08) / height, panel.score, fontsize=8.5,
                color=ink if panel.best else MUTED)  # fmt: skip
    if panel.best:
        for spine in axes.spines.values():
            spine.set(visible=True, edgecolor=BEST, linewidth=2.2)


def _foot(figure: "Figure", text: str, left: float = MARGIN, up: float = 0.15) -> None:
    width, height = figure.get_size_inches()
    figure.text(left / width, up / height, text, fontsize=8, color=MUTED)


def _crop(picture: np.ndarray) -> pixels.Box:
    """All of a small picture; of a large one the part with the most detail."""
    if max(picture.shape[:2]) <= SHOWN:
        return pixels.whole(picture)
    return pixels.detailed_box(picture) or pixels.whole(picture)


def _stretch(samples: np.ndarray) -> tuple[int, int]:
    """Where a signal has the most detail, as squared differences."""
    if len(samples) <= SAMPLES:
        return 0, len(samples)
    detail = np.cumsum(np.square(np.diff(np.nan_to_num(samples), prepend=samples[0])))
    sums = detail[SAMPLES - 1 :] - np.concatenate([[0], detail[:-SAMPLES]])
    begin = int(np.argmax(sums))
    return begin, begin + SAMPLES
