"""A study's table, its runs with other keys and its sweep of scales, as items.

What their numbers are called and what is claimed of them stands here once; a study
whose table says more overrides that part.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..plot.scale_sweep import sweep_figure
from ..plot.score_table import score_figure
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .published import Printed
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


class Curve(NamedTuple):
    """Scores against the scale of a mapping."""

    name: str
    scales: np.ndarray
    scores: np.ndarray
    """(scales, signals)."""
    papers: float
    """The scale that the paper found best."""

    @property
    def means(self) -> np.ndarray:
        return self.scores.mean(axis=1)

    @property
    def best(self) -> float:
        return float(self.scales[self.means.argmax()])

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.scales[0]), float(self.scales[-1])

    def told(self, *scales: float) -> str:
        """The means at some of the scales."""
        at = dict(zip(self.scales.tolist(), self.means, strict=True))
        (first, *more) = (f"{at[float(s)]:.2f}{{}} at {s:g}" for s in scales)
        return ", ".join([first.format(" dB"), *(text.format("") for text in more)])


def near_the_best(flat: float, *, as_good: bool = False) -> "SweepClaim":
    """Whether the paper's scale is as good as the best, to `flat` dB.

    Args:
        as_good: tell which scales are.
    """

    def claim(curve: Curve, preset: Preset) -> Claim:
        means, scales = curve.means, curve.scales
        short = float(means.max() - np.interp(curve.papers, scales, means))
        text = f"{curve.papers:g} is {short:.2f} dB below {curve.best:g}"
        if as_good:
            good = scales[means >= means.max() - flat]
            text += f"; {good.min():g} to {good.max():g} are as good"
        return judge(
            f"{curve.name}: the paper's scale is within {flat} dB of the best",
            short <= flat if preset is Preset.FULL else None,
            text,
        )

    return claim


SweepClaim = Callable[[Curve, Preset], Claim]


class Sweep(View):
    """Mean score against the scale, on signals that the table does not report.

    The outcome has, for each curve, its scales and its scores (scales, signals).
    """

    def __init__(
        self,
        study: Any,
        id: str,
        title: str,
        *,
        claims: Sequence[SweepClaim],
        printed: Mapping[tuple[str, str], Printed] | None = None,
        scored: str = "held-out pixels",
        shown: str = "{}",
        joint: str = ".",
        **about: Any,
    ) -> None:
        """Args:
        printed: what was read off a plot, by curve and scale.
        scored: what the PSNR is of.
        shown: what a curve is called in the drawing.
        joint: between a curve's name and its array's.
        """
        super().__init__(study, id, title, **about)
        self.judged_by, self.read_off = claims, printed
        self.scored, self.shown, self.joint = scored, shown, joint

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        found, settings = self.study.swept(preset, progress)
        arrays: dict[str, np.ndarray] = {}
        for name, (scales, scores) in found.items():
            arrays[f"{name}{self.joint}scales"] = np.asarray(scales)
            arrays[f"{name}{self.joint}psnr"] = np.asarray(scores)
        curves = self.curves(arrays)
        return Outcome(
            numbers=tuple(n for curve in curves for n in self.numbers(curve, preset)),
            claims=tuple(self.claims(curves, preset)),
            arrays=arrays,
            settings=settings,
        )

    def claims(self, curves: Sequence[Curve], preset: Preset) -> list[Claim]:
        """What is said of each curve."""
        return [claim(curve, preset) for curve in curves for claim in self.judged_by]

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim]:
        return self.claims(self.curves(outcome.arrays), preset)

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        curves = {
            self.shown.format(c.name): (c.scales, c.scores, self.marked(c))
            for c in self.curves(outcome.arrays)
        }
        figure = sweep_figure(curves)
        figure.axes[0].set_ylabel(f"PSNR of {self.scored} (dB)")
        return {self.id: figure}

    def marked(self, curve: Curve) -> float:
        """The scale that the drawing shows beside the best."""
        return curve.papers

    def curves(self, arrays: Mapping[str, np.ndarray]) -> list[Curve]:
        """The curves that the arrays of an outcome hold."""
        end = f"{self.joint}scales"
        names = [key.removesuffix(end) for key in arrays if key.endswith(end)]
        return [
            Curve(name, arrays[f"{name}{end}"], arrays[f"{name}{self.joint}psnr"],
                  self.study.papers(name))
            for name in names
        ]  # fmt: skip

    def numbers(self, curve: Curve, preset: Preset) -> list[Number]:
        """The best scale beside the paper's, then every mean beside what was read."""
        full = preset is Preset.FULL
        name = f"{curve.name}, best scale"
        numbers = [Number(name, curve.papers, curve.best, comparable=full)]
        for scale, mean in zip(curve.scales, curve.means, strict=True):
            cell = (self.read_off or {}).get((curve.name, f"{scale:g}"))
            own = full and bool(self.study.own) and cell is not None
            numbers.append(
                Number(
                    f"{curve.name}, PSNR at {scale:g}",
                    None if cell is None else cell.value,
                    float(mean),
                    comparable=own or self.read_off is None,
                )
            )
        return numbers
