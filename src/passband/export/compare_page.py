"""A comparison as one HTML page that needs nothing else."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from passband.export import report_page as html
from passband.plot.strip import BEST

RULE = """
<style>table.wide { width: 100%; } table.wide th { width: auto; }
table.wide td, table.wide th { white-space: nowrap; text-align: right; }
table.wide td:first-child, table.wide th:first-child, table.wide td:last-child,
table.wide th:last-child { text-align: left; }
tr.best td { color: var(--accent); font-weight: 600; }</style>
"""
EQUAL = {
    "steps": "as many steps, of as many points, as ours",
    "seconds": "as many steps as it takes in the time that ours trained",
    "parameters": "the size that comes nearest to the parameters of ours",
}


def compare_page(
    content: Mapping[str, Any],
    cells: Sequence[Sequence[str]],
    summary: str,
    image: bytes | None,
) -> str:
    """The page of a comparison.

    Args:
        content: what `passband compare --json` prints.
        cells: the head of the table, and a line for each method.
        image: the strip, a PNG.
    """
    head, *lines = cells
    best = [row["best"] for row in content["rows"]]
    rows = [_line(head, "th")]
    for line, mark in zip(lines, best, strict=True):
        rows.append(_line(line, "td", "best" if mark else "rest"))
    body = [
        RULE,
        f"<header><h1>{escape(content['title'])}</h1>",
        f'<p class="lead">{escape(summary.removeprefix("* "))}</p></header>',
    ]
    if image is not None:
        body.append(html.picture(image, "What each method made, under its score"))
    body += [
        f'<figure><table class="wide"><tbody>{"".join(rows)}</tbody></table></figure>',
        f'<p class="note">Every network has {EQUAL[content["equal"]]}. Scales and '
        "rates were chosen by short trials on data held out, for all methods alike. "
        f"Seconds are of training on {escape(content['device'])}, compiling left "
        "out.</p>",
        "<h2>What was tried</h2>",
        html.table(_tried(content["rows"])),
    ]
    return html.page(f"{content['title']}: comparison", BEST, body)


def _line(cells: Sequence[str], tag: str, kind: str = "head") -> str:
    text = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells)
    return f'<tr class="{kind}">{text}</tr>'


def _tried(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    found = []
    for row in rows:
        tuned = row.get("tuned") or {}
        levels = tuned.get("levels", {})
        if levels:
            each = ", ".join(
                f"{name}: {level:.2f} dB" for name, level in levels.items()
            )
            found.append((row["name"], f"{each} ({html.duration(tuned['seconds'])})"))
    return found
