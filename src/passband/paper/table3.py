"""Table 3: 2D image regression on Natural and Text, four mappings."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .image_runs import STEPS, Run, load_pictures, scaled_word, train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = ("none", "basic", "positional", "gaussian")
SETS = ("natural", "text")
# Scales and rates of protocol 1.4 and 1.5.
SCALES = {"natural": {"positional": 6.0, "gaussian": 10.0},
          "text": {"positional": 5.0, "gaussian": 14.0}}  # fmt: skip
RATES = {"natural": {"none": 1e-2, "basic": 1e-2}, "text": {}}
WITHIN = 0.15


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's."""

    images: int = 16
    side: int = 512
    m: int = 256
    width: int = 256
    steps: int = STEPS
    precision: str = "auto"


SETTINGS = {
    Preset.SMOKE: Setting(images=1, side=48, m=32, width=32, steps=100),
    Preset.SMALL: Setting(images=2, side=96, m=128, width=128, steps=300),
    Preset.FULL: Setting(),
}


class Table3(Item):
    """Test PSNR of sixteen pictures of each set."""

    id = "table3"
    section = "appendix, 2D image"
    title = "Image regression with four mappings"
    needs = SETS
    companions = ("table3-sweep", "table3-seeds")
    notes = (
        "The test pixels are the quarter [1::2, 1::2], not all that remain (the main "
        "text); the network is read at step index 1975.",
        "One key, PRNGKey(10), gives B and the weights of every picture.",
        "Positional frequencies are 2^(sigma k / (K-1)) - 1, end point included.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        trained = train_runs(
            pictures_of(setting, full),
            runs_of(setting),
            steps=setting.steps,
            width=setting.width,
            precision=setting.precision,
            progress=progress,
        )
        table = trained.test.reshape(len(SETS), len(ROWS), setting.images)
        scores: dict[str, dict[str, np.ndarray]] = {
            name: dict(zip(ROWS, rows, strict=True))
            for name, rows in zip(SETS, table, strict=True)
        }
        numbers, claims = [], []
        for name in SETS:
            for row in ROWS:
                values = scores[name][row]
                printed = published.TABLE3[row, name]
                numbers.append(
                    Number(f"{row} {name}", printed.value, float(values.mean()),
                           float(values.std()), comparable=full)
                )  # fmt: skip
            claims += _claims(name, scores[name], full)
        return Outcome(
            numbers=tuple(numbers),
            claims=tuple(claims),
            arrays={f"{n}.{r}": scores[n][r] for n in SETS for r in ROWS},
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                "scales": SCALES if full else "scaled with the side, see image_runs.py",
                "keys": "2020: PRNGKey(10) for B and weights of every picture",
                "data": "the paper's own"
                if full
                else "packaged photographs, made text",
                "spread": "standard deviation over pictures",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.score_table import score_figure

        ours = {
            name: {row: outcome.arrays[f"{name}.{row}"] for row in ROWS}
            for name in SETS
        }
        printed = {
            name: {row: published.TABLE3[row, name].value for row in ROWS}
            for name in SETS
        }
        compare = any(n.comparable for n in outcome.numbers)
        return {self.id: score_figure(ours, printed if compare else None)}


ITEM = Table3()


def runs_of(setting: Setting, key: int = 10) -> list[Run]:
    """Set by set, row by row, picture by picture; Text's pictures follow Natural's."""
    return [
        Run(
            picture=place * setting.images + k,
            word=word_of(row, name, setting),
            rate=RATES[name].get(row, 1e-3),
            key=key,
        )
        for place, name in enumerate(SETS)
        for row in ROWS
        for k in range(setting.images)
    ]


def word_of(row: str, name: str, setting: Setting) -> str:
    """The mapping of a row."""
    if row in ("none", "basic"):
        return row
    return scaled_word(row, SCALES[name][row], m=setting.m, side=setting.side)


def pictures_of(setting: Setting, full: bool) -> np.ndarray:
    """The test pictures of both sets, one after the other."""
    return np.concatenate(
        [load_pictures(name, setting.images, setting.side, full=full) for name in SETS]
    )


def _claims(name: str, scores: dict[str, np.ndarray], full: bool) -> list[Claim]:
    means = {row: float(scores[row].mean()) for row in ROWS}
    text = ", ".join(f"{row} {value:.2f}" for row, value in means.items())
    claims = [
        judge(
            f"{name}: none < basic < positional < Gaussian",
            means["none"] < means["basic"] < means["positional"] < means["gaussian"]
            if full
            else None,
            text,
        ),
        judge(
            f"{name}: Fourier features beat no mapping",
            min(means["positional"], means["gaussian"]) > means["none"],
            text,
        ),
    ]
    for row in ROWS:
        printed = published.TABLE3[row, name].value
        claims.append(
            judge(
                f"{name}, {row}: mean PSNR within {WITHIN} dB of the printed one",
                abs(means[row] - printed) <= WITHIN if full else None,
                f"{means[row]:.3f} against {printed}",
            )
        )
    return claims
