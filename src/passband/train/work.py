"""How much a process has trained, in FLOP."""

import itertools
from collections.abc import Sequence

from ..field import Field

_flop = 0


def flop_of_step(sizes: Sequence[int], points: int, *, through: bool = False) -> int:
    """Of one step: forward, weight and input gradients; a product counts twice.

    Args:
        sizes: of the layers, the features first.
        through: whether the first layer passes a gradient back, as it does only where
            the encoding is trained.
    """
    products = [i * o for i, o in itertools.pairwise(sizes)]
    return points * (6 * sum(products) - (0 if through else 2 * products[0]))


def flop_of(field: Field, points: int) -> int:
    """Of a step of so many points of this network, or of all its members."""
    shapes = [W.shape[-2:] for W in field.mlp.weights]
    sizes = [shapes[0][0], *(out for _, out in shapes)]
    each = flop_of_step(sizes, points, through=bool(field.trains))
    return field.members * each


def count(field: Field, points: int, steps: int) -> None:
    """Add the steps that networks of one shape have taken, all together."""
    global _flop
    _flop += steps * flop_of(field, points)


def counted() -> int:
    """FLOP of every step that this process has trained."""
    return _flop
