"""One colour per exponent p of a_j = j^-p, and the kernels they make (Fig. 2)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import INK, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The paper runs from orange over green to crimson as p grows; these are the nearest of
# the style's colours, which are told apart by every eye.
POWER_COLOURS = {
    "p=0": "#D55E00",
    "p=0.5": "#C9A800",
    "p=1": "#009E73",
    "p=1.5": "#5BB8F0",
    "p=2": "#2A1A78",
    "p=inf": "#7A1248",
    "none": "#707070",
}
POWER_LABELS = {
    **{f"p={p}": f"$p = {p}$" for p in ("0", "0.5", "1", "1.5", "2")},
    "p=inf": r"$p = \infty$",
    "none": "No mapping",
}

PANEL = 2.35
HALF_TURNS = [r"$-\pi$", r"$-\pi/2$", "$0$", r"$\pi/2$", r"$\pi$"]


@styled
def kernels_figure(
    plain: ArrayLike, basic: ArrayLike, rows: Mapping[str, ArrayLike]
) -> "Figure":
    """Two kernel matrices, and stationary kernels in space and frequency (Fig. 2).

    Args:
        plain: (n, n) kernel without a mapping, on an even grid of the domain.
        basic: the same with one turn around the circle.
        rows: kernel against x = 0 at even points of [0, 1), by `POWER_COLOURS` name.
    """
    figure = new_figure(13.2, 3.35)
    top = 0.3
    for left, matrix, title in (
        (0.4, plain, "(a) No mapping NTK"),
        (3.3, basic, "(b) Basic mapping NTK"),
    ):
        axes = axes_at(figure, left, top, PANEL, PANEL)
        _matrix(axes, np.asarray(matrix), title)
    space = axes_at(figure, 6.2, top, 2.6, PANEL)
    spectrum = axes_at(figure, 9.35, top, 2.6, PANEL)
    for name, row in rows.items():
        row = np.asarray(row, float)
        across = np.linspace(-0.5, 0.5, len(row) + 1)
        space.plot(across, _closed(row), color=POWER_COLOURS[name])
        spectrum.semilogy(
            across,
            _closed(np.abs(np.fft.fft(row))),
            color=POWER_COLOURS[name],
            label=POWER_LABELS[name],
        )
    space.set_xlim(-0.5, 0.5)
    _title_below(space, "(c) NTK spatial")
    spectrum.set_xlim(-0.5, 0.5)
    spectrum.set_xticks(np.linspace(-0.5, 0.5, 5), HALF_TURNS)
    _title_below(spectrum, "(d) NTK Fourier spectrum")
    spectrum.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), handlelength=1.4)
    return figure


def _closed(values: np.ndarray) -> np.ndarray:
    """Zero in the middle and the first value once more at the end, for symmetry."""
    centred = np.fft.fftshift(values)
    return np.append(centred, centred[0])


def _matrix(axes: "Axes", matrix: np.ndarray, title: str) -> None:
    axes.imshow(matrix, cmap="inferno", extent=(-0.5, 0.5, 0.5, -0.5))
    axes.grid(False)
    axes.xaxis.tick_top()
    axes.set_xticks([-0.5, 0.5])
    axes.set_yticks([-0.5, 0.5])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    _title_below(axes, title)


def _title_below(axes: "Axes", text: str) -> None:
    """Panels are named below, as in the paper."""
    axes.text(
        0.5,
        -0.2,
        text,
        transform=axes.transAxes,
        ha="center",
        color=INK,
        fontsize=10,
    )
