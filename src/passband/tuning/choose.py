"""Choosing a scale from the data: the spectrum's guess, then a sweep about it."""

import dataclasses
import hashlib
import math
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..atomic_write import write_bytes
from ..auto import Auto
from ..errors import InputError
from ..file_gate import decoding, read_json
from ..json_text import to_json
from ..version import __version__
from ..words import parse_mapping
from .choice import Choice, Curve, rank_agreement
from .diagnose import NOISE_SHARE, at_end, diagnose, untried
from .kernel import predicted_errors
from .ladder import SHARP, Rung, beyond, ladder, neighbours, rung_at, top_of
from .problem import Problem
from .sweep import Plan, Progress, Swept, level, sweep

SCALES, SPACING = 8, 1.5
"""Scales tried, and how far apart: from a quarter of the guess to four times it."""
AGAIN, MORE = 2, 4
"""How often a ladder grows where its best scale lies at the end, and by how many."""


def choose(
    problem: Problem,
    mapping: str | Auto = "gaussian:auto",
    plan: Plan | None = None,
    *,
    kernel: bool = False,
    train: bool = True,
    seed: int = 0,
    cache: Path | None = None,
    fresh: bool = False,
    progress: Progress = lambda text: None,
    warn: Progress = lambda text: None,
) -> Choice:
    """The scale at which fields predict best what they have not seen.

    Args:
        kernel: predict the curve by eq. 3 too. Without `train` its best is the choice.
        train: sweep about the guess; without it, and without `kernel`, the choice is
            the spectrum's guess.
        cache: a folder that keeps choices by data and configuration.
        fresh: choose again though it is kept there.
        warn: hears why a choice could not be kept.
    """
    auto = parse_mapping(mapping)
    if not isinstance(auto, Auto):
        raise InputError(
            f"mapping `{auto}` leaves no scale to choose; `gaussian:auto` asks for one"
        )
    plan = plan or Plan()
    asked = {
        "passband": __version__, "data": problem.digest, "mapping": str(auto),
        "ladder": [problem.guess, problem.axes, SCALES, SPACING, AGAIN, MORE],
        "top": [SHARP, problem.above],
        "plan": repr(plan), "kernel": kernel, "train": train, "seed": seed,
        "platform": jax.default_backend(),
    }  # fmt: skip
    kept = None
    if cache is not None:
        name = hashlib.sha256(to_json(asked).encode()).hexdigest()[:24]
        kept = cache / f"{name}.json"
        if not fresh and (found := _read(kept)) is not None:
            return found
    choice = _choose(problem, auto, plan, kernel, train, seed, progress)
    if kept is not None:
        try:
            write_bytes(kept, choice.to_json().encode())
        except InputError as error:  # it costs time, the next time
            warn(f"the choice is not kept: {error}")
    return choice


def _choose(
    problem: Problem,
    auto: Auto,
    plan: Plan,
    kernel: bool,
    train: bool,
    seed: int,
    progress: Progress,
) -> Choice:
    auto_of_trials, plan = _smaller(auto, plan, problem.share)
    seconds, predicted, doubt, swept = {}, None, None, None
    rungs = ladder(
        auto_of_trials, problem.guess, count=SCALES, spacing=SPACING, axes=problem.axes
    )
    for again in range(1 + AGAIN):
        if not train or problem.held is None:
            break
        swept = sweep(
            problem.held, [r.mapping for r in rungs], plan, d=problem.d,
            out=problem.out, output=problem.output, start_at=problem.start,
            beside=neighbours(rungs),
            before=swept, seed=seed, progress=progress,
        )  # fmt: skip
        seconds["sweep"] = seconds.get("sweep", 0.0) + swept.seconds
        seconds["compiling"] = seconds.get("compiling", 0.0) + swept.compiling
        best, conclusive, _ = _best(problem, rungs, None, swept)
        if again == AGAIN or not conclusive or not at_end(best, rungs):
            break
        rungs += beyond(auto_of_trials, rungs, best, count=MORE, spacing=SPACING)
    if kernel and problem.blank > 0:
        progress("predicting by the kernel")
        begun = time.perf_counter()
        predicted, doubt = _predicted(problem, rungs, plan, seed)
        seconds["kernel"] = time.perf_counter() - begun
    best, conclusive, notes = _best(problem, rungs, None if doubt else predicted, swept)
    notes += [] if doubt is None else [doubt]
    above = 1.0 if swept is None else problem.above
    best = dataclasses.replace(best, sigma=above * best.sigma)
    chosen = rung_at(auto, best.sigma, best.axes)
    return Choice(
        mapping=str(chosen.mapping),
        given=str(auto),
        scale=chosen.scale,
        sigma=best.sigma,
        conclusive=conclusive,
        notes=notes,
        guess=problem.guess,
        nyquist=problem.nyquist,
        words=[str(r.mapping) for r in rungs],
        scales=[r.scale for r in rungs],
        sigmas=[r.sigma for r in rungs],
        axes=[None if r.axes is None else list(r.axes) for r in rungs],
        predicted=None if predicted is None else _plain(predicted),
        curves=[] if swept is None else _curves(swept),
        untried=[] if swept is None else untried(rungs, swept),
        blank=-10 * math.log10(problem.blank) if problem.blank > 0 else None,
        **_costs(rungs, swept, best),
        agreement=_agreement(swept),
        kernel_agreement=None
        if predicted is None or swept is None
        else rank_agreement(predicted, swept.mean(0)),
        seconds={k: round(v, 3) for k, v in seconds.items()},
        held=problem.name,
        above=above,
        trials={
            "steps": list(plan.rungs if swept is None else swept.rungs),
            "seeds": plan.seeds, "width": plan.width, "layers": plan.layers,
            "share": problem.share,
            "batch": None if problem.held is None else problem.held.task.step_points,
        },
    )  # fmt: skip


def _predicted(
    problem: Problem, rungs: list[Rung], plan: Plan, seed: int
) -> tuple[np.ndarray | None, str | None]:
    """The kernel's levels, and why they should not be believed if so."""
    shown = problem.coarse if problem.patches is None else problem.patches
    mute = f"the kernel says nothing about these {problem.name}"
    if shown is None:
        return None, mute
    errors, constant = predicted_errors(
        shown, [r.mapping for r in rungs], layers=plan.layers, width=plan.width,
        seed=seed,
    )  # fmt: skip
    if not np.isfinite(errors).any():
        return None, f"{mute}: these scales are too high for its coarse grid"
    if not np.nanmin(errors) < NOISE_SHARE * constant:
        return level(errors), f"{mute}: a constant predicts them as well as it does"
    return level(errors), None


def _smaller(auto: Auto, plan: Plan, share: float) -> tuple[Auto, Plan]:
    """Networks for a part of the data: as many weights and frequencies for each point
    as the whole has, because a network with room to spare prefers higher scales."""
    width, m = smaller(plan.width, auto.base.m, share)
    base = dataclasses.replace(auto.base, m=m)
    return Auto(base), dataclasses.replace(plan, width=width)


def smaller(width: int, m: int, share: float) -> tuple[int, int]:
    """Channels and frequencies of a network with about this share of the weights."""
    if share > 0.95:
        return width, m
    narrow = max(32, 16 * round(width * math.sqrt(share) / 16))
    return min(width, narrow), min(m, max(32, 2 * round(m * share / 2)))


def _best(
    problem: Problem,
    rungs: list[Rung],
    predicted: np.ndarray | None,
    swept: Swept | None,
) -> tuple[Rung, bool, list[str]]:
    """The chosen sigma and axes, whether the data prefer one, and caveats."""
    guess = Rung(problem.guess, rungs[0].mapping)
    if problem.blank <= 0:
        return guess, False, ["all values are equal: any scale fits them"]
    if swept is None:
        if predicted is None:
            few = "there are too few points to hold any out; this is a first guess"
            return guess, problem.held is not None, [] if problem.held else [few]
        return _top(rungs, predicted), True, []
    best = _top(rungs, -_cost(swept))
    return best, *diagnose(problem, rungs, swept, best)


def _top(rungs: list[Rung], levels: np.ndarray) -> Rung:
    """Where the levels are highest, among the scales whose axes are the best one's."""
    axes = rungs[int(np.nanargmax(levels))].axes
    alike = [
        i for i, r in enumerate(rungs) if r.axes == axes and np.isfinite(levels[i])
    ]
    sigmas = np.asarray([rungs[i].sigma for i in alike])
    return Rung(top_of(sigmas, levels[alike]), rungs[0].mapping, axes)


def _curves(swept: Swept) -> list[Curve]:
    return [
        Curve(end, _plain(swept.mean(k)), _plain(swept.spread(k)))
        for k, end in enumerate(swept.rungs)
    ]


def _plain(values: np.ndarray) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


def _agreement(swept: Swept | None) -> float | None:
    if swept is None or len(swept.rungs) < 2:
        return None
    return rank_agreement(swept.mean(0), swept.mean(-1))


def _cost(swept: Swept) -> np.ndarray:
    """dB below the best, at the last comparison that a scale took part in."""
    cost = np.full(swept.errors.shape[1], np.nan)
    for k in range(len(swept.rungs)):
        means = swept.mean(k)
        cost = np.where(np.isnan(means), cost, np.nanmax(means) - means)
    return cost


def _costs(rungs: list[Rung], swept: Swept | None, best: Rung) -> dict[str, Any]:
    """What each scale loses, and half and twice the chosen one."""
    if swept is None:
        return {"cost": [None] * len(rungs), "half": None, "twice": None}
    cost = _cost(swept)
    mine = [i for i, r in enumerate(rungs) if r.axes == best.axes]
    order = sorted(mine, key=lambda i: rungs[i].sigma)
    x, y = np.log([rungs[i].sigma for i in order]), cost[order]

    def at(factor: float) -> float | None:
        u = math.log(factor * best.sigma)
        return float(np.interp(u, x, y)) if x[0] <= u <= x[-1] else None

    return {"cost": _plain(cost), "half": at(0.5), "twice": at(2.0)}


def _read(path: Path) -> Choice | None:
    """A choice that was kept; a damaged file is none."""
    try:
        with decoding(path, "a choice"):
            found = Choice.from_json(read_json(path))
            parse_mapping(found.mapping)
            found.summary()  # its numbers are numbers
    except InputError:
        return None
    return dataclasses.replace(found, cached=True)
