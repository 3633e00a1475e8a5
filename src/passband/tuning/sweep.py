"""The stacked sweep: every scale and seed a trial of one program, successively halved.

A program has a few slots. Some trials take them, train to the end of a rung, and leave
them to others; when half of the scales have fallen out, the same program is called half
as often, and nothing is compiled anew. Nor is it for those that come back: a scale
beside the best one that had fallen out goes on from where it stopped.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from ..field import make_field
from ..mappings import Mapping
from ..ops.mlp import Precision
from ..ops.without_autotune import jit_without_autotune
from ..train.driver import Config, start
from ..train.memory import budget, bytes_of_run
from ..train.optimisers import optimiser as optimiser_of
from ..train.programs import chunk, program
from ..train.schedules import Schedule, schedule
from ..train.stack import stack, together, unstack
from ..train.state import State
from .problem import Held

Progress = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long the trials last, and who goes on."""

    rungs: tuple[int, ...] = (400, 800, 1600)
    """Steps at whose end the scales are compared."""
    keep: tuple[int, ...] = (4, 3)
    """Scales that go on after each rung but the last; more where there are slots."""
    seeds: int = 2
    lr: float | Schedule = 1e-3
    schedule: str = "constant"
    """How a plain number goes on, over the last rung's steps."""
    optimiser: str | tuple = "adam"
    activation: str = "relu"
    leak: float = 0.0
    """Of the output while it trains."""
    layers: int = 4
    width: int = 256
    precision: str = "auto"
    looks: int = 8
    """Times that the held-out error is taken up to the first rung."""
    revivals: int = 3
    """Scales that may come back at the end, to stand beside the best."""
    slots: int | None = None
    """Trials that train together; by default one scale's, or as many as keep a GPU
    busy."""


def rungs_to(steps: int, looks: int = Plan.looks) -> tuple[int, int, int]:
    """A quarter, a half and all of about so many steps, whole numbers of looks."""
    quarter = max(1, steps // 4)
    if quarter >= looks:
        quarter -= quarter % looks
    return quarter, 2 * quarter, 4 * quarter


@dataclasses.dataclass(frozen=True, eq=False)
class Swept:
    """What came of every scale."""

    steps: Int[np.ndarray, " looks"]
    errors: Float[np.ndarray, "looks scales seeds"]
    """Held-out errors; NaN once a scale has fallen out, infinite for a run that blew
    up."""
    rungs: tuple[int, ...]
    lately: int
    """Looks that count at the end of a rung."""
    seconds: float
    compiling: float
    """And drawing the networks."""
    trials: list[State]
    """Where each run is, scale by scale."""

    def at(self, rung: int) -> Float[np.ndarray, "scales seeds"]:
        """The errors at the end of a rung: the geometric mean of its last looks, for a
        single one shows the step it was taken after too."""
        ends = [0, *(int(np.searchsorted(self.steps, e)) + 1 for e in self.rungs)]
        end = ends[rung + 1 if rung >= 0 else rung]
        begin = max(ends[ends.index(end) - 1], end - self.lately)
        with np.errstate(divide="ignore"):
            return np.exp(np.log(self.errors[begin:end]).mean(axis=0))

    def mean(self, rung: int) -> Float[np.ndarray, " scales"]:
        """Levels at the end of a rung, over seeds."""
        return level(self.at(rung)).mean(axis=1)

    def spread(self, rung: int) -> Float[np.ndarray, " scales"]:
        return level(self.at(rung)).std(axis=1)

    def last(self) -> Float[np.ndarray, "scales seeds"]:
        """The last error of every scale, whenever it fell out."""
        out = self.errors[0].copy()
        for row in self.errors[1:]:
            out = np.where(np.isnan(row), out, row)
        return out


def sweep(
    held: Held,
    mappings: Sequence[Mapping],
    plan: Plan,
    *,
    d: int,
    out: int,
    output: str,
    start_at: float | None = None,
    beside: Sequence[Sequence[int]] | None = None,
    before: Swept | None = None,
    seed: int = 0,
    progress: Progress = lambda text: None,
) -> Swept:
    """Train every mapping with every seed, and drop the worse half on the way.

    Runs of one seed share the base of B, their first weights and their batches, so that
    they differ by the scale alone.

    Args:
        start_at: the level where fields begin (`make_field`).
        beside: the neighbours of each mapping; by default those next to it.
        before: what came of the first mappings already; the others compete with them.
    """
    begun = time.perf_counter()
    optimiser, lr = optimiser_of(plan.optimiser), plan.lr
    if not callable(lr):
        lr = schedule(plan.schedule, lr, plan.rungs[-1])
    config = Config(lr=lr, precision=plan.precision)
    keys = jax.random.split(jax.random.key(seed), plan.seeds)
    count, old = len(mappings), 0 if before is None else before.errors.shape[1]
    if beside is None:
        beside = [[j for j in (i - 1, i + 1) if 0 <= j < count] for i in range(count)]
    trials = [] if before is None else list(before.trials)
    for mapping in mappings[old:]:
        for key in keys:
            field_key, run_key = jax.random.split(key)
            field = make_field(
                mapping, d=d, out=out, key=field_key, output=output,
                layers=plan.layers, width=plan.width, start=start_at,
                activation=plan.activation,
            ).with_leak(plan.leak)  # fmt: skip
            trials.append(start(field, config, key=run_key, optimiser=optimiser))
    room = budget() // bytes_of_run(trials[0].field, held.task.microbatch_points)
    slots = int(max(1, min(_slots(plan, held.task.step_points), room)))
    length = max(1, plan.rungs[0] // plan.looks)
    ends = [max(k + 1, round(end / length)) for k, end in enumerate(plan.rungs)]
    errors = np.full((ends[-1], count, plan.seeds), np.nan)
    if before is not None:
        errors[:, :old] = before.errors
    placed = together([trials[-1]] * slots)
    take = program(_train, held, placed, optimiser, length)
    _errors(held, placed)
    compiled = time.perf_counter()

    def go_on(scales: Sequence[int], begin: int, end: int) -> None:
        those = [plan.seeds * s + r for s in scales for r in range(plan.seeds)]
        for k in range(0, len(those), slots):
            some = those[k : k + slots]
            # Slots left over take a trial twice: it comes out the same both times.
            states = together([trials[i] for i in np.resize(some, slots)])
            for t in range(begin, end):
                states = take(held, states, optimiser, length)
                errors[t].flat[some] = np.asarray(_errors(held, states))[: len(some)]
                progress(
                    f"step {(t + 1) * length} of {ends[-1] * length}, run "
                    f"{k + len(some)} of {len(those)}"
                )
            for i, state in zip(some, unstack(states, len(some)), strict=True):
                trials[i] = state

    def score(begin: int, end: int) -> np.ndarray:
        late = errors[max(begin, end - _lately(plan)) : end]
        return level(late).mean(axis=(0, 2))

    alive, begin = list(range(old, count)), 0
    for k, end in enumerate(ends):
        go_on(alive, begin, end)
        if k < len(plan.keep):
            # A slot left empty takes as long as one that is not.
            keep = max(plan.keep[k], slots // plan.seeds)
            kept = successive_halving(score(begin, end), keep, beside)
            alive = [i for i in alive if i in kept]
        begin = end
    before_last = ends[-2] if len(ends) > 1 else 0
    left = plan.revivals
    while left > 0:
        best = int(np.nanargmax(score(before_last, ends[-1])))
        missed = [i for i in beside[best] if np.isnan(errors[-1, i]).any()][:left]
        if not missed:
            break
        for i in missed:
            go_on([i], int((~np.isnan(errors[:, i, 0])).sum()), ends[-1])
        left -= len(missed)
    return Swept(
        length * (1 + np.arange(ends[-1])),
        errors,
        tuple(length * end for end in ends),
        _lately(plan),
        time.perf_counter() - compiled,
        compiled - begun,
        trials,
    )


BUSY_POINTS = 1 << 16
"""Points of a step that keep a GPU busy."""
MOST_SCALES = 8
"""Scales that train at once."""


def _slots(plan: Plan, points: int) -> int:
    """Whole scales, so that no slot stays empty when few are left."""
    enough = -(-BUSY_POINTS // (plan.seeds * points))
    return plan.slots or plan.seeds * max(1, min(enough, MOST_SCALES))


def _lately(plan: Plan) -> int:
    """Looks that count at the end of a rung."""
    return max(1, plan.looks // 2)


def successive_halving(
    score: Float[np.ndarray, " scales"], keep: int, beside: Sequence[Sequence[int]]
) -> list[int]:
    """The best of those with a score, the neighbours of the very best among them: a top
    is known by what lies on either side of it."""
    there = [i for i in range(len(score)) if not np.isnan(score[i])]
    order = sorted(there, key=lambda i: score[i], reverse=True)
    first = [order[0], *(i for i in beside[order[0]] if i in there)]
    return sorted([*first, *(i for i in order if i not in first)][:keep])


def level(error: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Errors in dB, higher is better; a run that blew up is far below all others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(-10 * np.log10(error), -300, 300)


def _train(
    held: Held,
    states: State,
    optimiser: optax.GradientTransformation,
    length: int,
) -> State:
    """`length` steps of the trials in the slots."""
    task, axes = stack([held.task])  # all trials have the same
    return chunk(task, states, axes, optimiser, length)[0]


@jit_without_autotune
def _errors(held: Held, states: State) -> Float[Array, " slots"]:
    """Of what was held out, in float32. Not in the program of the steps: XLA's search
    for fast float32 products took longer than all trials of a picture."""

    def error(state: State) -> Array:
        found = held.error(state.field.with_precision(Precision.FLOAT32))
        good = jnp.isfinite(found) & (state.stopped < 0)
        return jnp.where(good, found, jnp.inf)

    return eqx.filter_vmap(error)(states)
