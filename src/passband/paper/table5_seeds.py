"""Table 5's phantoms once more with other keys: how far a seed moves a printed mean."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .ct_runs import ROWS, densities, rows_of, train_runs
from .item import Claim, Item, Outcome, Preset, Progress, judge, over_keys
from .table5 import SETTINGS, WITHIN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 11
"""The first key; the paper's is the one before it."""


class Table5Seeds(Item):
    """Means of Table 5's rows on Shepp for other keys of B and the weights, three
    unless asked for more."""

    id = "table5-seeds"
    section = "beside Table 5"
    title = "How far a seed moves Table 5"
    seeds = 3
    notes = ("The paper has one seed, PRNGKey(10), and does not print this.",)

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        if preset is not Preset.FULL:
            side = {Preset.SMALL: 48, Preset.SMOKE: 32}[preset]
            setting = dataclasses.replace(setting, images=2, side=side)
        full = preset is Preset.FULL
        pictures = densities("shepp", setting)
        keys = list(range(FIRST, FIRST + self.seeds))
        # Key by key: the second finds the programs of the first.
        of_keys = [
            train_runs(
                pictures,
                rows_of("shepp", 0, setting, key),
                setting,
                lambda text, key=key: progress(f"key {key}: {text}"),
            )
            for key in keys
        ]
        shape = len(keys), len(ROWS), setting.images
        scores = np.reshape([trained.scores for trained in of_keys], shape)
        means = scores.mean(axis=-1)
        numbers = []
        for j, row in enumerate(ROWS):
            printed = published.TABLE5[row, "shepp"].value
            numbers += over_keys(
                f"{row} shepp", printed, means[:, j], keys, comparable=full
            )
        return Outcome(
            numbers=tuple(numbers),
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
        ours = {"shepp": {row: means[:, j] for j, row in enumerate(ROWS)}}
        printed = {"shepp": {r: published.TABLE5[r, "shepp"].value for r in ROWS}}
        compare = any(n.comparable and n.printed for n in outcome.numbers)
        figure = score_figure(ours, printed if compare else None, over="keys")
        return {self.id: figure}


ITEM = Table5Seeds()


def _claims(means: np.ndarray, preset: Preset) -> list[Claim]:
    rising = (np.diff(means, axis=1) > 0).all(axis=1)
    ahead = means[:, 2:].min(axis=1) - means[:, 0]
    claims = [
        judge(
            "shepp: none < basic < positional < Gaussian with every key",
            rising.all() if preset is Preset.FULL else None,
            f"{rising.sum()} of {len(means)} keys",
        ),
        judge(
            "shepp: Fourier features beat no mapping with every key",
            bool((ahead > 0).all()) if preset is not Preset.SMOKE else None,
            f"by {ahead.min():.2f} to {ahead.max():.2f} dB",
        ),
    ]
    for j, row in enumerate(ROWS):
        printed = published.TABLE5[row, "shepp"].value
        low, high = means[:, j].min(), means[:, j].max()
        within = WITHIN[row]
        claims.append(
            judge(
                f"shepp, {row}: the printed mean is within {within} dB of what the "
                "keys give",
                bool(low - within <= printed <= high + within)
                if preset is Preset.FULL
                else None,
                f"{low:.2f} to {high:.2f} against {printed}",
            )
        )
    return claims
