"""A study's scores against the scale of its mappings, as an item."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..plot.scale_sweep import sweep_figure
from .item import Claim, Number, Outcome, Preset, Progress, judge
from .published import Printed
from .tables import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Curve(NamedTuple):
    """Scores against the scale of a mapping."""

    name: str
    scales: np.ndarray
    scores: np.ndarray
    """(scales, signals)."""
    papers: float
    """The scale that the paper found best."""

    @property
    def means(self) -> np.ndarray:
        return self.scores.mean(axis=1)

    @property
    def best(self) -> float:
        return float(self.scales[self.means.argmax()])

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.scales[0]), float(self.scales[-1])

    def told(self, *scales: float) -> str:
        """The means at some of the scales."""
        at = dict(zip(self.scales.tolist(), self.means, strict=True))
        (first, *more) = (f"{at[float(s)]:.2f}{{}} at {s:g}" for s in scales)
        return ", ".join([first.format(" dB"), *(text.format("") for text in more)])


def near_the_best(flat: float, *, as_good: bool = False) -> "SweepClaim":
    """Whether the paper's scale is as good as the best, to `flat` dB.

    Args:
        as_good: tell which scales are.
    """

    def claim(curve: Curve, preset: Preset) -> Claim:
        means, scales = curve.means, curve.scales
        short = float(means.max() - np.interp(curve.papers, scales, means))
        text = f"{curve.papers:g} is {short:.2f} dB below {curve.best:g}"
        if as_good:
            good = scales[means >= means.max() - flat]
            text += f"; {good.min():g} to {good.max():g} are as good"
        return judge(
            f"{curve.name}: the paper's scale is within {flat} dB of the best",
            short <= flat if preset is Preset.FULL else None,
            text,
        )

    return claim


SweepClaim = Callable[[Curve, Preset], Claim]


class Sweep(View):
    """Mean score against the scale, on signals that the table does not report.

    The outcome has, for each curve, its scales and its scores (scales, signals).
    """

    def __init__(
        self,
        study: Any,
        id: str,
        title: str,
        *,
        claims: Sequence[SweepClaim],
        printed: Mapping[tuple[str, str], Printed] | None = None,
        scored: str = "held-out pixels",
        shown: str = "{}",
        joint: str = ".",
        **about: Any,
    ) -> None:
        """Args:
        printed: what was read off a plot, by curve and scale.
        scored: what the PSNR is of.
        shown: what a curve is called in the drawing.
        joint: between a curve's name and its array's.
        """
        super().__init__(study, id, title, **about)
        self.judged_by, self.read_off = claims, printed
        self.scored, self.shown, self.joint = scored, shown, joint

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        found, settings = self.study.swept(preset, progress)
        arrays: dict[str, np.ndarray] = {}
        for name, (scales, scores) in found.items():
            arrays[f"{name}{self.joint}scales"] = np.asarray(scales)
            arrays[f"{name}{self.joint}psnr"] = np.asarray(scores)
        curves = self.curves(arrays)
        return Outcome(
            numbers=tuple(n for curve in curves for n in self.numbers(curve, preset)),
            claims=tuple(self.claims(curves, preset)),
            arrays=arrays,
            settings=settings,
        )

    def claims(self, curves: Sequence[Curve], preset: Preset) -> list[Claim]:
        """What is said of each curve."""
        return [claim(curve, preset) for curve in curves for claim in self.judged_by]

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim]:
        return self.claims(self.curves(outcome.arrays), preset)

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        curves = {
            self.shown.format(c.name): (c.scales, c.scores, self.marked(c))
            for c in self.curves(outcome.arrays)
        }
        figure = sweep_figure(curves)
        figure.axes[0].set_ylabel(f"PSNR of {self.scored} (dB)")
        return {self.id: figure}

    def marked(self, curve: Curve) -> float:
        """The scale that the drawing shows beside the best."""
        return curve.papers

    def curves(self, arrays: Mapping[str, np.ndarray]) -> list[Curve]:
        """The curves that the arrays of an outcome hold."""
        end = f"{self.joint}scales"
        names = [key.removesuffix(end) for key in arrays if key.endswith(end)]
        return [
            Curve(name, arrays[f"{name}{end}"], arrays[f"{name}{self.joint}psnr"],
                  self.study.papers(name))
            for name in names
        ]  # fmt: skip

    def numbers(self, curve: Curve, preset: Preset) -> list[Number]:
        """The best scale beside the paper's, then every mean beside what was read."""
        full = preset is Preset.FULL
        name = f"{curve.name}, best scale"
        numbers = [Number(name, curve.papers, curve.best, comparable=full)]
        for scale, mean in zip(curve.scales, curve.means, strict=True):
            cell = (self.read_off or {}).get((curve.name, f"{scale:g}"))
            own = full and bool(self.study.own) and cell is not None
            numbers.append(
                Number(
                    f"{curve.name}, PSNR at {scale:g}",
                    None if cell is None else cell.value,
                    float(mean),
                    comparable=own or self.read_off is None,
                )
            )
        return numbers
