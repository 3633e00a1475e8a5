"""IoU of shapes by mapping, and how it depends on the scale."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    INK,
    MUTED,
    axes_at,
    colour_of,
    label_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, HIGH, LEFT, BETWEEN, TOP, BOTTOM = 2.9, 1.9, 1.1, 0.3, 0.4, 0.8
SIGNS = ("o", "s", "^", "x")


@styled
def shape_scores(
    iou: ArrayLike,
    *,
    points: Sequence[str],
    mappings: Sequence[str],
    shapes: Sequence[str],
    sweeps: Mapping[str, ArrayLike],
    printed: Mapping[tuple[str, str], float] | None = None,
) -> "Figure":
    """A panel for each kind of points, one line a mapping; then the sweeps' panel.

    Args:
        iou: (points, mappings, shapes); the last shape is the validation one, which is
            no part of the mean.
        sweeps: by mapping (scales, 3): scale, and the IoU on each kind of points.
        printed: the paper's means by mapping and points, where they can be compared.
    """
    values = np.asarray(iou, float)
    width = LEFT + (PANEL + BETWEEN) * len(points) + 0.5 + PANEL + 0.15
    figure = new_figure(width, TOP + HIGH + BOTTOM)
    for k, name in enumerate(points):
        axes = axes_at(figure, LEFT + k * (PANEL + BETWEEN), TOP, PANEL, HIGH)
        for place, word in enumerate(mappings):
            y = len(mappings) - 1 - place
            mean = values[k, place, :-1].mean()
            colour = colour_of(word)
            for j in range(len(shapes)):
                axes.plot(values[k, place, j], y, SIGNS[j % 4], color=colour,
                          markersize=5, alpha=0.75)  # fmt: skip
            axes.plot([mean, mean], [y - 0.28, y + 0.28], color=colour, lw=2.2)
            axes.annotate(f"{mean:.3f}", (mean, y), (0, 11), color=INK, fontsize=8.5,
                          textcoords="offset points", ha="center")  # fmt: skip
            if printed is not None:
                axes.plot(printed[word, name], y, "D", markerfacecolor="none",
                          markeredgecolor=INK, markersize=9)  # fmt: skip
        axes.set_ylim(-0.6, len(mappings) - 0.2)
        axes.set_yticks(range(len(mappings)))
        labels = [label_of(word) for word in reversed(mappings)]
        axes.set_yticklabels(labels if k == 0 else [])
        axes.set_xlabel("IoU")
        axes.set_title(f"{name.capitalize()} points")
    left = LEFT + (PANEL + BETWEEN) * len(points) + 0.5
    _draw_sweeps(axes_at(figure, left, TOP, PANEL, HIGH), sweeps, shapes[-1])
    _key(figure, shapes, printed is not None)
    return figure


def _draw_sweeps(
    axes: "Axes", sweeps: Mapping[str, ArrayLike], validation: str
) -> None:
    """Boundary IoU against the highest frequency or sigma: one axis for both."""
    for word, sweep in sweeps.items():
        scale, *_, boundary = np.asarray(sweep, float).T
        # A positional scale is an exponent, a Gaussian one a standard deviation.
        at = 2**scale - 1 if word == "positional" else scale
        axes.plot(at, boundary, "o-", color=colour_of(word), markersize=4,
                  label=label_of(word))  # fmt: skip
        best = int(boundary.argmax())
        axes.annotate(f"{scale[best]:g}", (at[best], boundary[best]), (0, 6),
                      textcoords="offset points", ha="center", fontsize=8.5,
                      color=INK)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.margins(y=0.2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("σ, or the largest frequency (cycles)")
    axes.set_title(f"Boundary IoU on {validation.capitalize()}, by scale")
    axes.legend(loc="best")


def _key(figure: "Figure", shapes: Sequence[str], printed: bool) -> None:
    from matplotlib.lines import Line2D

    signs = [
        Line2D([], [], color=MUTED, marker=SIGNS[j % 4], ls="", markersize=5)
        for j in range(len(shapes))
    ]
    signs.append(Line2D([], [], color=MUTED, lw=2.2))
    test = ", ".join(name.capitalize() for name in shapes[:-1])
    names = [name.capitalize() for name in shapes]
    names[-1] += " (chooses the scale)"
    names.append(f"mean of {test}")
    if printed:
        signs.append(
            Line2D([], [], ls="", marker="D", markerfacecolor="none",
                   markeredgecolor=INK, markersize=8)
        )  # fmt: skip
        names.append("printed")
    figure.legend(signs, names, loc="lower left", ncols=len(names),
                  columnspacing=1.2, handletextpad=0.4)  # fmt: skip
