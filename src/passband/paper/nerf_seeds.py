"""Which networks of Table 7 live, by the key that drew them."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..plot.score_table import score_figure
from .item import Claim, Number, Outcome, Preset, Progress, judge
from .nerf_study import (
    ROWS,
    STUDY,
    scene_of,
    scores,
    settings_of,
    task_of,
)
from .seeds import Seeds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED_VIEWS = 3
"""Test views that are scored."""
ALIVE = 1e-3
"""A network lives if its colours differ from ray to ray by more than this share of how
much the photographs' do,"""
BELOW = {Preset.SMOKE: math.inf, Preset.SMALL: math.inf, Preset.FULL: 3.0}
"""and if its views are no more dB than this below the best of its row. Few steps leave
some networks in the fog that all of them start in."""


class Table7Seeds(Seeds):
    """The share of keys that survive, and how far the survivors scatter.

    At a high rate a network may collapse in its first steps to one colour everywhere,
    or hang a picture before every camera that no other sees, and the key alone decides.
    """

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        sizes, keys = self.sizes[preset], self.keys
        networks = STUDY.of_rows(ROWS, sizes, progress, keys=keys)
        scene = scene_of(sizes)
        task = task_of(scene, sizes)
        few = range(min(SEED_VIEWS, sizes.test))
        found = []
        for k, network in enumerate(networks):
            progress(f"looking at network {k + 1} of {len(networks)}")
            probe = task.probe(network.field)
            psnr = scores(scene, sizes, network.field, places=few)[0].mean()
            found.append((probe.spread, probe.depth, psnr))
        table = np.reshape(found, (len(ROWS), len(keys), 3))
        arrays = {"keys": np.array(keys)}
        arrays |= {n: table[..., i] for i, n in enumerate(("spread", "depth", "psnr"))}
        return Outcome(
            numbers=tuple(survivors(arrays, preset)),
            claims=tuple(all_live(arrays, preset)),
            arrays=arrays,
            settings=settings_of(sizes, networks)
            | {
                "keys": f"2020: PRNGKey of {keys}, for B and weights",
                "spread": "standard deviation over the keys that survive",
            },
        )

    def judged(self, outcome: Outcome, preset: Preset) -> list[Claim]:
        return all_live(outcome.arrays, preset)

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        psnr = outcome.arrays["psnr"]
        rows: dict[str, np.ndarray] = {row: psnr[k] for k, row in enumerate(ROWS)}
        return {self.id: score_figure({"every key": rows}, over="keys")}


def survivors(arrays: Mapping[str, np.ndarray], preset: Preset) -> list[Number]:
    """Which share of each row's keys lives, and the PSNR of those."""
    alive = _alive(arrays, preset)
    numbers = [
        Number(f"{row}, share that lives", None, float(alive[k].mean()))
        for k, row in enumerate(ROWS)
    ]
    for k, row in enumerate(ROWS):
        if alive[k].any():
            lived = arrays["psnr"][k][alive[k]]
            name = f"{row}, PSNR of those"
            numbers.append(Number(name, None, float(lived.mean()), float(lived.std())))
    return numbers


def _alive(arrays: Mapping[str, np.ndarray], preset: Preset) -> np.ndarray:
    psnr = arrays["psnr"]
    near_best = psnr > psnr.max(axis=1, keepdims=True) - BELOW[preset]
    return (arrays["spread"] > ALIVE) & near_best


def all_live(arrays: Mapping[str, np.ndarray], preset: Preset) -> list[Claim]:
    """Whether no key kills a network with many frequencies."""
    share = dict(zip(ROWS, _alive(arrays, preset).mean(axis=1), strict=True))
    mapped = min(share[row] for row in ROWS[2:])
    return [
        judge(
            "every network with many frequencies lives",
            bool(mapped == 1.0) if preset is not Preset.SMOKE else None,
            ", ".join(f"{row} {s:.0%}" for row, s in share.items()),
        ),
    ]
