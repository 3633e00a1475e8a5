"""Held-out error against the scale of a mapping: how a scale was chosen."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

PEAK_ONE = ("pixels", "samples", "points", "views")  # whose error is against peak 1
DEEP = 6.0  # dB below the best that are shown
WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 5.6, 3.0, 0.75, 0.25, 0.75, 0.6


@styled
def sigma_curve(
    scales: ArrayLike,
    measured: Sequence[tuple[int, ArrayLike, ArrayLike]],
    *,
    word: str,
    chosen: float,
    predicted: ArrayLike | None = None,
    nyquist: float | None = None,
    ylabel: str = "Held-out PSNR (dB)",
) -> "Figure":
    """Levels of held-out data against the scale, one line for every comparison.

    Args:
        scales: (s,), in the units of the mapping's word.
        measured: steps, mean over seeds (s,) and its spread (s,); NaN where a scale had
            fallen out.
        word: the chosen mapping.
        predicted: the kernel's levels (s,): drawn to the height of the measured ones,
            for it is their order that they predict.
        nyquist: marked, or named where it lies beyond.
    """
    x = np.asarray(scales, float)
    order = np.argsort(x)
    x = x[order]
    octaves = word.startswith("positional")
    width, height = LEFT + WIDE + RIGHT, TOP + HIGH + BOTTOM
    figure = new_figure(width, height)
    axes = axes_at(figure, LEFT, TOP, WIDE, HIGH)
    colour = colour_of(word)
    levels = []
    for k, (steps, mean, spread) in enumerate(measured):
        y, s = (np.asarray(v, float)[order] for v in (mean, spread))
        there = np.isfinite(y) & (y > -300)
        last = k == len(measured) - 1
        alpha = 1.0 if last else 0.25 + 0.3 * k / max(1, len(measured) - 1)
        axes.plot(x[there], y[there], "o-", color=colour, alpha=alpha, markersize=3.5,
                  label=f"{steps:,} steps")  # fmt: skip
        axes.fill_between(
            x[there], (y - s)[there], (y + s)[there], color=colour, alpha=0.15 * alpha,
            linewidth=0,
        )  # fmt: skip
        levels.append(y[there])
    if predicted is not None:
        y = _to_height(np.asarray(predicted, float)[order], levels)
        axes.plot(x, y, "--", color=INK, linewidth=1.1, label="the kernel's prediction")
    _frame(axes, x, levels, octaves)
    axes.axvline(chosen, color=INK, linewidth=1.2)
    if nyquist is not None and nyquist >= axes.get_xlim()[1]:
        axes.text(0.99, 0.97, f"Nyquist {nyquist:.4g} →", transform=axes.transAxes,
                  ha="right", va="top", fontsize=8, color=MUTED)  # fmt: skip
    elif nyquist is not None:
        axes.axvline(nyquist, color=MUTED, linestyle=":", linewidth=1.2)
        axes.text(nyquist, 0.97, " Nyquist", transform=axes.get_xaxis_transform(),
                  va="top", fontsize=8, color=MUTED)  # fmt: skip
    axes.set_xlabel("Octaves" if octaves else r"Scale $\sigma$ (cycles per unit)",
                    color=INK)  # fmt: skip
    axes.set_ylabel(ylabel, color=INK)
    figure.text(LEFT / width, 1 - 0.2 / height, f"Chosen: {label_of(word)}", color=INK,
                va="center", fontsize=10, fontweight="bold")  # fmt: skip
    figure.legend(*axes.get_legend_handles_labels(), ncols=4, loc="upper left",
                  bbox_to_anchor=(LEFT / width, 1 - 0.3 / height), borderpad=0,
                  columnspacing=1.2, handlelength=1.6)  # fmt: skip
    return figure


def choice_figure(choice: Mapping[str, Any]) -> "Figure":
    """The curve of a choice as its file holds it (`passband.tuning.Choice`)."""
    word = choice["mapping"]
    # Scales of their own for each axis would lie over those of all axes.
    own = "/" in word
    mine = [i for i, a in enumerate(choice["axes"]) if (a is not None) == own]

    def plain(values: Sequence[float | None]) -> np.ndarray:
        return np.asarray([np.nan if values[i] is None else values[i] for i in mine])

    predicted, held = choice["predicted"], choice["held"]
    level = "PSNR" if held in PEAK_ONE else r"$-10\,\log_{10}$ of the error"
    return sigma_curve(
        plain(choice["scales"]),
        [(c["steps"], plain(c["mean"]), plain(c["spread"])) for c in choice["curves"]],
        word=word,
        chosen=choice["scale"],
        predicted=None if predicted is None else plain(predicted),
        nyquist=None if word.startswith("positional") else choice["nyquist"],
        ylabel=f"Held-out {held}: {level} (dB)",
    )


def _to_height(predicted: np.ndarray, levels: list[np.ndarray]) -> np.ndarray:
    """Moved so that its top is as high as the first measured curve's."""
    if not levels or not levels[0].size or not np.isfinite(predicted).any():
        return predicted
    return predicted - np.nanmax(predicted) + levels[0].max()


def _frame(
    axes: "Axes", x: np.ndarray, levels: list[np.ndarray], octaves: bool
) -> None:
    """Axes about the measured curves; a scale is a ratio, octaves are already."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    levels = [y for y in levels if y.size]
    if levels:
        every = np.concatenate(levels)
        room = max(0.3, 0.08 * float(np.ptp(every)))
        # A scale far too high falls without end, and would press the rest flat.
        deep = min(float(y.max()) for y in levels) - DEEP
        axes.set_ylim(max(every.min(), deep) - room, every.max() + room)
    if octaves:
        axes.set_xlim(x[0] - 0.2, x[-1] + 0.2)
        return
    axes.set_xscale("log")
    axes.set_xlim(x[0] / 1.15, x[-1] * 1.15)
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
