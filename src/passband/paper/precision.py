"""What bfloat16 and TF32 products cost: networks of Tables 4 and 6 in each (ours).

Keys and batches are the same, so that what the scores differ by is rounding.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import jax
import numpy as np

from ..ops.mlp import Precision
from ..plot.style import (
    INK,
    MUTED,
    PAPER,
    axes_at,
    colours_of,
    new_figure,
    styled,
)
from . import mri_study, shape_study
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PRECISIONS = ("bfloat16", "tf32", "float32")
ALLOWED = {"uniform IoU": 0.002, "boundary IoU": 0.002, "PSNR (dB)": 0.1}
"""What products may cost: a fifth of Table 4's printed spread, and a tenth of a dB."""
SECONDS = ("shape", "volume")

Found = dict[str, dict[str, float]]
"""By score, or seconds of what, and precision."""


class PrecisionCost(Item):
    """Scores and seconds of a Gaussian network of a shape, and of one of a volume."""

    id = "precision"
    section = "beside Tables 4 and 6 (ours)"
    title = "What bfloat16 and TF32 products cost"
    needs = ("meshes", "brain")
    notes = (
        "Not in the paper.",
        "Weights, phases, losses and optimiser state are float32 in all of them.",
        "A CPU has no TF32, and its bfloat16 is slow: seconds there say little.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        shapes = shape_study.STUDY.sizes[preset]
        volumes = dataclasses.replace(mri_study.STUDY.sizes[preset], count=1)
        precisions = able(jax.default_backend())
        found: Found = {}
        for precision in precisions:
            values = _shape(precision, shapes, progress)
            if preset is not Preset.SMOKE:  # two more programs: seconds
                values |= _volume(precision, volumes, progress)
            for name, value in values.items():
                found.setdefault(name, {})[precision] = value
        return Outcome(
            numbers=tuple(_numbers(found)),
            claims=tuple(_claims(found, preset)),
            arrays={
                name: np.array([of.get(p, np.nan) for p in PRECISIONS])
                for name, of in found.items()
            },
            settings={
                "shape": shapes.tests[0],
                "shapes": shape_study.settings_of(shapes) | {"precision": "each"},
                "volumes": dataclasses.asdict(volumes) | {"precision": "each"},
                "precision": ", ".join(precisions),
                "seconds": "of training, compilation apart",
                "keys": "2020: PRNGKey(0) of the shape, PRNGKey(10) of the volume",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        found = {
            name: {
                p: float(value)
                for p, value in zip(PRECISIONS, values, strict=True)
                if not np.isnan(value)
            }
            for name, values in outcome.arrays.items()
        }
        figure = _precision_figure(
            {name: found[name] for name in ALLOWED if name in found},
            ALLOWED,
            {name: found[name] for name in SECONDS if name in found},
        )
        return {self.id: figure}


ITEM = PrecisionCost()


def able(platform: str) -> list[str]:
    """The precisions that a platform does not round in another way."""
    return [p for p in PRECISIONS if Precision.resolve(p, platform).value == p]


def _shape(
    precision: str, sizes: shape_study.ShapeSizes, progress: Progress
) -> dict[str, float]:
    sizes = dataclasses.replace(sizes, precision=precision)
    run = shape_study.STUDY.run(sizes.tests[0], "gaussian", sizes)
    progress(f"{precision}: `{run.word}` of {sizes.tests[0]}")
    [network] = shape_study.STUDY.trained(sizes.shapes, [run], sizes)
    iou = {f"{p} IoU": network.score[p] for p in shape_study.POINTS}
    return {**iou, "shape": network.seconds}


def _volume(
    precision: str, sizes: mri_study.MRISizes, progress: Progress
) -> dict[str, float]:
    study, column = mri_study.STUDY, mri_study.COLUMN
    sizes = dataclasses.replace(sizes, rows=("gaussian",), precision=precision)
    [run] = study.runs((column,), sizes)
    progress(f"{precision}: `{run.word}` of a volume of {sizes.side}^3")
    [network] = study.trained(study.load(column, sizes), [run], sizes)
    return {"PSNR (dB)": float(network.score), "volume": network.seconds}


def _numbers(found: Found) -> list[Number]:
    return [
        Number(f"{f'seconds of the {name}' if name in SECONDS else name}, {p}", None, v)
        for name, of in found.items()
        for p, v in of.items()
    ]


def _claims(found: Found, preset: Preset) -> list[Claim]:
    """What is allowed is said of the paper's sizes, so that others are not judged."""
    claims = []
    for precision in PRECISIONS[:-1]:
        for name, allowed in ALLOWED.items():
            of = found.get(name, {})
            if precision in of:
                lost = of["float32"] - of[precision]
                holds = lost < allowed if preset is Preset.FULL else None
                detail = f"{of[precision]:.4f} beside {of['float32']:.4f} in float32"
            else:
                holds, detail = None, "not run at this size or on this device"
            claim = f"{name}: {precision} products cost less than {allowed}"
            claims.append(judge(claim, holds, detail))
    return claims


PANEL, ROW, LEFT, BETWEEN, TOP, BOTTOM = 2.3, 0.55, 0.85, 0.3, 0.65, 0.35


@styled
def _precision_figure(
    scores: Mapping[str, Mapping[str, float]],
    allowed: Mapping[str, float],
    seconds: Mapping[str, Mapping[str, float]],
) -> "Figure":
    """A panel for each score, one line a precision, the exact one last; then seconds.

    Args:
        scores: by name of the score and precision.
        allowed: what each score may lose against the exact one.
        seconds: by what was trained and precision.
    """
    names = list(next(iter(scores.values())))
    high = ROW * len(names)
    count = len(scores) + 1
    width = LEFT + count * PANEL + (count - 1) * BETWEEN + 0.35
    figure = new_figure(width, TOP + high + BOTTOM)
    for k, (score, of) in enumerate(scores.items()):
        axes = axes_at(figure, LEFT + k * (PANEL + BETWEEN), TOP, PANEL, high)
        _draw_score(axes, list(of.values()), allowed[score])
        _rows(axes, names, labelled=k == 0)
        axes.set_title(score[0].upper() + score[1:])
    left = LEFT + len(scores) * (PANEL + BETWEEN)
    axes = axes_at(figure, left, TOP, PANEL, high)
    _draw_seconds(axes, seconds)
    _rows(axes, names, labelled=False)
    axes.set_title("Seconds of training")
    figure.legend(loc="upper right", ncols=len(seconds), handlelength=1)
    note = f"dashed: the least allowed beside {names[-1]}"
    figure.text(LEFT / width, 1 - 0.18 / (TOP + high + BOTTOM), note, va="center",
                fontsize=8, color=INK)  # fmt: skip
    return figure


def _draw_score(axes: "Axes", values: list[float], allowed: float) -> None:
    exact = values[-1]
    axes.axvline(exact, color=MUTED, lw=0.8)
    axes.axvline(exact - allowed, color=INK, lw=1, ls="--")
    for place, value in enumerate(values):
        y = len(values) - 1 - place
        axes.plot([exact, value], [y, y], color=INK, lw=1.4)
        axes.plot(value, y, "o", color=INK, markersize=6)
        axes.annotate(f"{value:.4f}", (value, y), (0, 7), ha="center", fontsize=8.5,
                      textcoords="offset points", color=INK,
                      bbox={"color": PAPER, "pad": 0.5})  # fmt: skip
    low, high = min(*values, exact - allowed), max(values)
    room = 0.25 * (high - low)
    axes.set_xlim(low - room, high + room)
    axes.locator_params(axis="x", nbins=4)
    axes.ticklabel_format(axis="x", useOffset=False)


def _draw_seconds(axes: "Axes", seconds: Mapping[str, Mapping[str, float]]) -> None:
    """Thin bars side by side, one for each thing that was trained."""
    thick = 0.6 / len(seconds)
    colours = colours_of(list(seconds))
    for j, (name, of) in enumerate(seconds.items()):
        for place, value in enumerate(of.values()):
            y = len(of) - 1 - place + 0.3 - (j + 0.5) * thick
            axes.barh(y, value, 0.85 * thick, color=colours[name],
                      label=name if place == 0 else None)  # fmt: skip
            axes.annotate(f"{value:.3g}", (value, y), (3, 0), va="center", fontsize=8,
                          textcoords="offset points", color=INK)  # fmt: skip
    most = max(max(of.values()) for of in seconds.values())
    axes.set_xlim(0, 1.2 * most)


def _rows(axes: "Axes", names: list[str], *, labelled: bool) -> None:
    axes.set_ylim(-0.5, len(names) - 0.4)
    axes.set_yticks(range(len(names)), names[::-1] if labelled else [""] * len(names))
    axes.grid(visible=False, axis="y")
