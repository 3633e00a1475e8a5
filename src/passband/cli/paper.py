"""`passband paper`: the paper's tables and figures, run, checked, drawn, reported."""

import dataclasses
import functools
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..kinds.many_options import ProcessOptions
from ..options import argument, option
from ..train.gpu_memory import take_as_needed
from .console import SOME_FAILED, Console
from .device import join
from .options import Output, joined

if TYPE_CHECKING:
    from ..paper.item import Item, Preset
    from ..paper.results import Result
    from ..train.processes import Processes

SHARED = {f.name for f in dataclasses.fields(ProcessOptions)}
ACTIONS = ("list", "run", "all", "draw", "judge", "report", "readme")
NEED_IDS = ("run", "draw", "judge")


@dataclasses.dataclass(frozen=True)
class PaperOptions(Output):
    """Which items, at which size, to which folder."""

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
    jobs: int = option(
        1, "run, all: processes of this machine that share the items and its device: "
        "the networks of one train while another compiles or scores",
        least=1, most=64,
    )  # fmt: skip
    device: str = option("auto", "where to compute", choices=("auto", "cpu", "gpu"))


Options = joined(
    "The paper's tables and figures: list, run ID..., all, draw ID..., report.",
    PaperOptions,
    ProcessOptions,
)


def run(options: Any, given: set[str]) -> int:
    """Do what the words ask for."""
    begun = time.perf_counter()
    action, ids = _words(options)
    alone = sorted(given & (SHARED | {"jobs"}))
    if action not in ("run", "all") and alone:
        raise InputError(f"`{alone[0]}` goes with run and all, not with {action}")
    console = Console.of(options)
    folder = Path(options.out)
    if action == "readme":
        from .paper_pages import readme

        return readme(folder, console, check=options.check)
    if options.jobs > 1:
        if asked := sorted(given & SHARED):
            raise InputError(f"`jobs` and `{asked[0]}` exclude each other")
        take_as_needed(options.jobs)
    processes = join(options, console)
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
    return _run(items, preset, console, options, processes, begun)


def _words(options: Any) -> tuple[str, list[str]]:
    words: list[str] = list(options.words or ())
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
    console: Console,
    options: Any,
    processes: "Processes",
    begun: float,
) -> int:
    from ..paper.jobs import run_in_jobs
    from ..paper.runs import Runs
    from ..paper.shared import run_shared
    from .paper_pages import report
    from .paper_text import beside, described

    folder, (action, *ids) = Path(options.out), options.words
    again = ["passband", "paper", action, *ids, "--preset", preset.value, "--resume"]
    again += ["--companions"] if options.companions else []
    again += ["--jobs", str(options.jobs)] if options.jobs > 1 else []
    again += [] if options.out == "results" else ["--out", options.out]

    def tell(item: "Item", result: "Result") -> None:
        if not console.json:
            text = described(item, result) + beside(item, preset, folder)
            console.result({}, text)

    whole = action == "all" or processes.count > 1 or options.jobs > 1
    runs = Runs(
        preset, folder, console, go_on=shlex.join(again), tell=tell,
        resume=options.resume, whole=whole,
    )  # fmt: skip
    lost = False
    try:
        if action == "draw":
            runs.draw(items)
        elif action == "judge":
            runs.judge(items)
        elif options.jobs > 1:
            run_in_jobs(runs, items, options.jobs)
        else:
            lost = run_shared(runs, items, processes, options.lost_after)
    except KeyboardInterrupt:
        if runs.whole:
            console.error(f"passband: stopped; {runs.how_to_go_on()}")
        raise
    if processes.index:  # process 0 speaks of it
        return 1 if runs.broken else 0
    if action == "all" and runs.results and not runs.broken_disk:
        took = functools.partial(runs.note, begun, processes.count)
        report(folder, preset, console, aside=True, ready=took)
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
    return SOME_FAILED if lost else 2 if runs.skipped else 0
