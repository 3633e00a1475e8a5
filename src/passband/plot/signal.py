"""A signal and its prediction as curves, with a zoom and what is left over."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from passband.plot.envelope import envelope
from passband.plot.style import (
    INK,
    MUTED,
    RESIDUAL,
    TARGET,
    axes_at,
    colour_of,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT, GAP = 10.0, 0.85, 0.2, 0.75
TOP, PANEL, LOW, BETWEEN, BOTTOM = 0.45, 1.9, 1.2, 0.52, 0.55
CHANNELS = 2
FEW_SAMPLES, MANY_SAMPLES = 80, 2000


@styled
def signal_figure(
    target: ArrayLike,
    prediction: ArrayLike,
    x: ArrayLike | None = None,
    *,
    zoom: tuple[int, int] | None = None,
    mapping: str = "gaussian",
    xlabel: str = "Position",
) -> "Figure":
    """Target and prediction against x, zoomed into the finest detail, and the residual.

    Args:
        target: (n,) or (n, c); of several channels the first two are drawn.
        x: the n positions, rising; 0, 1, 2... by default.
        zoom: first sample and number of samples to magnify; by default the stretch
            that changes most.
        mapping: the word in whose colour the prediction is drawn.
    """
    truth, guess = _columns(target, "target"), _columns(prediction, "prediction")
    if truth.shape != guess.shape:
        raise ValueError(
            f"`prediction` has shape {guess.shape} and `target` {truth.shape}; "
            "they must be equal"
        )
    count, channels = truth.shape
    place = np.arange(count) if x is None else np.asarray(x, float)
    if place.shape != (count,):
        raise ValueError(
            f"`x` has shape {place.shape}; it needs one position for each "
            f"of the {count} samples"
        )
    span = detailed_stretch(truth) if zoom is None else _check_zoom(zoom, count)
    shown = min(channels, CHANNELS)
    wide = (WIDTH - LEFT - RIGHT - (shown - 1) * GAP) / shown
    rows = [PANEL, LOW] if span is None else [PANEL, PANEL, LOW]
    height = TOP + sum(rows) + (len(rows) - 1) * BETWEEN + BOTTOM
    figure = new_figure(WIDTH, height)
    colour = colour_of(mapping)
    for channel in range(shown):
        left = LEFT + channel * (wide + GAP)
        y, z = truth[:, channel], guess[:, channel]
        axes = axes_at(figure, left, TOP, wide, PANEL)
        _pair(axes, place, y, z, colour)
        top = TOP + PANEL + BETWEEN
        if span is not None:
            part = slice(span[0], span[0] + span[1])
            axes.axvspan(
                *place[part][[0, -1]], color=MUTED, alpha=0.18, linewidth=0, zorder=0
            )
            axes = axes_at(figure, left, top, wide, PANEL)
            _pair(axes, place[part], y[part], z[part], colour)
            axes.set_title(
                f"Shaded stretch, {span[1]} of {count} samples",
                fontweight="normal",
                fontsize=8.5,
                color=MUTED,
            )
            top += PANEL + BETWEEN
        _residual(axes_at(figure, left, top, wide, LOW), place, z - y, xlabel)
    for axes in figure.axes[:: len(rows)]:
        channel = figure.axes.index(axes) // len(rows)
        if channels > 1:
            axes.set_title(f"Channel {channel + 1} of {channels}", loc="right")
    figure.axes[0].legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.04),
        ncols=2,
        borderaxespad=0,
        borderpad=0,
        handlelength=2.4,
    )
    return figure


def detailed_stretch(signal: np.ndarray) -> tuple[int, int] | None:
    """First sample and length of the stretch whose squared steps sum highest.

    It is a twentieth of the signal, from 40 to 400 samples; None where that would be
    more than half of it.
    """
    count = len(signal)
    length = int(np.clip(count // 20, 40, 400))
    if 2 * length > count:
        return None
    steps = np.nan_to_num(np.diff(signal, axis=0) ** 2).sum(axis=1)
    total = np.concatenate([[0.0], np.cumsum(steps)])
    energy = total[length - 1 :] - total[: count - length + 1]
    if not energy.max() > 0:
        return (count - length) // 2, length
    return int(np.argmax(energy)), length


def _columns(values: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(values, float)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"`{name}` has shape {np.shape(values)}; a signal is (n,) or (n, c)"
        )
    return array


def _check_zoom(zoom: tuple[int, int], count: int) -> tuple[int, int]:
    first, length = zoom
    if not (first >= 0 and length > 1 and first + length <= count):
        raise ValueError(
            f"`zoom` (={tuple(zoom)}) must be (first sample, number of samples) "
            f"inside {count} samples"
        )
    return first, length


def _pair(
    axes: "Axes", x: np.ndarray, target: np.ndarray, prediction: np.ndarray, colour: str
) -> None:
    """Both curves; where the samples are few, the target as the dots it consists of."""
    dots = {"marker": "o", "markersize": 3.5, "linestyle": "none"}
    axes.plot(
        *envelope(x, target),
        color=TARGET,
        label="Target",
        linewidth=1.4,
        **dots if len(x) <= FEW_SAMPLES else {},
    )
    # Many samples are bands, of which the upper must not hide the lower.
    clear = 1.0 if len(x) <= MANY_SAMPLES else 0.6
    axes.plot(
        *envelope(x, prediction), color=colour, label="Prediction", linewidth=1.2,
        alpha=clear,
    )  # fmt: skip
    if len(x) > 1:
        axes.set_xlim(x[0], x[-1])


def _residual(axes: "Axes", x: np.ndarray, residual: np.ndarray, xlabel: str) -> None:
    axes.axhline(0, color=MUTED, linewidth=0.7)
    axes.plot(*envelope(x, residual), color=RESIDUAL, linewidth=1.0)
    if len(x) > 1:
        axes.set_xlim(x[0], x[-1])
    finite = residual[np.isfinite(residual)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    if largest > 0:
        axes.set_ylim(-1.08 * largest, 1.08 * largest)
    axes.set_title(
        f"Prediction minus target, at most {largest:.3g}",
        fontweight="normal",
        fontsize=8.5,
        color=MUTED,
    )
    axes.set_xlabel(xlabel, color=INK)
