"""Least squares by conjugate gradients, for any linear instrument (Hestenes and Stiefel
1952, in the form of Paige and Saunders 1982 called CGLS)."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from ..forward.linear import LinearForward, Masked, relative_error


class Solved(NamedTuple):
    """A reconstruction, after as many iterations as did good."""

    values: np.ndarray
    iterations: int
    errors: list[float]
    """Relative error of what was held out, iteration by iteration."""


def least_squares(
    forward: LinearForward,
    measurements: Inexact[Array, "..."],
    train_mask: Bool[Array, "..."] | None = None,
    test_mask: Bool[Array, "..."] | None = None,
    *,
    iterations: int = 50,
) -> Solved:
    """min |A x - y| from x = 0; the early iterations leave out what is hard to see.

    The iteration that predicts the held-out measurements best is taken, those beyond it
    fit noise; with none held out, the last.
    """
    known = forward if train_mask is None else Masked(forward, train_mask)
    y = measurements if train_mask is None else jnp.where(train_mask, measurements, 0)
    every = np.asarray(_solve(known, y, iterations))
    if test_mask is None:
        return Solved(every[-1], iterations, [])
    errors = [relative_error(forward(jnp.asarray(x)), measurements, test_mask)
              for x in every]  # fmt: skip
    best = int(np.argmin(errors))
    return Solved(every[best], best + 1, errors)


@eqx.filter_jit
def _solve(forward: LinearForward, y: Array, iterations: int) -> Float[Array, "..."]:
    """The values after every iteration."""
    tiny = jnp.finfo(jnp.float32).tiny

    def square(a: Array) -> Array:
        return jnp.sum(jnp.square(jnp.real(a)) + jnp.square(jnp.imag(a)))

    def body(carry, _):
        x, residual, p, power = carry
        q = forward(p)
        step = power / jnp.maximum(square(q), tiny)
        x, residual = x + step * p, residual - step * q
        s = forward.H(residual)
        new = square(s)
        return (x, residual, s + new / jnp.maximum(power, tiny) * p, new), x

    first = forward.H(y)
    start = jnp.zeros(forward.input_shape), y, first, square(first)
    return jax.lax.scan(body, start, length=iterations)[1]
