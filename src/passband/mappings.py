r"""Input mappings: recipes for the frequencies of an encoding.

A *mapping* is a frozen spec; drawing it with a key gives an *encoding*, which is

$$\gamma(v) = [a \sin 2\pi B v,\; a \cos 2\pi B v]$$

with the mapping's own amplitudes $a$ and frequencies $B$ (see `encodings`).

A new mapping is one class here, or anywhere else: `@mapping(example)` has its word
parsed, printed and found by the contract tests.
"""

import abc
import dataclasses
import inspect
import math
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt32

from .encodings import Encoding, FourierFeatures, Grids, Identity, check_train
from .errors import InputError

__all__ = [
    "Basic", "Dense", "FourierFeatures", "Gaussian", "Grids", "Identity", "Laplace",
    "LogUniform", "Multigrid", "NoMapping", "Octaves", "Positional", "Uniform",
]  # fmt: skip

AnyKey = Key[Array, ""] | UInt32[Array, "2"]
Scale = float | tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Mapping(abc.ABC):
    """A recipe for an encoding; prints as its word and parses back."""

    word: ClassVar[str]
    """The name it is known by: `gaussian`."""
    example: ClassVar[str]
    """A word that parses: `gaussian:10`."""
    main: ClassVar[str | None]
    """The field that a bare value after the colon sets: the first without a default."""
    shared: ClassVar[str] = ""
    """What the docstring of every mapping of the family ends on: its options."""

    @abc.abstractmethod
    def draw(self, key: AnyKey | int, d: int) -> Encoding:
        """The encoding of points with `d` coordinates.

        Args:
            key: a JAX key, or a seed. The frequencies follow from it; the mappings
                that are not random ignore it.
            d: coordinates of a point.
        """

    @abc.abstractmethod
    def reach(self) -> float:
        """The frequency to hold against Nyquist, in cycles per unit of the domain:
        sigma for a random family, the largest |b| for a fixed one."""

    @property
    def trains(self) -> str:
        """Which of `a` and `b` gradient descent may move."""
        return ""

    def __str__(self) -> str:
        return self.spelled()

    def spelled(self, main: str | None = None) -> str:
        """The shortest word that parses back; or that with another main value."""
        items = []
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name == self.main:
                text = _text(value) if main is None else main
                named = f"{f.name}=" in self.example
                items.insert(0, f"{f.name}={text}" if named else text)
            elif value != f.default:
                items.append(f"{f.name}={_text(value)}")
        return f"{self.word}:{','.join(items)}" if items else self.word


MAPPINGS: dict[str, type[Mapping]] = {}
"""Every mapping there is, by the first part of its word."""
M = TypeVar("M", bound=type[Mapping])


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def mapping(example: str) -> Callable[[M], M]:
    """Make a class a mapping: a frozen dataclass, known by the word of its example.

    An example that names the main field, such as `dense:p=1`, has it printed so.
    """
    word = example.partition(":")[0]

    def register(cls: M) -> M:
        taken = MAPPINGS.get(word)
        if taken is not None and taken.__qualname__ != cls.__qualname__:
            raise ValueError(f"`{word}` is the word of {taken.__qualname__} already")
        cls = dataclasses.dataclass(frozen=True)(cls)
        cls.word, cls.example = word, example
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\n{cls.shared}".rstrip()
        fields = dataclasses.fields(cls)
        needed = (f.name for f in fields if f.default is dataclasses.MISSING)
        cls.main = next(needed, None)
        MAPPINGS[word] = cls
        return cls

    return register


@mapping("none")
class NoMapping(Mapping):
    """Raw coordinates, scaled and shifted (1D centres them, shapes use 2x - 1).

    Args:
        scale: what every coordinate is multiplied by.
        shift: what is added then, in units of the scaled coordinate.

    Example:
        >>> import numpy as np, passband as pb
        >>> encoding = pb.NoMapping(scale=2.0, shift=-1.0).draw(0, d=3)
        >>> encoding(np.array([0.0, 0.5, 1.0])).tolist()
        [-1.0, 0.0, 1.0]
        >>> str(pb.NoMapping(scale=2.0, shift=-1.0))
        'none:scale=2,shift=-1'
    """

    scale: float = 1.0
    shift: float = 0.0

    def draw(self, key: AnyKey | int, d: int) -> Identity:
        del key
        _check_dims(d)
        return Identity(jnp.full(d, self.scale), jnp.full(d, self.shift))

    def reach(self) -> float:
        return 0.0


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
        _check_dims(d)
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


START = 1e-4
"""Values of a grid are drawn from U(-START, START), as Instant-NGP has them."""
MOST_VALUES = 2**30
"""Of all grids together: 4 GiB."""


@mapping("multigrid:256")
class Multigrid(Mapping):
    """No features but trained values: dense grids, each at most twice as fine as the
    one before, d-linear in between (Instant-NGP without its hash).

    Args:
        side: points along each axis of the finest grid.
        levels: how many grids.
        features: numbers at each point of a grid.

    Example:
        >>> import passband as pb
        >>> str(pb.Multigrid(256, levels=4)), pb.Multigrid(256, levels=4).sides
        ('multigrid:256,levels=4', (32, 64, 128, 256))
    """

    side: int
    levels: int = 6
    features: int = 4

    def __post_init__(self) -> None:
        least = {"side": 2, "levels": 1, "features": 1}
        for name, low in least.items():
            if (value := getattr(self, name)) < low:
                raise InputError(
                    f"`multigrid`: `{name}` (={value}) must be {low} or more"
                )

    @property
    def sides(self) -> tuple[int, ...]:
        """Points along an axis of each grid, from the coarsest, which has 2 or more."""
        gaps = max(1, self.levels - 1)
        growth = min(2.0, (self.side / 2) ** (1 / gaps))
        powers = range(self.levels - 1, -1, -1)
        return tuple(max(2, round(self.side / growth**p)) for p in powers)

    def draw(self, key: AnyKey | int, d: int) -> Grids:
        if not 1 <= d <= 3:
            raise InputError(f"`multigrid` is for 1 to 3 dimensions, not {d}")
        values = self.features * sum(side**d for side in self.sides)
        if values > MOST_VALUES:
            raise InputError(
                f"`{self}` has {values:.2g} values in {d} dimensions, and "
                f"{MOST_VALUES:.2g} are the most; take a smaller `side`"
            )
        keys = jax.random.split(as_key(key), self.levels)
        shapes = [(*[side] * d, self.features) for side in self.sides]
        levels = (
            jax.random.uniform(k, shape, minval=-START, maxval=START)
            for k, shape in zip(keys, shapes, strict=True)
        )
        return Grids(tuple(levels), d)

    def reach(self) -> float:
        return (self.side - 1) / 2


def as_key(key: Any) -> AnyKey:
    """The key itself, or that of a seed."""
    if isinstance(key, jax.Array):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return jax.random.key(int(key))
    if isinstance(key, np.ndarray) and key.dtype == np.uint32:
        return jnp.asarray(key)  # `jax.random.PRNGKey` as NumPy has it
    raise InputError(
        f"`key` (={key}) must be a whole number or a JAX key, such as "
        "`jax.random.key(0)`"
    )


def nyquist_warning(mapping: Mapping, nyquist: float) -> str | None:
    """One line when a mapping reaches beyond what the samples can show."""
    if mapping.reach() <= nyquist:
        return None
    return (
        f"`{mapping}` reaches {mapping.reach():g} cycles per unit, above the data's "
        f"Nyquist frequency of {nyquist:g}: it can only fit noise between the samples"
    )


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return "/".join(_text(v) for v in value)
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(
            f"`{name}` scale (={value:g}) must be positive; for no mapping use `none`"
        )


def _check_dims(d: int) -> None:
    if d < 1:
        raise InputError(f"`d` (={d}) must be 1 or more")


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
