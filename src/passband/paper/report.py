"""The results of a preset as one page, whatever of them is there."""

import dataclasses
from pathlib import Path

from ..errors import InputError
from ..export.paper_report import Entry, Row, embedded, write_page
from . import registry, results
from .captions import CAPTIONS, REASONS
from .item import Item, Preset


def write_paper_report(folder: Path, preset: Preset) -> Path:
    """Write `report.html` beside the results; its path.

    An item without a result, or with a damaged one, is on the page and says so.
    """
    entries = [entry_of(registry.get_item(id), folder, preset) for id in registry.IDS]
    if not any(entry.origin for entry in entries):
        raise InputError(
            f"`{folder / preset.value}` holds no results; "
            f"`passband paper all --preset {preset.value}` makes them"
        )
    path = folder / preset.value / "report.html"
    write_page(path, entries, preset.value)
    return path


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
