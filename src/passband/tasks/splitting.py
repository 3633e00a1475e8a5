r"""Learning what an instrument measured from points drawn at random: half-quadratic
splitting.

A step through an instrument evaluates the field on all of its grid. Where there is no
time for that, a picture z on the grid stands between the two:

$$\min_z\ \tfrac12 |A z - y|^2 + R(z) + \tfrac\mu2 |z - x|^2,$$

x being the field on the grid and R the prior. The instrument is met in z alone, by a
few dozen cheap iterations between the steps (`primal_dual`); a step learns z at points
drawn at random, as if it were a picture. The minimum's value, as a function of x, is
the Moreau envelope of the loss, and its gradient is $\mu (x - z)$: what is descended on
is the loss itself, smoothed, wherever the field is.
"""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int, Scalar

from ..domain import grid_coords
from ..field import Field
from ..forward.linear import LinearForward, Weighted
from ..mappings import AnyKey
from ..ops.chunked import chunked_map
from .primal_dual import FAR, primal_dual
from .prior import TotalVariation
from .task import half_mean_square_at

AT_ONCE = {"cpu": 1 << 13}
"""Points of the grid that are evaluated together, of each run of a stack; elsewhere
2^16."""
FIRST = 10
"""Before the first step the field says nothing, and z takes so many times as long."""


class Quadratic(NamedTuple):
    """The loss of values on a grid as 1/2 sum weight |gain A x - y|^2."""

    forward: LinearForward
    gain: Float[Array, ""] | float
    y: Inexact[Array, "..."]
    weight: Float[Array, "..."]


class Splitting(eqx.Module):
    """The picture that steps learn, and how it is made."""

    pull: Float[Array, "*runs"]
    """mu, as a share of the largest eigenvalue of A^T A."""
    norm: Float[Array, "*runs"]
    """Of the instrument as the loss weighs it."""
    batch: int = eqx.field(static=True)
    """Points a step."""
    look: int = eqx.field(static=True)
    """Steps between two pictures."""
    iterations: int = eqx.field(static=True)
    """Of the primal-dual method, for each picture."""
    ratio: float = eqx.field(static=True)
    """Of its steps (`primal_dual`)."""
    sides: tuple[int, ...] = eqx.field(static=True)
    extent: tuple[float, ...] = eqx.field(static=True)
    ends: tuple[float, float] = eqx.field(static=True)
    """The range of the field's values."""
    target: Float[Array, "points c"] | None = None
    """The picture at the points of the grid."""

    @property
    def step_points(self) -> int:
        return min(self.batch, self.points)

    @property
    def points(self) -> int:
        """Of the grid."""
        return math.prod(self.sides)

    def loss(self, field: Field, key: AnyKey) -> Scalar:
        """Half the mean squared distance of the field from the picture."""
        assert self.target is not None
        whole = self.batch >= self.points
        if whole:
            index = jnp.arange(self.points)
        else:
            index = jax.random.randint(key, (self.batch,), 0, self.points)
        coords = grid_coords(index, self.sides, self.extent)
        return half_mean_square_at(field, coords, self.target[index], still=whole)

    def picture(
        self,
        field: Field,
        step: Int[Array, ""] | int,
        data: Quadratic,
        prior: TotalVariation | None,
    ) -> Float[Array, "points c"]:
        """The picture that belongs to the field as it is."""
        centre = self.values(field).reshape(data.forward.input_shape)
        first = jnp.asarray(step) == 0
        found = minimum(
            data,
            prior,
            start=centre,
            norm=self.norm,
            iterations=jnp.where(first, FIRST, 1) * self.iterations,
            ends=self.ends,
            pull=(self.pull * self.norm**2, centre),
            near=~first,
            ratio=self.ratio,
        )
        return found.reshape(self.points, -1)

    def values(self, field: Field) -> Float[Array, "points c"]:
        """The field at the points of the grid, few at once."""
        at_once = AT_ONCE.get(jax.default_backend(), 1 << 16)

        def part(field: Field, index: Int[Array, " k"]) -> Float[Array, "k c"]:
            return field.batch(grid_coords(index, self.sides, self.extent))

        return chunked_map(part, field, self.points, at_once)


def minimum(
    data: Quadratic,
    prior: TotalVariation | None,
    *,
    start: Float[Array, "..."],
    norm: Float[Array, ""],
    iterations: Int[Array, ""] | int,
    ends: tuple[float, float],
    pull: tuple[Float[Array, ""], Float[Array, "..."]] | None = None,
    near: Bool[Array, ""] | bool = False,
    ratio: float = FAR,
) -> Float[Array, "..."]:
    """Values on the grid that lower the loss, with the prior and pulled or not
    (`primal_dual`)."""
    shape, across, variation, d = data.forward.input_shape, None, jnp.float32(0), None
    if prior is not None:
        d, least = len(prior.steps), min(prior.steps)
        across = tuple(least / step for step in prior.steps)
        points = math.prod(shape[:d])
        variation = prior.weight * prior.power / (points * least)
    forward, y = weighted(data)
    return primal_dual(
        forward, y, start, variation=variation, norm=norm, iterations=iterations,
        low=ends[0], high=ends[1], pair=d is not None and d < len(shape),
        across=across, pull=pull, near=near, ratio=ratio,
    )  # fmt: skip


def weighted(data: Quadratic) -> tuple[LinearForward, Inexact[Array, "..."]]:
    """Instrument and measurements whose loss is half the sum of squares."""
    root = jnp.sqrt(data.weight)
    return Weighted(data.forward, data.gain * root), root * data.y


def norm_of(data: Quadratic) -> float:
    """Of the instrument as the loss weighs it: the largest singular value."""
    return weighted(data)[0].norm()


def splitting(
    data: Quadratic,
    *,
    norm: float,
    pull: float,
    batch: int,
    look: int,
    iterations: int,
    ratio: float,
    extent: tuple[float, ...],
    ends: tuple[float, float] = (0.0, 1.0),
) -> Splitting:
    """How the loss is descended on by points.

    Args:
        norm: `norm_of` the data.
        pull: mu, as a share of the largest eigenvalue of A^T A.
        batch: points a step.
        look: steps between two pictures.
        iterations: of the primal-dual method, for each picture.
        ratio: of its steps (`primal_dual`): the less, the nearer the field comes to the
            picture, as it does where an instrument is nearly orthogonal.
        extent: lengths of the grid's sides; the longest is 1.
        ends: the range of the field's values.
    """
    sides = data.forward.input_shape[: len(extent)]
    return Splitting(
        jnp.float32(pull), jnp.float32(norm), batch, look, iterations, ratio, sides,
        extent, ends,
    )  # fmt: skip
