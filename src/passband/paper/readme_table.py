"""The tables of the readme, made from the results of the full runs."""

from pathlib import Path

from ..errors import InputError
from . import registry, results
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
    found = {
        id: results.load(folder, Preset.FULL, id, arrays=False).outcome
        for id in (*registry.IDS, *registry.COMPANIONS)
        if results.exists(folder, Preset.FULL, id)
    }
    parts = [_verdicts(found), _table(found), *_seeds(found)]
    return "".join(f"{part}\n\n" for part in parts)[:-1]


def _verdicts(found: dict[str, Outcome]) -> str:
    by = {
        word: [id for id in registry.IDS if id in found and found[id].verdict == word]
        for word in ("reproduced", "differs", "not comparable")
    }
    count = len(by["reproduced"])
    text = f"**{count} of {len(registry.IDS)} tables and figures reproduced** in full"
    for word, said in (("differs", "differ"), ("not comparable", "not comparable")):
        if by[word]:
            text += f"; {said}: {', '.join(by[word])}"
    missing = [id for id in registry.IDS if id not in found]
    if missing:
        text += f"; not run yet: {', '.join(missing)}"
    return f"{text}."


def _table(found: dict[str, Outcome]) -> str:
    heads = [c + ("\\*" if c in STANDIN else "") for c in COLUMNS]
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
        "Table 1, ours and in brackets what is printed: PSNR in dB, for shapes IoU",
        "near the surface. \\* Other heads stand in for ATLAS, which is restricted:",
        "the order can be compared, the digits cannot.",
    ]
    return "\n".join(lines)


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
    return [
        f"One key serves all pictures of a row. {count} others give, on Natural,\n"
        f"{', '.join(spans[:half])};\non Text {', '.join(spans[half:])}."
    ]
