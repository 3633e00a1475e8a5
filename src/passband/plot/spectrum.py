"""Which frequencies a signal holds, and which of them a field has learned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.style import (
    INK,
    MUTED,
    RESIDUAL,
    TARGET,
    axes_at,
    colour_of,
    new_figure,
    readable,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PASSED = 0.5
EMPTY = 1e-9
GROWTH = 1.06


def radial_spectrum(
    image: ArrayLike, *, spatial: int = 2
) -> tuple[np.ndarray, np.ndarray]:
    """Mean power at each distance from zero frequency, for 1, 2, 3... up to Nyquist.

    Sample k of an axis sits at k / (longest side), so the unit is cycles per longest
    side. Each channel, less its weighted mean, is multiplied by a Hann window w, and

        power(f) = mean over channels and | |b| - f | <= 1/2 of
                   |FFT(w (x - mean))(b)|^2 / sum(w^2),

    which is s^2 at every f for white noise of variance s^2.

    Args:
        image: (rows, cols) or (rows, cols, c); with `spatial=1`, (n,) or (n, c).
        spatial: how many of the leading axes are axes of the domain.
    """
    values = np.asarray(image)
    if values.ndim == spatial:
        values = values[..., None]
    if values.ndim != spatial + 1 or values.size == 0:
        raise ValueError(
            f"`image` has shape {np.shape(image)}; its spectrum needs {spatial} "
            "axes, or one more for the channels"
        )
    sides = values.shape[:-1]
    longest = max(sides)
    window = np.ones(())
    for side in sides:
        # Sampled between the ends: no weight is 0, even with 1 or 2 samples.
        weight = np.sin(np.pi * (np.arange(side) + 0.5) / side) ** 2
        window = window[..., None] * weight
    power = 0.0
    for channel in range(values.shape[-1]):
        part = np.nan_to_num(values[..., channel].astype(np.float64))
        part -= np.sum(window * part) / np.sum(window)
        power = power + np.abs(np.fft.rfftn(window * part)) ** 2
    power = power / (values.shape[-1] * np.sum(window**2))
    ring, copies = _rings(sides)
    top = longest // 2
    inside = ring <= top
    copies = np.broadcast_to(copies, ring.shape)[inside]
    count = np.bincount(ring[inside], copies, minlength=top + 1)
    total = np.bincount(ring[inside], copies * power[inside], minlength=top + 1)
    frequency = np.arange(1, top + 1)
    return frequency.astype(float), total[1:] / np.maximum(count[1:], 1)


def _rings(sides: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """|b| to the nearest integer for each entry of a real FFT, and how often it counts.

    The last axis holds b >= 0 only, so all but its ends stand for -b as well.
    """
    longest = max(sides)
    squares = np.zeros(())
    for side in sides[:-1]:
        squares = squares[..., None] + (np.fft.fftfreq(side) * longest) ** 2
    half = np.fft.rfftfreq(sides[-1])
    squares = squares[..., None] + (half * longest) ** 2
    copies = np.where((half == 0) | (half == 0.5), 1.0, 2.0)
    return np.rint(np.sqrt(squares)).astype(int), copies


def passed_up_to(
    frequency: np.ndarray, target: np.ndarray, residual: np.ndarray
) -> float | None:
    """The frequency at which the residual first holds half of the target's power.

    Frequencies that the target holds only by rounding do not count. None where it never
    does up to the last frequency, 0 where it does from the first.
    """
    lost = residual > PASSED * np.maximum(target, EMPTY * target.max(initial=0.0))
    if not lost.any():
        return None
    first = int(np.argmax(lost))
    if first == 0:
        return 0.0
    return float(frequency[first - 1])


@styled
def spectrum_figure(
    target: ArrayLike,
    prediction: ArrayLike,
    nyquist: float,
    sigma: float | Sequence[float] | None = None,
    *,
    mapping: str = "gaussian",
    spatial: int = 2,
    sigma_name: str = "σ",
    length: tuple[float, str] = (1.0, ""),
    share: float = 1.0,
) -> "Figure":
    """Radial power of target, prediction and residual, with sigma and Nyquist marked.

    The shaded band ends where the residual first holds half of the target's power.

    Args:
        nyquist: half the sampling rate of the training data, per longest side.
        sigma: scale of the mapping; several where each axis has its own.
        mapping: the word in whose colour the prediction is drawn.
        spatial: 2 for pictures, 1 for signals.
        sigma_name: what `sigma` is called, such as "largest |b|".
        length: of the longest side in the user's unit, and what frequencies then are:
            (2.5, "Hz") for two and a half seconds, (90.0, "cycles/mm").
        share: of the longest side that `target` is a part of, where it is not all.
    """
    colour = colour_of(mapping)
    truth, guess = np.asarray(target, float), np.asarray(prediction, float)
    if truth.shape != guess.shape:
        raise ValueError(
            f"`prediction` has shape {guess.shape} and `target` {truth.shape}; "
            "they must be equal"
        )
    frequency, power = _smooth(*radial_spectrum(truth, spatial=spatial))
    _, guessed = _smooth(*radial_spectrum(guess, spatial=spatial))
    _, missed = _smooth(*radial_spectrum(guess - truth, spatial=spatial))
    long, unit = length
    frequency = frequency / (share * long)
    nyquist, scales = nyquist / long, _scales(sigma)

    figure = new_figure(10.0, 4.2)
    axes = axes_at(figure, 0.8, 0.7, 8.9, 2.95)
    axes.set_xscale("log")
    axes.set_yscale("log")
    marks = [(float(nyquist), f"Nyquist {nyquist:.4g}", MUTED)]
    per = " per side" if unit else ""  # sigma is what the user wrote
    for scale in dict.fromkeys(scales):
        marks.append((scale / long, f"{sigma_name} = {scale:.4g}{per}", colour))
    right = max([*frequency, *(mark[0] for mark in marks)])
    left = 0.85 / (share * long)
    axes.set_xlim(left, max(right * 1.15, 2.0 / (share * long)))
    axes.set_ylim(*_limits(power, guessed, missed))

    edge = passed_up_to(frequency, power, missed) if len(frequency) else 0.0
    end = float(frequency[-1]) if edge is None else edge
    lines = {
        "Target": (power, TARGET, "-"),
        "Prediction": (guessed, colour, (0, (5, 1.2))),
        "Residual": (missed, RESIDUAL, "-"),
    }
    for label, (values, ink, dash) in lines.items():
        axes.plot(
            frequency,
            values,
            color=ink,
            linestyle=dash,
            marker="o" if len(values) == 1 else None,
            label=label,
            zorder=1.9 if label == "Residual" else 2,
        )
    band = axes.axvspan(left, max(end, left), color=colour, alpha=0.1, linewidth=0)
    if edge is None:
        band.set_label("residual under half the target's power, throughout")
    elif end > 0:
        band.set_label(f"residual under half the target's power, up to {end:.3g}")
    _mark(axes, marks)
    unit = unit or f"cycles per {'length' if spatial == 1 else 'longest side'}"
    axes.set_xlabel(f"Frequency ({unit})", color=INK)
    axes.set_ylabel("Power", color=INK)
    _plain_decades(axes)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.13),
        ncols=4,
        borderaxespad=0,
        borderpad=0,
        handlelength=2.4,
        columnspacing=1.8,
    )
    return figure


def _smooth(frequency: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rings merged into bands that widen by 6 %, each the mean of its rings."""
    if len(frequency) == 0:
        return frequency, power
    band = np.floor(np.log(frequency) / np.log(GROWTH)).astype(int)
    _, band = np.unique(band, return_inverse=True)
    count = np.bincount(band)
    return np.bincount(band, frequency) / count, np.bincount(band, power) / count


def _scales(sigma: float | Sequence[float] | None) -> list[float]:
    if sigma is None:
        return []
    return [float(scale) for scale in np.atleast_1d(np.asarray(sigma)) if scale > 0]


def _limits(
    target: np.ndarray, prediction: np.ndarray, residual: np.ndarray
) -> tuple[float, float]:
    """Room for the target and a factor of 30 below it; the rest may run out of view."""
    top = max(values.max(initial=0.0) for values in (target, prediction, residual))
    if not top > 0:
        return 1e-10, 1.0
    floor = max(float(target.min(initial=top)), top * EMPTY)
    return floor / 30, top * 3


def _mark(axes: "Axes", marks: list[tuple[float, str, str]]) -> None:
    """Thin upright lines named above the frame, higher where names would touch."""
    low, high = np.log(axes.get_xlim())
    last, lift = -np.inf, 0
    for where, text, colour in sorted(marks):
        share = (np.log(where) - low) / (high - low)
        lift = 11 - lift if share - last < 0.1 else 0
        last = share
        axes.axvline(where, color=colour, linewidth=1.0, linestyle=(0, (2, 2)))
        axes.annotate(
            text,
            (where, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3 + lift),
            textcoords="offset points",
            ha="right" if share > 0.93 else "center",
            va="bottom",
            fontsize=8.5,
            fontweight="bold",
            color=readable(colour),
        )


def _plain_decades(axes: "Axes") -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
