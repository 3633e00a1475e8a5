"""Amplitudes chosen by the theory, beside power laws: the paper's Fig. 5."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    FAMILY_COLOURS,
    INK,
    MUTED,
    axes_at,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT, GAP = 11.0, 0.75, 0.2, 0.85
TOP, PANEL, BOTTOM = 0.35, 3.2, 0.6
COLOURS = tuple(FAMILY_COLOURS[f] for f in ("gaussian", "basic", "positional"))
INFINITE = 2.5
"""Where the power law of p = infinity is drawn, beyond the largest p of 2."""


@styled
def design_figure(
    spectra: ArrayLike,
    reference: ArrayLike,
    powers: ArrayLike,
    errors: ArrayLike,
    designed: ArrayLike,
    *,
    labels: Sequence[str],
    chosen_by: str = "held-out loss",
) -> "Figure":
    """(a) the spectra of the designed kernels; (b) trained errors against the power p.

    Args:
        spectra: (kinds, n), |DFT| of the kernel row designed for each kind of signal,
            in FFT order.
        reference: (n,), that of p = infinity.
        powers: (P,), the last one may be infinite.
        errors: (kinds, P, signals), test errors of networks trained with power laws.
        designed: (kinds, signals), the same with the designed amplitudes.
        chosen_by: the loss that the amplitudes were designed for, for the legend.
    """
    rows, p = np.asarray(spectra, float), np.asarray(powers, float)
    y, ours = np.asarray(errors, float), np.asarray(designed, float)
    if rows.shape[0] != len(labels) or y.shape[:2] != (len(labels), len(p)):
        raise ValueError(
            f"`spectra` {rows.shape} and `errors` {y.shape} must have one row for each "
            f"of {len(labels)} labels, and `errors` one column for each of {len(p)} p"
        )
    figure = new_figure(WIDTH, TOP + PANEL + BOTTOM)
    wide = (WIDTH - LEFT - RIGHT - GAP) / 2
    _spectra(axes_at(figure, LEFT, TOP, wide, PANEL), rows, reference, labels)
    axes = axes_at(figure, LEFT + wide + GAP, TOP, wide, PANEL)
    place = np.where(np.isinf(p), INFINITE, p)
    for k, label in enumerate(labels):
        _errors(axes, place, y[k], ours[k], COLOURS[k % len(COLOURS)], label)
    _dress(axes, p, chosen_by)
    return figure


def _spectra(
    axes: "Axes", rows: np.ndarray, reference: ArrayLike, labels: Sequence[str]
) -> None:
    n = rows.shape[1]
    frequency = np.arange(n + 1) - n // 2

    def centred(row: np.ndarray) -> np.ndarray:
        # The first sample comes again at the end, so that the curve is symmetric.
        shifted = np.fft.fftshift(row)
        return np.append(shifted, shifted[0])

    axes.plot(
        frequency,
        centred(np.asarray(reference, float)),
        color=MUTED,
        label=r"Power $\infty$",
    )
    for k, label in enumerate(labels):
        axes.plot(
            frequency,
            centred(rows[k]),
            color=COLOURS[k % len(COLOURS)],
            label=f"Opt. for {label}",
        )
    axes.set_yscale("log")
    axes.set_xticks(
        [-n // 2, -n // 4, 0, n // 4, n // 2],
        [r"$-\pi$", r"$-\pi/2$", "0", r"$\pi/2$", r"$\pi$"],
    )
    axes.set_xlim(-n / 2, n / 2)
    axes.set_xlabel("Frequency", color=INK)
    axes.set_ylabel("Magnitude", color=INK)
    axes.set_title("(a) NTK Fourier spectrum")
    axes.legend(loc="upper right")


def _errors(
    axes: "Axes",
    place: np.ndarray,
    errors: np.ndarray,
    designed: np.ndarray,
    colour: str,
    label: str,
) -> None:
    mean, spread = errors.mean(axis=1), errors.std(axis=1)
    axes.plot(place, mean, color=colour, alpha=0.55, label=label)
    axes.fill_between(
        place,
        np.maximum(mean - spread, 0.05 * mean),
        mean + spread,
        color=colour,
        alpha=0.15,
        linewidth=0,
    )
    best = int(np.argmin(mean))
    axes.plot(place[best], mean[best], "x", color=colour, ms=9, mew=2)
    axes.hlines(
        designed.mean(),
        place[best] - 0.15,
        place[best] + 0.15,
        color=colour,
        linestyle=":",
        linewidth=2.4,
    )


def _dress(axes: "Axes", powers: np.ndarray, chosen_by: str) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.2)  # room for the legend
    ticks, names = [0.0, 0.5, 1.0, 1.5, 2.0], ["0", "0.5", "1", "1.5", "2"]
    if np.isinf(powers).any():
        ticks, names = [*ticks, INFINITE], [*names, r"$\infty$"]
    axes.set_xticks(ticks, names)
    axes.set_xlabel(r"Power law $p$ ($a_j = j^{-p}$)", color=INK)
    axes.set_ylabel("Mean squared error", color=INK)
    axes.set_title("(b) Trained networks, held-out points")
    axes.plot([], [], "x", color=MUTED, ms=8, mew=2, label="best power law")
    axes.plot([], [], ":", color=MUTED, lw=2.4, label=f"$a_j$ by {chosen_by}")
    axes.legend(loc="upper right", ncols=2)
