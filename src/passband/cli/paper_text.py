"""Results of the paper's items as lines of text."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError
from ..paper import registry, results
from ..paper.item import Item, Number, Preset
from ..paper.results import Result

SIGNS = {"reproduced": "pass", "differs": "FAIL", "not comparable": "  - "}
ASIDE = {"reproduced": "(ok)", "differs": "(no)", "not comparable": "  - "}
"""Of claims that do not decide the verdict."""


def described(item: Item, result: Result) -> str:
    """Claims as lines of pass and fail, then the numbers beside the printed ones."""
    lines = [_head(item, result)]
    for claim in result.outcome.claims:
        sign = ASIDE if claim.aside else SIGNS
        lines.append(f"  {sign[claim.verdict]}  {claim.claim}  [{claim.detail}]")
    lines += _numbers(result.outcome.numbers)
    return "\n".join(lines) + "\n"


def beside(item: Item, preset: Preset, folder: Path) -> str:
    """What an item's companions have beside a printed number, or how to run them."""
    lines = []
    for id in item.companions:
        if not results.exists(folder, preset, id):
            command = f"passband paper run {id} --preset {preset.value}"
            lines.append(f"{id}  not run: `{command}`")
            continue
        try:
            found = results.load(folder, preset, id, arrays=False)
        except InputError as error:
            lines.append(f"{id}  {error}")
            continue
        lines.append(_head(registry.get_item(id), found))
        lines += _numbers([n for n in found.outcome.numbers if n.printed])
    return "".join(f"{line}\n" for line in lines)


def _head(item: Item, result: Result) -> str:
    seconds = result.provenance.get("seconds")
    spent = "" if seconds is None else f", {seconds:g} s"
    if (speed := result.provenance.get("tflops")) is not None:
        spent += f", {speed:.3g} TFLOP/s"
    head = f"{item.id}  {item.title}: {result.outcome.verdict}"
    return f"{head} ({result.preset.value}{spent})"


def _numbers(numbers: Sequence[Number]) -> list[str]:
    lines = []
    if numbers:
        wide = max(len(n.name) for n in numbers)
        spreads = any(n.spread is not None for n in numbers)
        lines.append(
            f"  {'':{wide}s} {'printed':>11s} {'ours':>11s}" + spreads * "   spread"
        )
        for n in numbers:
            line = f"  {n.name:{wide}s} {_text(n.printed):>11s} {_text(n.ours):>11s}"
            line += f" {_text(n.spread):>8s}" if spreads else ""
            aside = "" if n.comparable or n.printed is None else "  (not comparable)"
            lines.append(line.rstrip() + aside)
    return lines


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"
