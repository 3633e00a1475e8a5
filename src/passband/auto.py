"""`gaussian:auto`: a mapping whose scale the data are still to choose."""

import dataclasses

from .encodings import Encoding
from .errors import InputError
from .mappings import AnyKey, Mapping, Positional, Random


@dataclasses.dataclass(frozen=True)
class Auto(Mapping):
    """A mapping without its scale; `passband.tuning` finds one, and `at` sets it.

    Args:
        base: the mapping at any scale; its other options stay.

    Example:
        >>> import passband as pb
        >>> auto = pb.parse_mapping("gaussian:auto,m=64")
        >>> str(auto), str(auto.at(12.5))
        ('gaussian:auto,m=64', 'gaussian:12.5,m=64')
    """

    base: Positional | Random

    def at(self, scale: float | tuple[float, ...]) -> Positional | Random:
        """The mapping at a scale: sigma, or the octaves of a positional one."""
        if isinstance(self.base, Positional):
            if isinstance(scale, tuple):
                raise InputError(f"`{self}` takes one scale for all axes, not {scale}")
            return dataclasses.replace(self.base, octaves=scale)
        return dataclasses.replace(self.base, scale=scale)

    def __str__(self) -> str:
        return self.base.spelled("auto")

    def draw(self, key: AnyKey | int, d: int) -> Encoding:
        del key, d
        raise InputError(
            f"`{self}` has no scale yet; `passband tune` and `passband.tuning.choose` "
            "find one from the data"
        )

    def reach(self) -> float:
        raise InputError(f"`{self}` has no scale yet, so it reaches no frequency")
