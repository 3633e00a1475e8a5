"""Fields of a set side by side, each below the truth."""

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

COLOUR = FAMILY_COLOURS["gaussian"]
PANEL, GAP, MARGIN, HEAD, BETWEEN = 1.55, 0.12, 0.12, 0.42, 0.06


class Pair(NamedTuple):
    """A field beside the truth."""

    name: str
    score: str
    values: ArrayLike
    """A picture, (rows, cols) or (rows, cols, 3), or samples, (n,)."""
    truth: ArrayLike | None


@styled
def pairs(items: Sequence[Pair]) -> "Figure":
    """Fields side by side, each below the truth where that is known."""
    known = any(item.truth is not None for item in items)
    high = HEAD + PANEL + (PANEL + BETWEEN if known else 0) + 0.1
    width = 2 * MARGIN + len(items) * PANEL + (len(items) - 1) * GAP
    figure = new_figure(max(width, 4.0), high)
    for k, item in enumerate(items):
        left = MARGIN + k * (PANEL + GAP)
        rows = [item.truth, item.values] if known else [item.values]
        for band, values in enumerate(rows):
            if values is not None:
                top = HEAD + band * (PANEL + BETWEEN)
                axes = axes_at(figure, left, top, PANEL, PANEL)
                _panel(axes, np.asarray(values, np.float32), item.truth)
        wide, tall = figure.get_size_inches()
        at = left / wide
        figure.text(at, 1 - 0.2 / tall, _short(item.name), fontsize=8.5, color=INK)
        figure.text(at, 1 - 0.36 / tall, item.score, fontsize=8.5, color=MUTED)
    return figure


def _panel(axes: "Axes", values: np.ndarray, truth: ArrayLike | None) -> None:
    if values.ndim == 1:
        axes.plot(values, color=COLOUR if truth is not values else RESIDUAL, lw=0.8)
        axes.set_xticks([])
        axes.set_yticks([])
        return
    seen = pixels.as_picture(values)
    low, high = pixels.value_range(
        seen if truth is None else pixels.as_picture(np.asarray(truth, np.float32))
    )
    small = pixels.shrink(seen, 400)
    pixels.show(
        axes, pixels.as_rgb(small, low, high), pixels.whole(seen),
        interpolation="nearest" if max(seen.shape[:2]) <= 256 else "auto",
    )  # fmt: skip
    axes.set_aspect("equal")


def _short(name: str, most: int = 22) -> str:
    return name if len(name) <= most else f"…{name[1 - most :]}"
