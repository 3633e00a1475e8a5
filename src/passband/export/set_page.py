"""The summary of a set of fields as one HTML page that needs nothing else."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from passband.export import report_page as html
from passband.plot.field_set import COLOUR, distribution
from passband.plot.style import png_bytes

MOST_FAILURES = 200
UNITS = {
    "psnr": "PSNR in dB", "psnr_test": "PSNR of held-out samples in dB",
    "iou_uniform": "IoU", "error_test": "error of what was held out",
}  # fmt: skip


def set_page(
    title: str,
    result: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    pictures: Mapping[str, bytes],
) -> str:
    """What came of a set: how its metric is distributed, the worst and the best.

    Args:
        result: what `passband fit --json` prints of it.
        rows: its index.
        pictures: PNGs by what they show.
    """
    good = [row for row in rows if "error" not in row]
    bad = [row for row in rows if "error" in row]
    metric: str | None = result["metric"]
    body = [
        f"<header><h1>{escape(title)}</h1>",
        f'<p class="lead">{len(good):,} fields of kind {escape(result["task"])}, '
        f"<code>{escape(result['mapping'])}</code></p></header>",
        html.facts(_facts(result, metric)),
    ]
    if metric is not None:
        values = [row["metrics"].get(metric) for row in good]
        numbers = [float("inf") if v is None else float(v) for v in values]
        name = UNITS.get(metric) or metric
        drawn = png_bytes(distribution(numbers, name))
        body += [
            "<h2>How good they are</h2>",
            html.picture(drawn, f"Histogram of {name}"),
        ]
    for name, picture in pictures.items():
        body += [
            f"<h2>{escape(name)}</h2>",
            '<p class="note">Above the truth, below the field.</p>',
            html.picture(picture, name),
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
