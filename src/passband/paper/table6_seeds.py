"""Table 6 once more with other keys: how far a seed moves a mean over volumes.

One key serves all volumes of a row, so that volumes do not average it away.
"""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge, over_keys
from .mri_runs import load_volumes, scaled_word, train_words
from .table6 import ROWS, SETTINGS, SMOKE_ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 11
"""The first key; the paper's is the one before it."""


class Table6Seeds(Item):
    """Means of Table 6's rows for other keys of B and the weights, two unless asked for
    more."""

    id = "table6-seeds"
    section = "beside Table 6"
    title = "How far a seed moves Table 6"
    needs = ("brain",)
    seeds = 2
    notes = (
        "The paper has one seed, PRNGKey(10), and does not print this.",
        "Its volumes are restricted: those of Table 6 stand in for them here too.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        if preset is Preset.SMALL:
            setting = dataclasses.replace(setting, volumes=1)
        rows = SMOKE_ROWS if preset is Preset.SMOKE else ROWS
        volumes = load_volumes(setting)
        words = [scaled_word(row, setting) for row in rows]
        keys = list(range(FIRST, FIRST + self.seeds))
        # Key by key: every one finds the programs of the first, which are Table 6's.
        of_keys = [
            train_words(
                words,
                volumes,
                setting,
                lambda text, key=key: progress(f"key {key}: {text}"),
                key=key,
            )
            for key in keys
        ]
        scores = np.stack([trained.scores for trained in of_keys], axis=1)
        arrays: dict[str, np.ndarray] = dict(zip(rows, scores, strict=True))
        return Outcome(
            numbers=tuple(_numbers(arrays, keys)),
            claims=tuple(_claims(arrays, preset)),
            arrays={**arrays, "keys": np.asarray(keys)},
            settings={
                **dataclasses.asdict(setting),
                "precision": of_keys[0].precision,
                "words": dict(zip(rows, words, strict=True)),
                "seconds of each key": [trained.seconds for trained in of_keys],
                "keys": f"2020: PRNGKey of {keys}, each for B and weights of all",
                "spread": "standard deviation of the means over keys",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.score_table import score_figure

        arrays = outcome.arrays
        ours = {row: arrays[row].mean(axis=-1) for row in ROWS if row in arrays}
        return {self.id: score_figure({"volumes": ours}, over="keys")}


ITEM = Table6Seeds()


def _numbers(arrays: dict[str, np.ndarray], keys: list[int]) -> list[Number]:
    """Each row's mean over keys, then its mean for each key."""
    numbers = []
    for row, scores in arrays.items():
        printed = published.TABLE6[row, "atlas"].value
        of_keys = scores.mean(axis=-1)
        numbers += over_keys(row, printed, of_keys, keys, comparable=False)
    return numbers


def _claims(arrays: dict[str, np.ndarray], preset: Preset) -> list[Claim]:
    """Table 6's own claims of the mappings, for every key; none where rows are missing.

    Args:
        arrays: by row (keys, volumes).
    """
    if preset is Preset.SMOKE:
        return []
    means = np.stack([arrays[row].mean(axis=-1) for row in ROWS])
    least = np.diff(means, axis=0).min(axis=0)
    ahead = means[2:].min(axis=0) - means[0]
    return [
        judge(
            "none < basic < positional < Gaussian with every key",
            np.all(least > 0) if preset is Preset.FULL else None,
            f"{np.sum(least > 0)} of {len(least)} keys; the smallest rise is "
            f"{least.min():.2f} dB",
        ),
        judge(
            "Fourier features beat no mapping with every key",
            np.all(ahead > 0),
            f"by {ahead.min():.2f} to {ahead.max():.2f} dB",
        ),
    ]
