"""PSNR against the angle of a plane wave, flat where no direction is favoured."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.bands import band_figure
from passband.plot.style import INK, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def angle_figure(angles: ArrayLike, scores: Mapping[str, ArrayLike]) -> "Figure":
    """Mean over runs, with a band of one standard deviation either way.

    Args:
        angles: (angles,), in radians, from 0 to pi.
        scores: (angles, runs) for each mapping word, in dB.
    """
    figure = band_figure(angles, scores, what="scores", marker="o", markersize=4)
    [axes] = figure.axes
    axes.set_xlim(-0.03, math.pi + 0.03)  # a whole dot at either end
    axes.set_xticks(
        np.linspace(0, math.pi, 5),
        ["0", r"$\pi/4$", r"$\pi/2$", r"$3\pi/4$", r"$\pi$"],
    )
    axes.set_xlabel("Angle of the wave", color=INK)
    axes.set_ylabel("PSNR (dB)", color=INK)
    return figure
