"""In which order the paper is run, and what it costs."""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from . import registry, results
from .item import Assembled, Item, Preset

# Items that share networks or programs stand side by side: the second of a pair finds
# the first one's in memory. What is put together from others comes last.
ORDER: tuple[str, ...] = (
    "table2", "fig2", "fig7",
    "fig3", "fig12",
    "fig4", "fig13",
    "fig5", "fig14",
    "table3", "fig15", "fig10", "fig6", "fig8", "fig9", "fig11",
    "table4", "fig16",
    "table5", "fig17",
    "table6", "fig18",
    "table7", "fig19",
    "table1", "fig1",
)  # fmt: skip

# Seconds on 2 cores (smoke, small) and on one H200 (full), for what has not been run.
ESTIMATES = """
    table1   0   0    0    table2   2   4    10   table3  8  60  90
    table4   6   90   210  table5   8   60   180  table6  8  60  300
    table7   8   90   600  fig1     0   0    0    fig2    1  1   2
    fig3     5   30   300  fig4     5   50   60   fig5    5  40  60
    fig6     10  60   350  fig7     1   1    2    fig8    5  60  40
    fig9     5   60   100  fig10    5   45   15   fig11   5  60  50
    fig12    5   30   300  fig13    5   50   60   fig14   3  20  30
    fig15    5   35   30   fig16    8   60   250  fig17   8  60  180
    fig18    8   60   300  fig19    8   60   350
"""


class Cost(NamedTuple):
    """How long an item takes."""

    seconds: float | None
    measured: bool
    """By the last run, whose result is on disk; an estimate otherwise."""


def in_order(items: Iterable[Item]) -> list[Item]:
    """The items as they should be run; what the plan does not know follows."""
    known = {id: place for place, id in enumerate(ORDER)}

    def place(item: Item) -> tuple[bool, int]:
        return isinstance(item, Assembled), known.get(item.id, len(ORDER))

    return sorted(items, key=place)


def estimates() -> dict[str, dict[Preset, float]]:
    """Seconds of every item, by preset."""
    words = ESTIMATES.split()
    rows = [words[k : k + 4] for k in range(0, len(words), 4)]
    return {
        id: dict(zip(Preset, map(float, seconds), strict=True)) for id, *seconds in rows
    }


def costs(folder: Path, id: str) -> dict[Preset, Cost]:
    """What an item takes at each preset: measured where a result says so."""
    found = {}
    for preset in Preset:
        guess = estimates().get(id, {}).get(preset)
        found[preset] = Cost(guess, False)
        if results.exists(folder, preset, id):
            try:
                last = results.load(folder, preset, id, arrays=False)
            except InputError:  # damaged: it tells no time
                continue
            if (seconds := last.provenance.get("seconds")) is not None:
                found[preset] = Cost(float(seconds), True)
    return found


def ids_with_seeds() -> list[str]:
    """The items that can be run with other keys beside them."""
    found = [registry.get_item(id) for id in ORDER]
    return [i.id for i in found if len(with_seeds([i], 1)) > 1]


def with_seeds(items: Iterable[Item], count: int) -> list[Item]:
    """The items, each followed by its runs with `count` other keys, if it has them."""
    found: list[Item] = []
    for item in items:
        found.append(item)
        for id in item.companions:
            other = registry.get_item(id)
            if other.seeds:
                found.append(_seeded(other, count))
    return found


def _seeded(item: Item, count: int) -> Item:
    other = copy.copy(item)
    other.seeds = count
    return other
