"""How depth spreads the frequencies of a mapping (Fig. 7)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import INK, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#D55E00", "#009E73", "#5BB8F0")
TITLES = (
    "(a) NTK Fourier spectrum with basic mapping",
    "(b) NTK Fourier spectrum with basic mapping and an additional frequency",
)


@styled
def spreading_figure(
    one: Mapping[int, ArrayLike], two: Mapping[int, ArrayLike]
) -> "Figure":
    """Kernel spectra by depth: behind one frequency, and behind two.

    Args:
        one: magnitudes in FFT order, by the number of hidden layers.
        two: the same with a second frequency.
    """
    figure = new_figure(12.0, 3.5)
    for left, title, spectra in ((0.75, TITLES[0], one), (6.55, TITLES[1], two)):
        axes = axes_at(figure, left, 0.15, 5.2, 2.5)
        for (depth, spectrum), colour in zip(spectra.items(), COLOURS, strict=True):
            power = np.fft.fftshift(np.asarray(spectrum, float))
            half = len(power) // 2
            axes.semilogy(
                np.arange(-half, half), power, color=colour, label=f"Depth: {depth}"
            )
            axes.set_xticks(
                [-half, -half // 2, 0, half // 2, half],
                [r"$-\pi$", r"$-\pi/2$", "$0$", r"$\pi/2$", r"$\pi$"],
            )
        axes.set_xlabel("Frequency")
        axes.set_ylabel("Magnitude")
        axes.legend(loc="upper right", handlelength=1.4)
        axes.text(0.5, -0.3, title, transform=axes.transAxes, ha="center", color=INK)
    return figure
