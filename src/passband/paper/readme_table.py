"""The tables of the readme, made from the results of the full runs."""

from pathlib import Path

from ..errors import InputError
from . import beside, registry, results, whole
from .item import Outcome, Preset
from .study import ROWS
from .table1 import COLUMNS, SHAPE, row_name

BEGIN, END = "<!-- results: passband paper readme -->", "<!-- end of results -->"
NAMES = {"none": "none", "basic": "basic", "positional": "positional",
         "gaussian": "Gaussian"}  # fmt: skip
STANDIN = ("2D CT, ATLAS", "3D MRI, ATLAS")


def updated(readme: str, folder: Path) -> str:
    """The readme with what stands between its two marks made anew.

    Args:
        folder: of the results; those of the preset `full` count.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"`README.md` needs the lines `{BEGIN}` and `{END}`")
    return f"{before}{BEGIN}\n{section(folder)}{END}{after}"


def section(folder: Path) -> str:
    """Verdicts, Table 1 as far as its parts have run, and what other keys give."""
    stored = {
        id: results.load(folder, Preset.FULL, id, arrays=False)
        for id in (*registry.IDS, *registry.COMPANIONS)
        if results.exists(folder, Preset.FULL, id)
    }
    found = {id: result.outcome for id, result in stored.items()}
    took = whole.load(folder, Preset.FULL)
    items = [stored[id].provenance for id in registry.IDS if id in stored]
    parts = [
        _verdicts(found, took, sum(float(p.get("seconds") or 0) for p in items)),
        _table(found),
        _modern(),
        *_seeds(found),
    ]
    return "".join(f"{part}\n\n" for part in parts)[:-1]


def linked(text: str, id: str) -> str:
    """Words that lead to a result's JSON file, where its command and commit stand."""
    return f"[{text}](results/full/{id}.json)"


def _verdicts(
    found: dict[str, Outcome], took: whole.Whole | None, summed: float
) -> str:
    by = {
        word: [id for id in registry.IDS if id in found and found[id].verdict == word]
        for word in ("reproduced", "differs", "not comparable")
    }
    count = len(by["reproduced"])
    text = f"**{count} of {len(registry.IDS)} tables and figures reproduced** in full"
    for word, said in (("differs", "differ"), ("not comparable", "not comparable")):
        if by[word]:
            text += f"; {said}: {', '.join(linked(id, id) for id in by[word])}"
    missing = [id for id in registry.IDS if id not in found]
    if missing:
        text += f"; not run yet: {', '.join(missing)}"
    text += (
        ".\nNames and column heads lead to the JSON with the numbers, the command and "
        "the commit that\nmade them."
    )
    if took is not None:
        wall = linked(f"{took.seconds:.0f} s", whole.NAME)
        one = "one " if took.processes == 1 else ""
        device = f"{one}{took.commands[-1].device}"
        text += (
            f" From start to report {wall} on {device}{took.told};"
            f"\nthe items alone sum up to {summed:.0f} s."
        )
    return text


def _table(found: dict[str, Outcome]) -> str:
    heads = [
        linked(column, part) + ("\\*" if column in STANDIN else "")
        for column, (part, *_) in COLUMNS.items()
    ]
    lines = [f"| mapping | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for row in ROWS:
        cells = [NAMES[row]]
        for column, (part, name, printed, place) in COLUMNS.items():
            ours = "–"
            theirs = printed[row_name(row, part), place].text
            digits = 3 if column == SHAPE else 2
            for number in found[part].numbers if part in found else ():
                same = number.name == name.format(row_name(row, part))
                if same and number.ours is not None:
                    ours = f"{number.ours:.{digits}f}"
            cells.append(f"{ours} ({theirs})")
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"{linked('Table 1', 'table1')}, ours and in brackets what is printed: PSNR in "
        "dB, for shapes IoU",
        "near the surface. \\* Other heads stand in for ATLAS, which is restricted:",
        "the order can be compared, the digits cannot.",
    ]
    return "\n".join(lines)


def _modern() -> str:
    """What the recipe of today gives on the same data, clearly apart."""
    rows = beside.modern()
    cells = []
    for column, row in rows.items():
        digits = 3 if column == SHAPE else 2
        about = f" ({row.about})" if row.about else ""
        cells.append(f"{column} {row.value:.{digits}f}{about}")
    keys = next(iter(rows.values())).keys
    return (
        "*Apart from the reproduction:* on the same data the recipe of today, "
        "[`modern`](docs/recipe.md),\n"
        f"gives with Gaussian features: {'; '.join(cells)}\n"
        f"([mean of {keys} keys](benchmarks/results/recipe-h200.json))."
    )


def _seeds(found: dict[str, Outcome]) -> list[str]:
    """How far other keys move Table 3, by the name of its rows."""
    if "table3-seeds" not in found:
        return []
    spans, count = [], 0
    for name in ("natural", "text"):
        for row in ROWS:
            start = f"{row} {name}, key "
            values = [
                n.ours
                for n in found["table3-seeds"].numbers
                if n.name.startswith(start) and n.ours is not None
            ]
            low, high, count = min(values), max(values), len(values)
            spans.append(f"{NAMES[row]} {low:.2f} to {high:.2f}")
    half = len(ROWS)
    others = linked(f"{count} others", "table3-seeds")
    return [
        f"One key serves all pictures of a row. {others} give, on Natural,\n"
        f"{', '.join(spans[:half])};\non Text {', '.join(spans[half:])}."
    ]
