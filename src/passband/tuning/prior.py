"""Choosing the weight of a prior: one network trained with several of them."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from ..field import Field
from ..mappings import AnyKey
from ..ops.without_autotune import jit_without_autotune
from ..reconstruct.total_variation import smoothest
from ..train.driver import Config, train
from .problem import HeldMeasured
from .sweep import Progress

LADDER = (0.0, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""Weights (`tasks.prior.TotalVariation`): 0, then two in every power of ten."""
FIRST = ((0.0, 1e-4), (1e-5, 1e-3))
"""Those tried before it is known where to look closer, two at a time."""
CLOSER = 2
"""How often two more are tried, next to the best so far."""
LATELY = 3
"""Looks at the held-out error that count, the last ones."""


def choose_weight(
    held: HeldMeasured,
    field: Field,
    config: Config,
    *,
    key: AnyKey,
    optimiser: optax.GradientTransformation,
    progress: Progress = lambda text: None,
) -> tuple[float, dict[float, float]]:
    """The largest weight that predicts well what was held out, and the relative errors
    there of all that were tried.

    Runs differ by the weight alone, and two train as one program. First come 0 and
    three a power of ten apart, then those on either side of the best.

    Args:
        field: the network before its first step.
        config: of the trials; its `every` is the time between two looks.
    """
    known = np.asarray(held.measured())
    unit, tried = float(np.sqrt(np.mean(np.abs(known) ** 2))), dict[float, float]()

    def attempt(weights: Sequence[float]) -> None:
        names = ", ".join(f"{w:g}" for w in weights)
        progress(f"weights {names}")
        errors = _errors(held, weights, field, config, key, optimiser)
        tried.update(zip(weights, np.sqrt(errors) / unit, strict=True))

    for pair in FIRST:
        attempt(pair)
    for _ in range(CLOSER):
        best = smoothest(tried, known.size)
        new = [w for w in _beside(best) if w not in tried]
        if not new:
            break
        attempt(np.resize(new, 2).tolist())
    errors = {weight: float(tried[weight]) for weight in sorted(tried)}
    return smoothest(errors, known.size), errors


def _beside(weight: float) -> list[float]:
    """The next weights of the ladder on either side; 0 has none."""
    k = LADDER.index(weight)
    return [] if k == 0 else [*LADDER[k - 1 : k], *LADDER[k + 1 : k + 2]]


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
