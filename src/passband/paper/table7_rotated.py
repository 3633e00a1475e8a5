"""Table 7's first five rows with the scene really rotated, cameras and all."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .nerf_runs import SETTINGS, Run, precision, scene_of, scores, task_of, train_runs
from .table7 import WITHIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = {"none": "none", "basic": "basic", "octaves": "octaves:rotated",
        "positional": "positional:rotated", "gaussian": "gaussian"}  # fmt: skip
"""Each mapping, on the axes, and the row of the table that it stands for."""


class Table7Rotated(Item):
    """Mean PSNR of the views of a scene turned 45 degrees about z, then about x."""

    id = "table7-rotated"
    section = "beside Table 7"
    title = "Table 7 with the scene really rotated"
    needs = ("lego",)
    notes = (
        "The text says that the scene was rotated; the notebook turned the frequencies "
        "of the two positional encodings instead.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        task, scene = task_of(preset, turned=True), scene_of(preset, turned=True)
        assert scene.test is not None
        runs = [Run(setting.word(row), setting.rate_of(row)) for row in ROWS]
        stops = setting.stops[-1:]
        trained = train_runs(task, runs, stops, setting, progress)
        arrays = {}
        for row, field in zip(ROWS, trained.fields[-1], strict=True):
            progress(f"{row}: rendering the test views")
            arrays[row] = scores(task, field, scene.test)[0]
        full = preset is Preset.FULL
        return Outcome(
            numbers=tuple(
                Number(row, published.TABLE7[printed, "test"].value,
                       float(arrays[row].mean()), float(arrays[row].std()), full)
                for row, printed in ROWS.items()
            ),
            claims=tuple(_claims(arrays, preset)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "precision": precision(),
                "seconds of training": trained.seconds,
                "keys": "2020: PRNGKey(0) for B and weights",
                "spread": "standard deviation over test views",
            },
        )  # fmt: skip

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.score_table import score_figure

        ours = {"rotated scene": {row: outcome.arrays[row] for row in ROWS}}
        printed = {
            "rotated scene": {
                row: published.TABLE7[name, "test"].value for row, name in ROWS.items()
            }
        }
        compare = any(n.comparable for n in outcome.numbers)
        figure = score_figure(ours, printed if compare else None, over="views")
        return {self.id: figure}


ITEM = Table7Rotated()


def _claims(arrays: dict[str, np.ndarray], preset: Preset) -> list[Claim]:
    full = preset is Preset.FULL
    mean = {row: float(arrays[row].mean()) for row in ROWS}
    text = ", ".join(f"{row} {value:.2f}" for row, value in mean.items())
    apart = {
        row: mean[row] - published.TABLE7[name, "test"].value
        for row, name in ROWS.items()
    }
    return [
        judge(
            "on a rotated scene Gaussian features lead",
            mean["gaussian"] == max(mean.values()) if full else None,
            text,
        ),
        judge(
            f"turning the scene or the frequencies is the same to {WITHIN} dB",
            all(abs(a) <= WITHIN for a in apart.values()) if full else None,
            "beside what the table prints with turned frequencies: "
            + ", ".join(f"{row} {a:+.2f}" for row, a in apart.items())
            if full
            else "the printed rows are of another scene",
        ),
        judge(
            "Gaussian features beat no mapping",
            mean["gaussian"] > mean["none"] if preset is not Preset.SMOKE else None,
            f"by {mean['gaussian'] - mean['none']:.2f} dB",
        ),
    ]
