r"""Encodings: what a mapping draws, and what stands between a point and a network.

Every encoding but those of `none` and `multigrid` is

$$\gamma(v) = [a \sin 2\pi B v,\; a \cos 2\pi B v]$$

with its own amplitudes $a$ and frequencies $B$ (paper, eq. 5). An encoding holds arrays
only, so encodings of different scale stack and share a compiled program.
"""

import abc
import functools
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .errors import InputError
from .ops.turns import cos_turns


class Encoding(eqx.Module):
    """What stands between a coordinate and the network."""

    def __call__(self, v: Any) -> Float[Array, "*n f"]:
        """The features of one point, (d,) -> (f,), or of many, (..., d) -> (..., f)."""
        v, d = as_points("v", v), self.dims
        if v.ndim == 0 or v.shape[-1] != d:
            raise InputError(
                f"`v` has shape {v.shape}; this encoding takes one point, ({d},), or "
                f"many, (..., {d})"
            )
        one = self.one
        for _ in range(v.ndim - 1):
            one = jax.vmap(one)
        return one(v)

    @abc.abstractmethod
    def one(self, v: Float[Array, " d"]) -> Float[Array, " f"]:
        """The features of one point."""

    @property
    @abc.abstractmethod
    def features(self) -> int:
        """How many numbers the network receives."""

    @property
    @abc.abstractmethod
    def dims(self) -> int:
        """How many coordinates a point has."""

    @property
    def trains(self) -> str:
        """Which of `a` and `b` gradient descent may move."""
        return ""

    @property
    def moving(self) -> tuple[str, ...]:
        """The names of its arrays that gradient descent may move."""
        return ()


class FourierFeatures(Encoding):
    r"""$[a \sin 2\pi B v, a \cos 2\pi B v]$: all sines first, then all cosines.

    Frequencies are in cycles per unit of the domain. The phase $Bv$ is summed in full
    float32, coordinate by coordinate, never as a matrix product that a GPU would round.

    `B` and `a` are constants of every gradient, whoever takes it, unless `train` names
    them: in another library's model too, an optimiser leaves them where they are.

    Args:
        frequencies: `B`, (m, d), in cycles per unit of the coordinates.
        amplitudes: `a`, (m,).
        train: what a gradient reaches: nothing, or `a`, `b` or `ab`.

    Example:
        >>> import jax, numpy as np, passband as pb
        >>> encoding = pb.Gaussian(10.0, m=256).draw(0, d=2)
        >>> encoding.dims, encoding.features
        (2, 512)
        >>> encoding(np.array([0.2, 0.7])).shape  # one point
        (512,)
        >>> encoding(np.zeros((5, 4, 2))).shape  # any batch
        (5, 4, 512)
        >>> slope = jax.grad(lambda e: e(np.array([0.2, 0.7])).sum())(encoding)
        >>> float(abs(slope.frequencies).max())  # B is fixed
        0.0

        Frequencies of one's own, here whole turns per unit in 1D:

        >>> own = pb.FourierFeatures(np.array([[1.0], [2.0]]), np.ones(2))
        >>> [round(float(x), 3) for x in own(np.array([0.125]))]
        [0.707, 1.0, 0.707, 0.0]
    """

    frequencies: Float[Array, "*runs m d"] = eqx.field(converter=jnp.asarray)
    amplitudes: Float[Array, "*runs m"] = eqx.field(converter=jnp.asarray)
    train: str = eqx.field(static=True, default="")

    def __check_init__(self) -> None:
        check_train(self.train)
        B, a = self.frequencies, self.amplitudes
        if B.ndim < 2 or a.shape != B.shape[:-1]:
            raise InputError(
                f"`frequencies` has shape {B.shape} and `amplitudes` {a.shape}; "
                "they must be (m, d) and (m,)"
            )

    def one(self, v: Float[Array, " d"]) -> Float[Array, " f"]:
        B, a = self.held()
        turns = B[:, 0] * v[0]
        for i in range(1, v.shape[0]):
            turns = turns + B[:, i] * v[i]
        # A sine is a cosine a quarter turn earlier: one expression over both halves, so
        # that XLA makes the encoding a single pass over its output.
        both = turns + jnp.asarray([[-0.25], [0.0]], turns.dtype)
        return (a * cos_turns(both)).reshape(-1)

    def held(self) -> tuple[Float[Array, "*runs m d"], Float[Array, "*runs m"]]:
        """`B` and `a`, each a constant of any gradient unless `train` names it."""
        B, a = self.frequencies, self.amplitudes
        return (
            B if "b" in self.train else jax.lax.stop_gradient(B),
            a if "a" in self.train else jax.lax.stop_gradient(a),
        )

    @property
    def features(self) -> int:
        return 2 * self.amplitudes.shape[-1]

    @property
    def dims(self) -> int:
        return self.frequencies.shape[-1]

    @property
    def trains(self) -> str:
        return self.train

    @property
    def moving(self) -> tuple[str, ...]:
        names = {"a": "amplitudes", "b": "frequencies"}
        return tuple(names[letter] for letter in self.train)


class Identity(Encoding):
    """The raw coordinate, `scale * v + shift`: what the paper calls no mapping.

    Both are constants of every gradient.

    Args:
        scale: (d,), what each coordinate is multiplied by.
        shift: (d,), what is added then.

    Example:
        >>> import numpy as np, passband as pb
        >>> encoding = pb.NoMapping(scale=2.0, shift=-1.0).draw(0, d=2)
        >>> encoding(np.array([[0.0, 0.5], [1.0, 0.25]])).tolist()
        [[-1.0, 0.0], [1.0, -0.5]]
    """

    scale: Float[Array, "*runs d"] = eqx.field(converter=jnp.asarray)
    shift: Float[Array, "*runs d"] = eqx.field(converter=jnp.asarray)

    def one(self, v: Float[Array, " d"]) -> Float[Array, " f"]:
        stop = jax.lax.stop_gradient
        return stop(self.scale) * v + stop(self.shift)

    @property
    def features(self) -> int:
        return self.scale.shape[-1]

    @property
    def dims(self) -> int:
        return self.scale.shape[-1]


class Grids(Encoding):
    """Values on grids of several sides over the unit cube, interpolated and trained.

    Between the points of a grid values are linear along each axis, outside of the cube
    those at its border; the features of all grids stand side by side.

    Args:
        levels: a grid each, (side, ..., side, features): as many sides as a point has
            coordinates, 2 points or more along each.
        d: coordinates of a point.

    Example:
        >>> import numpy as np, passband as pb
        >>> encoding = pb.Multigrid(8, levels=2, features=3).draw(0, d=2)
        >>> [level.shape for level in encoding.levels], encoding.features
        ([(4, 4, 3), (8, 8, 3)], 6)
        >>> encoding(np.zeros((5, 2))).shape
        (5, 6)
    """

    levels: tuple[Float[Array, "..."], ...]
    d: int = eqx.field(static=True)

    def one(self, v: Float[Array, " d"]) -> Float[Array, " f"]:
        return jnp.concatenate([interpolated(level, v) for level in self.levels])

    @property
    def features(self) -> int:
        return sum(level.shape[-1] for level in self.levels)

    @property
    def dims(self) -> int:
        return self.d

    @property
    def moving(self) -> tuple[str, ...]:
        return ("levels",)


@functools.partial(jax.jit, inline=True)
def interpolated(
    grid: Float[Array, "*sides f"], v: Float[Array, " d"]
) -> Float[Array, " f"]:
    """The values of a grid over the unit cube at a point, linear along each axis."""
    d = grid.ndim - 1
    last = np.asarray(grid.shape[:-1]) - 1
    place = jnp.clip(v, 0, 1) * last
    below = jnp.minimum(place.astype(jnp.int32), last - 1)
    part = place - below
    corners = np.asarray(list(itertools.product((0, 1), repeat=d)))
    at = below + corners
    shares = jnp.where(corners == 1, part, 1 - part)
    weight = functools.reduce(jnp.multiply, shares.T)
    values = grid[tuple(at[:, i] for i in range(d))]
    return (weight[:, None] * values).sum(axis=0)


def as_points(name: str, v: Any) -> Array:
    """What was given as coordinates, as a real array; its shape is not looked at.

    Args:
        name: of the argument, for the error.
        v: anything that JAX makes an array of; whole numbers become floats.
    """
    if not isinstance(v, jax.Array):
        try:
            v = jnp.asarray(v)
        except (TypeError, ValueError):
            raise InputError(
                f"`{name}` ({type(v).__name__}) must be an array of numbers"
            ) from None
    if jnp.iscomplexobj(v):
        raise InputError(f"`{name}` is complex; coordinates are real numbers")
    return v if jnp.issubdtype(v.dtype, jnp.floating) else v.astype(float)


def check_train(train: str) -> None:
    """Refuse what does not say which of `a` and `b` gradient descent may move."""
    if train not in ("", "a", "b", "ab"):
        raise InputError(f"`train` (={train}) must be `a`, `b` or `ab`")
