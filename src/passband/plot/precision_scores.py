"""Scores and seconds of one training in several precisions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from passband.plot.style import (
    INK,
    MUTED,
    PAPER,
    axes_at,
    colours_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL, ROW, LEFT, BETWEEN, TOP, BOTTOM = 2.3, 0.55, 0.85, 0.3, 0.65, 0.35


@styled
def precision_figure(
    scores: Mapping[str, Mapping[str, float]],
    allowed: Mapping[str, float],
    seconds: Mapping[str, Mapping[str, float]],
) -> "Figure":
    """A panel for each score, one line a precision, the exact one last; then seconds.

    Args:
        scores: by name of the score and precision.
        allowed: what each score may lose against the exact one.
        seconds: by what was trained and precision.
    """
    names = list(next(iter(scores.values())))
    high = ROW * len(names)
    count = len(scores) + 1
    width = LEFT + count * PANEL + (count - 1) * BETWEEN + 0.35
    figure = new_figure(width, TOP + high + BOTTOM)
    for k, (score, of) in enumerate(scores.items()):
        axes = axes_at(figure, LEFT + k * (PANEL + BETWEEN), TOP, PANEL, high)
        _draw_score(axes, list(of.values()), allowed[score])
        _rows(axes, names, labelled=k == 0)
        axes.set_title(score[0].upper() + score[1:])
    left = LEFT + len(scores) * (PANEL + BETWEEN)
    axes = axes_at(figure, left, TOP, PANEL, high)
    _draw_seconds(axes, seconds)
    _rows(axes, names, labelled=False)
    axes.set_title("Seconds of training")
    figure.legend(loc="upper right", ncols=len(seconds), handlelength=1)
    note = f"dashed: the least allowed beside {names[-1]}"
    figure.text(LEFT / width, 1 - 0.18 / (TOP + high + BOTTOM), note, va="center",
                fontsize=8, color=INK)  # fmt: skip
    return figure


def _draw_score(axes: "Axes", values: list[float], allowed: float) -> None:
    exact = values[-1]
    axes.axvline(exact, color=MUTED, lw=0.8)
    axes.axvline(exact - allowed, color=INK, lw=1, ls="--")
    for place, value in enumerate(values):
        y = len(values) - 1 - place
        axes.plot([exact, value], [y, y], color=INK, lw=1.4)
        axes.plot(value, y, "o", color=INK, markersize=6)
        axes.annotate(f"{value:.4f}", (value, y), (0, 7), ha="center", fontsize=8.5,
                      textcoords="offset points", color=INK,
                      bbox={"color": PAPER, "pad": 0.5})  # fmt: skip
    low, high = min(*values, exact - allowed), max(values)
    room = 0.25 * (high - low)
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=4)
    axes.ticklabel_format(axis="x", useOffset=False)


def _draw_seconds(axes: "Axes", seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Thin bars side by side, one for each thing that was trained."""
    thick = 0.6 / len(seconds)
    colours = colours_of(list(seconds))
    for j, (name, of) in enumerate(seconds.items()):
        for place, value in enumerate(of.values()):
            y = len(of) - 1 - place + 0.3 - (j + 0.5) * thick
            axes.barh(y, value, 0.85 * thick, color=colours[name],
                      label=name if place == 0 else None)  # fmt: skip
            axes.annotate(f"{value:.3g}", (value, y), (3, 0), va="center", fontsize=8,
                          textcoords="offset points", color=INK)  # fmt: skip
    most = max(max(of.values()) for of in seconds.values())
    axes.set_xlim(0, 1.2 * most)


def _rows(axes: "Axes", names: list[str], *, labelled: bool) -> None:
    axes.set_ylim(-0.5, len(names) - 0.4)
    axes.set_yticks(range(len(names)), names[::-1] if labelled else [""] * len(names))
    axes.grid(visible=False, axis="y")
