"""The results of a preset as one page, whatever of them is there."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from ..errors import InputError
from ..export.paper_report import Entry, Row, embedded, write_page
from . import beside, registry, results, whole
from .captions import CAPTIONS, REASONS
from .item import Item, Preset


def write_paper_report(
    folder: Path,
    preset: Preset,
    ready: Callable[[], None] | None = None,
    *,
    beside_page: str = "",
) -> Path:
    """Write `report.html` beside the results; its path.

    Args:
        ready: called when nothing but the writing is left.
        beside_page: where the results' JSON files are, as seen from the page.

    An item without a result, or with a damaged one, is on the page and says so.
    """
    entries = [entry_of(registry.get_item(id), folder, preset) for id in registry.IDS]
    if not any(entry.origin for entry in entries):
        raise InputError(
            f"`{folder / preset.value}` holds no results; "
            f"`passband paper all --preset {preset.value}` makes them"
        )
    if ready is not None:
        ready()
    took = whole.load(folder, preset)
    path = folder / preset.value / "report.html"
    write_page(
        path,
        [_linked(entry, beside_page) for entry in entries],
        preset.value,
        wall="" if took is None else f"{took.seconds:.0f} s{took.told}",
    )
    return path


def _linked(entry: Entry, where: str) -> Entry:
    """With links to the JSON files of its result and its companions'."""
    return dataclasses.replace(
        entry,
        source=f"{where}{entry.id}.json" if entry.origin else "",
        companions=[_linked(other, where) for other in entry.companions],
    )


def entry_of(item: Item, folder: Path, preset: Preset) -> Entry:
    """What the page says of one item and of its companions."""
    shows = CAPTIONS.get(item.id, "")
    entry = Entry(item.id, item.title, item.section, "not run", shows)
    try:
        result = results.load(folder, preset, item.id, arrays=False)
    except InputError as error:
        return dataclasses.replace(entry, notes=(str(error),))
    outcome = result.outcome
    others = [registry.get_item(id) for id in item.companions]
    return dataclasses.replace(
        entry,
        verdict=outcome.verdict,
        why=REASONS.get(item.id, "") if outcome.verdict == "differs" else "",
        claims=[(c.verdict, c.claim, c.detail) for c in outcome.claims if not c.aside],
        asides=[(c.verdict, c.claim, c.detail) for c in outcome.claims if c.aside],
        rows=[
            Row(n.name, n.printed, n.ours, n.spread, n.comparable)
            for n in outcome.numbers
        ],
        beside=beside.modern_line(item.id) if preset is Preset.FULL else "",
        notes=item.notes,
        pictures=[embedded(path) for path in _pictures(item.id, folder, preset)],
        settings=outcome.settings,
        # Results of older versions tell their seeds among the settings only.
        origin={"seeds": outcome.settings.get("keys")} | result.provenance,
        companions=[
            entry_of(other, folder, preset)
            for other in others
            if results.exists(folder, preset, other.id)
        ],
    )


def _pictures(id: str, folder: Path, preset: Preset) -> list[Path]:
    """An item's figure, and further ones of its own (`fig5-notebook.png`)."""
    first = results.path_of(folder, preset, id, ".png")
    more = sorted(first.parent.glob(f"{id}-*.png"))
    own = [path for path in more if path.stem not in registry.COMPANIONS]
    return [path for path in (first, *own) if path.is_file()]
