"""Fig. 10: one picture at scales from underfitting to overfitting."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from .image_study import STEPS, load_pictures, scaled_word, train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .packed_pictures import packed, predicted, unpacked
from .training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCALES = (1, 2, 4, 8, 10, 16, 32, 64)
SHOWN = (1, 2, 10, 32, 64)
BEST = 10


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's (protocol 5)."""

    side: int = 512
    m: int = 256
    width: int = 256
    steps: int = STEPS
    crop: int = 192
    """Side of the middle part that the figure shows, at its own pixels."""
    precision: str = "auto"


SETTINGS = {
    Preset.SMOKE: Setting(side=32, m=16, width=16, steps=40, crop=32),
    Preset.SMALL: Setting(side=96, m=96, width=96, steps=300, crop=96),
    Preset.FULL: Setting(),
}


class Fig10(Item):
    """The first test picture learned at eight Gaussian scales."""

    id = "fig10"
    section = "appendix A.4, Fig. 10"
    title = "Gaussian scales from underfitting to overfitting"
    needs = ("natural",)
    notes = (
        "PSNR is that of all pixels, the learned quarter too.",
        "Eight scales were trained for the five that are shown.",
        "The paper prints no number here.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        pictures = load_pictures("natural", 1, setting.side, full=preset is Preset.FULL)
        runs = [
            Run(0, scaled_word("gaussian", scale, m=setting.m, side=setting.side))
            for scale in SCALES
        ]
        trained = train_runs(
            pictures,
            runs,
            steps=setting.steps,
            width=setting.width,
            precision=setting.precision,
            progress=progress,
        )
        shape = pictures.shape[1:3]
        panels = {
            f"scale {scale}": _middle(predicted(field, shape), setting.crop)
            for scale, field in zip(SCALES, trained.fields, strict=True)
            if scale in SHOWN
        }
        panels["target"] = _middle(pictures[0], setting.crop)
        return Outcome(
            numbers=tuple(
                Number(f"scale {scale}, {what}", None, float(psnr[k]))
                for k, scale in enumerate(SCALES)
                for what, psnr in (("all", trained.all), ("train", trained.train))
            ),
            claims=tuple(_claims(trained.all, trained.train, preset)),
            arrays={
                "scales": np.asarray(SCALES, float),
                "all": trained.all,
                "train": trained.train,
                **{name: packed(panel) for name, panel in panels.items()},
            },
            settings={
                **dataclasses.asdict(setting),
                "precision": trained.precision,
                "scales": "cycles across 512 pixels; smaller pictures take their share",
                "keys": "2020: PRNGKey(10) for B and weights",
                "panels": "the middle of the picture, as JPEG",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.picture_grid import picture_grid

        arrays = outcome.arrays
        places = [SCALES.index(scale) for scale in SHOWN]
        figure = picture_grid(
            [[unpacked(arrays[n]) for n in (*_names(), "target")]],
            titles=[*(rf"$\sigma = {scale}$" for scale in SHOWN), "Target"],
            captions=[[*(f"{arrays['all'][k]:.2f} dB, train {arrays['train'][k]:.2f}"
                         for k in places), ""]],
            best=[int(np.argmax(arrays["all"][places]))],
        )  # fmt: skip
        return {self.id: figure}


ITEM = Fig10()


def _names() -> list[str]:
    return [f"scale {scale}" for scale in SHOWN]


def _middle(picture: np.ndarray, side: int) -> np.ndarray:
    top, left = (picture.shape[0] - side) // 2, (picture.shape[1] - side) // 2
    return picture[top : top + side, left : left + side]


def _claims(every: np.ndarray, train: np.ndarray, preset: Preset) -> list[Claim]:
    judged = preset is not Preset.SMOKE
    best = int(np.argmax(every))
    steps = np.diff(every)
    unimodal = bool((steps[:best] > 0).all() and (steps[best:] < 0).all())
    text = ", ".join(f"{s}: {p:.2f}" for s, p in zip(SCALES, every, strict=True))
    gaps = train - every
    trains = ", ".join(f"{s}: {p:.2f}" for s, p in zip(SCALES, train, strict=True))
    below = SCALES.index(BEST) + 1
    return [
        judge(
            "PSNR rises with the scale to one best value, then falls",
            unimodal if judged else None,
            text,
        ),
        judge(
            f"the best of the scales is {BEST} or a neighbour of it",
            abs(best - SCALES.index(BEST)) <= 1 if judged else None,
            f"best at {SCALES[best]}, {every[best]:.2f} dB",
        ),
        judge(
            f"low scales underfit: up to {BEST}, learned pixels gain with the scale",
            bool((np.diff(train[:below]) > 0).all()) if judged else None,
            trains,
        ),
        judge(
            "high scales overfit: learned pixels pull ever further ahead of all pixels",
            bool((np.diff(gaps) > 0).all()) if judged else None,
            ", ".join(f"{s}: {g:.2f} dB" for s, g in zip(SCALES, gaps, strict=True)),
        ),
    ]
