"""PSNR against the angle of a plane wave, flat where no direction is favoured."""

import math
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
def angle_figure(angles: ArrayLike, scores: Mapping[str, ArrayLike]) -> "Figure":
    """Mean over runs, with a band of one standard deviation either way.

    Args:
        angles: (angles,), in radians, from 0 to pi.
        scores: (angles, runs) for each mapping word, in dB.
    """
    x = np.asarray(angles, float)
    figure = new_figure(WIDTH, LEGEND + PANEL + BOTTOM)
    axes = axes_at(figure, LEFT, LEGEND, WIDTH - LEFT - RIGHT, PANEL)
    for word, values in scores.items():
        y = np.asarray(values, float)
        if y.ndim != 2 or len(y) != len(x):
            raise ValueError(
                f"`scores` of `{word}` has shape {y.shape}; expected ({len(x)} "
                "angles, runs)"
            )
        mean, spread = y.mean(axis=1), y.std(axis=1)
        look = {"color": colour_of(word), "linestyle": dash_of(word)}
        axes.plot(x, mean, label=label_of(word), marker="o", markersize=4, **look)
        axes.fill_between(
            x, mean - spread, mean + spread, color=look["color"], alpha=0.2, lw=0
        )
    axes.set_xlim(-0.03, math.pi + 0.03)  # a whole dot at either end
    axes.set_xticks(
        np.linspace(0, math.pi, 5),
        ["0", r"$\pi/4$", r"$\pi/2$", r"$3\pi/4$", r"$\pi$"],
    )
    axes.set_xlabel("Angle of the wave", color=INK)
    axes.set_ylabel("PSNR (dB)", color=INK)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.02),
        ncols=len(scores),
        borderaxespad=0,
        borderpad=0,
        handlelength=2.6,
    )
    return figure
