"""The summary of a set of fields as one HTML page that needs nothing else."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from passband.export import report_page as html
from passband.plot.style import FAMILY_COLOURS

COLOUR = FAMILY_COLOURS["gaussian"]

MOST_FAILURES = 200
UNITS = {
    "psnr": "PSNR in dB", "psnr_test": "PSNR of held-out samples in dB",
    "iou_uniform": "IoU", "error_test": "error of what was held out",
}  # fmt: skip


STYLE = """
<style>.cards { display: grid; gap: 0.75rem; margin-top: 0.75rem;
  grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr)); }
.cards div { font-size: 0.8rem; overflow-wrap: anywhere; }
.cards span { color: var(--muted); display: block; }
.cards img { image-rendering: pixelated; margin-top: 0.2rem; }
svg.bars { width: 100%; height: auto; margin-top: 0.5rem; }
svg.bars text { font-size: 11px; fill: var(--muted); }
svg.bars rect { fill: var(--accent); } svg.bars line { stroke: var(--ink); }</style>
"""
WIDE, HIGH = 760, 190  # units of the histogram


class Card(NamedTuple):
    """A field beside the truth, as PNGs."""

    name: str
    score: str
    truth: bytes | None
    values: bytes


def set_page(
    title: str,
    result: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, bytes | Sequence[Card]],
) -> str:
    """What came of a set: how its metric is distributed, the worst and the best.

    Args:
        result: what `passband fit --json` prints of it.
        rows: its index.
        pictures: a PNG, or several fields, by what they show.
    """
    good = [row for row in rows if "error" not in row]
    bad = [row for row in rows if "error" in row]
    metric: str | None = result["metric"]
    body = [
        STYLE,
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="lead">{len(good):,} fields of kind {escape(result["task"])}, '
        f"<code>{escape(result['mapping'])}</code></p></header>",
        html.facts(_facts(result, metric)),
    ]
    if metric is not None:
        values = [row["metrics"].get(metric) for row in good]
        numbers = [float("inf") if v is None else float(v) for v in values]
        name = UNITS.get(metric) or metric
        body += ["<h2>How good they are</h2>", histogram(numbers, name)]
    for name, picture in pictures.items():
        body += [
            f"<h2>{escape(name)}</h2>",
            '<p class="note">Above the truth, below the field.</p>',
            html.picture(picture, name)
            if isinstance(picture, bytes)
            else f'<div class="cards">{"".join(map(_card, picture))}</div>',
        ]
    if bad or result["missing"]:
        body += ["<h2>What could not be fitted</h2>"]
        if result["missing"]:
            body.append(
                f"<p>{result['missing']} inputs are not there yet; "
                "<code>--resume</code> fits them.</p>"
            )
        body.append(html.table((r["name"], r["error"]) for r in bad[:MOST_FAILURES]))
        if len(bad) > MOST_FAILURES:
            body.append(
                f'<p class="note">and {len(bad) - MOST_FAILURES} more, in '
                "index.jsonl</p>"
            )
    body += ["<h2>All numbers</h2>", html.table(_table(result))]
    body.append(
        html.listing(
            "In Python:",
            f"fields = pb.load_many({result['out']!r})\n"
            "fields[0].render(); fields.stacked()  # weights as (fields, in, out)",
        )
    )
    return html.page(f"{title}: summary", COLOUR, body)


def histogram(values: Sequence[float], name: str) -> str:
    """Bars of a metric as SVG, the median marked; exact fits are left out."""
    found = np.asarray([v for v in values if np.isfinite(v)], np.float64)
    if not len(found):
        return f"<p>No finite {escape(name)}.</p>"
    counts, edges = np.histogram(found, int(np.clip(2 * len(found) ** (1 / 3), 5, 60)))
    span = edges[-1] - edges[0]

    def x(value: float) -> float:
        return round(10 + (WIDE - 20) * float((value - edges[0]) / span), 2)

    top, floor = 22, HIGH - 38
    bars = "".join(
        f'<rect x="{x(a)}" y="{floor - h:.2f}" width="{max(1, x(b) - x(a) - 1):.2f}" '
        f'height="{h:.2f}"><title>{a:.4g} to {b:.4g}: {n}</title></rect>'
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
        for h in [(floor - top) * n / counts.max()]
    )
    middle = float(np.median(found))
    side = "end" if x(middle) > WIDE / 2 else "start"
    texts = [
        (x(middle), 12, side, f"median {middle:.4g}"),
        (10, HIGH - 22, "start", f"{edges[0]:.4g}"),
        (WIDE - 10, HIGH - 22, "end", f"{edges[-1]:.4g}"),
        (WIDE / 2, HIGH - 6, "middle", f"{name}; the highest bar has {counts.max()}"),
    ]
    said = "".join(
        f'<text x="{a}" y="{b}" text-anchor="{anchor}">{escape(text)}</text>'
        for a, b, anchor, text in texts
    )
    line = f'<line x1="{x(middle)}" x2="{x(middle)}" y1="16" y2="{floor}"/>'
    return (
        f'<svg class="bars" viewBox="0 0 {WIDE} {HIGH}" role="img" '
        f'aria-label="Histogram of {escape(name)}">{bars}{line}{said}</svg>'
    )


def _card(card: Card) -> str:
    """A field under the truth."""
    images = "".join(
        f'<img alt="{what} {escape(card.name)}" src="data:image/png;base64,'
        f'{base64.b64encode(data).decode("ascii")}">'
        for what, data in (("the truth of", card.truth), ("the field of", card.values))
        if data is not None
    )
    return f"<div>{escape(card.name)}<span>{escape(card.score)}</span>{images}</div>"


def _facts(
    result: Mapping[str, Any], metric: str | None
) -> list[tuple[str, str, bool]]:
    found = [("fields", f"{result['fields']:,}", True)]
    if metric is not None:
        mean = result["metrics"][metric]["mean"]
        digits = f"{mean:.2f} dB" if metric.startswith("psnr") else f"{mean:.4g}"
        found.append((f"mean {metric}", digits, True))
    return [
        *found,
        ("failed", f"{result['failed']:,}", False),
        ("seconds", html.duration(result["seconds"]), False),
        ("fields a second", f"{result['fields_per_second']:.3g}", False),
        ("device", str(result["device"]), False),
    ]


def _table(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    left_out = ("failures", "metrics", "out")
    rows = html.flatten({k: v for k, v in result.items() if k not in left_out})
    for name, spread in result["metrics"].items():
        text = ", ".join(f"{k} {html.number(v, 5)}" for k, v in spread.items())
        rows.append((name, text))
    return rows
