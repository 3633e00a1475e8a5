"""The page about the whole paper: what was printed, what we found, what differs."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..atomic_write import atomic_write
from ..version import __version__
from . import report_page as html

ACCENT = "#8A3D00"
SIGNS = {"reproduced": "✓", "differs": "✗", "not comparable": "–", "not run": " "}
CLASSES = {
    "reproduced": "same", "differs": "other", "not comparable": "open",
    "not run": "open",
}  # fmt: skip
WIDEST = 1600
"""Pixels of an embedded picture."""

CSS = """
<style>
.matrix { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.6rem, 1fr));
  gap: 0.5rem; margin: 1.25rem 0; padding: 0; list-style: none; }
.matrix a { display: block; height: 100%; padding: 0.4rem 0.6rem; color: var(--ink);
  text-decoration: none; background: var(--soft); border-left: 4px solid var(--tone); }
.matrix a:hover { background: var(--rule); }
.matrix b { display: block; } .matrix small { color: var(--tone); display: block; }
.matrix i { color: var(--muted); font-style: normal; font-size: 0.8rem;
  display: block; }
.same { --tone: #1A7F37; } .other { --tone: #B42318; } .open { --tone: #59616a; }
@media (prefers-color-scheme: dark) { .same { --tone: #5FCB7E; }
  .other { --tone: #FF9A8F; } .open { --tone: #a3abb3; } }
.matrix span { display: block; font-size: 0.82rem; line-height: 1.3; }
.mark { color: var(--muted); text-decoration: none; font-weight: 400;
  margin-left: 0.4rem; }
.mark:hover, .mark:focus { color: var(--accent); text-decoration: underline; }
section { border-top: 1px solid var(--rule); margin-top: 2.5rem; }
section h2 { margin-top: 1.25rem; }
h2 em, h3 em { font-style: normal; color: var(--tone); font-size: 0.9rem;
  font-weight: 600; margin-left: 0.4rem; white-space: nowrap; }
h3 { font-size: 1rem; margin: 1.5rem 0 0.25rem; }
.claims { list-style: none; margin: 0.75rem 0; padding: 0; font-size: 0.95rem; }
.claims li { padding: 0.2rem 0 0.2rem 1.5rem; text-indent: -1.5rem; }
.claims li::before { content: attr(data-sign); color: var(--tone); font-weight: 700;
  display: inline-block; width: 1.5rem; text-indent: 0; }
.claims small { color: var(--muted); overflow-wrap: anywhere; }
.numbers { max-width: 46rem; } .numbers th { width: auto; color: var(--ink); }
.numbers thead th { color: var(--muted); } .numbers td, .numbers thead th {
  white-space: nowrap; }
.numbers td, .numbers thead th + th { text-align: right; }
.numbers .aside td, .numbers .aside th { color: var(--muted);
  font-style: italic; }
.why { border-left: 4px solid #B42318; padding-left: 0.75rem; }
.beside { border: 1px dashed var(--rule); padding: 0.4rem 0.75rem; max-width: 46rem;
  font-size: 0.92rem; color: var(--muted); }
.notes { font-size: 0.92rem; padding-left: 1.2rem; max-width: 44rem; }
details { margin: 0.75rem 0; } summary { cursor: pointer; color: var(--muted); }
.origin { color: var(--muted); font-size: 0.85rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) { .numbers { font-size: 0.82rem; }
  .numbers th, .numbers td { padding-right: 0.4rem; } }
@media (min-width: 40.1rem) { figure img { width: auto; max-width: 100%; } }
@media print { p, .claims li { break-inside: avoid; } img { max-height: 14cm; }
  .matrix a { border: 1px solid #999; border-left: 4px solid var(--tone); } }
</style>
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """A number of the paper, where it has one, beside ours."""

    name: str
    printed: float | None
    ours: float | None
    spread: float | None
    comparable: bool


@dataclasses.dataclass(frozen=True)
class Entry:
    """All that the page says about one table or figure."""

    id: str
    title: str
    section: str
    verdict: str
    shows: str = ""
    why: str = ""
    """Why it differs."""
    claims: Sequence[tuple[str, str, str]] = ()
    """(verdict, claim, detail) each."""
    asides: Sequence[tuple[str, str, str]] = ()
    """The same of what the paper does not print: they do not decide the verdict."""
    rows: Sequence[Row] = ()
    beside: str = ""
    """A line about something else on the same data, kept apart."""
    notes: Sequence[str] = ()
    pictures: Sequence[bytes] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    origin: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    companions: "Sequence[Entry]" = ()
    source: str = ""
    """Where its JSON file is, as seen from the page."""

    @property
    def name(self) -> str:
        """As the paper calls it: `Fig. 4`, `Table 3`; others by their title."""
        for short, long in (("fig", "Fig. "), ("table", "Table ")):
            if (rest := self.id.removeprefix(short)).isdigit():
                return long + rest
        return self.title


def write_page(
    path: str | os.PathLike[str],
    entries: Sequence[Entry],
    preset: str,
    *,
    wall: str = "",
) -> None:
    """Write the page; it fetches nothing, runs no script, and reads on paper too.

    Args:
        wall: what all of it took, from the command's start to this page.
    """
    body = [CSS, *_head(entries, preset, wall), _matrix(entries)]
    body.append(
        '<p class="note">An item is reproduced when at least one of its claims can be '
        "judged and all such claims hold; what the paper does not print is judged "
        "apart and does not count. A claim is not comparable where the run is smaller "
        "than the paper's or other data stand in for the paper's.</p>"
    )
    for entry in entries:
        body += _section(entry)
    body.append(f"<footer>passband {html.escape(__version__)}</footer>")
    with atomic_write(path) as part:
        text = html.page("Fourier features, run again", ACCENT, body)
        part.write_text(text, encoding="utf-8", errors="replace")


def embedded(path: Path) -> bytes:
    """A PNG file no wider than the page needs it."""
    import io

    from PIL import Image

    content = path.read_bytes()
    with Image.open(io.BytesIO(content)) as image:
        if image.width <= WIDEST:
            return content
        high = round(image.height * WIDEST / image.width)
        small = image.convert("RGB").resize((WIDEST, high), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    small.save(stream, "PNG")
    return min(stream.getvalue(), content, key=len)


def _head(entries: Sequence[Entry], preset: str, wall: str) -> list[str]:
    count = {word: sum(e.verdict == word for e in entries) for word in SIGNS}
    ran = [e for e in entries if e.origin]
    seconds = sum(float(e.origin.get("seconds") or 0) for e in ran)
    devices = sorted({str(e.origin["device"]) for e in ran if e.origin.get("device")})
    dates = sorted(str(e.origin["date"]) for e in ran if e.origin.get("date"))
    facts = [("Reproduced", f"{count['reproduced']} of {len(entries)}", True)]
    facts += [(w.capitalize(), str(count[w]), False) for w in SIGNS if count[w]][1:]
    facts.append(("Preset", preset, False))
    if wall:
        facts.append(("Start to report", wall, False))
    facts.append(("Sum of the items", html.duration(seconds), False))
    if work := sum(float(e.origin.get("pflop") or 0) for e in ran):
        facts.append(("Training", f"{work:.3g} PFLOP", False))
    if devices:
        facts.append(("Device", ", ".join(devices), False))
    commits = sorted({str(e.origin["commit"]) for e in ran if e.origin.get("commit")})
    if commits:
        one = ("Commit", commits[0][:10], False)
        facts.append(
            one if len(commits) == 1 else ("Commits", str(len(commits)), False)
        )
    if dates:
        span = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        facts.append(("Run", span, False))
    return [
        "<header>",
        "<h1>Fourier features, run again</h1>",
        '<p class="lead">Every table and figure of <em>Fourier Features Let Networks '
        "Learn High Frequency Functions in Low Dimensional Domains</em> (Tancik and "
        "others, 2020), beside what was printed.</p>",
        html.facts(facts),
        "</header>",
    ]


def _matrix(entries: Sequence[Entry]) -> str:
    tiles = []
    for e in entries:
        judged = [v for v, _, _ in e.claims if v != "not comparable"]
        held = f"{judged.count('reproduced')} of {len(judged)} claims" if judged else ""
        seconds = e.origin.get("seconds")
        took = "" if seconds is None else html.duration(float(seconds))
        title = "" if e.title == e.name else f"<span>{html.escape(e.title)}</span>"
        tiles.append(
            f'<li class="{CLASSES[e.verdict]}"><a href="#{html.escape(e.id)}">'
            f"<b>{html.escape(e.name)}</b>{title}"
            f"<small>{SIGNS[e.verdict]} {e.verdict}</small>"
            f"<i>{held}</i><i>{took}</i></a></li>"
        )
    return (
        '<nav aria-labelledby="index"><h2 id="index">Index</h2>'
        f'<ul class="matrix">{"".join(tiles)}</ul></nav>'
    )


def _section(entry: Entry) -> list[str]:
    tone = CLASSES[entry.verdict]
    anchor, name = html.escape(entry.id), html.escape(entry.name)
    parts = [
        f'<section id="{anchor}" class="{tone}">',
        f"<h2>{name}<em>{SIGNS[entry.verdict]} {entry.verdict}</em>"
        f'<a class="mark" href="#{anchor}" aria-label="Link to {name}">#</a>'
        '<a class="mark" href="#index" aria-label="Back to the index">↑</a></h2>',
        f'<p class="lead">{html.escape(entry.title)}</p>',
        f"<p>{html.escape(entry.shows)}</p>",
    ]
    parts += _content(entry)
    for other in entry.companions:
        said = f"{SIGNS[other.verdict]} {other.verdict}"
        parts.append(
            f'<details id="{html.escape(other.id)}" '
            f'class="{CLASSES[other.verdict]}"><summary>Beside it: '
            f"{html.escape(other.title)} ({said})</summary>"
        )
        parts += [*_content(other), "</details>"]
    return [*parts, "</section>"]


def _content(entry: Entry) -> list[str]:
    """Figure, claims, numbers, deviations, settings."""
    parts = []
    if entry.why:
        parts.append(f'<p class="why">{html.escape(entry.why)}</p>')
    for picture in entry.pictures:
        parts.append(html.picture(picture, f"{entry.name}: {entry.title}"))
    if entry.claims:
        parts.append(_claims(entry.claims))
    if entry.asides:
        parts.append(
            '<p class="note">Judged apart, of what the paper does not print; the '
            "verdict does not hang on it:</p>"
        )
        parts.append(_claims(entry.asides))
    printed = [row for row in entry.rows if row.printed is not None]
    rest = [row for row in entry.rows if row.printed is None]
    if printed:
        parts.append(_numbers(printed))
    if entry.beside:
        parts.append(f'<p class="beside">{html.escape(entry.beside)}</p>')
    if rest:
        said = f"{len(rest)} more numbers, which the paper does not print"
        parts.append(f"<details><summary>{said}</summary>{_numbers(rest)}</details>")
    if entry.notes:
        lines = "".join(f"<li>{html.escape(note)}</li>" for note in entry.notes)
        parts.append(f"<h3>What to know</h3><ul class='notes'>{lines}</ul>")
    if entry.origin:
        link = ""
        if entry.source:
            link = f'<a href="{html.escape(entry.source)}">{entry.id}.json</a> · '
        parts.append(f'<p class="origin">{link}{html.escape(_origin(entry))}</p>')
    if entry.settings:
        rows = html.table(html.flatten(entry.settings))
        parts.append(f"<details><summary>Settings</summary>{rows}</details>")
    return parts


def _claims(claims: Sequence[tuple[str, str, str]]) -> str:
    lines = [
        f'<li class="{CLASSES[v]}" data-sign="{SIGNS[v]}">{html.escape(claim)} '
        f"<small>{html.escape(detail)}</small></li>"
        for v, claim, detail in claims
    ]
    return f'<ul class="claims">{"".join(lines)}</ul>'


def _origin(entry: Entry) -> str:
    """Section, then all of the provenance in one line."""
    told = [entry.section] if entry.section else []
    for key, value in entry.origin.items():
        if value in (None, {}, []):
            continue
        if key == "seconds":
            told.append(html.duration(float(value)))
        elif key == "pflop":
            told.append(f"{value:.3g} PFLOP of training")
        elif key == "tflops":
            told.append(f"{value:.3g} TFLOP/s")
        elif key == "commit":
            told.append(f"commit {value}")
        elif key == "phases":
            spent = ", ".join(f"{name} {s:.3g} s" for name, s in value.items())
            told.append(f"of it {spent}")
        elif key == "steps":
            told.append(f"{value:,} steps of networks")
        elif key == "data":
            sums = ", ".join(f"{name} {str(sha)[:12]}" for name, sha in value.items())
            told.append(f"data (sha256) {sums}")
        elif key == "parts":
            told.append(f"put together from {', '.join(value)}")
        elif key == "judged anew":
            at = str(value.get("commit") or value.get("version"))[:10]
            told.append(f"judged anew on {value.get('date')} at {at}")
        elif key in ("device", "command", "date"):
            told.append(str(value))
        else:
            told.append(f"{key} {html.text_of(value)}")
    return " · ".join(told)


def _numbers(rows: Sequence[Row]) -> str:
    compare = any(row.printed is not None for row in rows)
    spreads = any(row.spread is not None for row in rows)
    heads = [""] + compare * ["printed"] + ["ours"] + spreads * ["spread"]
    heads += compare * ["difference"]
    places = _places([row.printed for row in rows if row.printed is not None])
    lines = []
    for row in rows:
        cells = compare * [_text(row.printed, places)] + [_text(row.ours, places)]
        cells += spreads * [_text(row.spread, places)]
        if compare:
            known = row.comparable and None not in (row.printed, row.ours)
            assert row.printed is not None
            apart = (row.ours or 0) - row.printed
            cells.append(_signed(apart, places) if known else "–")
        aside = "" if row.comparable or not compare else ' class="aside"'
        name = f'<th scope="row">{html.escape(row.name)}</th>'
        lines.append(
            f"<tr{aside}>{name}{''.join(f'<td>{html.escape(c)}</td>' for c in cells)}"
            "</tr>"
        )
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    grey = compare and not all(row.comparable for row in rows)
    note = "In italics: not comparable, for its size or its data."
    return (
        f'<table class="numbers"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
        + grey
        * f'<p class="note">{note}</p>'
    )


def _places(printed: Sequence[float]) -> int | None:
    """Decimals for a column, or None where its numbers differ too much in size."""
    sizes = [abs(value) for value in printed if value]
    if not sizes or min(sizes) < 1e-3 or max(sizes) >= 1e5:
        return None
    return max(2, *(len(f"{value:.10g}".partition(".")[2]) for value in printed))


def _text(value: float | None, places: int | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if places is None else f"{value:.{places}f}"


def _signed(value: float, places: int | None) -> str:
    text = f"{value:+.2g}" if places is None else f"{value:+.{places}f}"
    return text.replace("-", "−")
