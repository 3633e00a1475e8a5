"""Table 4 once more with other keys: how far a seed moves a mean over shapes.

One key serves all shapes of a row, so that shapes do not average it away.
"""

from typing import TYPE_CHECKING

import numpy as np

from . import published
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge, over_keys
from .shape_runs import POINTS, ROWS, SETTINGS, settings_of, train
from .table4 import labels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 1
"""The first key; Table 4's is the one before it."""


class Table4Seeds(Item):
    """Means of Table 4's rows over the test shapes for other keys of B and the weights,
    two unless asked for more."""

    id = "table4-seeds"
    section = "beside Table 4"
    title = "How far a seed moves Table 4"
    needs = ("meshes",)
    seeds = 2
    notes = (
        "The paper has one network of each, and does not print this.",
        "Points are those of Table 4: a key changes B and the weights alone.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        keys = list(range(FIRST, FIRST + self.seeds))
        labels_of(setting, progress, setting.tests)
        shape = len(ROWS), len(keys), len(setting.tests)
        runs = list(np.ndindex(shape))  # row by row: sizes that agree stand together
        networks, seconds = train(
            [setting.word(ROWS[row]) for row, _, _ in runs],
            [setting.tests[k] for _, _, k in runs],
            setting,
            keys=[keys[key] for _, key, _ in runs],
            progress=progress,
        )
        found = [[network.iou[points] for network in networks] for points in POINTS]
        iou = np.reshape(found, (len(POINTS), *shape))
        means = iou.mean(axis=-1)
        spent = np.reshape(seconds, shape).mean(axis=(1, 2))
        return Outcome(
            numbers=tuple(_numbers(means, keys, full)),
            claims=tuple(_claims(means, preset)),
            arrays={"iou": iou, "keys": np.asarray(keys)},
            settings={
                **settings_of(setting),
                "train_seconds": dict(zip(ROWS, spent.round(3).tolist(), strict=True)),
                "keys": f"2020: PRNGKey of {keys}, each for B and weights of all",
                "spread": "standard deviation of the means over keys",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.score_table import score_figure

        means = outcome.arrays["iou"].mean(axis=-1)
        ours = {
            f"{points} points": {row: means[j, i] for i, row in enumerate(ROWS)}
            for j, points in enumerate(POINTS)
        }
        printed = {
            f"{points} points": {r: published.TABLE4[r, points].value for r in ROWS}
            for points in POINTS
        }
        compare = any(n.comparable and n.printed for n in outcome.numbers)
        figure = score_figure(
            ours, printed if compare else None, unit="IoU", over="keys", digits=3
        )
        return {self.id: figure}


ITEM = Table4Seeds()


def _numbers(means: np.ndarray, keys: list[int], full: bool) -> list[Number]:
    """Each row's mean over keys, then its mean for each key."""
    numbers = []
    for j, points in enumerate(POINTS):
        for i, row in enumerate(ROWS):
            printed = published.TABLE4[row, points].value
            numbers += over_keys(
                f"{row} {points}", printed, means[j, i], keys, comparable=full
            )
    return numbers


def _claims(means: np.ndarray, preset: Preset) -> list[Claim]:
    """Table 4's own claims of the mappings, for every key.

    Args:
        means: (points, rows, keys).
    """
    full, judged = preset is Preset.FULL, preset is not Preset.SMOKE
    count = means.shape[-1]
    claims = []
    for j, points in enumerate(POINTS):
        least = np.diff(means[j], axis=0).min(axis=0)
        claims.append(
            judge(
                f"{points} points: none < basic < positional < Gaussian with every key",
                np.all(least > 0) if full else None,
                f"{np.sum(least > 0)} of {count} keys; the smallest rise is "
                f"{least.min():.4f}",
            )
        )
    ahead = means[:, 2:].min(axis=1) - means[:, 0]
    claims.append(
        judge(
            "positional and Gaussian beat no mapping on both with every key",
            np.all(ahead > 0) if judged else None,
            f"by {ahead.min():.3f} to {ahead.max():.3f} IoU",
        )
    )
    gain = means[:, -1] - means[:, 0]
    helps = (gain[1] > gain[0]) & (gain[0] > 0)
    claims.append(
        judge(
            "the Gaussian mapping helps most near the surface with every key",
            helps.all() if judged else None,
            "IoU above no mapping: "
            + ", ".join(
                f"{points} {g.min():.3f} to {g.max():.3f}"
                for points, g in zip(POINTS, gain, strict=True)
            ),
        )
    )
    return claims
