"""The numbers of a report: the one that counts, and methods by metrics."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from passband.export import report_page as html

METRICS = {
    "psnr": ("PSNR", "dB"),
    "psnr_train": ("PSNR, trained", "dB"),
    "psnr_test": ("PSNR, held out", "dB"),
    "psnr_val": ("PSNR, validation", "dB"),
    "ssim": ("SSIM", ""),
    "iou_uniform": ("IoU, uniform points", ""),
    "iou_boundary": ("IoU, near the surface", ""),
    "chamfer": ("Chamfer distance, in units of the mesh", ""),
    "error_train": ("Relative error, trained measurements", ""),
    "error_test": ("Relative error, held-out measurements", ""),
}
SHORT = {
    "chamfer": "Chamfer",
    "error_train": "Error, trained",
    "error_test": "Error, held out",
}
"""Heads of columns."""
MAIN = (
    "psnr_test", "psnr_val", "psnr", "iou_boundary", "error_test", "ssim",
    "iou_uniform", "error_train", "psnr_train",
)  # fmt: skip
"""The number that counts is the first of these that there is: what was held out comes
before what was trained on."""

EXACT_DB = 150.0


def header_metrics(metrics: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """(name, value, whether it is the one that counts), that one first."""
    shown = dict(metrics)
    if shown.get("psnr_train") == shown.get("psnr"):
        shown.pop("psnr_train", None)  # nothing was held out: one number, once
    main = next((name for name in MAIN if name in shown), None)
    entries = []
    for name in known_first([*((main,) if main else ()), *METRICS], shown):
        label, unit = METRICS.get(name, (name, ""))
        if name == "psnr" and main in ("psnr_test", "psnr_val"):
            label = "PSNR, all points"
        entries.append((label, score(shown[name], unit), name == main))
    return entries


def methods_table(
    name: str, ours: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]
) -> str:
    """The network and the methods beside it, by metrics; the best of each in bold."""
    rows = {name: ours, **others}
    there = {metric for found in others.values() for metric in found}
    columns = [m for m in known_first([*MAIN[:3], *METRICS], ours) if m in there]
    columns += [m for m in dict.fromkeys(k for f in others.values() for k in f)
                if m not in columns]  # fmt: skip
    if "psnr_train" in columns and all(
        found.get("psnr_train") == found.get("psnr") for found in rows.values()
    ):
        columns.remove("psnr_train")
    best = {metric: _best(metric, rows) for metric in columns}
    lines = [
        (method, [(_cell(m, found.get(m)), method in best[m]) for m in columns])
        for method, found in rows.items()
    ]
    return html.methods([_head(metric) for metric in columns], lines)


def score_note(metrics: Mapping[str, Any]) -> str:
    """A method's main numbers in a few words."""
    names = [name for name in MAIN[:6] if name in metrics][:2]
    return ", ".join(
        f"{SHORT.get(name, METRICS[name][0])} {score(metrics[name], METRICS[name][1])}"
        for name in names
    )


def score(value: Any, unit: str) -> str:
    """A metric: dB to two places, shares to four digits."""
    if not isinstance(value, int | float):
        return html.text_of(value)
    text = html.number(value)
    if unit == "dB" and EXACT_DB < value < math.inf:
        text = f"over {EXACT_DB:.0f}"  # the rest is rounding
    elif text.lstrip("-")[:1].isdigit():
        text = f"{value:.2f}" if unit == "dB" else f"{value:.4g}"
    return f"{text} {unit}".strip()


def known_first(known: Iterable[str], given: Iterable[str]) -> list[str]:
    """The given names, known ones in the order they are known in, then the others."""
    given = list(given)
    order = [name for name in dict.fromkeys(known) if name in given]
    return order + [name for name in given if name not in order]


def _head(metric: str) -> str:
    label, unit = METRICS.get(metric, (metric, ""))
    label = SHORT.get(metric, label)
    return f"{label} ({unit})" if unit else label


def _cell(metric: str, value: Any) -> str:
    if value is None:
        return "–"
    if not isinstance(value, int | float):
        return html.text_of(value)
    unit = METRICS.get(metric, ("", ""))[1]
    return score(value, unit).removesuffix(f" {unit}" if unit else "")


def _best(metric: str, rows: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """The methods with the best value; none is where all have the same."""
    values = {
        name: float(value)
        for name, found in rows.items()
        if isinstance(value := found.get(metric), int | float) and not math.isnan(value)
    }
    if len(set(values.values())) < 2:
        return set()
    lower = metric == "chamfer" or metric.startswith("error")
    top = min(values.values()) if lower else max(values.values())
    return {name for name, value in values.items() if value == top}
