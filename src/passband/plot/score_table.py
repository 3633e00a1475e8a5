"""A table of scores as dots: ours with its spread beside the printed number."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import INK, axes_at, colour_of, label_of, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL, ROW, LEFT, BETWEEN, TOP, BOTTOM = 3.6, 0.45, 1.4, 0.3, 0.5, 0.6


@styled
def score_figure(
    ours: Mapping[str, Mapping[str, ArrayLike]],
    printed: Mapping[str, Mapping[str, float]] | None = None,
    *,
    unit: str = "PSNR (dB)",
    over: str = "pictures",
    digits: int = 2,
) -> "Figure":
    """One panel a data set, one line a mapping: every picture, mean and spread.

    Args:
        ours: scores of the pictures, by data set and mapping word.
        printed: the paper's means, where they can be compared.
        over: what the scores of a line are of.
        digits: of a mean, after the point.
    """
    sets = list(ours)
    rows = list(ours[sets[0]])
    height = TOP + ROW * len(rows) + BOTTOM
    width = LEFT + len(sets) * (PANEL + BETWEEN)
    figure = new_figure(width, height)
    for k, name in enumerate(sets):
        left = LEFT + k * (PANEL + BETWEEN)
        axes = axes_at(figure, left, TOP, PANEL, ROW * len(rows))
        for place, row in enumerate(rows):
            values = np.asarray(ours[name][row], float)
            y = len(rows) - 1 - place
            colour = colour_of(row)
            axes.plot(values, np.full(len(values), y), "|", color=colour, alpha=0.45,
                      markersize=9)  # fmt: skip
            axes.errorbar(values.mean(), y, xerr=values.std(), fmt="o", color=colour,
                          markersize=6, capsize=3, lw=1.6)  # fmt: skip
            if printed is not None:
                axes.plot(printed[name][row], y, "D", markerfacecolor="none",
                          markeredgecolor=INK, markersize=9)  # fmt: skip
            axes.annotate(f"{values.mean():.{digits}f}", (values.mean(), y), (0, 8),
                          textcoords="offset points", ha="center", fontsize=8.5,
                          color=INK)  # fmt: skip
        axes.set_ylim(-0.6, len(rows) - 0.2)
        axes.set_yticks(range(len(rows)))
        axes.set_yticklabels([label_of(r) for r in reversed(rows)] if k == 0 else [])
        axes.set_xlabel(unit)
        axes.set_title(name.capitalize(), loc="left", fontweight="bold")
    note = f"dot: our mean, bar: spread over {over}, ticks: {over}"
    if printed is not None:
        note += "; diamond: printed"
    figure.text(1 - 0.15 / width, 1 - 0.18 / height, note, ha="right", va="center",
                fontsize=8, color=INK)  # fmt: skip
    return figure
