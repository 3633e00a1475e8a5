"""The mapping without features: trained values on dense grids."""

import jax

from .encodings import Grids
from .errors import InputError
from .mapping_spec import AnyKey, Mapping, as_key, mapping

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
