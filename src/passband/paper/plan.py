"""In which order the paper is run, and what it costs."""

import copy
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from ..train.shares import dealt
from . import registry, results
from .item import Assembled, Item, Outcome, Preset, Progress

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

SHOWS = {
    "fig12": "fig3", "fig13": "fig4", "fig15": "table3", "fig16": "table4",
    "fig17": "table5", "fig18": "table6", "fig19": "table7",
}  # fmt: skip
"""Items that show the networks of another: one process runs both."""

# Seconds on 2 cores (smoke, small) and on one H200 (full), for what has not been run;
# none where the item before it in the plan has trained the networks.
ESTIMATES = """
    table1   0   0    0    table2   3   4    3    table3  7   60  55
    table4   10  60   130  table5   12  60   170  table6  5   45  85
    table7   12  90   220  fig1     0   0    0    fig2    2   2   2
    fig3     7   30   6    fig4     5   50   20   fig5    5   40  43
    fig6     6   60   212  fig7     2   1    3    fig8    4   60  21
    fig9     3   60   67   fig10    4   45   8    fig11   6   60  37
    fig12    0   0    0    fig13    0   0    0    fig14   6   20  10
    fig15    1   35   1    fig16    2   30   8    fig17   0   0   0
    fig18    0   0    0    fig19    0   5    2
"""


def run_item(item: Item, preset: Preset, progress: Progress) -> Outcome:
    """Run an item, or its parts where it is put together from others."""
    if not isinstance(item, Assembled):
        return item.run(preset, progress)
    parts = {id: registry.get_item(id) for id in item.parts}
    found = {id: run_item(part, preset, progress) for id, part in parts.items()}
    return item.assemble(found, preset)


def run_or_assemble(
    item: Item, preset: Preset, folder: Path, progress: Progress
) -> tuple[Outcome, dict[str, Any]]:
    """Run an item, or put it together from the results of its parts; then also date and
    commit of these."""
    if not isinstance(item, Assembled):
        return item.run(preset, progress), {}
    found = {id: results.load(folder, preset, id) for id in item.parts}
    parts = {
        id: {key: part.provenance.get(key) for key in ("date", "commit")}
        for id, part in found.items()
    }
    outcomes = {id: part.outcome for id, part in found.items()}
    return item.assemble(outcomes, preset), parts


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


def shares(
    items: Iterable[Item],
    folder: Path,
    preset: Preset,
    count: int,
    *,
    kept: Collection[str] = (),
) -> list[list[str]]:
    """The ids of items for each of `count` processes, which take equally long as far as
    is known; in each, items are in the order they have here.

    Args:
        kept: ids of those that will not run again.
    """
    ids = [item.id for item in items]
    groups: dict[str, list[str]] = {}
    for id in ids:
        first = SHOWS.get(id, id)
        groups.setdefault(first if first in ids else id, []).append(id)
    known = {id: costs(folder, id)[preset].seconds for id in ids if id not in kept}
    measured = [seconds for seconds in known.values() if seconds is not None]
    usual = sum(measured) / len(measured) if measured else 1.0
    spent = {id: usual if seconds is None else seconds for id, seconds in known.items()}
    named = list(groups.values())
    cost = [sum(spent.get(id, 0.0) for id in group) for group in named]
    return [[id for k in share for id in named[k]] for share in dealt(cost, count)]


def ids_with_seeds() -> list[str]:
    """The items that can be run with other keys beside them."""
    found = [registry.get_item(id) for id in ORDER]
    return [i.id for i in found if len(with_seeds([i], 1)) > 1]


def with_seeds(items: Iterable[Item], count: int) -> list[Item]:
    """The items, each followed by its runs with `count` other keys, if it has them or
    is such a run itself."""
    found: list[Item] = []
    for item in items:
        found.append(seeded(item, count) if item.seeds else item)
        for id in item.companions:
            other = registry.get_item(id)
            if other.seeds:
                found.append(seeded(other, count))
    return found


def seeded(item: Item, count: int) -> Item:
    """The item, run with so many keys."""
    other = copy.copy(item)
    other.seeds = count
    return other
