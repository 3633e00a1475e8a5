"""Table 3: 2D image regression on Natural and Text, four mappings."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from . import published
from .item import Claim, Item, Number, Outcome, Preset, Say, judge

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
    steps: int = 1976
    """The last logged step is index 1975 of 2000 (protocol 0.9)."""
    precision: str = "auto"


SETTINGS = {
    Preset.SMOKE: Setting(images=1, side=48, m=32, width=32, steps=101),
    Preset.SMALL: Setting(images=2, side=96, m=128, width=128, steps=301),
    Preset.FULL: Setting(),
}


class Table3(Item):
    """Test PSNR of sixteen pictures of each set."""

    id = "table3"
    section = "appendix, 2D image"
    title = "Image regression with four mappings"
    needs = SETS
    notes = (
        "The test pixels are the quarter [1::2, 1::2], not all that remain (the main "
        "text); the network is read at step index 1975.",
        "One key, PRNGKey(10), gives B and the weights of every picture.",
        "Positional frequencies are 2^(sigma k / (K-1)) - 1, end point included.",
    )

    def run(self, preset: Preset, say: Say) -> Outcome:
        setting = SETTINGS[preset]
        full = preset is Preset.FULL
        pictures = {name: _pictures(name, setting, full) for name in SETS}
        scores, precision = train(pictures, setting, say)
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
                "precision": precision,
                "scales": SCALES if full else "scaled with the side, see table3.py",
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


def word_of(row: str, name: str, setting: Setting) -> str:
    """The mapping of a row; smaller pictures hold proportionally lower frequencies."""
    if row in ("none", "basic"):
        return row
    scale = SCALES[name][row]
    if row == "positional":
        return f"positional:{scale + np.log2(setting.side / 512):.4g},m={setting.m}"
    return f"gaussian:{scale * setting.side / 512:.4g},m={setting.m}"


def train(
    pictures: dict[str, np.ndarray], setting: Setting, say: Say
) -> tuple[dict[str, dict[str, np.ndarray]], str]:
    """Test PSNR of every set, mapping and picture; equal shapes train together."""
    import jax

    from ..data.images import Image
    from ..field import make_field
    from ..ops.mlp import Precision
    from ..tasks.image import image_task
    from ..train.loop import Config
    from ..train.population import run_population

    key = jax.random.PRNGKey(10)
    tasks, fields, rates, owners = [], [], [], []
    for name, stack in pictures.items():
        mine = [
            image_task(Image(p, 0.0, 255.0, name), holdout="quarter") for p in stack
        ]
        for row in ROWS:
            field = make_field(
                word_of(row, name, setting), d=2, out=3, key=key, width=setting.width,
                bits2020=True,
            )  # fmt: skip
            for k, task in enumerate(mine):
                tasks.append(task)
                fields.append(field)
                rates.append(RATES[name].get(row, 1e-3))
                owners.append((name, row, k))
    config = Config(steps=setting.steps, every=19, precision=setting.precision)
    say(f"{len(tasks)} networks, {setting.steps} steps")
    trained, _ = run_population(
        tasks, fields, config, keys=[key] * len(tasks), rates=rates
    )
    scores = {
        name: {row: np.zeros(len(stack)) for row in ROWS}
        for name, stack in pictures.items()
    }
    for (name, row, k), task, field in zip(owners, tasks, trained, strict=True):
        scores[name][row][k] = task.held_out_psnr(field)
    return scores, Precision.resolve(setting.precision, jax.default_backend()).value


def _pictures(name: str, setting: Setting, full: bool) -> np.ndarray:
    if full:
        from ..data.store import load_images

        return load_images(name, "test_data")[: setting.images]
    from ..data.standins import standin_images

    return standin_images(name, setting.images, setting.side)


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
