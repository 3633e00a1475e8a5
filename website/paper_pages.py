"""The paper's 26 items: an overview for the site, and the page with all of them."""

import shutil
import tempfile
from pathlib import Path

from passband.export.paper_report import SIGNS
from passband.paper import beside, registry
from passband.paper.item import Preset
from passband.paper.report import entry_of, write_paper_report

PRESET = Preset.FULL
LEAD = """# The paper, run again

Every table and figure of *Fourier Features Let Networks Learn High Frequency Functions in
Low Dimensional Domains* (Tancik et al., 2020): {count} of {all} are reproduced in full, each
judged claim by claim. The report has our numbers beside the printed ones, the keys, the
spread over seeds, the settings and the seconds: **[open the report](paper-report.html)**.
[The protocol](protocol.md) says what produced the printed numbers, and where the notebooks
differ from the text.

| item | what it shows | verdict | claims that hold | numbers, command, commit |
|---|---|---|---|---|
"""
APART = """
Apart from the reproduction, on the same data: what Gaussian features give by today's recipe,
[`modern`](recipe.md), mean and spread over keys.

| table | column | `modern` | our run by the paper's recipe |
|---|---|---|---|
"""
END = """
An item is reproduced when at least one of its claims can be judged and all such claims
hold; what the paper does not print is judged apart and does not count. `passband paper run fig4 --preset small` runs one in a minute, `passband paper all
--preset full` runs them all on a GPU.
"""


def overview(results: Path) -> str:
    """A line for each item, with a link to its place in the report."""
    lines, count = [], 0
    for id in registry.IDS:
        entry = entry_of(registry.get_item(id), results, PRESET)
        judged = [v for v, _, _ in entry.claims if v != "not comparable"]
        count += entry.verdict == "reproduced"
        lines.append(
            f"| [{entry.name}](paper-report.html#{id}) | {entry.title} | "
            f"{SIGNS[entry.verdict]} {entry.verdict} | "
            f"{judged.count('reproduced')} of {len(judged)} | "
            f"[{id}.json](../results/{PRESET.value}/{id}.json) |"
        )
    lead = LEAD.format(count=count, all=len(lines))
    return f"{lead}{_lines(lines)}{APART}{_lines(apart(results))}{END}"


def apart(results: Path) -> list[str]:
    """A line for each column of Table 1: what `modern` gives beside its best row."""
    entry = entry_of(registry.get_item("table1"), results, PRESET)
    rows = {row.name: row for row in entry.rows}
    lines = []
    for column, modern in beside.modern().items():
        row = rows[f"gaussian, {column}"]
        digits = 2 if modern.metric == "psnr" else 3
        ours = "–" if row.ours is None else f"{row.ours:.{digits}f}"
        lines.append(
            f"| Table {modern.table.removeprefix('table')} | {column} | {modern.told} | "
            f"{ours} |"
        )
    return lines


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def report(results: Path, path: Path) -> None:
    """The page with all items, and beside it the JSON files that it leads to."""
    beside_page = f"results/{PRESET.value}/"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(results / PRESET.value, Path(folder) / PRESET.value)
        page = write_paper_report(Path(folder), PRESET, beside_page=beside_page)
        shutil.copyfile(page, path)
    (path.parent / beside_page).mkdir(parents=True, exist_ok=True)
    for file in (results / PRESET.value).glob("*.json"):
        shutil.copyfile(file, path.parent / beside_page / file.name)
