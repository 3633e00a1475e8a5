"""Values that fit an instrument's measurements and vary little, by a primal-dual method
(Chambolle and Pock 2011), with total variation as Rudin et al. (1992) have it.

Its gradient is that of forward differences, its length taken over all axes at each
sample. A complex image is a last axis of two, whose slopes count together.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int, Scalar

from ..forward.linear import LinearForward

Values = Float[Array, "..."]
FAR = 4.0
"""The root of the step of the values over that of the duals, from afar."""
FLAT = 0.01
"""Differences of neighbours well below this one say nothing of a dual's direction."""


def primal_dual(
    forward: LinearForward,
    measurements: Inexact[Array, "..."],
    start: Values,
    *,
    variation: Float[Array, ""],
    norm: Float[Array, ""],
    iterations: Int[Array, ""] | int,
    low: float | None,
    high: float | None,
    pair: bool = False,
    across: tuple[float, ...] | None = None,
    pull: tuple[Float[Array, ""], Values] | None = None,
    near: Bool[Array, ""] | bool = False,
    ratio: float = FAR,
) -> Values:
    r"""An approximate minimum of

        1/2 |A x - y|^2 + variation sum |grad x| + pull/2 |x - centre|^2,   low <= x <= high.

    Args:
        norm: of the instrument, or a little less (`LinearForward.norm`).
        pair: the last axis has the real and imaginary parts of a complex image.
        across: what the differences along each axis are multiplied by, 1 at most.
        pull: how strongly, and whither, `x` is drawn; no such term by default.
        near: the minimum is near the start: the duals begin as they would be there.
        ratio: the root of the step of the values over that of the duals, where the
            minimum is near; from afar it is `FAR`.
    """  # noqa: E501
    d = len(forward.input_shape) - pair
    # Scaled so that A and the gradient, of norm at most sqrt(4 d), weigh the same.
    # An instrument that sees nothing has no norm; its scale stays finite when squared.
    scale = math.sqrt(4 * d) / jnp.maximum(1.05 * norm, 1e-15)
    # The product of the steps is at most 1 / (8 d); from afar CT and MRI want the
    # larger one for values. Near the minimum duals may have it: 20 iterations of
    # k-space from there leave an error of 65 dB, where they left one of 48.
    root = FAR if near is False else jnp.where(near, ratio, FAR)
    step, dual = root / math.sqrt(8 * d), 1 / root / math.sqrt(8 * d)
    radius = variation * scale**2
    y = scale * measurements

    def length_of(p: Array) -> Array:
        length = jnp.sqrt(jnp.sum(p**2, axis=(0, -1) if pair else 0))
        return length[..., None] if pair else length

    def body(_: Scalar, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        x, ahead, p, q = carry
        q = (q + dual * (scale * forward(ahead) - y)) / (1 + dual)
        p = p + dual * _times(across, gradient(ahead, d))
        length = length_of(p)
        p = p * jnp.where(length > radius, radius / jnp.maximum(length, 1e-30), 1)
        slope = scale * forward.H(q) + gradient_adjoint(_times(across, p))
        moved = x - step * slope
        if pull is not None:
            share = step * pull[0] * scale**2
            moved = (moved + share * pull[1]) / (1 + share)
        moved = jnp.clip(moved, low, high)
        return moved, 2 * moved - x, p, q

    p, q = jnp.zeros((d, *start.shape)), jnp.zeros_like(y)
    if near is not False:
        slopes = _times(across, gradient(start, d))
        p = jnp.where(near, radius * slopes / (length_of(slopes) + FLAT), p)
        q = jnp.where(near, scale * forward(start) - y, q)
    return jax.lax.fori_loop(0, iterations, body, (start, start, p, q))[0]


def gradient(x: Values, axes: int | None = None) -> Values:
    """Forward differences along every axis, or the first few, 0 at the far ends."""
    parts = []
    for axis in range(x.ndim if axes is None else axes):
        last = jax.lax.slice_in_dim(x, -1, None, axis=axis)
        parts.append(jnp.diff(x, axis=axis, append=last))
    return jnp.stack(parts)


def gradient_adjoint(p: Values) -> Values:
    """The transpose of `gradient`."""
    total = jnp.zeros(p.shape[1:], p.dtype)
    for axis in range(p.shape[0]):
        inner = jax.lax.slice_in_dim(p[axis], 0, -1, axis=axis)
        none = jnp.zeros_like(jax.lax.slice_in_dim(p[axis], 0, 1, axis=axis))
        total -= jnp.diff(jnp.concatenate([none, inner, none], axis=axis), axis=axis)
    return total


def _times(across: tuple[float, ...] | None, p: Values) -> Values:
    if across is None:
        return p
    return jnp.asarray(across, p.dtype).reshape(-1, *[1] * (p.ndim - 1)) * p
