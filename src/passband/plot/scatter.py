"""Trained networks as dots: error against the width of their sampled frequencies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.panels import columns, legend_above
from passband.plot.style import (
    INK,
    MUTED,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT, GAP = 12.0, 0.75, 0.15, 0.6
LEGEND, TOP, PANEL, BOTTOM = 0.3, 0.3, 3.1, 0.6


@styled
def error_scatter(
    widths: ArrayLike,
    test: ArrayLike,
    *,
    families: Sequence[str],
    titles: Sequence[str],
    dense: ArrayLike | None = None,
    train: ArrayLike | None = None,
    curves: ArrayLike | None = None,
    printed: ArrayLike | None = None,
) -> "Figure":
    """One panel per kind of signal; a dot per network, coloured by its family.

    Args:
        widths: (panels, families, dots), the RMS of each network's frequencies.
        test: test errors, of the same shape.
        dense: (panels, 2), mean and standard deviation of the dense mapping's error,
            drawn as a dashed line with a bar.
        train: training errors, of the same shape as `test`, drawn as crosses.
        curves: (panels, 2, points), a curve's abscissae and ordinates.
        printed: (panels, 4), what was read off a printed plot: the ends of its lowest
            stretch (equal for a single place), the error there, that of `dense`.
    """
    x, y = np.asarray(widths, float), np.asarray(test, float)
    low = None if train is None else np.asarray(train, float)
    if x.ndim != 3 or x.shape[:2] != (len(titles), len(families)):
        raise ValueError(
            f"`widths` has shape {x.shape}; expected ({len(titles)} panels, "
            f"{len(families)} families, dots)"
        )
    for name, array in (("test", y), ("train", low)):
        if array is not None and array.shape != x.shape:
            raise ValueError(f"`{name}` has shape {array.shape}, `widths` {x.shape}")
    figure = new_figure(WIDTH, LEGEND + TOP + PANEL + BOTTOM)
    wide, lefts = columns(WIDTH, len(titles), left=LEFT, right=RIGHT, gap=GAP)
    for i, title in enumerate(titles):
        axes = axes_at(figure, lefts[i], LEGEND + TOP, wide, PANEL)
        if curves is not None:
            axes.plot(*np.asarray(curves, float)[i], color=MUTED, lw=1.0, alpha=0.7)
        for k, family in enumerate(families):
            _dots(axes, x[i, k], y[i, k], None if low is None else low[i, k], family)
        if dense is not None:
            _dense(axes, *np.asarray(dense, float).reshape(len(titles), 2)[i])
        if printed is not None:
            _printed(axes, *np.asarray(printed, float)[i])
        _dress(axes, title)
        if i == 0:
            axes.set_ylabel("Mean squared error", color=INK)
    if low is not None:
        for mark, name in (("o", "Test"), ("x", "Train")):
            figure.axes[0].plot([], [], mark, color=MUTED, markersize=4, label=name)
    legend_above(figure, LEFT)
    return figure


def _dots(
    axes: "Axes", x: np.ndarray, test: np.ndarray, train: np.ndarray | None, word: str
) -> None:
    dot = {"color": colour_of(word), "alpha": 0.65}
    axes.plot(x, test, "o", markersize=4, mew=0, label=label_of(word), **dot)
    if train is not None:
        axes.plot(x, train, "x", markersize=3.5, mew=0.9, **dot)


def _dense(axes: "Axes", mean: float, spread: float) -> None:
    """The dense mapping's level right across, with its bar at the panel's right end."""
    axes.axhline(mean, color=INK, linestyle="--", linewidth=1.2, label="Dense, test")
    # A mean that its deviation exceeds has no lower end on a logarithmic axis.
    floor = mean - min(spread, 0.9 * mean)
    axes.errorbar(
        0.96,
        mean,
        yerr=[[mean - floor], [spread]],
        color=INK,
        capsize=4,
        linewidth=1.2,
        transform=axes.get_yaxis_transform(),
    )


def _printed(
    axes: "Axes", left: float, right: float, floor: float, dense: float
) -> None:
    """Readings of a printed plot, in front of the dots."""
    axes.axhline(dense, color=INK, linestyle=":", linewidth=1.4, label="Dense, printed")
    axes.plot([left, right], [floor, floor], "D-", color=INK, markersize=7, mew=1.3,
              mfc="none", lw=1.0, zorder=5, label="Lowest, printed")  # fmt: skip


def _dress(axes: "Axes", title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(title)
    axes.set_xlabel(r"Standard deviation (RMS) of sampled $b_j$", color=INK)
