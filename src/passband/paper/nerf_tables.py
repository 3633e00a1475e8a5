"""Table 7, its sweep and its rotated scene: views of `nerf_study`."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..plot.score_table import score_figure
from ..plot.style import INK, axes_at, colour_of, label_of, new_figure, styled
from . import published
from .item import Claim, Number, Outcome, Preset, Progress, judge
from .nerf_seeds import Table7Seeds
from .nerf_study import (
    COLUMN,
    ROTATED,
    ROWS,
    SMALL,
    STUDY,
    scene_of,
    scores,
    settings_of,
)
from .sweeps import Curve, Sweep
from .tables import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHIN = 0.3
AHEAD = 2.0
"""dB that Fourier features must gain over no mapping, even in a small run."""
FLAT_DB = 0.2
"""Scales this near to the best are as good."""
SEED_STEPS = {Preset.SMOKE: 20, Preset.SMALL: 200, Preset.FULL: 5_000}


class Table7(View):
    """Mean PSNR of thirteen test views, at three lengths of training."""

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        sizes = STUDY.sizes[preset]
        networks = STUDY.of_rows(ROWS, sizes, progress)
        scene, stops = scene_of(sizes), STUDY.stops(sizes)
        arrays: dict[str, np.ndarray] = {"stops": np.array(stops)}
        for row, network in zip(ROWS, networks, strict=True):
            progress(f"{row}: rendering the test views")
            found = [scores(scene, sizes, field)[0] for field in network.stops]
            arrays[row] = np.stack(found)
            arrays[f"{row} val"] = scores(scene, sizes, network.field, "val")[0]
        last = {COLUMN: {row: arrays[row][-1] for row in ROWS}}
        return Outcome(
            numbers=(*self.numbered(last, preset), *_more_numbers(arrays, preset)),
            claims=tuple(_claims(arrays, preset)),
            arrays=arrays,
            settings=settings_of(sizes, networks)
            | {
                "mappings": {row: STUDY.word(row, COLUMN, sizes) for row in ROWS},
                "learning rates": {row: STUDY.lr(row, COLUMN, sizes) for row in ROWS},
                "data": "the paper's own" if sizes.full else "a scene in closed form",
            },
        )

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim]:
        return _claims(outcome.arrays, preset)

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        compare = any(n.comparable for n in outcome.numbers if n.printed)
        printed = {row: published.TABLE7[row, COLUMN].value for row in ROWS}
        scored = {row: outcome.arrays[row] for row in ROWS}
        stops = [int(stop) for stop in outcome.arrays["stops"]]
        return {self.id: _step_figure(scored, stops, printed if compare else None)}


def _more_numbers(arrays: dict[str, np.ndarray], preset: Preset) -> list[Number]:
    """The validation means printed by the notebook, then shorter runs."""
    numbers = []
    for row in ROWS:
        mine = arrays[f"{row} val"]
        printed = published.TABLE7_VAL[row, "validation"].value
        numbers.append(
            Number(f"{row}, validation", printed, float(mine.mean()),
                   float(mine.std()), preset is Preset.FULL)
        )  # fmt: skip
    for k, stop in enumerate(arrays["stops"][:-1]):
        for row in ROWS:
            part = arrays[row][k]
            name = f"{row}, {stop:.0f} steps"
            numbers.append(Number(name, None, float(part.mean()), float(part.std())))
    return numbers


def _claims(arrays: dict[str, np.ndarray], preset: Preset) -> list[Claim]:
    full, judged = preset is Preset.FULL, preset is not Preset.SMOKE
    mean = {row: float(arrays[row][-1].mean()) for row in ROWS}
    claims = []
    for row in ROWS:
        printed = published.TABLE7[row, COLUMN]
        claims.append(
            judge(
                f"{row}: mean PSNR within {WITHIN} dB of the printed one",
                abs(mean[row] - printed.value) <= WITHIN if full else None,
                f"{mean[row]:.3f} against {printed.text}",
            )
        )
    rising = bool(np.all(np.diff([mean[row] for row in ROWS[:5]]) > 0))
    on_axes = (
        mean["octaves"] > mean["octaves:rotated"]
        and mean["positional"] > mean["positional:rotated"]
        and mean["positional"] > mean["gaussian"]
    )
    ahead = mean["gaussian"] - mean["none"]
    return [
        *claims,
        judge(
            "none < basic < original < positional < Gaussian, rotated",
            rising if full else None,
            ", ".join(f"{row} {mean[row]:.2f}" for row in ROWS[:5]),
        ),
        judge(
            "on the axes both encodings gain, and positional passes Gaussian",
            on_axes if judged else None,
            f"original {mean['octaves']:.2f}, positional {mean['positional']:.2f}, "
            f"rotated {mean['octaves:rotated']:.2f}, {mean['positional:rotated']:.2f}",
        ),
        judge(
            f"Gaussian features are {AHEAD:g} dB or more ahead of no mapping",
            ahead >= AHEAD if judged else None,
            f"{ahead:.2f} dB",
        ),
    ]


@styled
def _step_figure(
    scores: Mapping[str, np.ndarray],
    stops: Sequence[int],
    printed: Mapping[str, float] | None,
) -> "Figure":
    """One line a row: its mean after each stop, the last with its spread.

    Args:
        scores: (stops, views) by row.
        printed: the paper's means, where they can be compared.
    """
    panel, line, left, right, top, bottom = 5.2, 0.42, 1.6, 0.25, 0.45, 0.55
    rows = list(scores)
    width, height = left + panel + right, top + line * len(rows) + bottom
    figure = new_figure(width, height)
    axes = axes_at(figure, left, top, panel, line * len(rows))
    for place, row in enumerate(rows):
        y, colour = len(rows) - 1 - place, colour_of(row)
        values = np.asarray(scores[row], float)
        means = values.mean(axis=1)
        axes.plot(means, np.full(len(means), y), color=colour, lw=1.0, alpha=0.5)
        for k, mean in enumerate(means[:-1]):
            size = 3 + 3 * k / max(1, len(means) - 1)
            axes.plot(mean, y, "o", color=colour, alpha=0.55, markersize=size)
        axes.errorbar(means[-1], y, xerr=values[-1].std(), fmt="o", color=colour,
                      markersize=6.5, capsize=3, lw=1.6)  # fmt: skip
        if printed is not None:
            axes.plot(printed[row], y, "D", markerfacecolor="none",
                      markeredgecolor=INK, markersize=9.5)  # fmt: skip
        axes.annotate(f"{means[-1]:.2f}", (means[-1], y), (0, 7), ha="center",
                      textcoords="offset points", fontsize=8.5, color=INK)  # fmt: skip
    axes.set_ylim(-0.6, len(rows) - 0.2)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([label_of(row) for row in reversed(rows)])
    axes.set_xlabel("PSNR of test views (dB)")
    lengths = ", ".join(f"{s:,}" for s in stops)
    note = f"dots: after {lengths} steps; bar: spread over views"
    if printed is not None:
        note += "; diamond: printed"
    figure.text(1 - right / width, 1 - 0.2 / height, note, ha="right", va="center",
                fontsize=8, color=INK)  # fmt: skip
    return figure


class Table7Sweep(Sweep):
    """Mean PSNR of the validation views against the scale."""

    def marked(self, curve: Curve) -> float:
        # A small run is of the toy scene, which has a scale of its own.
        return curve.papers if len(curve.scales) > 3 else getattr(SMALL, curve.name)


def _low_end(curve: Curve, preset: Preset) -> Claim:
    low, high = curve.ends
    return judge(
        f"{curve.name}: too low a scale is worse than the best",
        low < curve.best if preset is not Preset.SMOKE else None,
        curve.told(low, curve.best, high),
    )


def _near_the_notebooks(curve: Curve, preset: Preset) -> Claim:
    short = curve.means.max() - np.interp(curve.papers, curve.scales, curve.means)
    full = preset is Preset.FULL
    return judge(
        f"{curve.name}: the notebook's scale is within {FLAT_DB} dB of the best",
        bool(short <= FLAT_DB) if full else None,
        f"{curve.papers:g} is {short:.2f} dB below {curve.best:g}"
        if full
        else f"{curve.papers:g} is for another scene; here {curve.best:g} is best",
    )


class Table7Rotated(View):
    """Mean PSNR of the views of a scene turned 45 degrees about z, then about x."""

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        sizes = dataclasses.replace(STUDY.sizes[preset], looks=())
        networks = STUDY.of_rows(list(ROTATED), sizes, progress, turned=True)
        scene = scene_of(sizes, turned=True)
        arrays = {}
        for row, network in zip(ROTATED, networks, strict=True):
            progress(f"{row}: rendering the test views")
            arrays[row] = scores(scene, sizes, network.field)[0]
        full = preset is Preset.FULL
        return Outcome(
            numbers=tuple(
                Number(row, published.TABLE7[printed, COLUMN].value,
                       float(arrays[row].mean()), float(arrays[row].std()), full)
                for row, printed in ROTATED.items()
            ),
            claims=tuple(claims_of_rotated(arrays, preset)),
            arrays=arrays,
            settings=settings_of(sizes, networks),
        )  # fmt: skip

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim]:
        return claims_of_rotated(outcome.arrays, preset)

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        table = "rotated scene"
        ours = {table: {row: outcome.arrays[row] for row in ROTATED}}
        cells = {r: published.TABLE7[n, COLUMN].value for r, n in ROTATED.items()}
        compare = any(n.comparable for n in outcome.numbers)
        printed = {table: cells} if compare else None
        return {self.id: score_figure(ours, printed, over="views")}


def claims_of_rotated(arrays: Mapping[str, np.ndarray], preset: Preset) -> list[Claim]:
    """Who leads, and whether the frequencies can be turned instead."""
    full = preset is Preset.FULL
    mean = {row: float(arrays[row].mean()) for row in ROTATED}
    apart = {
        row: mean[row] - published.TABLE7[name, COLUMN].value
        for row, name in ROTATED.items()
    }
    return [
        judge(
            "on a rotated scene Gaussian features lead",
            mean["gaussian"] == max(mean.values()) if full else None,
            ", ".join(f"{row} {value:.2f}" for row, value in mean.items()),
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


ITEMS = (
    Table7(
        STUDY,
        "table7",
        "View synthesis with seven mappings",
        "appendix, view synthesis",
        needs=("lego",),
        companions=("table7-seeds", "table7-sweep", "table7-rotated"),
        notes=(
            "The table was made with 50,000 steps; the text says 500,000.",
            "World coordinates without 2 pi: Gaussian 26 is 4.14 cycles per unit (the "
            "text has 6.05), positional reaches 2^8 - 1 radians (the text has 1.27).",
            "Rotated rows turn the frequencies, not the scene; table7-rotated turns "
            "the scene.",
            "The original encoding has 9 octaves; the text says 8.",
        ),
    ),
    Table7Seeds(
        STUDY,
        "table7-seeds",
        "Which networks of Table 7 live",
        sizes={
            preset: dataclasses.replace(sizes, steps=SEED_STEPS[preset], looks=())
            for preset, sizes in STUDY.sizes.items()
        },
        needs=("lego",),
        seeds=5,
        notes=(
            "The paper has one key, PRNGKey(0), and does not print this.",
            "Networks that die do so in their first hundreds of steps: 5,000 are "
            "enough.",
        ),
    ),
    Table7Sweep(
        STUDY,
        "table7-sweep",
        "The scales that the validation views choose",
        needs=("lego",),
        claims=(_low_end, _near_the_notebooks),
        scored="validation views",
        shown="views {}",
        joint=" ",
        notes=(
            "Scales in radians per unit of the world: the notebook used 26, and powers "
            "of two up to 8; the text has 6.05 cycles, which is 38 radians.",
            "10,000 steps each; the notebook gave its sweep 50,000.",
        ),
    ),
    Table7Rotated(
        STUDY,
        "table7-rotated",
        "Table 7 with the scene really rotated",
        needs=("lego",),
        notes=(
            "The text says that the scene was rotated; the notebook turned the "
            "frequencies of the two positional encodings instead.",
        ),
    ),
)
