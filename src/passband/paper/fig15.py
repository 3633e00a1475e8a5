"""Fig. 15: pictures of both sets as the four mappings learn them."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..plot.picture_grid import picture_grid
from ..plot.style import label_of
from .image_study import ONE_PICTURE, SETS, STUDY, load_pictures, train_runs
from .item import Claim, Item, Number, Outcome, Preset, Progress, judge, ordered
from .packed_pictures import packed, predicted, unpacked
from .study import ROWS
from .training import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = {"natural": (0, 8, 12), "text": (0, 1)}
"""Which of the test pictures: the gate, the nuts, the window, and two of text."""
FEWER = {"natural": (0,), "text": (0,)}
"""Those of the presets that run on other pictures."""

CROPS = {Preset.SMOKE: 32, Preset.SMALL: 80, Preset.FULL: 144}
"""Side of the square that the figure shows, at its own pixels."""


class Fig15(Item):
    """Target, no mapping, basic, positional, Gaussian: the most detailed part."""

    id = "fig15"
    section = "appendix E, Fig. 15"
    title = "Pictures of both sets with four mappings"
    needs = SETS
    notes = (
        "One run with Table 3: `passband paper run table3 fig15` trains only once.",
        "The paper does not say which pictures it shows; three of Natural, two of "
        "Text are ours to choose.",
        "Only the most detailed square of each is shown, at its own pixels.",
        "The PSNR under a panel is Table 3's, of the pixels [1::2, 1::2] of the whole "
        "picture; the paper prints none here.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        sizes, crop = ONE_PICTURE[preset], CROPS[preset]
        full = preset is Preset.FULL
        shown = SHOWN if full else FEWER
        names = [f"{name} {k}" for name in SETS for k in shown[name]]
        pictures = np.concatenate(
            [
                load_pictures(name, max(shown[name]) + 1, sizes.side, full=full)[
                    list(shown[name])
                ]
                for name in SETS
            ]
        )
        runs = [
            Run(
                k,
                STUDY.word(row, _set(name), sizes),
                STUDY.lr(row, _set(name), sizes),
            )
            for k, name in enumerate(names)
            for row in ROWS
        ]
        trained = train_runs(
            pictures,
            runs,
            steps=sizes.steps,
            width=sizes.width,
            precision=sizes.precision,
            progress=progress,
        )
        psnr = trained.test.reshape(len(names), len(ROWS))
        arrays: dict[str, np.ndarray] = {"psnr": psnr, "names": np.asarray(names)}
        for k, name in enumerate(names):
            box = detailed_square(pictures[k], crop)
            arrays[f"{name}.target"] = packed(pictures[k][box])
            for j, row in enumerate(ROWS):
                field = trained.fields[k * len(ROWS) + j]
                seen = predicted(field, pictures.shape[1:3])
                arrays[f"{name}.{row}"] = packed(seen[box])
        return Outcome(
            numbers=tuple(
                Number(f"{name}, {row}", None, float(psnr[k, j]))
                for k, name in enumerate(names)
                for j, row in enumerate(ROWS)
            ),
            claims=tuple(_claims(names, psnr, preset)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(sizes),
                "count": len(names),
                "crop": crop,
                "precision": trained.precision,
                "keys": "2020: PRNGKey(10) for B and weights of every picture",
                "panels": "the most detailed square of each picture, as JPEG",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        psnr, names = outcome.arrays["psnr"], outcome.arrays["names"].tolist()
        columns = ("target", *ROWS)
        figure = picture_grid(
            [[unpacked(outcome.arrays[f"{n}.{c}"]) for c in columns] for n in names],
            titles=["Target", *(label_of(row) for row in ROWS)],
            captions=[
                [name.capitalize(), *(f"{value:.2f} dB" for value in row)]
                for name, row in zip(names, psnr, strict=True)
            ],
            best=[1 + int(np.argmax(row)) for row in psnr],
        )
        return {self.id: figure}


ITEM = Fig15()


def _set(name: str) -> str:
    return name.split()[0]


def detailed_square(picture: np.ndarray, side: int) -> tuple[slice, slice]:
    """The square with the largest sum of squared gradients."""
    from scipy.ndimage import uniform_filter

    from ..plot.pixels import as_picture, detail_map

    detail = uniform_filter(detail_map(as_picture(picture)), side, mode="constant")
    ends = [slice(side // 2, length - (side - 1) // 2) for length in detail.shape]
    inside = detail[ends[0], ends[1]]  # windows that lie in the picture
    top, left = (int(k) for k in np.unravel_index(inside.argmax(), inside.shape))
    return slice(top, top + side), slice(left, left + side)


def _claims(names: list[str], psnr: np.ndarray, preset: Preset) -> list[Claim]:
    claims = []
    for name in SETS:
        of_set = psnr[[k for k, n in enumerate(names) if _set(n) == name]]
        ahead = of_set[:, 2:].min(axis=1) - of_set[:, :2].max(axis=1)
        claims.append(
            judge(
                f"{name}: with Fourier features every picture is better than without "
                "and than with the basic mapping",
                bool((ahead > 0).all()) if preset is not Preset.SMOKE else None,
                f"by {ahead.min():.2f} to {ahead.max():.2f} dB",
            )
        )
        claims.append(
            ordered(
                f"{name}: the pictures shown are ordered as in Table 3, in their mean",
                dict(zip(ROWS, of_set.T.tolist(), strict=True)),
                judged=preset is Preset.FULL,
            )
        )
    return claims
