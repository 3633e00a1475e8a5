"""Reconstruction with total variation, for any linear instrument (Rudin et al. 1992).

    min_x  1/2 |A x - y|^2 + weight sum |grad x|,   low <= x <= high,

by the primal-dual method of Chambolle and Pock (2011, `tasks.primal_dual`).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from ..errors import InputError
from ..forward.linear import LinearForward, Masked, relative_error
from ..tasks.primal_dual import primal_dual


def total_variation(
    forward: LinearForward,
    measurements: Inexact[Array, "..."],
    *,
    weight: float,
    iterations: int,
    low: float = 0.0,
    high: float | None = None,
) -> Float[Array, "..."]:
    """The values that fit the measurements and vary least."""
    if not weight >= 0:
        raise InputError(f"`weight` (={weight}) must not be negative")
    start = jnp.zeros(forward.input_shape)
    norm = jnp.float32(forward.norm())
    # Arrays: numbers would be compiled in.
    count = jnp.int32(iterations)
    size = jnp.float32(weight)
    return _solve(forward, measurements, start, size, norm, count, low, high)


class Chosen(NamedTuple):
    """A reconstruction, and how its weight was found."""

    values: np.ndarray
    weight: float
    errors: dict[float, float]
    """Relative error of what was held out, by weight."""


def chosen_total_variation(
    forward: LinearForward,
    measurements: Inexact[Array, "..."],
    train_mask: Bool[Array, "..."],
    *,
    shares: Sequence[float] = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4),
    search: int = 150,
    iterations: int = 200,
    low: float | None = 0.0,
    high: float | None = None,
    pair: bool = False,
) -> Chosen:
    """Total variation with the largest weight that predicts the held-out well.

    Weights are shares of the largest |A^H y|, above which nothing is left but a
    constant, from large to small, each started from the last. Noise in what is held out
    makes its error flat about the best weight: of those within one standard error of
    the lowest, 1 / sqrt(2 n) of it for n numbers, the smoothest is taken.

    Args:
        train_mask: which measurements are fitted; the others choose the weight.
        search: iterations for each weight; `iterations` more for the chosen one.
        pair: the last axis has the real and imaginary parts of a complex image.
    """
    known = Masked(forward, train_mask)
    y = jnp.where(train_mask, measurements, 0)
    top = float(jnp.abs(known.H(y)).max())
    norm = jnp.float32(known.norm())
    x = jnp.zeros(forward.input_shape)
    found: dict[float, tuple[float, Array]] = {}
    some, more = jnp.int32(search), jnp.int32(iterations)
    for weight in (share * top for share in shares):
        x = _solve(known, y, x, jnp.float32(weight), norm, some, low, high, pair)
        found[weight] = relative_error(forward(x), measurements, ~train_mask), x
    lowest = min(error for error, _ in found.values())
    near = lowest * (1 + 1 / math.sqrt(2 * max(1, int(jnp.sum(~train_mask)))))
    best = max(weight for weight, (error, _) in found.items() if error <= near)
    x = found[best][1]
    x = _solve(known, y, x, jnp.float32(best), norm, more, low, high, pair)
    return Chosen(np.asarray(x), best, {w: e for w, (e, _) in found.items()})


@eqx.filter_jit
def _solve(
    forward: LinearForward,
    y: Array,
    x: Array,
    weight: Array,
    norm: Array,
    iterations: Array,
    low: float | None,
    high: float | None,
    pair: bool = False,
) -> Array:
    return primal_dual(
        forward, y, x, variation=weight, norm=norm, iterations=iterations, low=low,
        high=high, pair=pair,
    )  # fmt: skip
