"""Error against where a bump sits: flat if the kernel is stationary (Fig. 14)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.bands import band_figure
from passband.plot.style import INK, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def stationarity_figure(
    centres: ArrayLike, errors: Mapping[str, ArrayLike]
) -> "Figure":
    """Mean over initialisations, with a band of one standard deviation either way.

    Args:
        centres: (shifts,), in radians, from -pi to pi.
        errors: (shifts, initialisations) for each mapping word.
    """
    x = np.asarray(centres, float)
    figure = band_figure(x, errors, what="errors", least=0.05)
    [axes] = figure.axes
    axes.set_yscale("log")
    axes.set_xlim(x.min(), x.max())
    axes.set_xticks(
        np.linspace(-np.pi, np.pi, 5),
        [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"],
    )
    axes.set_xlabel("Centre of the target", color=INK)
    axes.set_ylabel("Mean squared error", color=INK)
    return figure
