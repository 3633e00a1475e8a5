"""A free number for every pixel, fitted as the networks are.

The notebooks ran it beside the networks and the paper does not print it: it tells what
the mapping adds to gradient descent and a sigmoid alone (protocol 6 and 7).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Inexact

from .linear import LinearForward


def free_grid(
    forward: LinearForward,
    measurements: Inexact[Array, "..."],
    train_mask: Bool[Array, "..."] | None = None,
    *,
    steps: int = 1000,
    rate: float = 0.1,
) -> Float[Array, "..."]:
    """sigmoid(u) with u free at every pixel, by Adam on half the mean squared error.

    Values lie in [0, 1] and start at 1/2.
    """
    if train_mask is None:
        train_mask = jnp.ones(measurements.shape, bool)
    return _fit(forward, measurements, train_mask, jnp.int32(steps), rate)


@eqx.filter_jit
def _fit(
    forward: LinearForward, y: Array, train_mask: Array, steps: Array, rate: float
) -> Array:
    optimiser = optax.adam(rate, b1=0.9, b2=0.999, eps=1e-8)

    def loss(u: Array) -> Array:
        error = jnp.where(train_mask, forward(jax.nn.sigmoid(u)) - y, 0)
        return 0.5 * jnp.sum(jnp.abs(error) ** 2) / jnp.sum(train_mask)

    def body(_, carry):
        u, moments = carry
        updates, moments = optimiser.update(jax.grad(loss)(u), moments)
        return u + updates, moments

    u = jnp.zeros(forward.input_shape)
    u, _ = jax.lax.fori_loop(0, steps, body, (u, optimiser.init(u)))
    return jax.nn.sigmoid(u)
