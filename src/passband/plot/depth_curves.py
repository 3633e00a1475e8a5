"""PSNR against the number of features, a curve for each depth (Fig. 6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import INK, MUTED, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# One hue from light to dark: depth is an order, not a kind.
SHADES = ("#F0A36B", "#D55E00", "#7A3400")
MARKS = ("o", "s", "^")


@styled
def depth_figure(
    features: Sequence[int],
    depths: Sequence[int],
    psnr: ArrayLike,
    printed: ArrayLike | None = None,
) -> "Figure":
    """Mean over pictures, and what the paper has.

    Args:
        psnr: (depths, features, pictures).
        printed: (depths, features), read off the paper's figure.
    """
    scores = np.asarray(psnr, float)
    if scores.shape[:2] != (len(depths), len(features)) or len(depths) > len(SHADES):
        raise ValueError(
            f"`psnr` has shape {scores.shape}; expected ({len(depths)} depths, at most "
            f"{len(SHADES)}, {len(features)} features, pictures)"
        )
    figure = new_figure(6.4, 4.0)
    axes = axes_at(figure, 0.7, 0.15, 5.5, 3.3)
    means = scores.mean(axis=2)
    for k in reversed(range(len(depths))):
        look = {"color": SHADES[k], "marker": MARKS[k], "markersize": 5}
        axes.plot(features, means[k], label=f"{depths[k]} layers", **look)
    if printed is not None:
        for row in np.asarray(printed, float):
            axes.plot(features, row, "D", markerfacecolor="none", markersize=9,
                      markeredgecolor=INK, markeredgewidth=0.9)  # fmt: skip
        axes.plot([], [], "D", markerfacecolor="none", markersize=9,
                  markeredgecolor=INK, label="read off the paper's figure")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(features), [str(m) for m in features])
    axes.set_xlabel("Number of Fourier features $m$", color=INK)
    axes.set_ylabel("Mean PSNR of all pixels (dB)", color=INK)
    axes.legend(loc="lower right")
    over = scores.shape[2]
    axes.text(0.01, 0.99, f"mean over {over} pictures", transform=axes.transAxes,
              va="top", fontsize=8, color=MUTED)  # fmt: skip
    return figure
