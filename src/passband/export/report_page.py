"""The HTML of a report: what it looks like, apart from what it says."""

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

# Nothing may be fetched, and no script may run but the page's own.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

CSS = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #59616a; --rule: #d5d9de;
  --soft: #f5f6f8; --paper: #fff; --accent: ACCENT; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --muted: #a3abb3;
  --rule: #3a4148; --soft: #1f252b; --paper: #14181c;
  --accent: color-mix(in srgb, ACCENT 55%, white); }
  figure > img { background: #fff; padding: 0.5rem; border-radius: 4px; } }
@media print { :root { --ink: #1f2328; --muted: #59616a; --rule: #d5d9de;
  --soft: #f5f6f8; --paper: #fff; --accent: ACCENT; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
header { border-top: 4px solid var(--accent); padding-top: 1.25rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.75rem 0 0.25rem; }
p { margin: 0.25rem 0 0.75rem; max-width: 42rem; }
.lead { color: var(--muted); font-size: 1.05rem; }
.lead code { color: var(--accent); font-weight: 600; }
.note { color: var(--muted); font-size: 0.92rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr));
  gap: 0 1.5rem; margin: 1.25rem 0 0; }
.facts div { border-top: 1px solid var(--rule); padding: 0.5rem 0 0.6rem; }
.facts dt { color: var(--muted); font-size: 0.82rem; }
.facts dd { margin: 0; font-size: 1.15rem; font-weight: 600; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; }
.facts .main { grid-column: 1 / -1; border: 0; padding-bottom: 0.9rem; }
.facts .main dt { font-size: 0.95rem; }
.facts .main dd { font-size: 2.6rem; line-height: 1.15; color: var(--accent); }
.methods { max-width: 46rem; } .methods th, .methods td { white-space: nowrap; }
.methods th { width: auto; } .methods tbody th { color: var(--ink); }
.methods td, .methods thead th + th { text-align: right; }
.methods .ours th { color: var(--accent); font-weight: 700; }
.methods b { font-weight: 700; }
.across { overflow-x: auto; }
figure { margin: 0.75rem 0 0; overflow-x: auto; }
img { display: block; width: 100%; height: auto; }
@media (max-width: 40rem) { main { padding: 1.25rem 1rem 3rem; }
  figure img.wide { width: 40rem; max-width: none; }
  .swipe::after { content: " Swipe sideways to see all of it."; } }
pre { background: var(--soft); border-left: 3px solid var(--rule);
  margin: 0.25rem 0 1rem; padding: 0.6rem 0.9rem; overflow-x: auto;
  font-size: 0.88rem; line-height: 1.45; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem;
  margin-top: 0.5rem; }
th, td { text-align: left; vertical-align: top; padding: 0.32rem 0.75rem 0.32rem 0;
  border-bottom: 1px solid var(--rule); overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--muted); width: 38%; }
td { font-variant-numeric: tabular-nums; }
footer { margin-top: 3rem; color: var(--muted); font-size: 0.85rem; }
@media print { body { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  figure, tr, pre, .facts { break-inside: avoid; } h2 { break-after: avoid; }
  .note, p { break-after: avoid; }
  figure { overflow: visible; } pre { white-space: pre-wrap; border: 1px solid #ccc; }
  img { max-height: 20cm; width: auto; max-width: 100%; } }
"""

SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"<?xml": "image/svg+xml",
    b"<svg": "image/svg+xml",
}


def page(
    title: str, accent: str, body: Iterable[str], *, css: str = "", script: str = ""
) -> str:
    """A whole HTML document from the parts of its body.

    Args:
        css: more of it than every page has.
        script: the only one that may run, which the page's policy names by its hash.
    """
    policy, last = POLICY, []
    if script:
        digest = hashlib.sha256(script.encode()).digest()
        policy += f"; script-src 'sha256-{base64.b64encode(digest).decode()}'"
        last = [f"<script>{script}</script>"]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{CSS.replace('ACCENT', escape(accent))}{css}</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            *last,
            "</body>",
            "</html>",
            "",
        ]
    )


def facts(entries: Iterable[tuple[str, str, bool]]) -> str:
    """Named values side by side: (name, value, whether it is a main one)."""
    cells = [
        f'<div class="{"main" if main else "more"}"><dt>{escape(name)}</dt>'
        f"<dd>{escape(value)}</dd></div>"
        for name, value, main in entries
    ]
    return f'<dl class="facts">{"".join(cells)}</dl>'


def picture(image: bytes, description: str, *, wide: bool = True) -> str:
    """An image inside the page; `wide` keeps it legible on a phone by scrolling."""
    return (
        f'<figure tabindex="0"><img class="{"wide" if wide else "plain"}" '
        f'alt="{escape(description)}" src="{data_address(image)}"></figure>'
    )


def data_address(image: bytes) -> str:
    """The bytes of a PNG, JPEG or SVG file as an address inside the page."""
    kind = next((k for s, k in SIGNATURES.items() if image.startswith(s)), None)
    if kind is None:
        raise ValueError(
            f"`figures` holds bytes that start with {image[:8]!r}; "
            "give a Figure, or the bytes of a PNG, JPEG or SVG file"
        )
    return f"data:{kind};base64,{base64.b64encode(image).decode('ascii')}"


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Two columns, the name and the value."""
    lines = [
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    ]
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def methods(
    head: Sequence[str], rows: Sequence[tuple[str, Sequence[tuple[str, bool]]]]
) -> str:
    """Methods by metrics: (method, its cells as text and whether it is the best); the
    first method is ours."""
    lines = []
    for name, cells in rows:
        tone = ' class="ours"' if not lines else ""
        shown = "".join(
            f"<td><b>{escape(text)}</b></td>" if best else f"<td>{escape(text)}</td>"
            for text, best in cells
        )
        lines.append(f'<tr{tone}><th scope="row">{escape(name)}</th>{shown}</tr>')
    heads = "".join(f'<th scope="col">{escape(text)}</th>' for text in head)
    return (
        '<div class="across" tabindex="0"><table class="methods"><thead><tr>'
        f'<th scope="col">Method</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def listing(caption: str, text: str) -> str:
    """Lines to copy, under a sentence that says what they do."""
    return f"<p>{escape(caption)}</p>\n<pre><code>{escape(text)}</code></pre>"


def flatten(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Every leaf of nested dictionaries as (dotted name, text)."""
    rows: list[tuple[str, str]] = []
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            rows += flatten(value, f"{name}.")
        else:
            rows.append((name, text_of(value)))
    return rows


def text_of(value: Any) -> str:
    """A value of a configuration as a reader writes it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return (
            "–"
            if not value
            else ", ".join(f"{k} {text_of(v)}" for k, v in value.items())
        )
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return ", ".join(map(text_of, value)) or "–"
    return str(value)


def number(value: float, digits: int = 6) -> str:
    """A float in few digits, with the signs of infinity and of no number."""
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{digits}g}"


def size(count: int) -> str:
    """Bytes as a person says them."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= one:
            return f"{count / one:.3g} {unit}"
    return f"{count} bytes"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if not math.isfinite(seconds):
        return number(seconds)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
