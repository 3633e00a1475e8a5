r"""The first guess: a scale from the spectrum of the samples, without training.

Of a signal that is sampled more finely than it needs, only the band that holds its
power counts. There, white noise cannot be told from its neighbours, and a network does
best to stay smooth; the faster a spectrum falls, the more of what lies between samples
the samples tell, and the higher the frequencies that pay. So the guess is a share of
the band that grows as the spectrum's centre falls below that of white noise.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

# Fitted to the best scales of 16 natural and 8 text pictures of `train_data`.
AT_WHITE = 0.0156
"""The scale for white noise, as a share of the band."""
POWER = 7.1
"""How the scale grows with (centre of white noise) / (centre)."""
MOST = 0.16
WEIGHT = 0.375
"""The power that a frequency's power is weighted with: most of it lies in so few low
frequencies that by itself it says nothing of the others."""
BAND, BEYOND = 0.99, 1.2
"""The band reaches so many times as far as that share of the power: of pictures whose
pixels are as fine as their detail, to the Nyquist frequency."""
UNLIKE = 1.5
"""Axes as many times wider than another in their spectra have scales of their own."""


def first_guess(values: Float[np.ndarray, "*sides c"], step: float) -> float:
    """A Gaussian's sigma in cycles per unit for samples `step` apart."""
    nyquist = 0.5 / step
    radius, power = _spectrum(values)
    if not power.sum() > 0:  # one value everywhere: any scale will do
        return _share(1.0) * nyquist
    order = np.argsort(radius)
    filled = np.cumsum(power[order]) / power.sum()
    edge = float(radius[order][np.searchsorted(filled, BAND)])
    band = min(1.0, BEYOND * edge)
    # The lowest bins hold the mean and what the window spreads it to.
    inside = (radius > 2.5 / max(values.shape[:-1])) & (radius < band)
    steepness = math.inf  # all of it in the lowest bins
    if inside.any() and (weight := power[inside] ** WEIGHT).sum() > 0:
        centre = float((radius[inside] * weight).sum() / weight.sum())
        steepness = float(radius[inside].mean()) / centre
    return max(_share(steepness), _told(band)) * band * nyquist


def axis_shares(
    values: Float[np.ndarray, "*sides c"], steps: Sequence[float] | None = None
) -> tuple[float, ...] | None:
    """How wide the spectrum is along each axis of the array, over the widest; None
    where all are about as wide.

    Args:
        steps: how far neighbours are apart along each axis, where that differs.
    """
    if values.ndim < 3:
        return None
    widths = []
    for axis in range(values.ndim - 1):
        change = np.diff(values.astype(np.float64), axis=axis)
        square = float(np.mean(change**2)) if change.size else 0.0
        widths.append(np.sqrt(square) / (1.0 if steps is None else steps[axis]))
    top = max(widths)
    if top <= 0 or top < UNLIKE * min(widths):
        return None
    # A change of nothing at all would be a scale of nothing at all.
    return tuple(float(max(w / top, 0.05)) for w in widths)


def _share(steepness: float) -> float:
    return float(np.clip(AT_WHITE * steepness**POWER, AT_WHITE, MOST))


def _told(band: float) -> float:
    """What share pays at least: up to half of the Nyquist frequency the samples tell
    all that lies between them, however flat the spectrum; towards it less and less."""
    beyond = min(1.0, max(0.0, 2 * band - 1))
    return float(MOST * (AT_WHITE / MOST) ** beyond)


def _spectrum(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Radius in Nyquist frequencies and power of every frequency up to it but 0."""
    sides = values.shape[:-1]
    axes = tuple(range(len(sides)))
    smooth = values.astype(np.float64) - values.mean(axis=axes, dtype=np.float64)
    square = np.zeros(sides)
    for axis, n in enumerate(sides):
        shape = [-1 if i == axis else 1 for i in axes]
        # A window, because the two ends of an axis do not meet.
        smooth = smooth * np.hanning(n + 2)[1:-1].reshape([*shape, 1])
        square = square + (2 * np.fft.fftfreq(n)).reshape(shape) ** 2
    power = np.sum(np.abs(np.fft.fftn(smooth, axes=axes)) ** 2, axis=-1)
    radius = np.sqrt(square)
    inside = (radius > 0) & (radius < 1)
    return radius[inside], power[inside]
