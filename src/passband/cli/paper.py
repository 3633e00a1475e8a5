"""`passband paper`: run the paper's tables and figures, check them, draw them."""

import dataclasses
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .console import Console
from .device import device_name, prepare
from .options import Output, argument, option

if TYPE_CHECKING:
    from ..paper.item import Item, Number, Preset
    from ..paper.results import Result

ACTIONS = ("list", "run", "all", "draw")
SIGNS = {"reproduced": "pass", "differs": "FAIL", "not comparable": "  - "}


@dataclasses.dataclass
class Options(Output):
    """The paper's tables and figures: list, run ID..., all, draw ID..."""

    words: Sequence[str] | None = argument(
        "list; run ID...; all; draw ID... (again, from the results on disk)",
        metavar="ACTION",
        many=True,
        default=None,
    )
    preset: str = option(
        "small",
        "smoke: 5 s an item; small: a minute on 2 cores; full: the paper's own size",
        choices=("smoke", "small", "full"),
    )
    check: bool = option(False, "exit with status 1 if a claim fails")
    out: str = option("results", "folder of the results", metavar="DIR")
    resume: bool = option(False, "leave out the items whose result is there already")
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Do what the words ask for."""
    del given
    words = list(options.words or ())
    if not words or words[0] not in ACTIONS:
        found = f"`{words[0]}`" if words else "nothing"
        raise InputError(
            f"`passband paper` takes list, run ID..., all or draw ID..., not {found}"
        )
    action, ids = words[0], words[1:]
    if action in ("list", "all") and ids:
        raise InputError(f"`passband paper {action}` takes no ID, but got `{ids[0]}`")
    if action in ("run", "draw") and not ids:
        raise InputError(f"`passband paper {action}` needs an ID, such as `fig2`")
    prepare(options.device, deterministic=False)
    from ..paper import registry
    from ..paper.item import Preset

    preset, folder = Preset(options.preset), Path(options.out)
    items = [registry.get_item(id) for id in dict.fromkeys(ids or registry.IDS)]
    console = Console(json=options.json, quiet=options.quiet)
    if action == "list":
        return _list(items, folder, options)
    results, skipped = [], {}
    for item in items:
        try:
            if action == "draw":
                results.append(_draw(item, preset, folder, console))
            else:
                results.append(_run(item, preset, folder, console, options.resume))
        except InputError as error:
            if action != "all":
                raise
            # One item's missing data must not cost the others' hours.
            skipped[item.id] = str(error)
            console.warn(f"{item.id} was left out: {error}")
            continue
        if not options.json:
            text = _report(item, results[-1]) + _beside(item, preset, folder)
            console.result({}, text)
    if options.json:
        content = {
            "preset": preset.value,
            "results": [r.as_json() for r in results],
            "skipped": skipped,
        }
        console.result(content, "")
    failed = [r.id for r in results if r.outcome.verdict == "differs"]
    if options.check and failed:
        console.say(f"passband: claims fail in {', '.join(failed)}")
        return 1
    return 2 if skipped else 0


def _run(
    item: "Item", preset: "Preset", folder: Path, console: Console, resume: bool
) -> "Result":
    from ..paper import results

    if resume and results.exists(folder, preset, item.id):
        console.say(f"{item.id}: already there")
        return results.load(folder, preset, item.id)
    begun, commit = time.perf_counter(), results.commit_now()
    console.say(f"{item.id}: {item.title} ({preset.value})")
    outcome = item.run(preset, lambda text: console.progress(f"{item.id}: {text}"))
    command = f"passband paper run {item.id} --preset {preset.value}"
    origin = results.provenance(
        outcome,
        commit=commit,
        command=command,
        device=device_name(),
        seconds=time.perf_counter() - begun,
    )
    results.save(folder, results.Result(item.id, preset, outcome, origin))
    return _draw(item, preset, folder, console)


def _draw(item: "Item", preset: "Preset", folder: Path, console: Console) -> "Result":
    """Always from disk, so that a figure drawn again is the same figure."""
    from ..paper import results

    result = results.load(folder, preset, item.id)
    for path in results.save_figures(folder, preset, item.draw(result.outcome)):
        console.say(f"{item.id}: drew {path}")
    return result


def _list(items: "list[Item]", folder: Path, options: Options) -> int:
    from ..paper import results
    from ..paper.item import Preset

    preset, rows = Preset(options.preset), []
    for item in items:
        verdict = None
        if results.exists(folder, preset, item.id):
            found = results.load(folder, preset, item.id, arrays=False)
            verdict = found.outcome.verdict
        rows.append(
            {
                "id": item.id,
                "section": item.section,
                "title": item.title,
                "needs": list(item.needs),
                "notes": list(item.notes),
                "preset": preset.value,
                "verdict": verdict,
            }
        )
    if options.json:
        print(json.dumps(rows))
    elif not options.quiet:
        wide = max(len(row["section"]) for row in rows)
        for row in rows:
            said = row["verdict"] or "not run"
            needs = f" (needs {', '.join(row['needs'])})" if row["needs"] else ""
            where = f"{row['id']:8s} {row['section']:{wide}s}"
            print(f"{where}  {said:15s} {row['title']}{needs}")
    return 0


def _report(item: "Item", result: "Result") -> str:
    """Claims as lines of pass and fail, then the numbers beside the printed ones."""
    lines = [_head(item, result)]
    for claim in result.outcome.claims:
        lines.append(f"  {SIGNS[claim.verdict]}  {claim.claim}  [{claim.detail}]")
    lines += _numbers(result.outcome.numbers)
    return "\n".join(lines) + "\n"


def _head(item: "Item", result: "Result") -> str:
    seconds = result.provenance.get("seconds")
    spent = "" if seconds is None else f", {seconds:g} s"
    head = f"{item.id}  {item.title}: {result.outcome.verdict}"
    return f"{head} ({result.preset.value}{spent})"


def _numbers(numbers: "Sequence[Number]") -> list[str]:
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


def _beside(item: "Item", preset: "Preset", folder: Path) -> str:
    """What an item's companions have beside a printed number, or how to run them."""
    from ..paper import registry, results

    lines = []
    for id in item.companions:
        if results.exists(folder, preset, id):
            found = results.load(folder, preset, id, arrays=False)
            lines.append(_head(registry.get_item(id), found))
            lines += _numbers([n for n in found.outcome.numbers if n.printed])
        else:
            command = f"passband paper run {id} --preset {preset.value}"
            lines.append(f"{id}  not run: `{command}`")
    return "".join(f"{line}\n" for line in lines)


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"
