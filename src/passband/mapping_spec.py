"""What a mapping is: a frozen spec that draws an encoding, known by a word."""

import abc
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, UInt32

from .encodings import Encoding, Identity
from .errors import InputError

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
        check_dims(d)
        return Identity(jnp.full(d, self.scale), jnp.full(d, self.shift))

    def reach(self) -> float:
        return 0.0


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


def check_dims(d: int) -> None:
    if d < 1:
        raise InputError(f"`d` (={d}) must be 1 or more")
