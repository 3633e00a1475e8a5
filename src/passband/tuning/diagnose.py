"""How sure a choice is: what the levels of a sweep do not tell."""

import math

import numpy as np

from .ladder import Rung, neighbours
from .problem import HeldPoints, Problem
from .sweep import Swept, level

NOISE_SHARE = 0.9
"""Held-out error, over that of a constant, above which neighbours tell nothing."""
FEW_HELD_OUT = 24
"""Held-out points below which their error is a rough one."""
FLAT_DB = 0.1
"""dB between the best scale and the worst below which all are alike."""


def diagnose(
    problem: Problem, rungs: list[Rung], swept: Swept, best: Rung
) -> tuple[bool, list[str]]:
    """Whether the data prefer a scale, and what is to be said."""
    notes, conclusive = [], True
    first = swept.mean(0)
    error = float(np.nanmin(swept.last().mean(axis=1)))
    if not error < NOISE_SHARE * problem.blank:
        conclusive = False
        notes.append(
            f"held-out {problem.name} are no nearer to the field than to a constant: "
            "the data look like noise at this sampling, and no scale predicts them"
        )
    elif np.ptp(first) < max(FLAT_DB, 2 * float(np.median(swept.spread(0)))):
        conclusive = False
        notes.append("the scales differ no more than the seeds do: any of them will do")
    elif at_end(best, rungs):
        lowest = min(r.sigma for r in rungs if r.axes == best.axes)
        end = "lowest" if best.sigma <= lowest else "highest"
        notes.append(
            f"the best scale is the {end} that was tried; one beyond it may be better"
        )
    elif missed := untried(rungs, swept):
        those = " and ".join(f"{sigma:.3g}" for sigma in missed)
        notes.append(
            f"beside the best scale, sigma {those} fell out early, not tried to the "
            "end: it may be better"
        )
    if conclusive and len(alike := _alike(rungs, swept)) > 1:
        notes.append(
            f"sigma from {min(alike):.3g} to {max(alike):.3g} cannot be told apart: "
            f"the seeds, or less than {FLAT_DB} dB, lie between them"
        )
    if (few := _held_out(problem)) < FEW_HELD_OUT:
        notes.append(f"only {few} points could be held out: a rough choice")
    sigma = problem.above * best.sigma
    if problem.nyquist is not None and sigma > problem.nyquist:
        notes.append(f"it lies above the Nyquist frequency of {problem.nyquist:g}")
    return conclusive, notes


def at_end(best: Rung, rungs: list[Rung]) -> bool:
    """Whether no scale of its axes lies beyond the best."""
    sigmas = [r.sigma for r in rungs if r.axes == best.axes]
    return not min(sigmas) < best.sigma < max(sigmas)


def untried(rungs: list[Rung], swept: Swept) -> list[float]:
    """Sigmas beside the best that were not tried to the end."""
    levels = swept.mean(-1)
    beside = neighbours(rungs)[int(np.nanargmax(levels))]
    return [rungs[i].sigma for i in beside if np.isnan(levels[i])]


def _alike(rungs: list[Rung], swept: Swept) -> list[float]:
    """The best sigma and those about it that it is not surely better than: runs of one
    seed are compared with each other."""
    levels, beside = level(swept.at(-1)), neighbours(rungs)
    best = int(np.nanargmax(levels.mean(axis=1)))
    gap = levels[best] - levels
    seeds = gap.shape[1]
    sure = gap.std(axis=1, ddof=1) / math.sqrt(seeds) if seeds > 1 else 0.0
    near = gap.mean(axis=1) <= np.maximum(FLAT_DB, sure)
    found, border = {best}, [best]
    while border:
        border = [i for j in border for i in beside[j] if near[i] and i not in found]
        found |= set(border)
    return [rungs[i].sigma for i in found]


def _held_out(problem: Problem) -> int:
    held = problem.held
    return len(held.values) if isinstance(held, HeldPoints) else FEW_HELD_OUT
