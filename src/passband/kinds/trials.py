"""The scale and the rate of a rival, chosen as sigma is: by what it has not seen."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..train.optimisers import MUONS
from ..tuning.candidates import Candidate, Trials, held_out_levels
from ..tuning.problem import Problem
from ..words import parse_mapping
from .defaults import on_cpu
from .kind import Kind, Training, TrialSize
from .options import TrainOptions
from .rivals import Changes, Method

RUNGS = (-1, 0, 1)
MORE_RUNGS = 3
"""How often the ladder grows where its best scale lies at the end."""
RATES = (0.2, 5.0)
"""Rates that are tried beside the published one, in units of it."""

TELLING = 0.01
"""dB between the best and the worst of all trials; below it they say nothing, as where
all of them died."""
Sized = Callable[[Changes], dict[str, Any] | None]
"""A method's options with the size that makes a comparison equal; None where there is
no such size."""


@dataclasses.dataclass(frozen=True)
class Tuned:
    """What was chosen for a method, and how."""

    changes: dict[str, Any] | None
    """Options of its fit; None where no size makes the comparison equal."""
    trials: int = 0
    """Networks that were trained for it, each for `steps`."""
    steps: int = 0
    seconds: float = 0.0
    levels: dict[str, float] = dataclasses.field(default_factory=dict)
    """Held-out level of everything that was tried, in dB."""


def trial_size(kind: Kind, asked: TrainOptions) -> TrialSize:
    """As long as the longest trial of a sigma."""
    most = kind.cpu_trials if on_cpu() else kind.gpu_trials
    return TrialSize(min(most.steps, asked.steps or most.steps), most.points)


def tune_method(
    kind: Kind,
    asked: TrainOptions,
    method: Method,
    ours: Training,
    problem: Problem,
    sized: Sized,
) -> Tuned:
    """The scale, the optimiser and the rate with which short trials predict best what
    is held out.

    Three scales are tried at the published rate, and further ones while the best lies
    at the end: by the optimiser of ours, and, unless one was asked for, by Adam, which
    rivals were published with. Then, at the best, what else the method has, and two
    other rates. Where nothing can be held out, or no trial learns more than another, a
    method keeps what it was published with.

    Args:
        ours: the training of ours, whose recipe the trials have.
    """
    published = {**method.changes, "lr": method.lr}
    if problem.held is None or not problem.blank > 0:
        return Tuned(sized(published))
    begun = time.perf_counter()
    search = _Search(problem, sized, asked, ours, trial_size(kind, asked).steps)
    both = asked.optimiser is None and ours.optimiser in MUONS
    for moves in ({}, {"optimiser": "adam"}) if both else ({},):
        search.climb({**published, **moves}, method.scale)
    if method.also is not None:
        best = search.best()
        search.attempt({**best, **other} for other in method.also(best))
    best = search.best()
    search.attempt({**best, "lr": factor * best["lr"]} for factor in RATES)
    best, levels = search.best(), search.levels()
    if max(levels.values(), default=0.0) - min(levels.values(), default=0.0) < TELLING:
        best = published
    spent = time.perf_counter() - begun
    return Tuned(sized(best), len(levels), search.trials.steps, spent, levels)


class _Search:
    """What was tried for a method, and how well each did."""

    def __init__(
        self,
        problem: Problem,
        sized: Sized,
        asked: TrainOptions,
        ours: Training,
        steps: int,
    ):
        self.problem, self.sized, self.asked, self.ours = problem, sized, asked, ours
        self.trials = Trials(
            steps=steps, layers=ours.layers, optimiser=ours.optimiser,
            schedule=ours.schedule, leak=ours.leak, seed=asked.seed,
        )  # fmt: skip
        self.found: dict[str, tuple[float, dict[str, Any]]] = {}

    def climb(
        self, start: dict[str, Any], scale: Callable[[int, Problem], Changes] | None
    ) -> None:
        """Try the first rungs of a ladder, and more where the best one is at its end; a
        method without a scale has one rung."""
        if scale is None:
            self.attempt([start])
            return

        def at(rung: int) -> dict[str, Any]:
            return {**start, **scale(rung, self.problem)}

        rungs: list[int] = list(RUNGS)
        self.attempt(at(rung) for rung in rungs)
        for _ in range(MORE_RUNGS):
            best = max(rungs, key=lambda rung: self.level(at(rung)))
            if min(rungs) < best < max(rungs):
                break
            rungs.append(best - 1 if best == min(rungs) else best + 1)
            self.attempt([at(rungs[-1])])

    def attempt(self, several: Iterable[dict[str, Any]]) -> None:
        """Train those that are new, by one optimiser; one that has no size is below all
        others."""
        new = [one for one in several if setting_of(one) not in self.found]
        whole = [(one, self.sized(one)) for one in new]
        fits = [(one, full) for one, full in whole if full is not None]
        self.found |= {setting_of(one): (-math.inf, one) for one in new}
        if not fits:
            return
        first = fits[0][1]
        trials = dataclasses.replace(
            self.trials,
            precision=precision_of(self.asked, first),
            optimiser=first.get("optimiser", self.trials.optimiser),
        )
        candidates = [self._candidate(full) for _, full in fits]
        levels = held_out_levels(self.problem, candidates, trials)
        for (one, _), level in zip(fits, levels, strict=True):
            self.found[setting_of(one)] = float(level), one

    def level(self, changes: Changes) -> float:
        """In dB, higher is better."""
        return self.found[setting_of(changes)][0]

    def best(self) -> dict[str, Any]:
        """The options that did best so far."""
        return max(self.found.values(), key=lambda pair: pair[0])[1]

    def levels(self) -> dict[str, float]:
        """Of all that was trained."""
        pairs = ((name, level) for name, (level, _) in self.found.items())
        return {name: level for name, level in pairs if math.isfinite(level)}

    def _candidate(self, changes: Changes) -> Candidate:
        return Candidate(
            mapping=parse_mapping(changes.get("mapping", str(self.ours.mapping))),
            activation=changes.get("activation", self.asked.activation),
            lr=changes["lr"],
            width=changes.get("width", self.ours.width),
        )


def precision_of(asked: TrainOptions, changes: Changes) -> str:
    """Where it is left to the device, float32 for activations that are steep: they
    multiply what bfloat16 rounds away."""
    smooth = changes.get("activation", asked.activation) == "relu"
    return asked.precision if smooth or asked.precision != "auto" else "float32"


def setting_of(changes: Changes) -> str:
    """A method's options in few words: `sine:60 lr 0.0005 adam`."""
    words = [str(changes[k]) for k in ("mapping", "activation") if k in changes]
    if len(words) == 2:
        words = words[1:]  # a network without features, which all of those are
    rate = [f"lr {changes['lr']:.3g}"] if changes.get("lr") else []
    moves = [changes["optimiser"]] if "optimiser" in changes else []
    return " ".join([*words, *rate, *moves])
