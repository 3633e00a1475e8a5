"""`passband paper list`: what there is, what it costs, and how the last run went."""

import json
from pathlib import Path
from typing import Any

from ..data.store import list_sets
from ..errors import InputError
from ..paper import results
from ..paper.item import Item, Preset
from ..paper.plan import Cost, costs
from .options import Output


def list_items(items: list[Item], folder: Path, preset: Preset, options: Output) -> int:
    """A line for each item, or with `--json` a list of objects."""
    here = {status.name: status.complete for status in list_sets()}
    rows = [_row(item, folder, preset, here) for item in items]
    if options.json:
        print(json.dumps(rows))
    elif not options.quiet:
        print("\n".join(_lines(rows, folder, items)))
    return 0


def _row(
    item: Item, folder: Path, preset: Preset, here: dict[str, bool]
) -> dict[str, Any]:
    verdict, date = None, None
    work: dict[str, Any] = dict.fromkeys(("pflop", "tflops"))
    if results.exists(folder, preset, item.id):
        try:
            found = results.load(folder, preset, item.id, arrays=False)
            verdict = found.outcome.verdict
            date = found.provenance.get("date")
            work = {key: found.provenance.get(key) for key in work}
        except InputError:
            verdict = "damaged"
    cost = costs(folder, item.id)
    return {
        "id": item.id,
        "section": item.section,
        "title": item.title,
        "needs": list(item.needs),
        "missing": [name for name in item.needs if not here.get(name, False)],
        "notes": list(item.notes),
        "preset": preset.value,
        "seconds": {p.value: c.seconds for p, c in cost.items()},
        "measured": [p.value for p, c in cost.items() if c.measured],
        "verdict": verdict,
        "date": date,
        **work,
    }


def _lines(rows: list[dict[str, Any]], folder: Path, items: list[Item]) -> list[str]:
    wide = max(len(row["section"]) for row in rows)
    long = max(len(row["id"]) for row in rows)
    head = (
        f"{'id':{long}s} {'section':{wide}s}  {'smoke':>6s} {'small':>6s} {'full':>6s}"
    )
    preset = rows[0]["preset"]
    lines = [f"{head}  {f'last {preset} run':26s} title (and the data of full)"]
    for row, item in zip(rows, items, strict=True):
        times = " ".join(f"{_time(c):>6s}" for c in costs(folder, item.id).values())
        last = row["verdict"] or "not run"
        last += f" {row['date']}" if row["date"] else ""
        where = f"{row['id']:{long}s} {row['section']:{wide}s}  {times}"
        lines.append(f"{where}  {last:26s} {row['title']}{_needs(row)}")
    lines.append("seconds; ~ is an estimate for 2 cores, or for an H200 in full")
    return lines


def _time(cost: Cost) -> str:
    if cost.seconds is None:
        return "-"
    return f"{'' if cost.measured else '~'}{cost.seconds:.0f}"


def _needs(row: dict[str, Any]) -> str:
    if not row["needs"]:
        return ""
    missing = row["missing"]
    state = f"{', '.join(missing)} not here" if missing else "here"
    return f" ({', '.join(row['needs'])}: {state})"
