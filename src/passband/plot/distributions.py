"""What frequencies are drawn from: histograms on their densities (Table 2)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

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
    from matplotlib.figure import Figure

WIDE, HIGH, LEFT, TOP, BELOW, BETWEEN = 3.5, 1.75, 0.75, 0.42, 0.62, 0.4
Panel = Sequence[ArrayLike]
"""Edges and heights of a histogram, then points and values of the density."""


@styled
def distributions(
    panels: Mapping[str, Panel],
    positional: ArrayLike,
    *,
    logarithmic: Sequence[str] = (),
) -> "Figure":
    """Two panels a row, one a family; below, the frequencies that are not drawn.

    Args:
        panels: by family; its colour is that of all figures.
        positional: frequencies of the deterministic row, rising.
        logarithmic: families whose axes are logarithmic.
    """
    rows = -(-len(panels) // 2)
    step = TOP + HIGH + BELOW
    figure = new_figure(2 * (LEFT + WIDE) + 0.2 + BETWEEN / 2, rows * step + 1.5)
    for k, (family, (edges, share, x, density)) in enumerate(panels.items()):
        left = LEFT + (k % 2) * (WIDE + LEFT + BETWEEN / 4)
        axes = axes_at(figure, left, TOP + (k // 2) * step, WIDE, HIGH)
        colour = colour_of(family)
        axes.stairs(np.asarray(share), np.asarray(edges), fill=True, color=colour,
                    alpha=0.45, label="drawn")  # fmt: skip
        axes.plot(np.asarray(x), np.asarray(density), color=INK, lw=1.2,
                  label="its density")  # fmt: skip
        if family in logarithmic:
            axes.set_xscale("log")
            axes.set_yscale("log")
        axes.set_title(label_of(family))
        axes.set_xlabel("Frequency $b$ (cycles per unit)", color=INK)
        if k % 2 == 0:
            axes.set_ylabel("Density", color=INK)
        if k == 0:
            axes.legend(loc="upper left")
    b = np.asarray(positional, float)
    axes = axes_at(figure, LEFT, rows * step + TOP, 2 * WIDE + LEFT + BETWEEN / 4, 0.45)
    axes.vlines(b, 0, 1, color=colour_of("positional"), lw=0.8)
    axes.set_xlim(-0.5, b[-1] + 0.5)
    axes.set_yticks([])
    axes.grid(False)
    axes.set_title("Positional encoding, not drawn but laid out")
    axes.set_xlabel("Frequency $b$ (cycles per unit)", color=INK)
    axes.text(1, 1.12, f"{len(b)} frequencies", transform=axes.transAxes, ha="right",
              fontsize=8, color=MUTED)  # fmt: skip
    return figure
