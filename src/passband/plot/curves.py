"""How a training went: loss, PSNR and error against steps, held-out data dashed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from passband.plot.envelope import envelope
from passband.plot.style import (
    INK,
    MUTED,
    axes_at,
    colour_of,
    new_figure,
    readable,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Mapping[str, Sequence[float | None]]
"""Equally long columns `step`, `seconds`, `loss`, `psnr`...; None: not measured."""


class Panel(NamedTuple):
    """One quantity, and the columns that measure it: (column, whether held out)."""

    title: str
    columns: tuple[tuple[str, bool], ...]
    log: bool


PANELS = (
    Panel("Loss", (("loss", False),), True),
    Panel(
        "PSNR (dB)", (("psnr", False), ("psnr_test", True), ("psnr_val", True)), False
    ),
    Panel("Relative error", (("error_train", False), ("error_test", True)), True),
)
HELD_OUT = (0, (4, 1.6))
WIDTH, LEFT, RIGHT, GAP = 10.0, 0.65, 0.6, 0.85
TOP, HIGH, BOTTOM = 0.45, 2.4, 0.75


@styled
def training_curves(history: History, *, mapping: str = "") -> "Figure":
    """Every quantity of a run against its steps, beside each other.

    Columns that the run has not are left out; values that are None, NaN or infinite
    are skipped.

    Args:
        mapping: the word in whose colour the lines are drawn.
    """
    columns = {name: _column(history, name) for name in ("step", "seconds")}
    panels = [
        [(name, held, values) for name, held in panel.columns
         if np.isfinite(values := _column(history, name)).any()]
        for panel in PANELS
    ]  # fmt: skip
    shown = [(p, lines) for p, lines in zip(PANELS, panels, strict=True) if lines]
    shown = shown or [(PANELS[0], [])]
    wide = (WIDTH - LEFT - RIGHT - (len(shown) - 1) * GAP) / len(shown)
    figure = new_figure(WIDTH, TOP + HIGH + BOTTOM)
    colour = colour_of(mapping)
    for place, (panel, lines) in enumerate(shown):
        axes = axes_at(figure, LEFT + place * (wide + GAP), TOP, wide, HIGH)
        axes.set_title(panel.title)
        every = np.concatenate([np.zeros(0), *(values for *_, values in lines)])
        _dress(axes, columns["step"], every[np.isfinite(every)], panel.log)
        ends = []
        for _, held, values in lines:
            ends += _draw(axes, columns["step"], values, held, colour)
        if len(lines) > 1:
            axes.legend(loc="best", handlelength=2.6)
        if not panel.log:
            _name_ends(axes, ends, readable(colour))
        axes.set_xlabel(_across(columns["seconds"]), color=INK)
    return figure


def _across(seconds: np.ndarray) -> str:
    spent = seconds[np.isfinite(seconds)]
    return f"Steps ({spent[-1]:.3g} s in all)" if len(spent) else "Steps"


def _column(history: History, name: str) -> np.ndarray:
    """A column as floats, NaN where it has nothing; checked to be as long as `step`."""
    length = len(history["step"]) if "step" in history else 0
    values = history.get(name)
    if values is None:
        return np.full(length, np.nan)
    if len(values) != length:
        raise ValueError(
            f"`{name}` has {len(values)} entries and `step` {length}; "
            "the columns of a history must be equally long"
        )
    return np.array([np.nan if v is None else v for v in values], dtype=float)


def _draw(
    axes: "Axes", x: np.ndarray, y: np.ndarray, held: bool, colour: str
) -> list[float]:
    """One line, and where it ends; single points, which no line shows, as dots."""
    good = np.isfinite(x) & np.isfinite(y)
    x, y = envelope(x[good], y[good])
    axes.plot(
        x, y, color=INK if held else colour, linestyle=HELD_OUT if held else "-",
        marker="o" if len(x) == 1 else None, markersize=4,
        label="held out" if held else "trained",
    )  # fmt: skip
    return [float(y[-1])] if len(y) else []


def _dress(axes: "Axes", steps: np.ndarray, values: np.ndarray, log: bool) -> None:
    from matplotlib.ticker import MaxNLocator, NullFormatter

    last = float(np.max(steps, initial=0.0)) or 1.0
    axes.set_xlim(0, last * 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if values.size == 0:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "nothing recorded", transform=axes.transAxes, ha="center",
                  color=MUTED)  # fmt: skip
    elif log and (values > 0).any():
        axes.set_yscale("log")
        low, high = values[values > 0].min(), values.max()
        axes.set_ylim(low / 1.3, high * 1.3)
        axes.yaxis.set_minor_formatter(NullFormatter())
        if high / low < 30:  # fewer than two labelled decades would say little
            _label_within_decades(axes)
    else:
        low, high = values.min(), values.max()
        margin = 0.06 * (high - low) or 0.5
        axes.set_ylim(low - margin, high + margin)


def _label_within_decades(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _name_ends(axes: "Axes", ends: list[float], colour: str) -> None:
    """The last value beside each line, apart where two would touch."""
    low, high = axes.get_ylim()
    least, last = 0.08 * (high - low), -np.inf
    for value in sorted(ends):
        last = max(value, last + least)
        axes.annotate(
            f"{value:.2f}", (1, last), xycoords=("axes fraction", "data"),
            xytext=(4, 0), textcoords="offset points", va="center", color=colour,
            fontsize=8.5, fontweight="bold", annotation_clip=False,
        )  # fmt: skip
