"""Table 3 once more with other keys: how far one seed moves a printed mean.

One key serves all pictures of a row, so that pictures do not average it away.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .image_runs import train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge, over_keys
from .table3 import ROWS, SETS, WITHIN, Setting, pictures_of, runs_of
from .table3 import SETTINGS as TABLE3

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 11
"""The first key; the paper's is the one before it."""
SETTINGS = {
    Preset.SMOKE: TABLE3[Preset.SMOKE],
    Preset.SMALL: Setting(images=1, side=96, m=96, width=96, steps=300),
    Preset.FULL: Setting(),
}


class Table3Seeds(Item):
    """Means of Table 3's rows for other keys, three unless asked for more."""

    id = "table3-seeds"
    section = "beside Table 3"
    title = "How far a seed moves Table 3"
    needs = SETS
    seeds = 3
    notes = ("The paper has one seed, PRNGKey(10), and does not print this.",)

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        pictures = pictures_of(setting, full)
        keys = list(range(FIRST, FIRST + self.seeds))
        # Key by key: the second finds the programs of the first.
        of_keys = [
            train_runs(
                pictures,
                runs_of(setting, key),
                steps=setting.steps,
                width=setting.width,
                precision=setting.precision,
                progress=lambda text, key=key: progress(f"key {key}: {text}"),
            )
            for key in keys
        ]
        shape = len(keys), len(SETS), len(ROWS), setting.images
        scores = np.reshape([trained.test for trained in of_keys], shape)
        means = scores.mean(axis=-1)
        return Outcome(
            numbers=tuple(_numbers(means, keys, full)),
            claims=tuple(_claims(means, preset)),
            arrays={"means": means, "keys": np.asarray(keys)},
            settings={
                **dataclasses.asdict(setting),
                "precision": of_keys[0].precision,
                "seconds of each key": [trained.seconds for trained in of_keys],
                "keys": f"2020: PRNGKey of {keys}, each for B and weights of all",
                "spread": "standard deviation of the means over keys",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.score_table import score_figure

        means = outcome.arrays["means"]
        ours = {
            name: {row: means[:, i, j] for j, row in enumerate(ROWS)}
            for i, name in enumerate(SETS)
        }
        printed = {
            name: {row: published.TABLE3[row, name].value for row in ROWS}
            for name in SETS
        }
        compare = any(n.comparable and n.printed for n in outcome.numbers)
        figure = score_figure(ours, printed if compare else None, over="keys")
        return {self.id: figure}


ITEM = Table3Seeds()


def _numbers(means: np.ndarray, keys: list[int], full: bool) -> list[Number]:
    """Each row's mean over keys, then its mean for each key."""
    numbers = []
    for i, name in enumerate(SETS):
        for j, row in enumerate(ROWS):
            printed = published.TABLE3[row, name].value
            numbers += over_keys(
                f"{row} {name}", printed, means[:, i, j], keys, comparable=full
            )
    return numbers


def _claims(means: np.ndarray, preset: Preset) -> list[Claim]:
    claims = []
    for i, name in enumerate(SETS):
        rising = np.diff(means[:, i], axis=1) > 0
        claims.append(
            judge(
                f"{name}: none < basic < positional < Gaussian with every key",
                rising.all() if preset is Preset.FULL else None,
                f"{rising.all(axis=1).sum()} of {len(means)} keys",
            )
        )
        ahead = means[:, i, 2:].min(axis=1) - means[:, i, 0]
        claims.append(
            judge(
                f"{name}: Fourier features beat no mapping with every key",
                bool((ahead > 0).all()) if preset is not Preset.SMOKE else None,
                f"by {ahead.min():.2f} to {ahead.max():.2f} dB",
            )
        )
        for j, row in enumerate(ROWS):
            printed = published.TABLE3[row, name].value
            low, high = means[:, i, j].min(), means[:, i, j].max()
            claims.append(
                judge(
                    f"{name}, {row}: the printed mean is within {WITHIN} dB of what "
                    "the keys give",
                    bool(low - WITHIN <= printed <= high + WITHIN)
                    if preset is Preset.FULL
                    else None,
                    f"{low:.2f} to {high:.2f} against {printed}",
                )
            )
    return claims
