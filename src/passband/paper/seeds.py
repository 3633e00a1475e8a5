"""A study's table with other keys of B and the weights, as an item."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .item import Claim, Number, Outcome, Preset, Progress, judge
from .study import ROWS, GridStudy, Study
from .tables import GAIN, ORDER, Scores, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Seeds(View):
    """Means of a table's rows for other keys of B and the weights.

    One key serves all signals of a row, so that signals do not average it away.
    """

    study: GridStudy

    def __init__(
        self,
        study: Study,
        id: str,
        title: str = "",
        *,
        sizes: Mapping[Preset, Any],
        **about: Any,
    ) -> None:
        table = id.partition("-")[0].replace("table", "Table ")
        super().__init__(study, id, title or f"How far a seed moves {table}", **about)
        self.sizes = sizes

    @property
    def keys(self) -> list[int]:
        """The next after the paper's."""
        return [self.study.key + 1 + k for k in range(self.seeds)]

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        study, sizes, keys = self.study, self.sizes[preset], self.keys
        # Key by key: the second finds the programs of the first.
        of_keys = [
            study.scored(
                study.seed_columns,
                sizes,
                lambda text, key=key: progress(f"key {key}: {text}"),
                key=key,
            )
            for key in keys
        ]
        scores = {
            column: {
                row: np.stack([found.scores[column][row] for found in of_keys])
                for row in sizes.rows
            }
            for column in study.seed_columns
        }
        settings = {
            **dataclasses.asdict(sizes),
            "precision": of_keys[0].precision,
            "words": of_keys[0].words,
            "seconds of each key": [found.seconds for found in of_keys],
        }
        return self.outcome(scores, settings, preset)

    def outcome(
        self, scores: Scores, settings: dict[str, Any], preset: Preset
    ) -> Outcome:
        """Numbers and claims of scores (keys, signals) by column and row."""
        means = {
            column: {row: values.mean(axis=-1) for row, values in of.items()}
            for column, of in scores.items()
        }
        return Outcome(
            numbers=tuple(self.numbered_by_key(means, preset)),
            claims=tuple(self.claims(means, preset)),
            arrays={**self.packed(scores), "keys": np.asarray(self.keys)},
            settings={
                **settings,
                "keys": f"2020: PRNGKey of {self.keys}, each for B and weights of all",
                "spread": "standard deviation of the means over keys",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        means = self.unpacked(outcome.arrays)
        return {self.id: self.drawn(means, outcome, over="keys", **self.look)}

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim] | None:
        return self.claims(self.unpacked(outcome.arrays), preset)

    look: Mapping[str, Any] = {}
    """Options of the drawing."""

    def packed(self, scores: Scores) -> dict[str, np.ndarray]:
        """The arrays of the outcome: means (keys, columns, rows), or of one column."""
        means = [[v.mean(axis=-1) for v in of.values()] for of in scores.values()]
        by_key = np.moveaxis(np.asarray(means), -1, 0)
        return {"means": by_key if len(scores) > 1 else by_key[:, 0]}

    def unpacked(self, arrays: Mapping[str, np.ndarray]) -> Scores:
        """The means over signals, from those arrays."""
        columns = self.study.seed_columns
        means = arrays["means"].reshape(-1, len(columns), len(ROWS))
        return {
            column: {row: means[:, i, j] for j, row in enumerate(ROWS)}
            for i, column in enumerate(columns)
        }

    def numbered_by_key(self, means: Scores, preset: Preset) -> list[Number]:
        """Each cell's mean over keys beside what is printed, then that of each key."""
        study, numbers = self.study, []
        for column, of in means.items():
            for row, values in of.items():
                name, printed = study.number(row, column), study.printed[row, column]
                mean, spread = float(values.mean()), float(values.std())
                own = study.comparable(row, column, preset)
                numbers.append(Number(name, printed.value, mean, spread, own))
                numbers += [
                    Number(f"{name}, key {key}", None, float(value))
                    for key, value in zip(self.keys, values, strict=True)
                ]
        return numbers

    def claims(self, means: Scores, preset: Preset) -> list[Claim]:
        """The table's own claims of the mappings, for every key."""
        study, claims = self.study, []
        full = preset is Preset.FULL
        for column, of in means.items():
            if not set(ROWS) <= set(of):
                continue
            start = f"{column}: " if len(study.columns) > 1 else ""
            claims.append(every_key_rises(start, of, study.rises, judged=full))
            ahead = np.minimum(of["positional"], of["gaussian"]) - of["none"]
            claims.append(
                judge(
                    f"{start}{GAIN} with every key",
                    np.all(ahead > 0) if preset is not Preset.SMOKE else None,
                    f"by {ahead.min():.2f} to {ahead.max():.2f} dB",
                )
            )
            for row in ROWS:
                if (row, column) in study.within:
                    claims.append(self._around(row, column, of[row], full))
        return claims

    def _around(self, row: str, column: str, values: np.ndarray, full: bool) -> Claim:
        within = self.study.within[row, column]
        printed = self.study.printed[row, column].value
        low, high = values.min(), values.max()
        return judge(
            f"{column}, {row}: the printed mean is within {within} dB of what the keys "
            "give",
            bool(low - within <= printed <= high + within) if full else None,
            f"{low:.2f} to {high:.2f} against {printed}",
        )


def every_key_rises(
    start: str, means: Mapping[str, np.ndarray], rises: str | None, *, judged: bool
) -> Claim:
    """Whether the means rise from row to row for each key.

    Args:
        rises: how the smallest rise is told, as `{:.2f} dB`; not at all if none.
    """
    least = np.diff([means[row] for row in ROWS], axis=0).min(axis=0)
    detail = f"{np.sum(least > 0)} of {len(least)} keys"
    if rises is not None:
        detail += f"; the smallest rise is {rises.format(least.min())}"
    holds = np.all(least > 0) if judged else None
    return judge(f"{start}{ORDER} with every key", holds, detail)
