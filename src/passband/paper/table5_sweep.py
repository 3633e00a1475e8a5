"""The scales of Table 5, chosen again: PSNR against scale on the sweep's pictures."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .ct_runs import SCALES, Run, Setting, densities, train_runs, word_of
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .scale_curves import curves, drawn, near_the_best, numbers_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The notebook's own grids (protocol 1.4).
GRIDS = {
    "gaussian": (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0),
    "positional": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0),
}
FLAT_DB = 0.3
"""dB: what a key moves a mean by, so that scales this near to the best are as good."""

SETTINGS = {
    Preset.SMOKE: Setting(1, 32, 16, 16, 60, 5, standin=False),
    Preset.SMALL: Setting(1, 48, 64, 64, 400, standin=False),
    Preset.FULL: Setting(images=4),
}


class Table5Sweep(Item):
    """Mean PSNR of phantoms against the scale, for two families."""

    id = "table5-sweep"
    section = "beside Table 5"
    title = "The scales that the CT sweep chooses"
    notes = (
        "The paper states the best scales, 4 and 3 for Shepp; the positional curve was "
        "read off a plot of the notebook.",
        "The first four of the sweep's phantoms; the notebook took eight.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        grids = GRIDS
        if not full:
            step = 9 if preset is Preset.SMOKE else 2
            grids = {family: grid[::step] for family, grid in GRIDS.items()}
        count = setting.images
        pictures = densities("shepp", setting, sweep=True)
        runs = [
            Run(k, word_of(family, scale, setting))
            for family, grid in grids.items()
            for scale in grid
            for k in range(count)
        ]
        trained = train_runs(pictures, runs, setting, progress)
        scores = trained.scores.reshape(-1, count)
        arrays: dict[str, np.ndarray] = {}
        for family, grid in grids.items():
            arrays[f"shepp {family}.scales"] = np.asarray(grid)
            arrays[f"shepp {family}.psnr"], scores = np.split(scores, [len(grid)])
        return Outcome(
            numbers=tuple(_numbers(arrays, full)),
            claims=tuple(_claims(arrays, preset)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                "seconds of training": trained.seconds,
                "keys": "2020: PRNGKey(10) for phantoms, B and weights",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.scale_sweep import sweep_figure

        figure = sweep_figure(drawn(outcome.arrays, _papers))
        figure.axes[0].set_ylabel("PSNR of the density (dB)")
        return {self.id: figure}


ITEM = Table5Sweep()


def _papers(curve: str) -> float:
    name, family = curve.split()
    return SCALES[name][family]


def _numbers(arrays: dict[str, np.ndarray], full: bool) -> list[Number]:
    def own(name: str) -> bool:
        del name
        return full

    return numbers_of(
        arrays, _papers, comparable=own, printed=published.TABLE5_SWEEP, read=own
    )


def _claims(arrays: dict[str, np.ndarray], preset: Preset) -> list[Claim]:
    claims = []
    for name, scales, means in curves(arrays):
        best, full = float(scales[means.argmax()]), preset is Preset.FULL
        claims.append(
            near_the_best(name, scales, means, _papers(name), flat=FLAT_DB, judged=full)
        )
        claims.append(
            judge(
                f"{name}: the highest scale is worse than the best",
                bool(means[-1] < means.max()) if preset is not Preset.SMOKE else None,
                f"{means.max():.2f} dB at {best:g}, {means[-1]:.2f} at {scales[-1]:g}",
            )
        )
    return claims
