"""How fast each mapping learns, and what: the panels of Figs. 3 and 12."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from passband.plot.power_laws import POWER_COLOURS, POWER_LABELS
from passband.plot.style import INK, TARGET, axes_at, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BANDS = ("Low", "Mid", "High")
LEFT, WIDE, HIGH, GAP = 0.75, 2.4, 2.0, 0.55
WINDOW = (0.5, 0.75)


@dataclasses.dataclass(frozen=True, eq=False)
class Curves:
    """Losses over time of every mapping, by who says so; rows follow `names`."""

    train: np.ndarray
    test: np.ndarray
    bands: np.ndarray | None = None
    """(names, times, 3): |DFT| of the train error in a low, a middle and a high bin."""


@dataclasses.dataclass(frozen=True, eq=False)
class Learned:
    """The signal, where it was seen, and the networks' last word on it."""

    x: np.ndarray
    target: np.ndarray
    train: np.ndarray
    """True at the train points."""
    outputs: np.ndarray
    """(names, points)."""


@styled
def convergence_figure(
    names: Sequence[str],
    steps: np.ndarray,
    learned: Learned,
    observed: Curves,
    theory: Curves,
    drawn: Curves,
) -> "Figure":
    """Final functions (a), test loss (b), train error by frequency (c), train loss (d).

    Args:
        names: mappings, by their `POWER_COLOURS` name.
        steps: the iterations of the curves.
        theory: eq. 3 from initialisation.
        drawn: eq. 3 as the published figure has it.
    """
    figure = new_figure(LEFT + 4 * (WIDE + GAP) + 2.2, 6.45)
    column = [LEFT + k * (WIDE + GAP) for k in range(4)]
    last = column[3] + 0.3
    rows = (0.2, 3.4)
    three = 3 * WIDE + 2 * GAP
    functions = axes_at(figure, column[0], rows[0], three, HIGH)
    _functions(functions, names, learned)
    for row, title, of in ((rows[0], "(b) Test loss", "test"),
                           (rows[1], "(d) Train loss", "train")):  # fmt: skip
        axes = axes_at(figure, last, row, WIDE, HIGH)
        for i, name in enumerate(names):
            lines = [getattr(curves, of)[i] for curves in (observed, theory, drawn)]
            _three_lines(axes, steps, *lines, colour=POWER_COLOURS[name])
        _limits(axes, getattr(observed, of))
        _dress(axes, steps, title, HIGH)
    seen, said = observed.bands, theory.bands
    assert seen is not None and said is not None
    for k, band in enumerate(BANDS):
        axes = axes_at(figure, column[k], rows[1], WIDE, HIGH)
        for i, name in enumerate(names):
            _three_lines(
                axes, steps, seen[i, :, k], said[i, :, k], colour=POWER_COLOURS[name]
            )
        _limits(axes, seen[:, :, k])
        _dress(axes, steps, "", HIGH)
        axes.set_title(band, loc="center", fontweight="normal")
    # Named once below the middle of its three panels.
    figure.axes[4].text(
        0.5,
        -0.36,
        "(c) Train loss frequency components",
        transform=figure.axes[4].transAxes,
        ha="center",
        color=INK,
        fontsize=10,
    )
    _legend(figure, names, last + WIDE + 0.2)
    return figure


def _functions(axes: "Axes", names: Sequence[str], learned: Learned) -> None:
    shown = (learned.x >= WINDOW[0]) & (learned.x < WINDOW[1])
    axes.plot(learned.x[shown], learned.target[shown], color=TARGET, lw=1, ls="--")
    for name, output in zip(names, learned.outputs, strict=True):
        axes.plot(learned.x[shown], output[shown], color=POWER_COLOURS[name])
    seen = shown & learned.train
    axes.plot(learned.x[seen], learned.target[seen], "o", color=TARGET, ms=5, zorder=4)
    axes.set_xlim(WINDOW[0], learned.x[shown][-1])
    _name(axes, "(a) Final learned functions", HIGH, under=0.5)


def _three_lines(
    axes: "Axes",
    steps: np.ndarray,
    observed: np.ndarray,
    theory: np.ndarray,
    drawn: np.ndarray | None = None,
    *,
    colour: str,
) -> None:
    axes.semilogy(steps, observed, color=colour, alpha=0.45, lw=2.8)
    axes.semilogy(steps, theory, color=colour, lw=1.2, ls=(0, (4, 1.6)))
    if drawn is not None:
        axes.semilogy(steps, drawn, color=colour, lw=1.3, ls=(0, (0.8, 1.6)))


def _limits(axes: "Axes", observed: np.ndarray) -> None:
    """What the networks do fills the panel; a theory may leave it."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    low, high = float(observed.min()), float(observed.max())
    axes.set_ylim(low / 1.6, high * 1.3)
    if high / low < 30:  # fewer than two labelled decades would say little
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _dress(axes: "Axes", steps: np.ndarray, title: str, high: float) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.set_xlim(0, float(steps[-1]))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda v, _: "0" if v == 0 else f"{v / 1000:g}k")
    )
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("Training iterations")
    if title:
        _name(axes, title, high)


def _name(axes: "Axes", title: str, high: float, under: float = 0.72) -> None:
    """Panels are named below, as in the paper."""
    axes.text(
        0.5,
        -under / high,
        title,
        transform=axes.transAxes,
        ha="center",
        color=INK,
        fontsize=10,
    )


def _legend(figure: "Figure", names: Sequence[str], left: float) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=TARGET, lw=1, ls="--", label="Target signal"),
        Line2D([], [], color=TARGET, marker="o", ls="", ms=5, label="Training points"),
        *(
            Line2D([], [], color=POWER_COLOURS[name], label=POWER_LABELS[name])
            for name in names
        ),
        Line2D([], [], color=INK, alpha=0.45, lw=2.8, label="Observed"),
        Line2D(
            [],
            [],
            color=INK,
            lw=1.2,
            ls=(0, (4, 1.6)),
            label="Theory: eq. 3 from\ninitialisation",
        ),
        Line2D(
            [],
            [],
            color=INK,
            lw=1.3,
            ls=(0, (0.8, 1.6)),
            label="As published: eq. 3\nrestarted from the\nnetwork at every point",
        ),
    ]
    width = float(figure.get_size_inches()[0])
    figure.legend(
        handles=entries,
        loc="center left",
        bbox_to_anchor=(left / width, 0.5),
        labelspacing=0.9,
        handlelength=2.2,
    )
