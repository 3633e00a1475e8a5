"""The scales of Table 7, chosen again on the validation views."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .nerf_runs import (
    SETTINGS,
    Run,
    Setting,
    precision,
    scene_of,
    scores,
    task_of,
    train_runs,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAMILIES = ("gaussian", "positional")
SCALES = {
    Preset.SMOKE: {"gaussian": (6.0,), "positional": (4.0,)},
    Preset.SMALL: {"gaussian": (1.0, 6.0, 20.0), "positional": (2.0, 4.5, 6.0)},
    Preset.FULL: {
        "gaussian": (8.0, 14.0, 20.0, 26.0, 32.0, 38.0),
        "positional": (4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    },
}  # fmt: skip
STEPS = {Preset.SMOKE: 20, Preset.SMALL: 500, Preset.FULL: 10_000}
FLAT_DB = 0.2
"""dB: scales this near to the best are as good."""


class Table7Sweep(Item):
    """Mean PSNR of the validation views against the scale."""

    id = "table7-sweep"
    section = "beside Table 7"
    title = "The scales that the validation views choose"
    needs = ("lego",)
    notes = (
        "Scales in radians per unit of the world: the notebook used 26, and powers of "
        "two up to 8; the text has 6.05 cycles, which is 38 radians.",
        "10,000 steps each; the notebook gave its sweep 50,000.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting, scales = SETTINGS[preset], SCALES[preset]
        task, scene = task_of(preset), scene_of(preset)
        assert scene.val is not None
        runs = [
            Run(with_scale(setting, family, scale).word(family), setting.rate)
            for family in FAMILIES
            for scale in scales[family]
        ]
        trained = train_runs(task, runs, (STEPS[preset],), setting, progress)
        found = []
        for k, field in enumerate(trained.fields[-1]):
            progress(f"rendering the views of network {k + 1} of {len(runs)}")
            found.append(scores(task, field, scene.val)[0])
        arrays: dict[str, np.ndarray] = {}
        for family in FAMILIES:
            count = len(scales[family])
            arrays[f"{family} scales"] = np.array(scales[family])
            arrays[f"{family} psnr"] = np.stack(found[:count])
            found = found[count:]
        return Outcome(
            numbers=tuple(_numbers(arrays, preset)),
            claims=tuple(_claims(arrays, preset)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "precision": precision(),
                "steps": STEPS[preset],
                "seconds of training": trained.seconds,
                "keys": "2020: PRNGKey(0) for B and weights",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.scale_sweep import sweep_figure

        arrays = outcome.arrays
        full = len(arrays["gaussian scales"]) > 3
        papers = SETTINGS[Preset.FULL if full else Preset.SMALL]
        curves = {
            f"views {family}": (
                arrays[f"{family} scales"],
                arrays[f"{family} psnr"],
                getattr(papers, family),
            )
            for family in FAMILIES
        }
        return {self.id: sweep_figure(curves)}


ITEM = Table7Sweep()


def with_scale(setting: Setting, family: str, scale: float) -> Setting:
    """The setting with another scale of that family."""
    return dataclasses.replace(setting, **{family: scale})


def _numbers(arrays: dict[str, np.ndarray], preset: Preset) -> list[Number]:
    numbers = []
    for family in FAMILIES:
        scales = arrays[f"{family} scales"]
        means = arrays[f"{family} psnr"].mean(axis=1)
        papers = getattr(SETTINGS[Preset.FULL], family)
        numbers.append(
            Number(f"{family}, best scale", papers, float(scales[means.argmax()]),
                   comparable=preset is Preset.FULL)
        )  # fmt: skip
        numbers += [
            Number(f"{family}, PSNR at {scale:g}", None, float(mean))
            for scale, mean in zip(scales, means, strict=True)
        ]
    return numbers


def _claims(arrays: dict[str, np.ndarray], preset: Preset) -> list[Claim]:
    full, claims = preset is Preset.FULL, []
    for family in FAMILIES:
        scales = arrays[f"{family} scales"]
        means = arrays[f"{family} psnr"].mean(axis=1)
        best = float(scales[means.argmax()])
        ends = (
            f"{means[0]:.2f} dB at {scales[0]:g}, {means.max():.2f} at {best:g}, "
            f"{means[-1]:.2f} at {scales[-1]:g}"
        )
        claims.append(
            judge(
                f"{family}: too low a scale is worse than the best",
                bool(scales[0] < best) if preset is not Preset.SMOKE else None,
                ends,
            )
        )
        papers = getattr(SETTINGS[Preset.FULL], family)
        short = means.max() - np.interp(papers, scales, means)
        claims.append(
            judge(
                f"{family}: the notebook's scale is within {FLAT_DB} dB of the best",
                bool(short <= FLAT_DB) if full else None,
                f"{papers:g} is {short:.2f} dB below {best:g}"
                if full
                else f"{papers:g} is for another scene; here {best:g} is best",
            )
        )
    return claims
