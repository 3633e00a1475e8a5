"""A mapping's kernel, its spectrum, and how soon each frequency is learned."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    INK,
    MUTED,
    axes_at,
    colour_of,
    colours_of,
    family_of,
    label_of,
    new_figure,
    readable,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 12.3, 3.85
TOP, PANEL, WIDE = 0.62, 2.6, 3.0
LEFTS = (0.65, 4.5, 8.35)


@styled
def kernel_figure(
    offset: ArrayLike,
    kernel: ArrayLike,
    frequency: ArrayLike,
    power: ArrayLike,
    steps: ArrayLike,
    missing: ArrayLike,
    *,
    bands: ArrayLike,
    mapping: str,
    network: str,
) -> "Figure":
    """Three panels: kernel, spectrum, and what is missing of a wave after some steps.

    Args:
        offset: (n,) distance from the middle of the domain.
        kernel: (n,) kernel between the middle and each point, drawn as a curve; or
            (n, n) between all points, drawn as a picture.
        frequency: (f,) in cycles per unit, from 0.
        power: (f,) of the kernel at each frequency.
        steps: (s,) of gradient descent.
        missing: (s, b) share of a wave that is not learned, one column for each band.
        bands: (b,) frequencies of those waves.
        network: what stands beside the title, such as "4 layers x 256".
    """
    offset, kernel = np.asarray(offset, float), np.asarray(kernel, float)
    frequency, power = np.asarray(frequency, float), np.asarray(power, float)
    steps, missing = np.asarray(steps, float), np.asarray(missing, float)
    waves = np.asarray(bands, float)
    if missing.shape != (len(steps), len(waves)):
        raise ValueError(
            f"`missing` has shape {missing.shape}; expected "
            f"({len(steps)}, {len(waves)}): steps and bands"
        )
    colour = colour_of(mapping)
    figure = new_figure(WIDTH, HEIGHT)
    line = 1 - 0.22 / HEIGHT
    figure.text(LEFTS[0] / WIDTH, line, label_of(mapping), va="center", fontsize=11,
                fontweight="bold", color=readable(colour))  # fmt: skip
    figure.text((LEFTS[2] + WIDE) / WIDTH, line, network, va="center", ha="right",
                color=MUTED)  # fmt: skip
    _kernel(axes_at(figure, LEFTS[0], TOP, WIDE, PANEL), offset, kernel, colour)
    _spectrum(axes_at(figure, LEFTS[1], TOP, WIDE, PANEL), frequency, power, colour)
    axes = axes_at(figure, LEFTS[2], TOP, WIDE, PANEL)
    _convergence(axes, steps, missing, waves, family_of(mapping) or "basic")
    return figure


def _kernel(axes: "Axes", offset: np.ndarray, kernel: np.ndarray, colour: str) -> None:
    axes.set_title("Kernel")
    axes.set_xlabel("Distance from the middle", color=INK)
    if kernel.ndim == 1:
        axes.plot(offset, kernel, color=colour)
        axes.set_xlim(offset[0], offset[-1])
        return
    edge = offset[-1] + (offset[-1] - offset[0]) / max(len(offset) - 1, 1)
    picture = axes.imshow(
        kernel, extent=(offset[0], edge, edge, offset[0]), cmap="magma", aspect="auto"
    )
    axes.grid(visible=False)
    axes.figure.colorbar(picture, ax=axes, fraction=0.05, pad=0.03)


def _spectrum(
    axes: "Axes", frequency: np.ndarray, power: np.ndarray, colour: str
) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_title("Spectrum")
    axes.set_xlabel("Frequency (cycles per unit)", color=INK)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(0.9, max(float(frequency[-1]), 1.0) * 1.1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    shown = (frequency > 0) & (power > 1e-12 * power.max(initial=0.0))
    if shown.any():
        marker = {"marker": "o", "markersize": 3} if len(frequency) <= 80 else {}
        axes.plot(frequency[shown], power[shown], color=colour, **marker)
        low, high = np.log10([power[shown].min(), power[shown].max()])
        # Whole decades, so that there are always two labels to read between.
        axes.set_ylim(10 ** np.floor(low), 10 ** np.ceil(high + 1e-9))


def _convergence(
    axes: "Axes",
    steps: np.ndarray,
    missing: np.ndarray,
    waves: np.ndarray,
    family: str,
) -> None:
    names = [f"{family}:{wave:g}" for wave in waves]
    colours = colours_of(names)
    for column, (name, wave) in enumerate(zip(names, waves, strict=True)):
        axes.plot(steps, missing[:, column], color=colours[name], label=f"{wave:g}")
    axes.axhline(0.5, color=MUTED, linewidth=0.7, linestyle=(0, (2, 2)))
    axes.set_title("Share of a wave not yet learned")
    axes.set_xlabel("Steps at a rate of 1 / largest eigenvalue", color=INK)
    axes.set_xscale("log")
    axes.set_xlim(steps[0], steps[-1])
    axes.set_ylim(-0.02, 1.02)
    axes.legend(
        title="cycles",
        title_fontsize=8,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.03),
        borderaxespad=0,
        handlelength=1.2,
        labelspacing=0.35,
        fontsize=8,
    )
