"""The cosine of an angle given in turns."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Least-squares polynomial in r^2 for sin(2 pi r) / r over |r| <= 1/4: the sine is right
# to 7e-9, under the rounding of float32.
_SIN = (6.283185280261416, -41.34168066806313, 81.6024807428703, -76.58128455955777,
        39.760722077962036)  # fmt: skip


@jax.custom_jvp
def cos_turns(t: Float[Array, "*n"]) -> Float[Array, "*n"]:
    r"""$\cos 2\pi t$; a sine is the cosine a quarter turn earlier.

    Whole turns are taken off in units of $t$, where the subtraction is exact; a library
    cosine would first round $2\pi t$ and then reduce it modulo an inexact $2\pi$. With
    $r$ the rest, $\cos 2\pi r = \sin 2\pi(1/4 - |r|)$, whose argument is within a
    quarter turn: one short polynomial and no branch, about a dozen instructions, which
    is what lets the encoding run inside the training step.
    """
    r = 0.25 - jnp.abs(t - jnp.round(t))
    if t.dtype == jnp.float64:
        return jnp.sin(2 * jnp.pi * r)
    u = r * r
    value = jnp.full_like(u, _SIN[-1])
    for c in _SIN[-2::-1]:
        value = value * u + c
    return r * value


@cos_turns.defjvp
def _cos_turns_jvp(primals, tangents):
    (t,), (dt,) = primals, tangents
    return cos_turns(t), (2 * jnp.pi) * cos_turns(t + 0.25) * dt
