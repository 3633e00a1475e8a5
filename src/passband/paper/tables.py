"""A study's table as an item; `seeds.py` and `sweeps.py` have its other views.

What their numbers are called and what is claimed of them stands here once; a study
whose table says more overrides that part.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plot.score_table import score_figure
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .study import ROWS, GridStudy, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scores = Mapping[str, Mapping[str, np.ndarray]]
"""By column and row."""
ORDER = "none < basic < positional < Gaussian"
GAIN = "Fourier features beat no mapping"


class View(Item):
    """An item that shows a study."""

    def __init__(
        self,
        study: Any,
        id: str,
        title: str,
        section: str = "",
        *,
        needs: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        companions: tuple[str, ...] = (),
        seeds: int = 0,
    ) -> None:
        table, _, beside = id.partition("-")
        if beside:
            section = f"beside {table.replace('table', 'Table ')}"
        self.study, self.id, self.title, self.section = study, id, title, section
        self.needs, self.notes, self.companions = needs, notes, companions
        self.seeds = seeds

    def numbered(self, scores: Scores, preset: Preset) -> list[Number]:
        """Mean and spread of every cell beside the printed one."""
        study: Study = self.study
        numbers = []
        for column in study.columns:
            for row in (*study.rows, *study.others):
                printed = study.printed.get((row, column))
                values = scores[column].get(row)
                numbers.append(
                    Number(
                        study.number(row, column),
                        None if printed is None else printed.value,
                        None if values is None else float(values.mean()),
                        None if values is None else float(values.std()),
                        study.comparable(row, column, preset),
                    )
                )
        return numbers

    def printed(self, scores: Scores) -> dict[str, dict[str, float]]:
        """What is printed of the same cells, by panel; NaN for other data."""
        study: Study = self.study
        return {
            study.panel(column): {
                row: study.printed[row, column].value
                if study.comparable(row, column, Preset.FULL)
                else np.nan
                for row in rows
            }
            for column, rows in scores.items()
        }

    def drawn(self, scores: Scores, outcome: Outcome, **look: Any) -> "Figure":
        """The cells as dots, with the printed ones where they can be compared."""
        ours = {self.study.panel(column): rows for column, rows in scores.items()}
        compare = any(n.comparable and n.printed for n in outcome.numbers)
        return score_figure(ours, self.printed(scores) if compare else None, **look)


class Table(View):
    """The scores of a study with the paper's own key."""

    study: GridStudy

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        scores, settings = self.study.table(preset, progress)
        return Outcome(
            numbers=tuple(self.numbered(scores, preset)),
            claims=tuple(self.claims(scores, preset)),
            arrays={
                self.array(row, column): values
                for column, rows in scores.items()
                for row, values in rows.items()
            },
            settings=settings
            | {"spread": f"standard deviation over {self.study.over}"},
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        scores = self.unpacked(outcome.arrays)
        return {self.id: self.drawn(scores, outcome, over=self.study.over)}

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim]:
        return self.claims(self.unpacked(outcome.arrays), preset)

    def unpacked(self, arrays: Mapping[str, np.ndarray]) -> Scores:
        """The scores, from the arrays of an outcome."""
        study = self.study
        return {
            column: {
                row: arrays[self.array(row, column)]
                for row in (*study.rows, *study.others)
                if self.array(row, column) in arrays
            }
            for column in study.columns
        }

    def array(self, row: str, column: str) -> str:
        """Where a cell's scores stand in the outcome."""
        return f"{column}.{row}"

    def claims(self, scores: Scores, preset: Preset) -> list[Claim]:
        """Order, gain and digits of every column that has all rows."""
        study, claims = self.study, []
        full = preset is Preset.FULL
        judged = study.gains_in_smoke or preset is not Preset.SMOKE
        for column, of in scores.items():
            means = {row: float(values.mean()) for row, values in of.items()}
            if not set(ROWS) <= set(means):  # a smoke run leaves rows out
                continue
            text = ", ".join(f"{row} {value:.2f}" for row, value in means.items())
            start = f"{column}: " if len(study.columns) > 1 else ""
            rising = bool(np.all(np.diff([means[row] for row in ROWS]) > 0))
            claims.append(judge(f"{start}{ORDER}", rising if full else None, text))
            mapped = min(means["positional"], means["gaussian"])
            won = mapped > means["none"] if judged else None
            claims.append(judge(f"{start}{GAIN}", won, text))
            claims += self.more_claims(column, means, text, full)
            for row in ROWS:
                if (row, column) in study.within:
                    claims += self.near(row, column, means[row], full)
        return claims

    def more_claims(
        self, column: str, means: dict[str, float], text: str, full: bool
    ) -> list[Claim]:
        """What is said of this table's column alone."""
        del column, means, text, full
        return []

    def near(self, row: str, column: str, mean: float, full: bool) -> list[Claim]:
        """Whether a mean is as near to the printed one as is asked for."""
        within = self.study.within[row, column]
        printed = self.study.printed[row, column].value
        return [
            judge(
                f"{column}, {row}: mean PSNR within {within} dB of the printed one",
                abs(mean - printed) <= within if full else None,
                f"{mean:.3f} against {printed}",
            )
        ]
