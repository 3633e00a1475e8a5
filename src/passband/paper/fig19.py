"""Fig. 19: three views of Lego as four mappings have them."""

from typing import TYPE_CHECKING

import numpy as np

from ..data.images import quantise
from ..plot.picture_grid import picture_grid
from .item import Item, Number, Outcome, Preset, Progress, judge, ordered
from .nerf_study import STUDY, scene_of, scores, settings_of
from .packed_pictures import packed, unpacked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = ("none", "basic", "positional:rotated", "gaussian")
TITLES = ("Ground truth", "No mapping", "Basic", "Positional", "Gaussian")
PLACES = (1, 4, 6)
"""Of the test views, those that the notebook kept."""
WIDE = 200
"""Pixels of a panel, at most."""


class Fig19(Item):
    """The test views 1, 4 and 6 by the networks of Table 7."""

    id = "fig19"
    section = "appendix, view synthesis"
    title = "Views of a scene with four mappings"
    needs = ("lego",)
    notes = (
        "The networks are those of Table 7; positional has its frequencies rotated.",
        "Panels are reduced to 200 x 200 pixels; scores are of the whole views.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        sizes = STUDY.sizes[preset]
        networks = STUDY.of_rows(ROWS, sizes, progress)
        scene = scene_of(sizes)
        assert scene.test is not None
        places = PLACES if sizes.test > PLACES[-1] else tuple(range(min(3, sizes.test)))
        arrays = {"places": np.array(places)}
        for k, place in enumerate(places):
            truth = scene.test.pixels[place] / np.float32(255)
            arrays[f"truth {k}"] = packed(_panel(truth))
        for row, network in zip(ROWS, networks, strict=True):
            progress(f"{row}: rendering the views")
            found = scores(scene, sizes, network.field, places=places)
            arrays[f"{row} psnr"], seen = found
            for k, picture in enumerate(seen):
                arrays[f"{row} {k}"] = packed(_panel(picture))
        best = np.array([arrays[f"{row} psnr"] for row in ROWS]).argmax(axis=0)
        return Outcome(
            numbers=tuple(
                Number(f"{row}, view {place}", None, float(arrays[f"{row} psnr"][k]))
                for k, place in enumerate(places)
                for row in ROWS
            ),
            claims=(
                judge(
                    "Fourier features show the views best",
                    bool((best >= 2).all()) if preset is not Preset.SMOKE else None,
                    ", ".join(
                        f"view {place}: {ROWS[k]}"
                        for place, k in zip(places, best, strict=True)
                    ),
                ),
                ordered(
                    "the views shown are ordered as in Table 7, in their mean",
                    {row: arrays[f"{row} psnr"].tolist() for row in ROWS},
                    judged=preset is Preset.FULL,
                ),
            ),
            arrays=arrays,
            settings=settings_of(sizes, networks),
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        arrays = outcome.arrays
        count = len(arrays["places"])
        names = ("truth", *ROWS)
        rows = [[unpacked(arrays[f"{n} {k}"]) for n in names] for k in range(count)]
        scored = np.array([arrays[f"{row} psnr"] for row in ROWS])
        captions = [
            ["", *(f"{score:.2f} dB" for score in scored[:, k])] for k in range(count)
        ]
        best = [int(scored[:, k].argmax()) + 1 for k in range(count)]
        return {
            self.id: picture_grid(rows, titles=TITLES, captions=captions, best=best)
        }


ITEM = Fig19()


def _panel(picture: np.ndarray) -> np.ndarray:
    """A view of at most 200 x 200 pixels as bytes, each the mean of those it covers."""
    factor = -(-max(picture.shape[:2]) // WIDE)
    rows, columns = (side // factor for side in picture.shape[:2])
    whole = picture[: rows * factor, : columns * factor]
    mean = whole.reshape(rows, factor, columns, factor, 3).mean(axis=(1, 3))
    return quantise(mean, 8)
