"""What was chosen and why, as numbers that a file can hold."""

import dataclasses
from typing import Any

import numpy as np

from ..json_text import to_json
from ..notebook import heading, paragraph, table


@dataclasses.dataclass(frozen=True)
class Curve:
    """Held-out levels of the scales at one time, in dB; None where not trained."""

    steps: int
    mean: list[float | None]
    spread: list[float | None]
    """Standard deviation over seeds."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """A scale, the curve it is the top of, and what it cost."""

    mapping: str
    """The word with its scale: what to train."""
    given: str
    """The word that asked for one."""
    scale: float
    sigma: float
    """Of the Gaussian that corresponds, in cycles per unit."""
    conclusive: bool
    """Whether the data prefer a scale at all."""
    notes: list[str]
    guess: float
    """The spectrum's, of a Gaussian."""
    nyquist: float | None
    words: list[str]
    scales: list[float]
    sigmas: list[float]
    axes: list[list[float] | None]
    predicted: list[float | None] | None
    """The kernel's held-out levels in dB; None for a scale that it cannot judge."""
    curves: list[Curve]
    untried: list[float]
    """Sigmas beside the best that fell out early and were not tried to the end."""
    blank: float | None
    """The level of a field that is its mean everywhere."""
    cost: list[float | None]
    """dB lost by each scale against the best."""
    half: float | None
    """dB lost by half of the chosen sigma; `twice` likewise."""
    twice: float | None
    agreement: float | None
    """Rank correlation of the first rung and the last, over the scales in both."""
    kernel_agreement: float | None
    """Rank correlation of the kernel's prediction and the first rung."""
    seconds: dict[str, float]
    trials: dict[str, Any]
    """Size and length of the networks that were trained for it."""
    held: str = "points"
    """What was held out."""
    above: float = 1.0
    """How much above the top of its curve the scale was taken (`Problem.above`)."""
    cached: bool = False

    def to_json(self) -> str:
        return to_json(dataclasses.asdict(self), indent=1)

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Choice":
        curves = [Curve(**curve) for curve in content["curves"]]
        return Choice(**{**content, "curves": curves})

    def caveats(self) -> list[str]:
        """All that is to be said about how sure it is."""
        if self.curves or not self.conclusive:
            return self.notes
        by = "a first guess" if self.predicted is None else "the kernel's best"
        return [f"{by}: nothing was trained", *self.notes]

    def sides(self) -> list[tuple[str, float | None]]:
        """What half of the sigma and twice as much are in this mapping, and cost."""
        if self.mapping.startswith("positional"):
            return [("an octave less", self.half), ("one more", self.twice)]
        return [("half of it", self.half), ("twice", self.twice)]

    def _repr_html_(self) -> str:
        """In a notebook: the scale, how sure it is, and every scale that was tried."""
        known = [f"{k} costs {v:.2f} dB" for k, v in self.sides() if v is not None]
        parts = [heading(f"{self.mapping}, chosen for {self.given}")]
        parts += [paragraph(text) for text in (*known, *self.caveats())]
        if self.curves:
            last = self.curves[-1]
            levels = zip(self.words, last.mean, self.cost, strict=True)
            rows = [(w, _two(level), _two(cost)) for w, level, cost in levels]
            head = ("mapping", f"held-out {self.held}, dB", "below the best, dB")
            top = [k for k, cost in enumerate(self.cost) if cost == 0]
            parts.append(table(rows, head=head, bold=top))
        return "".join(parts)

    def summary(self) -> str:
        """For people: what, how sure, at which cost."""
        lines = [f"{self.mapping}: chosen for `{self.given}`"]
        known = [f"{k} costs {v:.2f} dB" for k, v in self.sides() if v is not None]
        if known:
            lines.append(f"  {', '.join(known)} of held-out {self.held}")
        lines += [f"  {note}" for note in self.caveats()]
        return "\n".join(lines)


def _two(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def rank_agreement(a: np.ndarray, b: np.ndarray) -> float | None:
    """Spearman's correlation where both are known; None where it says nothing."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(_ranks(a), _ranks(b))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Each value's place in the order, equal ones at the mean of theirs.

    Importing `scipy.stats`, which has it, takes longer than all else of a command.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]
