"""Means over runs with a band of one standard deviation, one curve a mapping."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    axes_at,
    colour_of,
    dash_of,
    label_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT = 8.0, 0.8, 0.2
LEGEND, PANEL, BOTTOM = 0.35, 3.2, 0.6


@styled
def band_figure(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    what: str,
    least: float | None = None,
    **look: Any,
) -> "Figure":
    """One panel; its axes are still to be named.

    Args:
        curves: (x, runs) for each mapping word.
        what: what the curves are, for the error of a wrong shape.
        least: the band's lower end stays above this share of the mean: a deviation
            beyond the mean has no lower end on a logarithmic axis.
        look: of the lines.
    """
    at = np.asarray(x, float)
    figure = new_figure(WIDTH, LEGEND + PANEL + BOTTOM)
    axes = axes_at(figure, LEFT, LEGEND, WIDTH - LEFT - RIGHT, PANEL)
    for word, values in curves.items():
        y = np.asarray(values, float)
        if y.ndim != 2 or len(y) != len(at):
            raise ValueError(
                f"`{what}` of `{word}` has shape {y.shape}; expected "
                f"({len(at)} places, runs)"
            )
        mean, spread = y.mean(axis=1), y.std(axis=1)
        colour = colour_of(word)
        name = label_of(word.partition(":")[0])
        axes.plot(at, mean, color=colour, linestyle=dash_of(word), label=name, **look)
        low = mean - spread
        if least is not None:
            low = np.maximum(low, least * mean)
        axes.fill_between(at, low, mean + spread, color=colour, alpha=0.2, lw=0)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.02),
        ncols=len(curves),
        borderaxespad=0,
        borderpad=0,
        handlelength=2.6,
    )
    return figure
