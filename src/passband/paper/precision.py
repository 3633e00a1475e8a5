"""What bfloat16 and TF32 products cost: networks of Tables 4 and 6 in each (ours).

Keys and batches are the same, so that what the scores differ by is rounding.
"""

import dataclasses
from typing import TYPE_CHECKING

import jax
import numpy as np

from ..ops.mlp import Precision
from . import mri_runs, shape_runs, table6
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
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
        shapes = shape_runs.SETTINGS[preset]
        volumes = dataclasses.replace(table6.SETTINGS[preset], volumes=1)
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
                "shapes": shape_runs.settings_of(shapes) | {"precision": "each"},
                "volumes": dataclasses.asdict(volumes) | {"precision": "each"},
                "precision": ", ".join(precisions),
                "seconds": "of training, compilation apart",
                "keys": "2020: PRNGKey(0) of the shape, PRNGKey(10) of the volume",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.precision_scores import precision_figure

        found = {
            name: {
                p: float(value)
                for p, value in zip(PRECISIONS, values, strict=True)
                if not np.isnan(value)
            }
            for name, values in outcome.arrays.items()
        }
        figure = precision_figure(
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
    precision: str, setting: shape_runs.Setting, progress: Progress
) -> dict[str, float]:
    name, word = setting.tests[0], setting.word("gaussian")
    progress(f"{precision}: `{word}` of {name}")
    network, seconds = shape_runs.train_alone(word, name, setting, precision=precision)
    iou = {f"{points} IoU": network.iou[points] for points in shape_runs.POINTS}
    return {**iou, "shape": seconds}


def _volume(
    precision: str, setting: mri_runs.Setting, progress: Progress
) -> dict[str, float]:
    setting = dataclasses.replace(setting, precision=precision)
    word = mri_runs.scaled_word("gaussian", setting)
    progress(f"{precision}: `{word}` of a volume of {setting.side}^3")
    trained = mri_runs.train_words([word], mri_runs.load_volumes(setting), setting)
    return {"PSNR (dB)": float(trained.scores[0, 0]), "volume": trained.steps_seconds}


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
