"""The paper at a glance: its main table, and its opening figure with the network."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from passband.plot import pixels
from passband.plot.style import (
    INK,
    MUTED,
    RULE,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN, NAME, HEAD, LINE = 1.22, 1.35, 0.62, 0.52
PANEL, GAP, DIAGRAM, SIDE, TITLE, CAPTION = 1.75, 0.1, 2.3, 0.5, 0.5, 0.3


@styled
def mapping_table(
    columns: Sequence[str],
    rows: Sequence[str],
    ours: ArrayLike,
    printed: ArrayLike,
    *,
    digits: Sequence[int],
    note: str = "",
) -> "Figure":
    """Our numbers over the printed ones, the best of each column in bold.

    Args:
        columns: names; what follows a comma goes on a second line.
        ours: (columns, rows); NaN where there is none.
        printed: of the same shape.
        note: what is said below the table besides.
    """
    mine, theirs = np.asarray(ours, float), np.asarray(printed, float)
    figure = new_figure(
        NAME + len(columns) * COLUMN + 0.1, HEAD + len(rows) * LINE + 0.32
    )
    width, height = figure.get_size_inches()

    def write(x: float, y: float, text: str, **look: Any) -> None:
        figure.text(x / width, 1 - y / height, text, va="center", **look)

    for k, column in enumerate(columns):
        first, _, second = column.partition(", ")
        x = NAME + (k + 1) * COLUMN - 0.12
        write(x, 0.2, first, ha="right", fontweight="bold")
        write(x, 0.42, second, ha="right", color=MUTED)
    for j, row in enumerate(rows):
        y = HEAD + (j + 0.5) * LINE
        write(0.1, y, label_of(row), color=colour_of(row), fontweight="bold")
        for k, places in enumerate(digits):
            x = NAME + (k + 1) * COLUMN - 0.12
            value, best = mine[k, j], bool(mine[k, j] == np.nanmax(mine[k], initial=0))
            text = "–" if np.isnan(value) else f"{value:.{places}f}"
            write(x, y - 0.09, text, ha="right", fontsize=11,
                  fontweight="bold" if best else "normal")  # fmt: skip
            write(x, y + 0.12, f"{theirs[k, j]:.{places}f}", ha="right", fontsize=8,
                  color=MUTED)  # fmt: skip
    for j in range(len(rows)):
        _rule(figure, HEAD + j * LINE)
    legend = "large: ours, small: printed; PSNR in dB, shapes IoU"
    write(0.1, height - 0.14, f"{legend}{note}", fontsize=8, color=MUTED)
    return figure


def _rule(figure: "Figure", y: float) -> None:
    from matplotlib.lines import Line2D

    height = float(figure.get_size_inches()[1])
    line = Line2D([0.01, 0.99], [1 - y / height] * 2, color=RULE, lw=0.8)
    figure.add_artist(line)


@styled
def opening_figure(
    columns: Sequence[str],
    without: Sequence[ArrayLike],
    features: Sequence[ArrayLike],
    captions: Sequence[tuple[str, str]],
) -> "Figure":
    """The network drawn, then a column for each task: without features over with them.

    Args:
        columns: name of each task, then after a newline what goes in and comes out.
        without: a picture for each task.
        features: the same with Fourier features.
        captions: the text under each of the two pictures.
    """
    step = PANEL + CAPTION
    wide = DIAGRAM + SIDE + len(columns) * (PANEL + GAP) + 0.1
    figure = new_figure(wide, TITLE + 2 * step + 0.08)
    _network(axes_at(figure, 0.1, TITLE - 0.1, DIAGRAM - 0.1, 2 * step))
    names = ("No Fourier features\n$\\gamma(v) = v$",
             "With Fourier features\n$\\gamma(v) = \\mathrm{FF}(v)$")  # fmt: skip
    for i, (row, name) in enumerate(zip((without, features), names, strict=True)):
        top = TITLE + i * step
        middle = 1 - (top + PANEL / 2) / figure.get_size_inches()[1]
        figure.text((DIAGRAM + 0.26) / wide, middle, name, rotation=90, ha="center",
                    va="center", fontsize=8.5,
                    color=colour_of(("none", "gaussian")[i]))  # fmt: skip
        for k, picture in enumerate(row):
            left = DIAGRAM + SIDE + k * (PANEL + GAP)
            axes = axes_at(figure, left, top, PANEL, PANEL)
            panel = pixels.as_rgb(pixels.as_picture(np.asarray(picture)))
            axes.imshow(panel, interpolation="nearest")
            axes.set_axis_off()
            if i == 0:
                letter, name = "bcde"[k], columns[k]
                axes.set_title(f"({letter}) {name}", fontsize=8.5)
            axes.text(0.5, -0.03, captions[k][i], transform=axes.transAxes, va="top",
                      ha="center", fontsize=8.5, color=INK, clip_on=False,
                      fontweight="bold" if i else "normal")  # fmt: skip
    return figure


def _network(axes: "Axes") -> None:
    """A coordinate goes in at the top, a colour comes out at the bottom."""
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 20)
    axes.set_axis_off()
    axes.set_title("(a) Coordinate network", fontsize=8.5)
    axes.text(5, 18.7, "$v = (x, y)$", ha="center", va="center", fontsize=10)
    axes.text(5, 14.9, "$\\gamma(v)$", ha="center", va="center", fontsize=11,
              bbox={"boxstyle": "round,pad=0.5", "facecolor": "#FBE9DD",
                    "edgecolor": colour_of("gaussian")})  # fmt: skip
    layers = [(12.0, 3), (9.2, 5), (6.4, 5), (3.6, 3)]
    for (y, count), (below, more) in itertools.pairwise(layers):
        for x in _spread(count):
            for to in _spread(more):
                axes.plot([x, to], [y, below], color=RULE, lw=0.7, zorder=1)
    inks = ("#C8503C", "#3F8F5B", "#3B62A8")
    for k, (y, count) in enumerate(layers):
        colours = inks if k == len(layers) - 1 else [INK] * count
        axes.scatter(_spread(count), [y] * count, s=42, c=list(colours), zorder=2)
    axes.text(5, 1.6, "$(r, g, b)$", ha="center", va="center", fontsize=10)
    for start, end in ((18.0, 16.3), (13.6, 12.6), (3.0, 2.3)):
        axes.annotate("", (5, end), (5, start),
                      arrowprops={"arrowstyle": "->", "color": MUTED})  # fmt: skip


def _spread(count: int) -> np.ndarray:
    """Places of a layer's units, side by side about the middle."""
    return 5 + 1.6 * (np.arange(count) - (count - 1) / 2)
