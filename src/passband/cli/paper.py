"""`passband paper`: the paper's tables and figures, run, checked, drawn, reported."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..options import argument, option
from .console import Console
from .device import prepare
from .options import Output

if TYPE_CHECKING:
    from ..paper.item import Item, Preset

ACTIONS = ("list", "run", "all", "draw", "judge", "report", "readme")
NEED_IDS = ("run", "draw", "judge")


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """The paper's tables and figures: list, run ID..., all, draw ID..., report."""

    words: Sequence[str] | None = argument(
        "list; run ID...; all; draw ID..., judge ID... (again, from the results on "
        "disk); report (one page of all results); readme (README.md's tables from the "
        "full results)",
        metavar="ACTION",
        many=True,
        default=None,
    )
    preset: str = option(
        "small",
        "smoke: 5 s an item; small: a minute on 2 cores; full: the paper's own size",
        choices=("smoke", "small", "full"),
    )
    check: bool = option(
        False, "exit with status 1 if a claim fails (readme: if it is out of date)"
    )
    out: str = option("results", "folder of the results", metavar="DIR")
    resume: bool = option(False, "leave out the items whose result is there already")
    companions: bool = option(
        False, "all, list: also the sweeps and seeds that the paper does not print"
    )
    seeds: int | None = option(
        None,
        "run with as many other keys too, where an item has such runs, and report the "
        "spread over them",
        least=2,
        most=32,
    )
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Do what the words ask for."""
    del given
    begun = time.perf_counter()
    action, ids = _words(options)
    console = Console(json=options.json, quiet=options.quiet)
    folder = Path(options.out)
    if action == "readme":
        from .paper_pages import readme

        return readme(folder, console, check=options.check)
    prepare(options.device, quiet=options.quiet)
    from ..paper import plan, registry
    from ..paper.item import Preset

    preset = Preset(options.preset)
    if action == "report":
        from .paper_pages import report

        return report(folder, preset, console)
    items = [registry.get_item(id) for id in dict.fromkeys(ids or registry.IDS)]
    if action in ("list", "all") and options.companions:
        items += [registry.get_item(id) for id in registry.COMPANIONS]
    if action == "list":
        from .paper_list import list_items

        return list_items(items, folder, preset, options)
    if options.seeds is not None:
        items = _with_seeds(items, options.seeds)
    if action in ("run", "all"):
        items = plan.in_order(items)
    return _run(items, preset, folder, console, options, action, begun)


def _words(options: Options) -> tuple[str, list[str]]:
    words = list(options.words or ())
    if not words or words[0] not in ACTIONS:
        found = f"`{words[0]}`" if words else "nothing"
        raise InputError(
            "`passband paper` takes list, run ID..., all, draw ID..., judge ID..., "
            f"report or readme, not {found}"
        )
    action, ids = words[0], words[1:]
    if action not in NEED_IDS and ids:
        raise InputError(f"`passband paper {action}` takes no ID, but got `{ids[0]}`")
    if action in NEED_IDS and not ids:
        raise InputError(f"`passband paper {action}` needs an ID, such as `fig2`")
    return action, ids


def _with_seeds(items: "list[Item]", count: int) -> "list[Item]":
    """The items, and each one's runs with other keys, once."""
    from ..paper import plan

    seeded = plan.with_seeds(items, count)
    if not any(item.seeds for item in seeded):
        have = ", ".join(plan.ids_with_seeds())
        raise InputError(f"`--seeds`: none of these has other keys to run; {have} have")
    return list({item.id: item for item in seeded}.values())


def _run(
    items: "list[Item]",
    preset: "Preset",
    folder: Path,
    console: Console,
    options: Options,
    action: str,
    begun: float,
) -> int:
    from .paper_pages import report
    from .paper_run import Runs

    runs = Runs(preset, folder, console, resume=options.resume, whole=action == "all")
    try:
        if action == "draw":
            runs.draw(items)
        elif action == "judge":
            runs.judge(items)
        else:
            runs.run(items)
    except KeyboardInterrupt:
        if action == "all":
            console.error(f"passband: stopped; {runs.how_to_go_on()}")
        raise
    if action == "all" and runs.results and not runs.broken_disk:
        report(folder, preset, console, aside=True, ready=lambda: runs.note(begun))
    if options.json:
        content = {
            "preset": preset.value,
            "results": [r.as_json() for r in runs.results],
            "skipped": runs.skipped,
        }
        console.result(content, "")
    failed = [r.id for r in runs.results if r.outcome.verdict == "differs"]
    if options.check and failed:
        console.say(f"passband: claims fail in {', '.join(failed)}")
    if runs.broken or (options.check and failed):
        return 1
    return 2 if runs.skipped else 0
