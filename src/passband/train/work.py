"""How much a process has trained: FLOP, steps, and the seconds of these."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ..field import Field


class Work(NamedTuple):
    """What a process has trained so far, or some part of it."""

    flop: int = 0
    steps: int = 0
    """Of all networks together."""
    seconds: float = 0.0
    """Of these steps, compilation apart."""

    def since(self, earlier: "Work") -> "Work":
        return Work(
            self.flop - earlier.flop,
            self.steps - earlier.steps,
            self.seconds - earlier.seconds,
        )


_done = Work()


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


def count(field: Field, points: int, steps: int, seconds: float = 0.0) -> None:
    """Add the steps that networks of one shape have taken, all together."""
    global _done
    flop = _done.flop + steps * flop_of(field, points)
    _done = Work(flop, _done.steps + steps, _done.seconds + seconds)


def counted() -> int:
    """FLOP of every step that this process has trained."""
    return _done.flop


def work_done() -> Work:
    """FLOP, number and seconds of every step that this process has trained."""
    return _done
