"""Scores of several networks after ever more steps, beside the printed ones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import INK, axes_at, colour_of, label_of, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANEL, ROW, LEFT, RIGHT, TOP, BOTTOM = 5.2, 0.42, 1.6, 0.25, 0.45, 0.55


@styled
def step_figure(
    scores: Mapping[str, ArrayLike],
    stops: ArrayLike,
    printed: Mapping[str, float] | None = None,
    *,
    unit: str = "PSNR of test views (dB)",
) -> "Figure":
    """One line a mapping word: its mean after each stop, the last with its spread.

    Args:
        scores: (stops, views) by mapping word.
        stops: numbers of steps.
        printed: the paper's means, where they can be compared.
    """
    rows, steps = list(scores), [int(s) for s in np.asarray(stops)]
    width, height = LEFT + PANEL + RIGHT, TOP + ROW * len(rows) + BOTTOM
    figure = new_figure(width, height)
    axes = axes_at(figure, LEFT, TOP, PANEL, ROW * len(rows))
    for place, row in enumerate(rows):
        y, colour = len(rows) - 1 - place, colour_of(row)
        values = np.asarray(scores[row], float)
        means = values.mean(axis=1)
        axes.plot(means, np.full(len(means), y), color=colour, lw=1.0, alpha=0.5)
        for k, mean in enumerate(means[:-1]):
            size = 3 + 3 * k / max(1, len(means) - 1)
            axes.plot(mean, y, "o", color=colour, alpha=0.55, markersize=size)
        axes.errorbar(means[-1], y, xerr=values[-1].std(), fmt="o", color=colour,
                      markersize=6.5, capsize=3, lw=1.6)  # fmt: skip
        if printed is not None:
            axes.plot(printed[row], y, "D", markerfacecolor="none",
                      markeredgecolor=INK, markersize=9.5)  # fmt: skip
        axes.annotate(f"{means[-1]:.2f}", (means[-1], y), (0, 7), ha="center",
                      textcoords="offset points", fontsize=8.5, color=INK)  # fmt: skip
    axes.set_ylim(-0.6, len(rows) - 0.2)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([label_of(row) for row in reversed(rows)])
    axes.set_xlabel(unit)
    lengths = ", ".join(f"{s:,}" for s in steps)
    note = f"dots: after {lengths} steps; bar: spread over views"
    if printed is not None:
        note += "; diamond: printed"
    figure.text(1 - RIGHT / width, 1 - 0.2 / height, note, ha="right", va="center",
                fontsize=8, color=INK)  # fmt: skip
    return figure
