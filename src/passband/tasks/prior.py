"""What is believed of a field before it is measured: that it varies little."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Scalar

FLAT = 1e-2
"""Slopes far below this one count by their square: 0 has a gradient too. A slope of 1
is the whole range of values along the longest side of the grid."""


class TotalVariation(eqx.Module):
    r"""Isotropic total variation of the values that a step evaluates on its grid,

    $$\text{weight} \cdot \text{power} \cdot
      \frac{1}{N} \sum_{j} \Big(\sqrt{|\nabla x_j|^2 + \epsilon^2} - \epsilon\Big),$$

    with differences of neighbours, 0 at the far ends, as slopes. Values are in the
    field's range, 0 to 1, and lengths in units of the longest side, so that the mean is
    the integral of |grad x| over the box however fine the grid is. The power is that of
    the measurements in the loss: twice the loss of measuring 0 everywhere. Thus

        loss / power = |A x - y|^2 / (2 |y|^2) + weight |grad x|,

    and a weight means the same for few rays and many, on coarse grids and fine ones.
    """

    weight: Float[Array, "*runs"]
    power: Float[Array, "*runs"]
    steps: tuple[float, ...] = eqx.field(static=True)
    """Distances of neighbours along the axes of the grid; the longest side is 1."""

    def __call__(self, values: Float[Array, "..."]) -> Scalar:
        return self.weight * self.power * variation(values, self.steps)


def variation(values: Float[Array, "..."], steps: tuple[float, ...]) -> Scalar:
    """The mean length of the slopes of values on a grid.

    Axes beyond those of the steps are channels, real and imaginary parts say: their
    slopes count together.
    """
    sides = values.shape[: len(steps)]
    channels = jnp.moveaxis(values.reshape(*sides, -1), -1, 0)
    square = jnp.full(sides, FLAT**2, values.dtype)
    for channel in channels:
        for axis, step in enumerate(steps):
            apart = jnp.diff(channel, axis=axis) / step
            ends = [(0, int(k == axis)) for k in range(len(sides))]
            square += jnp.pad(jnp.square(apart), ends)
    return jnp.mean(jnp.sqrt(square)) - FLAT


def total_variation(
    weight: float, power: float, sides: tuple[int, ...], extent: tuple[float, ...]
) -> TotalVariation:
    """The prior of a weight, for a task whose measurements have this power."""
    steps = tuple(length / n for length, n in zip(extent, sides, strict=True))
    return TotalVariation(jnp.float32(weight), jnp.float32(power), steps)
