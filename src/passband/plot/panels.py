"""What drawings share: columns of panels, text in inches, ticks, bands and legends."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def columns(
    width: float, count: int, *, left: float, right: float, gap: float
) -> tuple[float, list[float]]:
    """The width of each of some equal panels side by side, and where each begins."""
    wide = (width - left - right - (count - 1) * gap) / count
    return wide, [left + k * (wide + gap) for k in range(count)]


def write_at(figure: "Figure", left: float, top: float, text: str, **look: Any) -> None:
    """Text whose middle is that many inches below the figure's top."""
    width, height = figure.get_size_inches()
    figure.text(left / width, 1 - top / height, text, va="center", **look)


def name_below(axes: "Axes", text: str, under: float, **look: Any) -> None:
    """A panel's name under it, as in the paper, `under` in heights of the panel."""
    look = {"fontsize": 10, "color": INK, "ha": "center"} | look
    axes.text(0.5, -under, text, transform=axes.transAxes, **look)


def half_turn_ticks(axes: "Axes", end: float, zero: str = "0") -> None:
    """The abscissa from -`end` to `end` as angles from -pi to pi."""
    names = [r"$-\pi$", r"$-\pi/2$", zero, r"$\pi/2$", r"$\pi$"]
    axes.set_xticks(np.linspace(-end, end, 5), names)


def centred_spectrum(values: ArrayLike) -> np.ndarray:
    """FFT order with zero in the middle, and the first value once more at the end, so
    that the curve is symmetric."""
    centred = np.fft.fftshift(np.asarray(values, float))
    return np.append(centred, centred[0])


def band(
    axes: "Axes",
    x: np.ndarray,
    mean: np.ndarray,
    spread: np.ndarray,
    *,
    least: float | None = None,
    **look: Any,
) -> None:
    """Fill one standard deviation either way.

    Args:
        least: the lower end stays above this share of the mean: a deviation beyond the
            mean has no lower end on a logarithmic axis.
    """
    low = mean - spread
    if least is not None:
        low = np.maximum(low, least * mean)
    axes.fill_between(x, low, mean + spread, lw=0, **look)


def legend_above(figure: "Figure", left: float) -> None:
    """The first panel's legend in one line at the figure's top, `left` in inches."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    width, height = figure.get_size_inches()
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(left / width, 1 - 0.05 / height),
        ncols=len(labels),
        borderaxespad=0,
        borderpad=0,
        handletextpad=0.4,
        columnspacing=1.8,
    )


@styled
def band_figure(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    least: float | None = None,
    **look: Any,
) -> "Figure":
    """One panel: means over runs, each with a band of one standard deviation.

    Args:
        curves: (x, runs) for each mapping word.
        least: see `band`.
        look: of the lines.
    """
    at = np.asarray(x, float)
    figure = new_figure(8.0, 4.15)
    axes = axes_at(figure, 0.8, 0.35, 7.0, 3.2)
    for word, values in curves.items():
        y = np.asarray(values, float)
        mean, colour = y.mean(axis=1), colour_of(word)
        name = label_of(word.partition(":")[0])
        axes.plot(at, mean, color=colour, linestyle=dash_of(word), label=name, **look)
        band(axes, at, mean, y.std(axis=1), least=least, color=colour, alpha=0.2)
    axes.set_xlabel(xlabel, color=INK)
    axes.set_ylabel(ylabel, color=INK)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.02),
        ncols=len(curves),
        borderaxespad=0,
        borderpad=0,
        handlelength=2.6,
    )
    return figure
