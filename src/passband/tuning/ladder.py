"""The scales to try: one family of mappings, laddered about a first guess."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

from ..auto import Auto
from ..mappings import Laplace, LogUniform, Positional, Random, Uniform

# How far each family reaches for a Gaussian's sigma of 1: of the random ones the scales
# that the 1D study laid side by side (protocol 3), of positional encoding what the
# paper's tables chose for both (2 to 6, protocol 1.4).
REACH = {Uniform: 2.0, LogUniform: 2.5, Laplace: 0.625}
POSITIONAL = 4.0
SHARP = 2.0
"""dB below the best at which a scale has 1/e of its weight in the choice.

Curves are flat about their tops, and seeds lift one point or another: the highest
alone, or the top of a parabola through those about it, follows them. On the training
sets of the paper's pictures and phantoms 1 to 2 dB lose least."""


@dataclasses.dataclass(frozen=True)
class Rung:
    """One scale to try."""

    sigma: float
    """Of the Gaussian that it corresponds to, in cycles per unit."""
    mapping: Positional | Random
    axes: tuple[float, ...] | None = None
    """What each axis has of the scale; None for all of it everywhere."""

    @property
    def scale(self) -> float:
        """The number in the mapping's word, of its widest axis."""
        if isinstance(self.mapping, Positional):
            return self.mapping.octaves
        given = self.mapping.scale
        return max(given) if isinstance(given, tuple) else given


def rung_at(auto: Auto, sigma: float, axes: tuple[float, ...] | None = None) -> Rung:
    """The mapping that corresponds to a Gaussian of `sigma`, to three digits."""
    turns = 2 * math.pi if auto.base.units == "rad" else 1.0
    if isinstance(auto.base, Positional):
        octaves = math.log2(1 + POSITIONAL * sigma * turns)
        return Rung(sigma, auto.at(_short(min(octaves, 100.0))))
    scale = sigma * turns * REACH.get(type(auto.base), 1.0)
    if axes is None:
        return Rung(sigma, auto.at(_short(scale)))
    return Rung(sigma, auto.at(tuple(_short(scale * a) for a in axes)), axes)


def ladder(
    auto: Auto,
    centre: float,
    *,
    count: int,
    spacing: float,
    axes: tuple[float, ...] | None = None,
) -> list[Rung]:
    """`count` scales about a centre, each `spacing` times the one before.

    Where the axes differ, as many more whose axes have scales of their own: the data
    say whether it helps.
    """
    powers = np.arange(count) - (count - 1) / 2
    sigmas = [float(centre * spacing**p) for p in powers]
    rungs = [rung_at(auto, s) for s in sigmas]
    if axes is not None and isinstance(auto.base, Random):
        rungs += [rung_at(auto, s, axes) for s in sigmas]
    return rungs


def beyond(
    auto: Auto, rungs: list[Rung], end: Rung, *, count: int, spacing: float
) -> list[Rung]:
    """So many scales more on the side of a ladder where `end` is, of its axes."""
    down = end.sigma <= min(r.sigma for r in rungs if r.axes == end.axes)
    step = 1 / spacing if down else spacing
    return [rung_at(auto, end.sigma * step**k, end.axes) for k in range(1, count + 1)]


def neighbours(rungs: list[Rung]) -> list[list[int]]:
    """The places of the next lower and the next higher scale of each, of its own axes;
    a single one at either end."""
    order = sorted(range(len(rungs)), key=lambda i: rungs[i].sigma)
    found = []
    for i, rung in enumerate(rungs):
        alike = [j for j in order if rungs[j].axes == rung.axes]
        at = alike.index(i)
        found.append([*alike[max(0, at - 1) : at], *alike[at + 1 : at + 2]])
    return found


def top_of(sigmas: Float[np.ndarray, " n"], levels: Float[np.ndarray, " n"]) -> float:
    """The mean of log sigma, where each scale weighs as much as its level tells.

    Where the best of them lies at an end, the top may be beyond: that scale itself.
    """
    best = int(np.argmax(levels))
    if sigmas[best] in (sigmas.min(), sigmas.max()):
        return float(sigmas[best])
    weights = np.exp((levels - levels[best]) / SHARP)
    return float(np.exp(np.average(np.log(sigmas), weights=weights)))


def _short(value: float) -> float:
    return float(f"{value:.3g}")
