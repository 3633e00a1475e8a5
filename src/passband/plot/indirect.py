"""Training through an instrument: what it sees, and what is learned of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from passband.plot.style import INK, MUTED, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIDE, GAP, LEFT, TOP, BETWEEN, BOTTOM = 2.25, 0.25, 0.55, 0.62, 0.45, 0.6
COLUMNS = ("Seen: diagonal of $A^TA$", "Error left, predicted", "Error left, trained")
LOW = 1e-3


@styled
def indirect_figure(rows: Mapping[str, Mapping[str, np.ndarray]]) -> "Figure":
    """One row an instrument: maps of frequencies, 0 in the middle, and a scatter.

    Args:
        rows: by instrument, (n, n) arrays of frequencies with 0 at index 0: `diagonal`
            of A^T A, and errors `start`, `predicted` and `trained`.
    """
    count = len(rows)
    width = LEFT + 4 * SIDE + 3 * GAP + 0.55 + 0.15
    height = TOP + count * SIDE + (count - 1) * BETWEEN + BOTTOM
    figure = new_figure(width, height)
    for i, (name, found) in enumerate(rows.items()):
        top = TOP + i * (SIDE + BETWEEN)
        share = {
            key: np.maximum(found[key] / np.maximum(found["start"], 1e-30), LOW)
            for key in ("predicted", "trained")
        }
        maps = [found["diagonal"] / found["diagonal"].max(), *share.values()]
        for k, (title, values) in enumerate(zip(COLUMNS, maps, strict=True)):
            axes = axes_at(figure, LEFT + k * (SIDE + GAP), top, SIDE, SIDE)
            _map(axes, values, log=k > 0)
            if i == 0:
                axes.set_title(title)
            if k == 0:
                axes.set_ylabel(name, color=INK, fontsize=11, fontweight="bold")
        left = LEFT + 3 * (SIDE + GAP) + 0.5
        axes = axes_at(figure, left, top, SIDE, SIDE)
        _scatter(axes, share["predicted"], share["trained"], found["diagonal"])
        if i == 0:
            axes.set_title("Every frequency")
        if i == count - 1:
            axes.set_xlabel("predicted share of error left", color=INK)
        axes.set_ylabel("trained", color=INK, labelpad=1)
    note = (
        "maps of frequencies, 0 in the middle; errors as a share of that at the start, "
        f"white 1 and more, black {LOW:g}; dots are orange where the instrument sees"
    )
    figure.text(LEFT / width, 1 - 0.17 / height, note, va="center", fontsize=8,
                color=MUTED)  # fmt: skip
    return figure


def _map(axes: "Axes", values: np.ndarray, *, log: bool) -> None:
    shown = np.fft.fftshift(np.log10(values) if log else values)
    low = np.log10(LOW) if log else 0.0
    axes.imshow(shown, cmap="gray", vmin=low, vmax=0.0 if log else 1.0,
                interpolation="nearest")  # fmt: skip
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)


def _scatter(
    axes: "Axes", predicted: np.ndarray, trained: np.ndarray, diagonal: np.ndarray
) -> None:
    seen = diagonal.ravel() > 0.05 * diagonal.max()
    x, y = predicted.ravel(), trained.ravel()
    for which, colour in ((~seen, MUTED), (seen, "#D55E00")):
        axes.loglog(x[which], y[which], "o", color=colour, markersize=3, alpha=0.6,
                    markeredgewidth=0)  # fmt: skip
    top = 2 * max(x.max(), y.max())
    axes.plot([LOW, top], [LOW, top], color=INK, linewidth=0.8)
    axes.set_xlim(LOW * 0.7, top)
    axes.set_ylim(LOW * 0.7, top)
