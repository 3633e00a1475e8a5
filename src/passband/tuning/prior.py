"""Choosing the weight of a prior: one network trained with several of them."""

import math
from collections.abc import Collection, Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ..field import Field
from ..mappings import AnyKey
from ..ops.without_autotune import jit_without_autotune
from ..tasks.instrument import InstrumentTask
from ..tasks.prior import TotalVariation
from ..tasks.splitting import minimum
from ..train.driver import Config, train
from .problem import HeldMeasured
from .sweep import Progress

LADDER = (0.0, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""Weights (`tasks.prior.TotalVariation`): 0, then two in every power of ten."""
USUAL = 1e-4
"""The best of slices of heads and of phantoms, in CT and in MRI, or next to it."""
FIRST = ((0.0, USUAL), (3e-5, 3e-4))
"""Those tried before it is known where to look further, two at a time."""
FURTHER = 3
"""How often two more are tried at most, next to the best so far."""
RUNGS = 1.5
"""By how many places of the ladder the best weight of a fit lies below that of trials a
tenth as long: the nearer a field comes to what was measured, the more the prior pulls
it off. From 240 steps to 1000 it fell from 2e-4 to 6e-5 for a phantom from 20 views,
and from 8e-5 to 3e-5 for a slice of a head from a quarter of its frequencies."""
LATELY = 3
"""Looks at the held-out error that count, the last ones."""


def choose_weight(
    held: HeldMeasured,
    field: Field,
    config: Config,
    *,
    steps: int,
    key: AnyKey,
    optimiser: optax.GradientTransformation,
    progress: Progress = lambda text: None,
) -> tuple[float, dict[float, float]]:
    """The weight for a fit, and the relative errors of what was held out after short
    trainings with those that were tried.

    Runs differ by the weight alone, and two train as one program. First come 0 and
    three about the usual one, then those further on for as long as they are better. A
    fit that is longer than the trials takes less than their best (`RUNGS`). Too large a
    weight costs more than too small a one: the largest within a standard error, which
    is the rule of the classical reconstruction, lost more than the prior had won.

    Args:
        field: the network before its first step.
        config: of the trials; its `every` is the time between two looks.
        steps: of the fit.
    """
    unit = float(np.sqrt(np.mean(np.abs(np.asarray(held.measured())) ** 2)))
    tried: dict[float, float] = {}

    def attempt(weights: Sequence[float]) -> None:
        names = ", ".join(f"{w:g}" for w in weights)
        progress(f"weights {names}")
        errors = _errors(held, weights, field, config, key, optimiser)
        tried.update(zip(weights, np.sqrt(errors) / unit, strict=True))

    for pair in FIRST:
        attempt(pair)
    for _ in range(FURTHER):
        new = _further(_lowest(tried), tried)
        if not new:
            break
        attempt(np.resize(new, 2).tolist())  # a program of two, for one as well
    errors = {weight: float(tried[weight]) for weight in sorted(tried)}
    lower = round(RUNGS * math.log10(max(1, steps / config.steps)))
    return LADDER[max(0, LADDER.index(_lowest(errors)) - lower)], errors


CLIMB_FIRST, CLIMB_ITERATIONS = 12, 4
"""Times those of a picture of the training, of the first weight and of those that go on
from the one before: with 4 for the first, which starts at mid-grey, it was not through,
and two heads of three got twice the weight that the same rule gives when it is."""
CLIMBS, CLIMB_ON = 12, 3
"""Doublings of a weight at most, and those that may be no better one after another:
much noise is fitted by and by, and the first weights are judged before it is."""


def climb(task: InstrumentTask, start: float) -> tuple[float, dict[float, float]]:
    """The best weight, and relative errors of what was held out, of `start` and ever
    larger ones, while these are better, without a network: by the values on the grid
    alone. Of several that are as good it is the smallest.

    For a split training, whose picture is made the same way. The usual weight is where
    it starts: of measurements without noise a smaller one predicts what was held out
    a little better, and gives a worse picture.
    """
    split = task.splitting
    assert split is not None
    values = jnp.full(task.forward.input_shape, 0.5 * sum(split.ends), jnp.float32)
    errors: dict[float, float] = {}
    for k in range(CLIMBS):
        weight = start * 2**k
        prior = task.with_prior(weight).prior
        times = CLIMB_ITERATIONS if errors else CLIMB_FIRST
        values = _smooth(task, prior, values, times * split.iterations)
        errors[weight] = task.held_out_error(values)
        best = list(errors).index(_lowest(errors))
        if k - best >= CLIMB_ON or not math.isfinite(errors[weight]):
            break  # nothing was held out, or nothing is gained any more
    return _lowest(errors), errors


@eqx.filter_jit
def _smooth(
    task: InstrumentTask, prior: TotalVariation | None, start: Array, iterations: int
) -> Array:
    split = task.splitting
    assert split is not None
    return minimum(
        task.quadratic(), prior, start=start, norm=split.norm, iterations=iterations,
        ends=split.ends,
    )  # fmt: skip


def _lowest(errors: dict[float, float]) -> float:
    return min(errors, key=lambda weight: (errors[weight], weight))


def _further(best: float, tried: Collection[float]) -> list[float]:
    """Weights on either side of the best that were not tried; where one side was, two
    on the other. Next to 0 there is none."""
    k = LADDER.index(best)
    new = [j for j in (k - 1, k + 1) if k and _open(j, tried)]
    if len(new) == 1 and _open(beyond := 2 * new[0] - k, tried):
        new.append(beyond)
    return [LADDER[j] for j in new]


def _open(place: int, tried: Collection[float]) -> bool:
    return 0 < place < len(LADDER) and LADDER[place] not in tried


def _errors(
    held: HeldMeasured,
    weights: Sequence[float],
    field: Field,
    config: Config,
    key: AnyKey,
    optimiser: optax.GradientTransformation,
) -> Float[np.ndarray, " weights"]:
    """Mean squares of what was held out after a training with each weight: the
    geometric mean of its last looks, for one shows the step it was taken after too."""
    first = held.task.with_prior(0.0)
    tasks = [
        eqx.tree_at(lambda t: t.prior.weight, first, jnp.float32(w)) for w in weights
    ]
    looks = [config.every * (k + 1) for k in range(config.steps // config.every)]
    found = np.zeros((LATELY, len(weights)))

    def look(step: int, places: list[int], fields: Field) -> None:
        found[looks.index(step) - len(looks), places] = _held_out(held, fields)

    _, histories = train(
        tasks, [field] * len(tasks), config, keys=[key] * len(tasks),
        optimiser=optimiser, stops=looks[-LATELY:], on_stop=look,
    )  # fmt: skip
    level = np.exp(np.log(found[-len(looks) :]).mean(axis=0))
    bad = ["stopped" in history for history in histories]
    return np.where(bad | ~np.isfinite(level), np.inf, level)


@jit_without_autotune
def _held_out(held: HeldMeasured, fields: Field) -> Float[Array, " runs"]:
    return eqx.filter_vmap(held.error)(fields)
