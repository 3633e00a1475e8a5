"""The scales of Table 6, chosen again: PSNR against scale on the sweep's volumes."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .mri_runs import SCALES, SWEEP, Setting, load_volumes, scaled_word, train_words
from .scale_curves import curves, near_the_best, numbers_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GRIDS = {"gaussian": (2.0, 3.0, 4.0, 5.0, 6.0), "positional": (1.0, 2.0, 3.0, 4.0, 5.0)}
FLAT_DB = 0.2
"""dB: scales this near to the best are as good."""

SETTINGS = {
    Preset.SMOKE: Setting(1, 12, 6, 16, 20, 5e-3, standin=False),
    Preset.SMALL: Setting(1, 24, 63, 64, 200, 5e-3, standin=False),
    Preset.FULL: Setting(volumes=2),
}


class Table6Sweep(Item):
    """Mean PSNR of the volumes against the scale, for two families."""

    id = "table6-sweep"
    section = "beside Table 6"
    title = "The scales that the MRI sweep chooses"
    needs = ("brain",)
    notes = (
        "The paper states the best scales, 5 and 4; the Gaussian curve was read off a "
        "plot of the notebook, on volumes that are restricted.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        volumes = load_volumes(setting, SWEEP)
        pairs = [(family, scale) for family, grid in GRIDS.items() for scale in grid]
        if not full:  # octaves 1 and 2 of 96 voxels are none of 24
            pairs = [p for p in pairs if p[0] == "gaussian" or p[1] > 2]
        if preset is Preset.SMOKE:
            pairs = [p for p in pairs if p[1] >= SCALES[p[0]]]
        words = [scaled_word(family, setting, scale) for family, scale in pairs]
        trained = train_words(words, volumes, setting, progress)
        arrays = {}
        for family in GRIDS:
            mine = [k for k, (name, _) in enumerate(pairs) if name == family]
            arrays[f"{family}.scales"] = np.asarray([pairs[k][1] for k in mine])
            arrays[f"{family}.psnr"] = trained.scores[mine]
        return Outcome(
            numbers=tuple(_numbers(arrays, full)),
            claims=tuple(_claims(arrays, full)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                "seconds of training": trained.seconds,
                "scales": "of 96^3 volumes; smaller ones take their share",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.scale_sweep import sweep_figure

        figure = sweep_figure(
            {
                f"volumes {family}": (
                    outcome.arrays[f"{family}.scales"],
                    outcome.arrays[f"{family}.psnr"],
                    SCALES[family],
                )
                for family in GRIDS
            }
        )
        figure.axes[0].set_ylabel("PSNR of the volume (dB)")
        return {self.id: figure}


ITEM = Table6Sweep()


def _papers(family: str) -> float:
    return SCALES[family]


def _numbers(arrays: dict[str, np.ndarray], full: bool) -> list[Number]:
    return numbers_of(
        arrays, _papers, comparable=lambda name: full,
        printed=published.TABLE6_SWEEP, read=lambda name: False,
    )  # fmt: skip


def _claims(arrays: dict[str, np.ndarray], full: bool) -> list[Claim]:
    claims = []
    for name, scales, means in curves(arrays):
        best = float(scales[means.argmax()])
        claims.append(
            near_the_best(name, scales, means, _papers(name), flat=FLAT_DB, judged=full)
        )
        claims.append(
            judge(
                f"{name}: the lowest scale is worse than the best",
                bool(means[0] < means.max()) if full else None,
                f"{means[0]:.2f} dB at {scales[0]:g}, {means.max():.2f} at {best:g}",
            )
        )
    return claims
