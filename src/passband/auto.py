"""`gaussian:auto`: a mapping whose scale the data are still to choose."""

import dataclasses

from .errors import InputError
from .mappings import AnyKey, Encoding, Mapping, Positional, Random


@dataclasses.dataclass(frozen=True)
class Auto(Mapping):
    """A mapping without its scale; `passband.tune` finds one, and `at` sets it."""

    base: Positional | Random
    """The mapping at any scale; its other options stay."""

    def at(self, scale: float | tuple[float, ...]) -> Positional | Random:
        """The mapping at a scale: sigma, or the octaves of a positional one."""
        if isinstance(self.base, Positional):
            if isinstance(scale, tuple):
                raise InputError(f"`{self}` takes one scale for all axes, not {scale}")
            return dataclasses.replace(self.base, octaves=scale)
        return dataclasses.replace(self.base, scale=scale)

    def __str__(self) -> str:
        return self.base.spelled("auto")

    def draw(self, key: AnyKey, d: int) -> Encoding:
        del key, d
        raise InputError(
            f"`{self}` has no scale yet; `passband tune` and `passband.tune.choose` "
            "find one from the data"
        )

    def reach(self) -> float:
        raise InputError(f"`{self}` has no scale yet, so it reaches no frequency")
