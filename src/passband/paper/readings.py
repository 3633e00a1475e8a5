"""Values that the paper only plots: read off by eye, so held to a share of them."""

from collections.abc import Iterable
from typing import NamedTuple

from .item import Claim, Number, judge

SHARE = 0.15
SMALLER = "this preset is smaller than the paper's run"


class Compared(NamedTuple):
    """A number that can be held against a printed one."""

    name: str
    ours: float
    printed: float


def compared(numbers: Iterable[Number]) -> list[Compared]:
    """Those of the numbers that are comparable and have both values."""
    return [
        Compared(n.name, n.ours, n.printed)
        for n in numbers
        if n.comparable and n.printed is not None and n.ours is not None
    ]


def readings(numbers: Iterable[Number]) -> Claim:
    """Whether ours are within 15 % of what was read off a plot, where comparable."""
    apart = {n.name: n.ours / n.printed - 1 for n in compared(numbers)}
    return judge(
        f"what was read off the plots is ours to {100 * SHARE:g} %",
        all(abs(a) <= SHARE for a in apart.values()) if apart else None,
        "; ".join(f"{name} {100 * a:+.0f} %" for name, a in apart.items()) or SMALLER,
    )
