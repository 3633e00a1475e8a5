"""Fig. 18: one volume of Table 6 as each mapping has it."""

from typing import TYPE_CHECKING

import numpy as np

from ..plot.picture_grid import picture_grid
from .item import Item, Number, Outcome, Preset, Progress, judge, ordered
from .mri_study import COLUMN, SCALES, STUDY, volume_of
from .study import ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "truth": "Ground truth",
    "none": "No mapping",
    "basic": "Basic",
    "positional": f"Positional {SCALES['positional']:g}",
    "gaussian": f"Gaussian {SCALES['gaussian']:g}",
    "zero-filled": "Zero-filled",
    "total variation": "Total variation",
    "free grid": "Free grid",
    "free grid, dark start": "Dark start",
}


class Fig18(Item):
    """Two planes of the first test volume."""

    id = "fig18"
    section = "appendix, Fig. 18"
    title = "Slices of a volume from 13 % of k-space"
    needs = ("brain",)
    notes = (
        "The volume is of another data set than the paper's, which is restricted.",
        "The three methods without a network are ours to show.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        # The table's scores are of the same networks, and it has the others' too.
        table, settings = STUDY.table(preset, progress)
        found = STUDY.volumes(preset, progress).networks[COLUMN]
        volumes = {"truth": STUDY.load(COLUMN, STUDY.sizes[preset])[0]}
        volumes |= {
            r: volume_of(n[0].field, len(volumes["truth"])) for r, n in found.items()
        }
        volumes |= {row: of[0] for row, of in STUDY.without_network(preset)[0].items()}
        names = [name for name in TITLES if name in volumes]
        planes = {name: _planes(volumes[name]) for name in names}
        scores = {name: float(v[0]) for name, v in table[COLUMN].items()}
        truth = planes["truth"].astype(float)
        errors = {k: float(np.abs(p - truth).mean() / 255) for k, p in planes.items()}
        return Outcome(
            numbers=tuple(
                Number(f"{name}, PSNR of this volume", None, value)
                for name, value in scores.items()
            ),
            claims=(
                judge(
                    "with Fourier features the slices are nearer to the truth",
                    max(errors["positional"], errors["gaussian"]) < errors["none"]
                    if "none" in errors
                    else None,
                    "mean absolute error: "
                    + ", ".join(f"{n} {errors[n]:.3g}" for n in names[1:]),
                ),
                ordered(
                    "the volume shown is ordered as in Table 6",
                    {row: [scores[row]] for row in ROWS if row in scores},
                    judged=preset is Preset.FULL,
                ),
            ),
            arrays=planes | {"psnr": np.asarray([scores[n] for n in names[1:]])},
            settings={key: settings[key] for key in ("precision", "words")},
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        names = [name for name in TITLES if name in outcome.arrays]
        rows = [[outcome.arrays[name][k] for name in names] for k in range(2)]
        scores = [""] + [f"{value:.2f} dB" for value in outcome.arrays["psnr"]]
        best = 1 + int(np.argmax(outcome.arrays["psnr"]))
        return {
            self.id: picture_grid(
                rows,
                titles=[TITLES[name] for name in names],
                captions=[[""] * len(names), scores],
                best=[None, best],
            )
        }


ITEM = Fig18()


def _planes(volume: np.ndarray) -> np.ndarray:
    """The planes z and x through the middle as bytes, the head upright."""
    x, _, z = (n // 2 for n in volume.shape)
    both = np.stack([volume[:, :, z].T[::-1], volume[x].T[::-1]])
    return np.round(255 * np.clip(both, 0, 1)).astype(np.uint8)
