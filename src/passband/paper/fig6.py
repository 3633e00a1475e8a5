"""Fig. 6: deeper networks need fewer Fourier features."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..plot.style import INK, MUTED, axes_at, new_figure, styled
from . import beside, published
from .image_study import STEPS, load_pictures, scaled_word, train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .readings import SMALLER, compared
from .training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALE = 10.0
WITHIN = 0.5
# One hue from light to dark: depth is an order, not a kind.
SHADES = ("#F0A36B", "#D55E00", "#7A3400")
MARKS = ("o", "s", "^")


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's (protocol 5)."""

    images: int = 16
    side: int = 512
    depths: tuple[int, ...] = (2, 4, 8)
    features: tuple[int, ...] = (8, 16, 32, 64, 128, 256, 512, 1024)
    width: int = 256
    steps: int = STEPS
    precision: str = "auto"


SETTINGS = {
    Preset.SMOKE: Setting(
        images=1, side=32, depths=(2, 4), features=(8, 16), width=16, steps=40
    ),
    Preset.SMALL: Setting(
        images=2, side=64, features=(8, 16, 32, 64), width=64, steps=400
    ),
    Preset.FULL: Setting(),
}


class Fig6(Item):
    """PSNR of all pixels against the number of features, for three depths."""

    id = "fig6"
    section = "appendix A.1, Fig. 6"
    title = "Deeper networks need fewer Fourier features"
    needs = ("natural",)
    notes = (
        "The pixels tested are all of them, the learned quarter too.",
        "L layers are L matrices: 2 layers are one hidden layer.",
        "The printed values are readings of the plot.",
        "That more features are better is not said by the paper, but seen in its plot, "
        "whose curves are nearly flat at their ends: what rounding moves a mean of 16 "
        "pictures by (table3) is no fall.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        runs = [
            Run(
                signal=k,
                word=scaled_word("gaussian", SCALE, m=m, side=setting.side),
                layers=layers,
            )
            for layers in setting.depths
            for m in setting.features
            for k in range(setting.images)
        ]
        trained = train_runs(
            load_pictures("natural", setting.images, setting.side, full=full),
            runs,
            steps=setting.steps,
            width=setting.width,
            precision=setting.precision,
            progress=progress,
        )
        shape = len(setting.depths), len(setting.features), setting.images
        psnr = trained.all.reshape(shape)
        numbers = tuple(_numbers(setting, psnr, full))
        return Outcome(
            numbers=numbers,
            claims=(*_claims(setting, psnr, preset), _near(numbers)),
            arrays={
                "psnr": psnr,
                "depths": np.asarray(setting.depths),
                "features": np.asarray(setting.features),
            },
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                "scale": "10 cycles across 512 pixels",
                "keys": "2020: PRNGKey(10) for B and weights of every picture",
                "spread": "standard deviation over pictures",
            },
        )

    def judged(self, outcome: Outcome, preset: Preset) -> tuple[Claim, ...]:
        psnr = outcome.arrays["psnr"]
        return (*_claims(SETTINGS[preset], psnr, preset), _near(outcome.numbers))

    @styled
    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        """Mean over pictures, and what the paper has."""
        depths = outcome.arrays["depths"].tolist()
        features = outcome.arrays["features"].tolist()
        psnr = outcome.arrays["psnr"].astype(float)
        figure = new_figure(6.4, 4.0)
        axes = axes_at(figure, 0.7, 0.15, 5.5, 3.3)
        lines = zip(depths, psnr.mean(axis=2), SHADES, MARKS, strict=False)
        for depth, means, colour, mark in reversed(list(lines)):
            look = {"color": colour, "marker": mark, "markersize": 5}
            axes.plot(features, means, label=f"{depth} layers", **look)
        if any(number.comparable for number in outcome.numbers):
            ring = {"markerfacecolor": "none", "markersize": 9, "markeredgecolor": INK}
            for depth in depths:
                row = [published.FIG6[f"{depth}", f"{m}"].value for m in features]
                axes.plot(features, row, "D", markeredgewidth=0.9, **ring)
            axes.plot([], [], "D", label="read off the paper's figure", **ring)
        axes.set_xscale("log", base=2)
        axes.set_xticks(features, [str(m) for m in features])
        axes.set_xlabel("Number of Fourier features $m$", color=INK)
        axes.set_ylabel("Mean PSNR of all pixels (dB)", color=INK)
        axes.legend(loc="lower right")
        axes.text(0.01, 0.99, f"mean over {psnr.shape[2]} pictures", va="top",
                  transform=axes.transAxes, fontsize=8, color=MUTED)  # fmt: skip
        return {self.id: figure}


ITEM = Fig6()


def _numbers(setting: Setting, psnr: np.ndarray, full: bool) -> list[Number]:
    """Every reading of the figure; ours where the preset has that depth and m."""
    ours = {
        (f"{layers}", f"{m}"): psnr[i, j]
        for i, layers in enumerate(setting.depths)
        for j, m in enumerate(setting.features)
    }
    numbers = []
    for (layers, m), printed in published.FIG6.items():
        values = ours.get((layers, m))
        numbers.append(
            Number(
                f"{layers} layers, m = {m}",
                printed.value,
                None if values is None else float(values.mean()),
                None if values is None else float(values.std()),
                comparable=full,
            )
        )
    return numbers


def features_needed(features: np.ndarray, means: np.ndarray, level: float) -> float:
    """The least m, between those run, whose PSNR reaches a level; else infinite.

    Linear in log m between neighbours; means are taken as they come, so the first
    crossing counts.
    """
    reached = np.flatnonzero(means >= level)
    if reached.size == 0:
        return float("inf")
    j = int(reached[0])
    if j == 0:
        return float(features[0])
    share = (level - means[j - 1]) / (means[j] - means[j - 1])
    low, high = np.log2(features[j - 1]), np.log2(features[j])
    return float(2 ** (low + share * (high - low)))


def _claims(setting: Setting, psnr: np.ndarray, preset: Preset) -> list[Claim]:
    means = psnr.mean(axis=2)
    features = np.asarray(setting.features)
    names = [f"{layers} layers" for layers in setting.depths]
    judged = preset is not Preset.SMOKE
    level = float(means[-1, 0])
    needed = np.asarray([features_needed(features, row, level) for row in means])
    detail = ", ".join(f"{n}: {x:.3g}" for n, x in zip(names, needed, strict=True))
    deeper = np.diff(means, axis=0)
    more = np.diff(means, axis=1)
    # Where a curve is flat, what one rounding or another does is no fall of it.
    moves = 0.0
    if preset is Preset.FULL and (measured := beside.rounding("gaussian", "natural")):
        moves = measured["rounding moves a mean of 16 by"]
    return [
        judge(
            "fewer features suffice when deeper",
            bool((needed[1:] < needed[:-1]).all()) if judged else None,
            f"features for the {level:.2f} dB of {names[-1]} with {features[0]}: "
            f"{detail}",
        ),
        judge(
            "with as many features, deeper is better",
            # Small pictures are learned by 4 layers already.
            bool((deeper > 0).all()) if preset is Preset.FULL else None,
            f"{int((deeper > 0).sum())} of {deeper.size} steps down gain, "
            f"{deeper.min():+.2f} to {deeper.max():+.2f} dB",
        ),
        judge(
            "at every depth, more features are better, or as good",
            bool((more > -moves).all()) if judged else None,
            f"{int((more > 0).sum())} of {more.size} doublings gain, "
            f"{more.min():+.2f} to {more.max():+.2f} dB; rounding alone moves a mean "
            f"by {moves:.2f}",
        ),
    ]


def _near(numbers: tuple[Number, ...]) -> Claim:
    apart = {n.name: n.ours - n.printed for n in compared(numbers)}
    worst = max(apart, key=lambda name: abs(apart[name]), default=None)
    return judge(
        f"means are within {WITHIN} dB of those read off the figure",
        None if worst is None else abs(apart[worst]) <= WITHIN,
        SMALLER if worst is None else f"at most {apart[worst]:+.2f} dB, {worst}",
    )
