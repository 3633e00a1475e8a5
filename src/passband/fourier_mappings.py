"""The Fourier mappings: frequencies by rule, drawn from a density, or given."""

import abc
import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .encodings import FourierFeatures, check_train
from .errors import InputError
from .mapping_spec import AnyKey, Mapping, Scale, as_key, check_dims, mapping

_SHARED = """\
Options of every Fourier mapping, by keyword:
    m: number of frequency vectors; the network receives 2m features (256). `basic`
        and `octaves` have as many as they need, whatever `m` is.
    norm: divide the amplitudes by their norm (False).
    units: of the scale: `cycles` per unit of the coordinates, or `rad` per unit, for
        recipes written without 2 pi (`cycles`).
    rotate: turn the frequency vectors in 3D: `zx45` is 45 degrees about z, then about
        x; left out, they stay.
    train: what gradient descent may move: `a`, `b` or `ab`; left out, nothing."""


@dataclasses.dataclass(frozen=True)
class Fourier(Mapping):
    """What the Fourier mappings share."""

    shared: ClassVar[str] = _SHARED
    m: int = dataclasses.field(default=256, kw_only=True)
    """Number of frequency vectors; the network receives 2m features."""
    norm: bool = dataclasses.field(default=False, kw_only=True)
    """Divide the amplitudes by their norm (1D studies and shapes; protocol 0.4)."""
    units: str = dataclasses.field(default="cycles", kw_only=True)
    """`rad` divides the drawn frequencies by 2 pi, for recipes written without it."""
    rotate: str = dataclasses.field(default="", kw_only=True)
    """Turn the frequency vectors: `zx45` is 45 degrees about z, then about x."""
    train: str = dataclasses.field(default="", kw_only=True)
    """Let gradient descent move `a`, `b` or `ab` (paper, appendix A.3)."""

    def __post_init__(self) -> None:
        if self.m < 1:
            raise InputError(f"`m` (={self.m}) must be at least 1")
        if self.units not in ("cycles", "rad"):
            raise InputError(f"`units` (={self.units}) must be `cycles` or `rad`")
        check_train(self.train)
        if self.rotate:
            _rotation(self.rotate)

    @property
    def trains(self) -> str:
        return self.train

    def draw(self, key: AnyKey | int, d: int) -> FourierFeatures:
        check_dims(d)
        B = self.frequencies(as_key(key), d)
        a = self.amplitudes(B.shape[0])
        if self.units == "rad":
            B = B / (2 * math.pi)
        if self.rotate:
            if d != 3:
                raise InputError(
                    f"`rotate` (={self.rotate}) needs 3 dimensions, not {d}"
                )
            B = jnp.dot(
                B, _rotation(self.rotate).T, precision=jax.lax.Precision.HIGHEST
            )
        if self.norm:
            a = a / jnp.linalg.norm(a)
        B, a = B.astype(jnp.float32), a.astype(jnp.float32)
        return FourierFeatures(B, a, self.trains)

    @abc.abstractmethod
    def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
        """B as the recipe states it, before `units` and `rotate`."""

    def amplitudes(self, m: int) -> Float[Array, " m"]:
        return jnp.ones(m)

    def reach(self) -> float:
        return self._reach() / (2 * math.pi if self.units == "rad" else 1)

    @abc.abstractmethod
    def _reach(self) -> float: ...


@mapping("basic")
class Basic(Fourier):
    """One turn per axis: [cos 2 pi v, sin 2 pi v] (paper, section 6.1).

    Example:
        >>> import numpy as np, passband as pb
        >>> encoding = pb.Basic().draw(0, d=2)
        >>> encoding(np.array([0.25, 0.0])).round(3).tolist()  # sin, sin, cos, cos
        [1.0, 0.0, 0.0, 1.0]
    """

    def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
        del key
        return jnp.eye(d)

    def _reach(self) -> float:
        return 1.0


@mapping("positional:6")
class Positional(Fourier):
    r"""Axis-aligned $2^{\sigma k/(K-1)} - 1$ for k < K = floor(m/d).

    The minus one (so that each axis has a constant feature) and the included end point
    are the notebooks', not the paper's formula; they made the printed numbers (protocol
    0.3).

    Args:
        octaves: sigma; the highest frequency is 2^sigma - 1 cycles per unit.

    Example:
        >>> import passband as pb
        >>> encoding = pb.Positional(3.0, m=8).draw(0, d=2)
        >>> encoding.frequencies[:4].tolist()  # those along the first axis
        [[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [7.0, 0.0]]
    """

    octaves: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _positive(self.word, self.octaves)
        if self.octaves > 100:  # float32 ends at 2^128
            raise InputError(f"`positional` (={self.octaves:g}) must be at most 100")

    def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
        del key
        if self.m < 2 * d:
            raise InputError(
                f"`m` (={self.m}) must be at least {2 * d} in {d} dimensions"
            )
        per_axis = 2 ** np.linspace(0, self.octaves, self.m // d) - 1
        # What the 2020 keys give depends on the order, and the notebooks had two: in 2D
        # all frequencies of an axis before the next axis, in 3D the axes take turns.
        axes, column = np.eye(d), per_axis[:, None]
        rows = np.kron(column, axes) if d == 3 else np.kron(axes, column)
        return jnp.asarray(rows, jnp.float32)

    def _reach(self) -> float:
        return 2**self.octaves - 1


@mapping("octaves:9")
class Octaves(Fourier):
    """Axis-aligned 2^j for j < count: the original NeRF encoding (the notebook's 9).

    Args:
        count: how many octaves; the highest frequency is 2^(count - 1) cycles per unit,
            or radians with `units="rad"`, as the notebook has it.

    Example:
        >>> import passband as pb
        >>> pb.Octaves(3).draw(0, d=1).frequencies[:, 0].tolist()
        [1.0, 2.0, 4.0]
    """

    count: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.count <= 100 or self.count != int(self.count):
            raise InputError(
                f"`octaves` (={self.count}) must be a whole number from 1 to 100"
            )

    def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
        del key
        # All axes of an octave before the next octave: again the notebook's order.
        octaves = 2.0 ** np.arange(self.count)[:, None]
        return jnp.asarray(np.kron(octaves, np.eye(d)), jnp.float32)

    def _reach(self) -> float:
        return 2.0 ** (self.count - 1)


@dataclasses.dataclass(frozen=True)
class Random(Fourier):
    """A family of random frequencies with a scale, or one scale per axis."""

    scale: Scale

    def __post_init__(self) -> None:
        super().__post_init__()
        for s in self.scale if isinstance(self.scale, tuple) else (self.scale,):
            _positive(self.word, s)

    def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
        scales = self.scale if isinstance(self.scale, tuple) else (self.scale,) * d
        if len(scales) != d:
            raise InputError(
                f"`scale` (={'/'.join(map(str, scales))}) names {len(scales)} axes but "
                f"the data have {d}; give one scale or {d}"
            )
        top = max(scales)
        # The widest axis sets the family's scale; the others shrink from it.
        return self.sample(key, d, top) * jnp.asarray([s / top for s in scales])

    @abc.abstractmethod
    def sample(self, key: AnyKey, d: int, scale: float) -> Float[Array, "m d"]:
        """B with the same scale along every axis."""

    def _reach(self) -> float:
        return max(self.scale) if isinstance(self.scale, tuple) else self.scale


@mapping("gaussian:10")
class Gaussian(Random):
    """b ~ N(0, scale^2), one base matrix for all scales of a key.

    Args:
        scale: sigma in cycles per unit of the coordinates, or a tuple with one for
            every axis.

    Example:
        >>> import numpy as np, passband as pb
        >>> encoding = pb.Gaussian(10.0, m=256).draw(0, d=2)
        >>> encoding(np.array([0.2, 0.7])).shape, encoding(np.zeros((5, 2))).shape
        ((512,), (5, 512))
        >>> B = pb.Gaussian((10.0, 2.0), m=10_000).draw(0, d=2).frequencies
        >>> [round(float(sigma)) for sigma in B.std(axis=0)]
        [10, 2]
        >>> str(pb.Gaussian((10.0, 2.0), m=64))
        'gaussian:10/2,m=64'
    """

    def sample(self, key: AnyKey, d: int, scale: float) -> Float[Array, "m d"]:
        return jax.random.normal(key, (self.m, d)) * scale


@dataclasses.dataclass(frozen=True)
class Isotropic(Random):
    """In 1D b itself, in more dimensions the length of b, comes from the family."""

    def sample(self, key: AnyKey, d: int, scale: float) -> Float[Array, "m d"]:
        if d == 1:
            return self.lengths(key, scale)[:, None]
        length_key, direction_key = jax.random.split(key)
        direction = jax.random.normal(direction_key, (self.m, d))
        direction = direction / jnp.linalg.norm(direction, axis=1, keepdims=True)
        return self.lengths(length_key, scale)[:, None] * direction

    @abc.abstractmethod
    def lengths(self, key: AnyKey, scale: float) -> Float[Array, " m"]: ...


@mapping("uniform:64")
class Uniform(Isotropic):
    """scale * U[0, 1): all lengths up to the scale alike, in all directions.

    Args:
        scale: the highest frequency, in cycles per unit of the coordinates, or a tuple
            with one for every axis.

    Example:
        >>> import numpy as np, passband as pb
        >>> B = pb.Uniform(64.0, m=10_000).draw(0, d=2).frequencies
        >>> length = np.linalg.norm(B, axis=1)
        >>> bool(length.max() < 64), round(float(length.mean()))
        (True, 32)
    """

    def lengths(self, key: AnyKey, scale: float) -> Float[Array, " m"]:
        return scale * jax.random.uniform(key, (self.m,))


@mapping("loguniform:80")
class LogUniform(Isotropic):
    """scale ^ U[0, 1): positional encoding's random cousin, density 1/f.

    Args:
        scale: the highest frequency, in cycles per unit of the coordinates, or a tuple
            with one for every axis; the lowest is 1.

    Example:
        >>> import numpy as np, passband as pb
        >>> B = pb.LogUniform(64.0, m=10_000).draw(0, d=2).frequencies
        >>> length = np.linalg.norm(B, axis=1)
        >>> round(float(np.median(length)))  # as many octaves below as above
        8
    """

    def lengths(self, key: AnyKey, scale: float) -> Float[Array, " m"]:
        return scale ** jax.random.uniform(key, (self.m,))


@mapping("laplace:20")
class Laplace(Isotropic):
    """scale * Laplace(0, 1): in more dimensions than one, an exponential length.

    Args:
        scale: the mean length of a frequency, in cycles per unit of the coordinates, or
            a tuple with one for every axis.

    Example:
        >>> import numpy as np, passband as pb
        >>> B = pb.Laplace(20.0, m=10_000).draw(0, d=2).frequencies
        >>> length = np.linalg.norm(B, axis=1)
        >>> round(float(length.mean()))
        20
    """

    def lengths(self, key: AnyKey, scale: float) -> Float[Array, " m"]:
        return scale * jax.random.laplace(key, (self.m,))


@mapping("dense:p=1")
class Dense(Fourier):
    """1D: every integer frequency 1..m with a_j = j^-p, p up to infinity (sec. 5).

    Args:
        p: how fast the amplitudes fall; 0 keeps all at one, `math.inf` the first only.

    Example:
        >>> import passband as pb
        >>> encoding = pb.Dense(1.0, m=4).draw(0, d=1)
        >>> encoding.frequencies[:, 0].tolist()
        [1.0, 2.0, 3.0, 4.0]
        >>> [round(float(a), 3) for a in encoding.amplitudes]
        [1.0, 0.5, 0.333, 0.25]
    """

    p: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if math.isnan(self.p) or self.p < 0:
            raise InputError(f"`dense:p` (={self.p}) must be 0 or more, or `inf`")

    def frequencies(self, key: AnyKey, d: int) -> Float[Array, "m d"]:
        del key
        if d != 1:
            raise InputError(f"`dense` is for 1 dimension, not {d}; try `gaussian`")
        return jnp.arange(1.0, self.m + 1)[:, None]

    def amplitudes(self, m: int) -> Float[Array, " m"]:
        # p = inf keeps its zero slots, so that the fan-in is that of every other p.
        return jnp.asarray(np.arange(1.0, m + 1) ** -self.p, jnp.float32)

    def _reach(self) -> float:
        return 1.0 if math.isinf(self.p) else float(self.m)


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(
            f"`{name}` scale (={value:g}) must be positive; for no mapping use `none`"
        )


def _rotation(word: str) -> Float[Array, "3 3"]:
    axes = word.rstrip("0123456789.")
    degrees = word[len(axes) :]
    if not axes or set(axes) - set("xyz") or not degrees.replace(".", "", 1).isdigit():
        raise InputError(f"`rotate` (={word}) must be axes and degrees, such as `zx45`")
    c, s = (
        math.cos(math.radians(float(degrees))),
        math.sin(math.radians(float(degrees))),
    )
    turn = np.eye(3)
    for axis in axes:
        i = "xyz".index(axis)
        j, k = sorted({0, 1, 2} - {i})
        one = np.eye(3)
        sign = -1 if axis == "y" else 1
        one[j, j], one[j, k], one[k, j], one[k, k] = c, -sign * s, sign * s, c
        turn = one @ turn
    return jnp.asarray(turn, jnp.float32)
