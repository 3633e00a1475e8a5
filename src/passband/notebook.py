"""HTML of results, as a notebook shows them: tables and pictures, nothing that runs."""

import base64
from collections.abc import Iterable, Sequence
from html import escape

_CELL = "text-align:left;padding:0.2em 1em 0.2em 0;vertical-align:top"


def table(
    rows: Iterable[Sequence[str]],
    *,
    head: Sequence[str] = (),
    bold: Iterable[int] = (),
) -> str:
    """A table of texts; the rows whose numbers are in `bold` stand out."""
    marked = set(bold)
    lines = []
    if head:
        cells = "".join(f'<th style="{_CELL}">{escape(text)}</th>' for text in head)
        lines.append(f"<tr>{cells}</tr>")
    for k, row in enumerate(rows):
        weight = ";font-weight:bold" if k in marked else ""
        cells = "".join(
            f'<td style="{_CELL}{weight}">{escape(text)}</td>' for text in row
        )
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def heading(text: str) -> str:
    """What the result is, in a line."""
    return f"<p><b>{escape(text)}</b></p>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def picture(png: bytes, description: str, width: int = 320) -> str:
    """A PNG inside the page."""
    data = base64.b64encode(png).decode("ascii")
    return (
        f'<img alt="{escape(description)}" style="max-width:100%;width:{width}px" '
        f'src="data:image/png;base64,{data}">'
    )
