"""Schedules by name: the learning rate over a run.

A schedule is a pytree of arrays, so that every run of a stack has its own. A new one is
a row of `SCHEDULES`, and a module if no other has its formula.
"""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Scalar

from ..errors import InputError, unknown_word

Schedule = Callable[[Array], Scalar]
"""From the number of a step to its learning rate."""


class Rate(eqx.Module):
    """Learning rate `start * factor ** (step / every)`; constant where factor is 1."""

    start: Float[Array, "*runs"]
    factor: Float[Array, "*runs"]
    every: Float[Array, "*runs"]

    def __call__(self, step: Int[Array, ""]) -> Scalar:
        return self.start * self.factor ** (step / self.every)


class Cosine(eqx.Module):
    """Learning rate `start * (1 + cos(pi * step / steps)) / 2`; 0 from `steps` on."""

    start: Float[Array, "*runs"]
    steps: Float[Array, "*runs"]

    def __call__(self, step: Int[Array, ""]) -> Scalar:
        share = jnp.minimum(step / self.steps, 1)
        return self.start * (1 + jnp.cos(jnp.pi * share)) / 2


def constant_rate(value: float) -> Rate:
    """One learning rate throughout."""
    return Rate(jnp.float32(value), jnp.float32(1), jnp.float32(1))


def decaying_rate(start: float, factor: float, every: float) -> Rate:
    """`start * factor ** (step / every)`: shapes use 5e-4 * 0.1 ** (step / 5000)."""
    return Rate(jnp.float32(start), jnp.float32(factor), jnp.float32(every))


@dataclasses.dataclass(frozen=True)
class Row:
    """A schedule by its name."""

    name: str
    summary: str
    make: Callable[[float, int], Schedule]
    """From the rate at the start and the number of steps."""


SCHEDULES = {
    row.name: row
    for row in (
        Row("constant", "one rate throughout", lambda lr, steps: constant_rate(lr)),
        Row(
            "cosine",
            "down to 0 at the end, along half a cosine",
            lambda lr, steps: Cosine(jnp.float32(lr), jnp.float32(steps)),
        ),
        Row(
            "decay",
            "by a constant factor a step, down to a hundredth at the end",
            lambda lr, steps: decaying_rate(lr, 0.1, steps / 2),
        ),
    )
}


def schedule(name: str, lr: float, steps: int) -> Schedule:
    """The schedule that a word names, from `lr` on, over so many steps."""
    if name not in SCHEDULES:
        raise unknown_word("schedule", name, SCHEDULES)
    check_lr(lr)
    return SCHEDULES[name].make(lr, steps)


def check_lr(lr: float) -> None:
    """An error unless `lr` may be a learning rate."""
    if not 0 < lr < float("inf"):
        raise InputError(f"`lr` (={lr:g}) must be positive and finite")
