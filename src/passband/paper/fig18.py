"""Fig. 18: one volume of Table 6 as each mapping has it."""

from typing import TYPE_CHECKING

import numpy as np

from .item import Item, Number, Outcome, Preset, Progress, judge, ordered
from .mri_runs import SCALES
from .table6 import ROWS, networks

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
        found = networks(preset, progress)
        names = [name for name in TITLES if name in found["volumes"]]
        planes = {name: _planes(found["volumes"][name]) for name in names}
        scores = {name: float(v[0]) for name, v in found["scores"].items()}
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
            settings={"precision": found["precision"], "words": found["words"]},
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.picture_grid import picture_grid

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
