"""Which of some networks predicts best what it has not seen: a short trial of each."""

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ..field import Field, make_field
from ..mappings import Mapping
from ..ops.without_autotune import jit_without_autotune
from ..train.driver import Config, Diverged, train
from ..train.optimisers import optimiser as optimiser_of
from ..train.schedules import schedule
from .choose import smaller
from .problem import Held, Problem
from .sweep import level

LOOKS, LATELY = 8, 4
"""Times that training comes back to Python, and looks at the end that count: a single
one shows the step it was taken after too."""


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A network and its rate."""

    mapping: Mapping
    activation: str
    lr: float
    width: int
    """Of the fit; a trial of a part of the data has a narrower one."""


@dataclasses.dataclass(frozen=True)
class Trials:
    """What the trials of all candidates share."""

    steps: int
    layers: int
    optimiser: str | tuple
    schedule: str
    leak: float = 0.0
    precision: str = "auto"
    seed: int = 0


def held_out_levels(
    problem: Problem,
    candidates: Sequence[Candidate],
    trials: Trials,
) -> Float[np.ndarray, " n"]:
    """The level of each candidate at what was held out, in dB, higher is better.

    All begin with the same keys and see the same batches; those of one shape and one
    activation train as one program. One that blows up is far below all others.
    """
    held = problem.held
    if held is None:
        raise ValueError(f"nothing can be held out of these {problem.name}")
    look = max(1, trials.steps // LOOKS)
    steps = LOOKS * look
    first, key = jax.random.split(jax.random.key(trials.seed))
    errors = np.full((LATELY, len(candidates)), np.inf)

    def seen(step: int, places: list[int], fields: Field) -> None:
        errors[LATELY - LOOKS + step // look - 1, places] = _errors(held, fields)

    try:
        _, histories = train(
            [held.task] * len(candidates),
            [_drawn(problem, one, trials, first) for one in candidates],
            Config(steps=steps, every=look, precision=trials.precision),
            keys=[key] * len(candidates),
            lrs=[schedule(trials.schedule, one.lr, steps) for one in candidates],
            optimiser=optimiser_of(trials.optimiser),
            stops=[look * k for k in range(LOOKS - LATELY + 1, LOOKS + 1)],
            on_stop=seen,
        )
    except Diverged:  # one alone
        return level(np.full(len(candidates), np.inf))
    for place, history in enumerate(histories):
        if "stopped" in history:
            errors[:, place] = np.inf
    return level(np.where(np.isfinite(errors), errors, np.inf)).mean(axis=0)


def _drawn(problem: Problem, one: Candidate, trials: Trials, key: Array) -> Field:
    width, _ = smaller(one.width, 0, problem.share)
    return make_field(
        one.mapping, d=problem.d, out=problem.out, output=problem.output,
        start=problem.start, key=key, layers=trials.layers, width=width,
        activation=one.activation,
    ).with_leak(trials.leak)  # fmt: skip


@jit_without_autotune
def _errors(held: Held, fields: Field) -> Float[Array, " runs"]:
    return eqx.filter_vmap(held.error)(fields)
