"""A free number for every pixel, fitted as the networks are.

The notebooks ran it beside the networks and the paper does not print it: it tells what
the mapping adds to gradient descent and a sigmoid alone (protocol 6 and 7).
"""

from typing import Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Scalar

from ..forward.linear import LinearForward

LR = 0.1


@runtime_checkable
class Seen(Protocol):
    """A task whose loss is one of values on its instrument's grid."""

    @property
    def forward(self) -> LinearForward: ...

    def loss_of(self, values: Float[Array, "..."], /) -> Scalar: ...


def free_grid(
    task: Seen, *, steps: int = 1000, start: float = 0.0, signed: bool = False
) -> Float[Array, "..."]:
    """sigmoid(u) with u free at every pixel, by Adam on the task's own loss.

    What is not measured stays where the start, and Adam's equal steps, put it: from 0,
    which is mid-grey, a dark image keeps much of the way it came.

    Args:
        start: u at first, at every pixel.
        signed: values lie in [-1, 1], by tanh, and not in [0, 1].
    """
    return _fit(task, jnp.int32(steps), start, signed)


@eqx.filter_jit
def _fit(task: Seen, steps: Array, start: float, signed: bool) -> Array:
    optimiser = optax.adam(LR)
    squash = jnp.tanh if signed else jax.nn.sigmoid

    def body(_, carry):
        u, moments = carry
        slope = jax.grad(lambda u: task.loss_of(squash(u)))(u)
        updates, moments = optimiser.update(slope, moments)
        return u + updates, moments

    u = jnp.full(task.forward.input_shape, start)
    u, _ = jax.lax.fori_loop(0, steps, body, (u, optimiser.init(u)))
    return squash(u)
