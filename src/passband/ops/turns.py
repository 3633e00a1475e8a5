"""Sine and cosine of an angle given in turns."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Least-squares polynomials in r^2 over |r| <= 1/4 turn: sin(2 pi r) / r to 7e-9 and
# cos(2 pi r) to 3e-10, both under the rounding of float32.
_SIN = (6.283185280261416, -41.34168066806313, 81.6024807428703, -76.58128455955777,
        39.760722077962036)  # fmt: skip
_COS = (0.9999999997799044, -19.73920854831529, 64.93934655289817, -85.45356819507147,
        60.14395233377345, -24.981836112964217)  # fmt: skip


@jax.custom_jvp
def sincos_turns(
    t: Float[Array, " *n"],
) -> tuple[Float[Array, " *n"], Float[Array, " *n"]]:
    r"""The pair $(\sin 2\pi t, \cos 2\pi t)$.

    Whole and half turns are taken off in units of $t$, where the subtraction is exact;
    a library sine would first round $2\pi t$ and then reduce it modulo an inexact
    $2\pi$. The rest is a short polynomial, several times cheaper than `jnp.sin` on
    every backend, which is what lets the encoding run inside the training step.
    """
    halves = jnp.round(2 * t)
    r = t - 0.5 * halves
    sign = 1 - 2 * (halves - 2 * jnp.floor(0.5 * halves))
    if t.dtype == jnp.float64:
        return sign * jnp.sin(2 * jnp.pi * r), sign * jnp.cos(2 * jnp.pi * r)
    u = r * r
    return sign * (r * _horner(_SIN, u)), sign * _horner(_COS, u)


def _horner(coefficients: tuple[float, ...], u: Array) -> Array:
    value = jnp.full_like(u, coefficients[-1])
    for c in coefficients[-2::-1]:
        value = value * u + c
    return value


@sincos_turns.defjvp
def _sincos_turns_jvp(primals, tangents):
    (t,), (dt,) = primals, tangents
    s, c = sincos_turns(t)
    turn = 2 * jnp.pi * dt
    return (s, c), (turn * c, -turn * s)
