"""Fig. 12: Fig. 3 with more values of p."""

from typing import TYPE_CHECKING

import numpy as np

from .convergence import NAMES, Losses, Study, study
from .fig3 import (
    BINS,
    NOTES,
    arrays,
    each,
    figure,
    ordering_claims,
    printed_claims,
    settings,
)
from .item import Claim, Item, Outcome, Preset, Progress, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Fig12(Item):
    id = "fig12"
    section = "B.1, Fig. 12"
    title = "Convergence and generalisation, for more values of p"
    notes = (
        *NOTES,
        "The published figure pairs seven curves with five colours, so p = inf and no "
        "mapping are missing from it; all seven are drawn here.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        found = study(preset, progress)
        losses = Losses(found)
        return Outcome(
            numbers=losses.numbers(NAMES, ("observed", "eq3")),
            claims=(
                *printed_claims(losses),
                *ordering_claims(losses),
                *gradual_claims(found),
            ),
            arrays=arrays(found, losses),
            settings=settings(found),
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        return {"fig12": figure(outcome.arrays, NAMES)}


ITEM = Fig12()


def gradual_claims(found: Study) -> tuple[Claim, ...]:
    """A more gradual falloff (lower p) converges faster in mid and high frequencies.

    Judged at whole steps of p: in bin 5 eq. 4 itself has p = 0 and 0.5 alike (rates of
    8.30 and 8.55).
    """
    bands = found.bands(found.outputs)[:, :, BINS]
    steps = [NAMES.index(name) for name in ("p=0", "p=1", "p=2")]
    claims = []
    for b, name in ((1, "mid"), (2, "high")):
        left = (bands[:, :, b] / bands[:, :1, b]).mean(axis=1)
        claims.append(
            judge(
                f"p = 0, 1, 2: the lower, the faster in the {name} frequencies "
                f"(bin {BINS[b]})",
                bool(np.all(np.diff(left[steps]) > 0)),
                "mean over time of what is left: " + each(left, ".2f"),
            )
        )
    return tuple(claims)
