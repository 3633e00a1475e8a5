"""The scales of Table 3, chosen again: PSNR against scale on `train_data`."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .image_runs import STEPS, Run, load_pictures, scaled_word, train_runs
from .item import Claim, Item, Outcome, Preset, Progress, judge
from .scale_curves import curves, drawn, near_the_best, numbers_of
from .table3 import SCALES, SETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[str, str]
"""Data set and family."""
FLAT_DB = 0.2
"""dB: what a key moves a mean by, so that scales this near to the best are as good."""


@dataclasses.dataclass(frozen=True)
class Sweep:
    """One curve: how many pictures, which scales."""

    images: int
    scales: tuple[float, ...]


FULL: Mapping[Curve, Sweep] = {
    ("natural", "gaussian"): Sweep(
        16, (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 20, 26, 32)
    ),
    ("natural", "positional"): Sweep(8, (3, 4, 5, 5.5, 6, 6.5, 7, 8)),
    ("text", "gaussian"): Sweep(8, (6, 8, 10, 12, 14, 16, 18, 22)),
    ("text", "positional"): Sweep(8, (3, 4, 4.5, 5, 5.5, 6, 7, 8)),
}
SMALL: Mapping[Curve, Sweep] = {
    ("natural", "gaussian"): Sweep(2, (1, 4, 7, 10, 16, 32)),
    ("natural", "positional"): Sweep(2, (3, 4, 5, 6, 7, 8)),
    ("text", "gaussian"): Sweep(2, (2, 5, 8, 14, 20, 32)),
    ("text", "positional"): Sweep(2, (3, 4, 5, 6, 7, 8)),
}
SMOKE: Mapping[Curve, Sweep] = {
    curve: Sweep(1, sweep.scales[1::3]) for curve, sweep in SMALL.items()
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's."""

    side: int = 512
    m: int = 256
    width: int = 256
    steps: int = STEPS
    precision: str = "auto"


SETTINGS = {
    Preset.SMOKE: (Setting(side=48, m=16, width=16, steps=40), SMOKE),
    Preset.SMALL: (Setting(side=96, m=64, width=64, steps=300), SMALL),
    Preset.FULL: (Setting(), FULL),
}


class Table3Sweep(Item):
    """Mean PSNR of held-out pixels against the scale, for two families and sets."""

    id = "table3-sweep"
    section = "beside Table 3"
    title = "The scales that the sweep chooses"
    needs = SETS
    notes = (
        "The paper states the best scales (10 and 6, 14 and 5), not the curves.",
        "Key, split and steps are Table 3's; the pictures are those of train_data.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting, sweeps = SETTINGS[preset]
        full = preset is Preset.FULL
        arrays, seconds = {}, {}
        precision = ""
        for (name, family), sweep in sweeps.items():
            curve = f"{name} {family}"
            # The notebook's seed gives all scales of a sweep the same base matrix.
            runs = [
                Run(k, scaled_word(family, scale, m=setting.m, side=setting.side))
                for scale in sweep.scales
                for k in range(sweep.images)
            ]
            trained = train_runs(
                load_pictures(
                    name, sweep.images, setting.side, full=full, split="train_data"
                ),
                runs,
                steps=setting.steps,
                width=setting.width,
                precision=setting.precision,
                progress=lambda text, curve=curve: progress(f"{curve}: {text}"),
            )
            precision, seconds[curve] = trained.precision, trained.seconds
            arrays[f"{curve}.scales"] = np.asarray(sweep.scales)
            arrays[f"{curve}.psnr"] = trained.test.reshape(-1, sweep.images)
        return Outcome(
            numbers=tuple(numbers_of(arrays, _papers, comparable=lambda name: full)),
            claims=tuple(_claims(arrays, preset)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "precision": precision,
                "seconds of each sweep": seconds,
                "images": {f"{n} {f}": s.images for (n, f), s in sweeps.items()},
                "scales": "of 512 x 512 pictures; smaller ones take their share",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.scale_sweep import sweep_figure

        return {self.id: sweep_figure(drawn(outcome.arrays, _papers))}


ITEM = Table3Sweep()


def _papers(curve: str) -> float:
    name, family = curve.split()
    return SCALES[name][family]


def best_scale(scales: np.ndarray, means: np.ndarray) -> tuple[float, float, float]:
    """The best scale, and the ends of those within `FLAT_DB` of it."""
    good = scales[means >= means.max() - FLAT_DB]
    return float(scales[means.argmax()]), float(good.min()), float(good.max())


def _claims(arrays: Mapping[str, np.ndarray], preset: Preset) -> list[Claim]:
    claims = []
    for name, scales, means in curves(arrays):
        best, low, high = best_scale(scales, means)
        claims.append(
            judge(
                f"{name}: too low and too high a scale are both worse than the best",
                scales[0] < best < scales[-1] if preset is not Preset.SMOKE else None,
                f"{means[0]:.2f} dB at {scales[0]:g}, {means.max():.2f} at {best:g}, "
                f"{means[-1]:.2f} at {scales[-1]:g}",
            )
        )
        claims.append(
            near_the_best(
                name, scales, means, _papers(name), flat=FLAT_DB,
                judged=preset is Preset.FULL,
                more=f"; {low:g} to {high:g} are as good",
            )
        )  # fmt: skip
    return claims
