"""How far members differ, beside how far their mean is off."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.envelope import envelope
from passband.plot.style import (
    INK,
    MUTED,
    RESIDUAL,
    axes_at,
    colour_of,
    new_figure,
    styled,
)
from passband.plot.triptych import ERROR_COLOURS, error_ceiling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARGIN, GAP, TITLE, FOOT = 0.15, 0.2, 0.28, 0.4
WIDEST, TALLEST, LIMIT = 4.75, 4.75, 1024
SPREAD, ERROR = "Spread of the members", "|Error| of their mean"


@styled
def spread_figure(
    spread: ArrayLike, error: ArrayLike | None = None, *, mapping: str = "gaussian"
) -> "Figure":
    """A map of the spread, beside that of the error where the truth is known.

    Each has its own scale, told below it: where they are dark is to be compared, and
    the numbers say how much darker one is.

    Args:
        spread: (rows, cols), or (n,) of a signal.
        error: of the same shape.
        mapping: the word in whose colour a signal's spread is drawn.
    """
    maps = {SPREAD: np.asarray(spread, np.float32)}
    if error is not None:
        maps[ERROR] = np.asarray(error, np.float32)
    shapes = {values.shape for values in maps.values()}
    if len(shapes) > 1 or maps[SPREAD].ndim not in (1, 2):
        raise ValueError("`spread` and `error` must be (rows, cols) or (n,) alike")
    if maps[SPREAD].ndim == 1:
        return _curves(maps, colour_of(mapping))
    return _pictures(maps)


def _pictures(maps: dict[str, np.ndarray]) -> "Figure":
    from matplotlib.colors import LinearSegmentedColormap

    rows, cols = maps[SPREAD].shape
    wide = min(WIDEST, TALLEST * cols / rows)
    tall = max(wide * rows / cols, 0.35)  # a thinner strip is stretched to be seen
    beside = 1 if tall < wide / 2 else len(maps)  # wide ones stand one above the other
    below = len(maps) // beside
    if below > 1:
        wide, tall = 2 * wide, 2 * tall
    width = max(2 * MARGIN + beside * wide + (beside - 1) * GAP, 4.8)
    figure = new_figure(width, below * (TITLE + tall + FOOT))
    colours = LinearSegmentedColormap.from_list("error", ERROR_COLOURS)
    for k, (name, values) in enumerate(maps.items()):
        row, column = divmod(k, beside)
        left = MARGIN + column * (wide + GAP)
        top = row * (TITLE + tall + FOOT) + TITLE
        axes = axes_at(figure, left, top, wide, tall)
        ceiling = error_ceiling(values)
        picture = values[..., None]
        pixels.show(
            axes, pixels.shrink(picture, LIMIT)[..., 0], pixels.whole(picture),
            cmap=colours, vmin=0, vmax=ceiling,
        )  # fmt: skip
        axes.set_title(name)
        note = f"mean {values.mean():.3g}; darkest from {ceiling:.3g} on"
        figure.text(
            left / width, 1 - (top + tall + 0.18) / figure.get_size_inches()[1], note,
            fontsize=8, color=MUTED,
        )  # fmt: skip
    return figure


def _curves(maps: dict[str, np.ndarray], colour: str) -> "Figure":
    figure = new_figure(10.0, 3.0)
    axes = axes_at(figure, 0.85, 0.45, 8.95, 2.0)
    x = np.arange(len(maps[SPREAD]))
    for name, values in reversed(maps.items()):
        ink = colour if name == SPREAD else RESIDUAL
        label = f"{name}, mean {values.mean():.3g}"
        axes.plot(*envelope(x, values), color=ink, linewidth=1.2, label=label)
    if len(x) > 1:
        axes.set_xlim(x[0], x[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("Sample", color=INK)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.02), ncols=2, borderaxespad=0,
        borderpad=0,
    )  # fmt: skip
    return figure
