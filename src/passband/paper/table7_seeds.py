"""Which networks of Table 7 live: every row with other keys.

At a high rate a network may collapse in its first steps to one colour everywhere, or
hang a picture before every camera that no other sees, and the key alone decides it.
"""

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from .item import Claim, Item, Number, Outcome, Preset, Progress, judge
from .nerf_runs import SETTINGS, Run, precision, scene_of, scores, task_of, train_runs
from .table7 import ROWS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIRST = 1
"""The first key; the paper's is the one before it."""
STEPS = {Preset.SMOKE: 20, Preset.SMALL: 200, Preset.FULL: 5_000}
ALIVE = 1e-3
"""A network lives if its colours differ from ray to ray by more than this share of how
much the photographs' do,"""
BELOW = {Preset.SMOKE: math.inf, Preset.SMALL: math.inf, Preset.FULL: 3.0}
"""and if its views are no more dB than this below the best of its row. Few steps leave
some networks in the fog that all of them start in."""
VIEWS = 3
"""Test views that are scored."""


class Table7Seeds(Item):
    """The share of keys that survive, and how far the survivors scatter; five keys
    unless asked for more."""

    id = "table7-seeds"
    section = "beside Table 7"
    title = "Which networks of Table 7 live"
    needs = ("lego",)
    seeds = 5
    notes = (
        "The paper has one key, PRNGKey(0), and does not print this.",
        "Networks that die do so in their first hundreds of steps: 5,000 are enough.",
    )

    def run(self, preset: Preset, progress: Progress) -> Outcome:
        setting = SETTINGS[preset]
        keys = list(range(FIRST, FIRST + self.seeds))
        task, scene = task_of(preset), scene_of(preset)
        assert scene.test is not None
        runs = [
            Run(setting.word(row), setting.rate_of(row), key)
            for row in ROWS
            for key in keys
        ]
        trained = train_runs(task, runs, (STEPS[preset],), setting, progress)
        few = scene.test.part(np.arange(min(VIEWS, len(scene.test.names))))
        spread, depth, psnr = [], [], []
        for k, field in enumerate(trained.fields[-1]):
            progress(f"looking at network {k + 1} of {len(runs)}")
            probe = task.probe(field)
            spread.append(probe.spread)
            depth.append(probe.depth)
            psnr.append(scores(task, field, few)[0].mean())
        shape = len(ROWS), len(keys)
        arrays = {
            "keys": np.array(keys),
            "spread": np.reshape(spread, shape),
            "depth": np.reshape(depth, shape),
            "psnr": np.reshape(psnr, shape),
        }
        return Outcome(
            numbers=tuple(_numbers(arrays, preset)),
            claims=tuple(_claims(arrays, preset)),
            arrays=arrays,
            settings={
                **dataclasses.asdict(setting),
                "precision": precision(),
                "steps": STEPS[preset],
                "seconds of training": trained.seconds,
                "keys": f"2020: PRNGKey of {keys}, for B and weights",
                "spread": "standard deviation over the keys that survive",
            },
        )

    def draw(self, outcome: Outcome) -> "dict[str, Figure]":
        from ..plot.score_table import score_figure

        psnr = outcome.arrays["psnr"]
        rows = {row: psnr[k] for k, row in enumerate(ROWS)}
        return {self.id: score_figure({"every key": rows}, over="keys")}


ITEM = Table7Seeds()


def _numbers(arrays: dict[str, np.ndarray], preset: Preset) -> list[Number]:
    numbers = []
    alive = _alive(arrays, preset)
    for k, row in enumerate(ROWS):
        numbers.append(Number(f"{row}, share that lives", None, float(alive[k].mean())))
    for k, row in enumerate(ROWS):
        if alive[k].any():
            lived = arrays["psnr"][k][alive[k]]
            name = f"{row}, PSNR of those"
            numbers.append(Number(name, None, float(lived.mean()), float(lived.std())))
    return numbers


def _alive(arrays: dict[str, np.ndarray], preset: Preset) -> np.ndarray:
    psnr = arrays["psnr"]
    near_best = psnr > psnr.max(axis=1, keepdims=True) - BELOW[preset]
    return (arrays["spread"] > ALIVE) & near_best


def _claims(arrays: dict[str, np.ndarray], preset: Preset) -> list[Claim]:
    alive = _alive(arrays, preset)
    share = dict(zip(ROWS, alive.mean(axis=1), strict=True))
    text = ", ".join(f"{row} {s:.0%}" for row, s in share.items())
    mapped = min(share[row] for row in ROWS[2:])
    return [
        judge(
            "every network with many frequencies lives",
            bool(mapped == 1.0) if preset is not Preset.SMOKE else None,
            text,
        ),
    ]
