"""Fig. 17: one density of each set of Table 5 as each mapping has it."""

from typing import TYPE_CHECKING

import numpy as np

from ..plot.picture_grid import picture_grid
from .ct_study import OTHERS, SETS, STUDY
from .item import Item, Number, Outcome, Preset, Progress, judge, ordered
from .packed_pictures import packed, unpacked
from .study import ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "truth": "Ground truth",
    "none": "No mapping",
    "basic": "Basic",
    "positional": "Positional",
    "gaussian": "Gaussian",
    "FBP": "FBP",
    "SART": "SART",
    "total variation": "Total variation",
    "free grid": "Free grid",
}
NAMES = ("truth", *ROWS, *OTHERS)


class Fig17(Item):
    """The first test density of each set."""

    id = "fig17"
    section = "appendix, Fig. 17"
    title = "Densities from 20 projections"
    needs = ("brain",)
    notes = (
        "The second density is of another data set than the paper's, which is "
        "restricted.",
        "The four methods without a network are ours to show.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        # The table's scores are of the same networks, and it has the others' too.
        table, settings = STUDY.table(preset, progress)
        shown = {n: {r: float(v[0]) for r, v in of.items()} for n, of in table.items()}
        numbers, claims, arrays = [], [], {}
        for name, scores in shown.items():
            truth = STUDY.load(name, STUDY.sizes[preset])
            task = STUDY.tasks(truth[:1], STUDY.sizes[preset])[0]
            found = STUDY.column(name, preset, progress).networks[name]
            pictures = {"truth": truth[0]}
            pictures |= {row: task.predict(of[0].field) for row, of in found.items()}
            others = STUDY.without_network(name, preset)
            pictures |= {row: of[0] for row, of in others.items()}
            numbers += [
                Number(f"{name}, {row}, PSNR of this density", None, value)
                for row, value in scores.items()
            ]
            mapped = min(scores["positional"], scores["gaussian"])
            claims.append(
                judge(
                    f"{name}: with Fourier features the density is nearer to the truth",
                    mapped > scores["none"] if preset is not Preset.SMOKE else None,
                    ", ".join(f"{row} {scores[row]:.2f} dB" for row in ROWS),
                )
            )
            for row in NAMES:
                arrays[f"{name}.{row}"] = packed(_bytes(pictures[row]))
            arrays[f"{name}.psnr"] = np.asarray([scores[row] for row in NAMES[1:]])
        claims.append(
            ordered(
                "the densities shown are ordered as in Table 5, in the mean of both",
                {row: [shown[name][row] for name in SETS] for row in ROWS},
                judged=preset is Preset.FULL,
            )
        )
        return Outcome(
            numbers=tuple(numbers),
            claims=tuple(claims),
            arrays=arrays,
            settings={key: settings[key] for key in ("precision", "words")},
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        rows, captions, best = [], [], []
        for name in SETS:
            rows.append([unpacked(outcome.arrays[f"{name}.{r}"]) for r in NAMES])
            psnrs = outcome.arrays[f"{name}.psnr"]
            captions.append(["", *(f"{value:.2f} dB" for value in psnrs)])
            best.append(1 + int(np.argmax(psnrs)))
        titles = [TITLES[name] for name in NAMES]
        return {
            self.id: picture_grid(rows, titles=titles, captions=captions, best=best)
        }


ITEM = Fig17()


def _bytes(picture: np.ndarray) -> np.ndarray:
    """Grey levels of at most 256 x 256 pixels, each the mean of those it stands for."""
    k = max(1, len(picture) // 256)
    side = len(picture) // k
    small = np.clip(picture, 0, 1).reshape(side, k, side, k).mean(axis=(1, 3))
    grey = np.round(255 * small).astype(np.uint8)
    return np.repeat(grey[..., None], 3, axis=2)
