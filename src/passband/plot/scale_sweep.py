"""PSNR against the scale of a mapping, with the best scale and the paper's."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    INK,
    MUTED,
    PAPER,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, HIGH, LEFT, GAP, RIGHT, TOP, BOTTOM = 2.7, 2.5, 0.7, 0.55, 0.15, 0.6, 0.55


@styled
def sweep_figure(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike, float]],
) -> "Figure":
    """One panel a curve: every picture faint, their mean, its best and the paper's.

    Args:
        curves: by "set family": scales (s,), scores (s, pictures), the paper's scale.
    """
    count = len(curves)
    width = LEFT + count * PANEL + (count - 1) * GAP + RIGHT
    height = TOP + HIGH + BOTTOM
    figure = new_figure(width, height)
    for k, (name, (scales, scores, papers)) in enumerate(curves.items()):
        axes = axes_at(figure, LEFT + k * (PANEL + GAP), TOP, PANEL, HIGH)
        of_set, family = name.split()
        _curve(axes, np.asarray(scales, float), np.asarray(scores, float), family)
        axes.axvline(papers, color=INK, linestyle=":", linewidth=1.2)
        axes.set_title(f"{of_set.capitalize()}, {label_of(family)}")
        axes.set_xlabel(r"Scale $\sigma$", color=INK)
        if k == 0:
            axes.set_ylabel("PSNR of held-out pixels (dB)", color=INK)
    note = "line: mean, with each picture faint; disc: best mean; dotted: the paper's"
    figure.text(LEFT / width, 1 - 0.17 / height, note, va="center", fontsize=8,
                color=MUTED)  # fmt: skip
    return figure


def _curve(axes: "Axes", scales: np.ndarray, scores: np.ndarray, family: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    colour = colour_of(family)
    means = scores.mean(axis=1)
    if scores.shape[1] > 1:
        axes.plot(scales, scores, color=colour, linewidth=0.6, alpha=0.3)
    axes.plot(scales, means, "o-", color=colour, markersize=3)
    best = int(means.argmax())
    axes.plot(scales[best], means[best], "o", color=colour, markersize=8)
    # The curve is an arch, so there is room under it.
    axes.text(0.5, 0.03, f"best {scales[best]:g}: {means[best]:.2f} dB", ha="center",
              transform=axes.transAxes, fontsize=8.5, color=INK, fontweight="bold",
              bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.5})  # fmt: skip
    if scales[-1] / scales[0] > 4:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_locator(FixedLocator([1, 2, 4, 8, 16, 32]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
