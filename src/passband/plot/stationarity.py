"""Error against where a bump sits: flat if the kernel is stationary (Fig. 14)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    INK,
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
def stationarity_figure(
    centres: ArrayLike, errors: Mapping[str, ArrayLike]
) -> "Figure":
    """Mean over initialisations, with a band of one standard deviation either way.

    Args:
        centres: (shifts,), in radians, from -pi to pi.
        errors: (shifts, initialisations) for each mapping word.
    """
    x = np.asarray(centres, float)
    figure = new_figure(WIDTH, LEGEND + PANEL + BOTTOM)
    axes = axes_at(figure, LEFT, LEGEND, WIDTH - LEFT - RIGHT, PANEL)
    for word, values in errors.items():
        y = np.asarray(values, float)
        if y.ndim != 2 or len(y) != len(x):
            raise ValueError(
                f"`errors` of `{word}` has shape {y.shape}; expected ({len(x)} "
                "centres, initialisations)"
            )
        mean, spread = y.mean(axis=1), y.std(axis=1)
        colour = colour_of(word)
        name = label_of(word.partition(":")[0])
        axes.plot(x, mean, color=colour, linestyle=dash_of(word), label=name)
        # A deviation beyond the mean has no lower end on a logarithmic axis.
        floor = np.maximum(mean - spread, 0.05 * mean)
        axes.fill_between(x, floor, mean + spread, color=colour, alpha=0.2, lw=0)
    axes.set_yscale("log")
    axes.set_xlim(x.min(), x.max())
    axes.set_xticks(
        np.linspace(-np.pi, np.pi, 5),
        [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"],
    )
    axes.set_xlabel("Centre of the target", color=INK)
    axes.set_ylabel("Mean squared error", color=INK)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.02),
        ncols=len(errors),
        borderaxespad=0,
        borderpad=0,
        handlelength=2.6,
    )
    return figure
