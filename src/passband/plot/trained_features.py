"""Frequencies before and after training, and the amplitudes that training gave them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    INK,
    MUTED,
    PAPER,
    axes_at,
    colour_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT, GAP = 12.0, 0.75, 0.15, 0.75
LEGEND, TOP, NOTE, MIDDLE, LOW, BOTTOM = 0.3, 0.3, 0.4, 0.75, 1.1, 0.55


@styled
def features_figure(
    begun: ArrayLike,
    ended: ArrayLike,
    amplitudes: ArrayLike,
    *,
    titles: Sequence[str],
    notes: Sequence[str],
) -> "Figure":
    """A column per scale: b before and after training above, trained a below.

    Args:
        begun: (scales, m, 2) frequencies as drawn; all amplitudes began at 1.
        ended: the same frequencies after training.
        amplitudes: (scales, m), after training.
        notes: a line or two over each scale's frequencies.
    """
    first, last = np.asarray(begun, float), np.asarray(ended, float)
    heights = np.asarray(amplitudes, float)
    if first.ndim != 3 or first.shape != (len(titles), first.shape[1], 2):
        raise ValueError(
            f"`begun` has shape {first.shape}; expected ({len(titles)} scales, m, 2)"
        )
    if last.shape != first.shape or heights.shape != first.shape[:2]:
        raise ValueError(
            f"`ended` {last.shape} and `amplitudes` {heights.shape} do not go with "
            f"`begun` {first.shape}"
        )
    side = (WIDTH - LEFT - RIGHT - (len(titles) - 1) * GAP) / len(titles)
    above = LEGEND + TOP + NOTE
    figure = new_figure(WIDTH, above + side + MIDDLE + LOW + BOTTOM)
    span = _span(heights)
    for i, title in enumerate(titles):
        left = LEFT + i * (side + GAP)
        axes = axes_at(figure, left, above, side, side)
        _frequencies(axes, first[i], last[i])
        axes.set_title(title, pad=5 + 72 * NOTE)
        axes.annotate(
            notes[i], (0, 1), (0, 5), xycoords="axes fraction", color=MUTED,
            textcoords="offset points", fontsize=8.5, va="bottom",
        )  # fmt: skip
        below = axes_at(figure, left, above + side + MIDDLE, side, LOW)
        bins = np.linspace(*span, 31).tolist()
        below.hist(heights[i], bins, color=colour_of("gaussian"), ec=PAPER, lw=0.5)
        below.locator_params(axis="y", nbins=4, integer=True)
        below.axvline(1, color=INK, linewidth=1.2)
        below.set_xlim(*span)
        below.set_xlabel(r"Trained $a_j$ (all began at 1)", color=INK)
        if i == 0:
            axes.set_ylabel(r"$b_j$ along the rows (cycles)", color=INK)
            below.set_ylabel("Features", color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(LEFT / WIDTH, 1 - 0.05 / figure.get_size_inches()[1]),
        ncols=len(labels),
        borderaxespad=0,
        borderpad=0,
        handletextpad=0.4,
        columnspacing=1.8,
    )
    return figure


def _frequencies(axes: "Axes", first: np.ndarray, last: np.ndarray) -> None:
    """A ring where each vector began, a dot where it ended, a line between them."""
    path = np.stack([first, last])
    axes.plot(path[..., 0], path[..., 1], color=MUTED, linewidth=0.7)
    axes.plot(
        *first.T, "o", markersize=4.5, mfc="none", mec=MUTED, mew=0.8,
        label="$b_j$ as drawn",
    )  # fmt: skip
    axes.plot(
        *last.T, "o", markersize=2.5, mew=0, color=colour_of("gaussian"),
        label="$b_j$ trained",
    )  # fmt: skip
    reach = 1.06 * float(np.abs(path).max())
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.locator_params(nbins=6)
    axes.set_xlabel(r"$b_j$ along the columns (cycles)", color=INK)


def _span(heights: np.ndarray) -> tuple[float, float]:
    """The range of all amplitudes, with 1 in it and some room on both sides."""
    low, high = min(float(heights.min()), 1.0), max(float(heights.max()), 1.0)
    room = 0.05 * max(high - low, 0.02)
    return low - room, high + room
