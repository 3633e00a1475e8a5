"""How a training went: loss and PSNR against steps and against seconds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passband.plot.envelope import envelope
from passband.plot.style import (
    INK,
    MUTED,
    axes_at,
    colours_of,
    dash_of,
    new_figure,
    readable,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Mapping[str, Sequence[float | None]]
"""Equally long columns `step`, `seconds`, `loss`, `psnr`; None where not measured."""

ACROSS = {"step": "Steps", "seconds": "Seconds"}
UP = {"loss": "Loss", "psnr": "PSNR (dB)"}
WIDTH, LEFT, RIGHT, GAP = 10.0, 0.8, 0.65, 0.3
TOP, PANEL, BETWEEN, BOTTOM = 0.15, 2.2, 0.22, 0.55


@styled
def training_curves(histories: Mapping[str, History]) -> "Figure":
    """Loss (log scale) and PSNR of each run, against steps and against seconds.

    Labels that are mapping words take their family's colour. A column that no run has
    is left out; values that are None, NaN or infinite are skipped.
    """
    if not histories:
        raise ValueError("`histories` is empty; give at least one run to draw")
    columns = {
        label: {name: _column(history, name) for name in (*ACROSS, *UP)}
        for label, history in histories.items()
    }
    across = [name for name in ACROSS if _any(columns, name)] or ["step"]
    up = [name for name in UP if _any(columns, name)] or ["loss"]
    legend_lines = 0 if len(histories) == 1 else -(-len(histories) // 5)
    top = TOP + (0.1 + 0.2 * legend_lines if legend_lines else 0)
    height = top + len(up) * PANEL + (len(up) - 1) * BETWEEN + BOTTOM
    figure = new_figure(WIDTH, height)
    wide = (WIDTH - LEFT - RIGHT - (len(across) - 1) * GAP) / len(across)

    colours = colours_of(list(histories))
    alone = len(histories) == 1
    dashes = {label: "-" if alone else dash_of(label) for label in histories}
    for row, quantity in enumerate(up):
        for col, clock in enumerate(across):
            axes = axes_at(
                figure,
                LEFT + col * (wide + GAP),
                top + row * (PANEL + BETWEEN),
                wide,
                PANEL,
            )
            ends = []
            for label, data in columns.items():
                line = {"color": colours[label], "linestyle": dashes[label]}
                ends += _draw(axes, data[clock], data[quantity], label=label, **line)
            _dress(axes, columns, clock, quantity)
            if col:
                axes.tick_params(axis="y", labelleft=False)
            else:
                axes.set_ylabel(UP[quantity], color=INK)
                axes.yaxis.set_label_coords(-0.55 / wide, 0.5)
            if row == len(up) - 1:
                axes.set_xlabel(ACROSS[clock], color=INK)
            else:
                axes.tick_params(axis="x", labelbottom=False)
            if quantity == "psnr" and col == len(across) - 1:
                _name_ends(axes, ends)
    if legend_lines:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(LEFT / WIDTH, 1 - 0.06 / height),
            ncols=min(5, len(labels)),
            borderaxespad=0,
            borderpad=0,
            handlelength=2.4,
            columnspacing=1.8,
        )
    return figure


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


def _any(columns: Mapping[str, Mapping[str, np.ndarray]], name: str) -> bool:
    return any(np.isfinite(data[name]).any() for data in columns.values())


def _draw(
    axes: "Axes", x: np.ndarray, y: np.ndarray, *, color: str, **line: Any
) -> list[tuple[float, float, str]]:
    """One line, and where it ends; single points, which no line shows, as dots."""
    good = np.isfinite(x) & np.isfinite(y)
    x, y = envelope(x[good], y[good])
    dot = "o" if len(x) == 1 else None
    axes.plot(x, y, color=color, marker=dot, markersize=4, **line)
    return [(float(x[-1]), float(y[-1]), color)] if len(x) else []


def _dress(
    axes: "Axes",
    columns: Mapping[str, Mapping[str, np.ndarray]],
    clock: str,
    quantity: str,
) -> None:
    """Limits that are the same along a row and a column of the figure."""
    from matplotlib.ticker import MaxNLocator, NullFormatter

    ends = np.concatenate([data[clock] for data in columns.values()])
    ends = ends[np.isfinite(ends)]
    last = float(ends.max()) if ends.size and ends.max() > 0 else 1.0
    axes.set_xlim(0, last * 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    values = np.concatenate([data[quantity] for data in columns.values()])
    values = values[np.isfinite(values)]
    if quantity == "loss" and (values > 0).any():
        axes.set_yscale("log")
        low, high = values[values > 0].min(), values.max()
        axes.set_ylim(low / 1.3, high * 1.3)
        axes.yaxis.set_minor_formatter(NullFormatter())
        if high / low < 30:  # fewer than two labelled decades would say little
            _label_within_decades(axes)
    elif values.size == 0:
        axes.set_yticks([])
        axes.text(
            0.5,
            0.5,
            "nothing recorded",
            transform=axes.transAxes,
            ha="center",
            color=MUTED,
        )
    else:
        low, high = values.min(), values.max()
        margin = 0.06 * (high - low) or 0.5
        axes.set_ylim(low - margin, high + margin)


def _label_within_decades(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _name_ends(axes: "Axes", ends: list[tuple[float, float, str]]) -> None:
    """The last PSNR of each run beside its line, spread so that none overlap."""
    low, high = axes.get_ylim()
    ends = sorted(ends, key=lambda end: end[1])
    heights = _spread([end[1] for end in ends], 0.08 * (high - low))
    for (_, value, colour), height in zip(ends, heights, strict=True):
        axes.annotate(
            f"{value:.2f}",
            (1, height),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=readable(colour),
            fontsize=8.5,
            fontweight="bold",
            annotation_clip=False,
        )


def _spread(values: Sequence[float], least: float) -> list[float]:
    """Rising values moved as little as needed to be `least` apart.

    Groups that touch are merged and spaced about their common mean (the pool-adjacent
    algorithm of isotonic regression, on value - rank * least).
    """
    groups: list[list[float]] = []
    for rank, value in enumerate(values):
        groups.append([value - rank * least])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    level = [float(np.mean(group)) for group in groups for _ in group]
    return [base + rank * least for rank, base in enumerate(level)]
