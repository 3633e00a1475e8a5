"""The prior of a fit behind an instrument: `none`, `tv`, or `tv:WEIGHT`."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import jax

from ..auto import Auto
from ..errors import InputError
from ..field import Field
from ..mappings import Mapping as FeatureMapping
from ..tasks.ct import CTTask
from ..tasks.instrument import InstrumentTask
from ..tasks.linear import LinearTask
from ..tasks.mri import MriTask
from ..train.driver import Config
from ..train.optimisers import optimiser
from ..train.schedules import schedule
from ..train.work import flop_of
from ..tuning.prior import USUAL, choose_weight, climb
from ..tuning.problem import HeldMeasured, Problem
from ..words import parse_mapping
from .defaults import on_cpu
from .kind import SILENT, Kind, Listener, Training, TrialSize
from .options import InstrumentOptions, TrainOptions

CPU_STEPS, CPU_FLOP, CPU_LEAST = 200, 6e11, 1024
"""Of a trial on a CPU: its steps at most, their work, and the points of its grid at
least. Two cores do it in 5 s, and mostly four or six trials are enough."""
LOOKS = 8
"""Looks at the held-out error in a trial."""
T = TypeVar("T", CTTask, MriTask, LinearTask)


@dataclasses.dataclass(frozen=True)
class Prior:
    """A prior with nothing left to be chosen, and how its weight was."""

    weight: float | None = None
    """Of total variation (`tasks.prior.TotalVariation`); None is no prior."""
    tried: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Relative errors of the measurements held out, by weight."""

    @property
    def word(self) -> str:
        return "none" if self.weight is None else f"tv:{self.weight!r}"

    @property
    def config(self) -> dict[str, Any]:
        """What the configuration says beside the word."""
        if not self.tried:
            return {}
        return {"prior_given": "tv", "prior_tried": dict(self.tried)}

    @property
    def result(self) -> dict[str, Any]:
        """What the result says, if there is a prior."""
        if self.weight is None:
            return {}
        found = {"name": "tv", "weight": self.weight, "tried": dict(self.tried)}
        return {"prior": found}

    def summary(self) -> str:
        """For people: what was chosen, and what it was chosen by."""
        without, best = self.tried.get(_name(0.0)), min(self.tried.values())
        if without is None:
            return (
                f"prior {self.word}: chosen of {len(self.tried)} weights by what was "
                f"held out, {best:.2%} off without a network"
            )
        if not self.weight:
            return (
                "prior tv: no weight of total variation predicts what was held out as "
                f"well as none ({without:.2%} off); it is left out"
            )
        return (
            f"prior {self.word}: chosen of {len(self.tried)} weights; what was held "
            f"out is {best:.2%} off with the best, {without:.2%} without"
        )


def parse_prior(word: str) -> Prior | None:
    """The prior that a word names; None where its weight is still to be chosen."""
    name, colon, number = word.partition(":")
    if word == "none":
        return Prior()
    if word == "tv":
        return None
    try:
        weight = float(number) if name == "tv" and colon else math.nan
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise InputError(
            f"`prior` (={word}) must be none, tv, or tv and a weight of 0 or more, "
            "such as tv:0.0001"
        )
    return Prior(weight)


def with_prior(task: T, training: Training) -> T:
    """The task with the training's prior in its loss; without one it stays as it is."""
    found = parse_prior(training.prior)
    return task.with_prior(found.weight) if found and found.weight else task


def with_usual_prior(kind: Kind, asked: TrainOptions, problem: Problem) -> Problem:
    """The trials of a scale with the prior of the fit, or with the usual one where its
    weight is chosen later: without one they fear the ripples of a high scale more than
    the fit has to."""
    found, held = asked_prior(kind, asked), problem.held
    weight = kind.usual_tv if found is None else found.weight
    if not weight or not isinstance(held, HeldMeasured):
        return problem
    held = eqx.tree_at(lambda h: h.task, held, held.task.with_prior(weight))
    return dataclasses.replace(
        problem, held=held, digest=f"{problem.digest} tv:{weight!r}"
    )


def asked_prior(kind: Kind, asked: TrainOptions) -> Prior | None:
    """What the options ask for, or the kind by itself; None if a weight is to be
    chosen, which something must be held out for."""
    if not isinstance(asked, InstrumentOptions):
        return Prior()
    word = _usual(kind, asked) if asked.prior is None else asked.prior
    found = parse_prior(word)
    if found is None and asked.holdout == 0:
        return _nothing_held_out(asked, "`holdout` is 0; hold some out, or")
    return found


def _usual(kind: Kind, asked: InstrumentOptions) -> str:
    """The modern recipe's: its weight is chosen where there is time and something is
    held out."""
    if asked.recipe != "modern" or kind.usual_tv is None:
        return "none"
    given = asked.holdout == 0 or (on_cpu() and not _split(kind, asked))
    return f"tv:{kind.usual_tv:g}" if given else "tv"


def _split(kind: Kind, asked: TrainOptions) -> bool:
    """Whether the fit is split: then a weight is chosen without a network, in time."""
    word = kind.default_mapping() if asked.mapping is None else asked.mapping
    mapping = parse_mapping(word)
    base = mapping.base if isinstance(mapping, Auto) else mapping
    return kind.training(asked, base).descent == "split"


def _nothing_held_out(asked: InstrumentOptions, why: str) -> Prior:
    """No prior, unless one was asked for."""
    if asked.prior is None:
        return Prior()
    raise InputError(
        f"`prior` (={asked.prior}) has its weight chosen by measurements held out, and "
        f"{why} give a weight, such as tv:0.0001"
    )


def choose_prior(
    kind: Kind,
    asked: TrainOptions,
    mapping: FeatureMapping,
    listener: Listener = SILENT,
    *,
    config: Mapping[str, Any] | None = None,
) -> Prior:
    """The prior of a fit; its weight, if none was given, from short trainings.

    Args:
        mapping: of the fit, nothing left to be chosen.
        config: of a run that is resumed, whose weight was chosen when it began.
    """
    found = asked_prior(kind, asked)
    if found is not None:
        tried = {} if config is None else config.get("prior_tried", {})
        return dataclasses.replace(found, tried=tried)
    listener.progress("choosing the weight of the prior", often=False)
    settled = kind.training(asked, mapping)
    task = kind.task(settled) if settled.descent == "split" else None
    if isinstance(task, InstrumentTask):
        best, errors = climb(task, kind.usual_tv or USUAL)
        if not math.isfinite(errors[best]):
            assert isinstance(asked, InstrumentOptions)
            if asked.prior is None:  # the usual weight, where it was not asked for
                return Prior(best)
            return _nothing_held_out(asked, "there are too few;")
        chosen = Prior(best, {_name(w): error for w, error in errors.items()})
        listener.say(chosen.summary())
        return chosen
    whole = kind.training(asked, mapping).steps
    steps = min(CPU_STEPS if on_cpu() else kind.gpu_trials.steps, whole)
    every = max(1, steps // LOOKS)
    steps -= steps % every
    training = kind.training(dataclasses.replace(asked, steps=steps), mapping)
    field_key, key = jax.random.split(jax.random.key(training.seed))
    field = training.draw(kind.network(training), field_key)
    problem = kind.trials(asked, TrialSize(steps, _points(kind, field, steps)))
    if not isinstance(problem.held, HeldMeasured):
        assert isinstance(asked, InstrumentOptions)
        return _nothing_held_out(asked, "there are too few;")
    weight, errors = choose_weight(
        problem.held,
        field,
        Config(
            steps=steps,
            lr=schedule(training.schedule, training.lr, steps),
            every=every,
            precision=training.precision,
        ),
        steps=whole,
        key=key,
        optimiser=optimiser(training.optimiser),
        progress=lambda text: listener.progress(f"choosing a prior: {text}"),
    )
    chosen = Prior(weight, {_name(w): error for w, error in errors.items()})
    listener.say(chosen.summary())
    return chosen


def _points(kind: Kind, field: Field, steps: int) -> int:
    """Of the grid of a trial. The network is the fit's own: a smaller one learns less
    by heart, and asks for another weight."""
    if on_cpu():
        return max(CPU_LEAST, int(CPU_FLOP / (steps * flop_of(field, 1))))
    return kind.gpu_trials.points


def _name(weight: float) -> str:
    """A weight as a key of a JSON object."""
    return f"{weight:g}"
