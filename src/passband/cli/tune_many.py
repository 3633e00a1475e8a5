"""`passband tune KIND` of several inputs."""

import shlex
from typing import TYPE_CHECKING, Any

from ..kinds.table import Row
from .console import INTERRUPTED, SOME_FAILED, Console
from .many import set_path

if TYPE_CHECKING:
    from ..auto import Auto
    from ..train.processes import Processes

SHOWN = 50  # inputs in the table; choices.jsonl has all
HEAD = ("sigma", "guess", "half costs", "twice costs")


def run_many(
    row: Row, files: list[str], options: Any, auto: "Auto", processes: "Processes",
    console: Console,
) -> int:  # fmt: skip
    """Choose a scale for each input, and leave the choices in a folder."""
    from ..kinds.many_inputs import named_sources
    from ..kinds.tune_set import Trials, tune_set

    place = set_path(files, options, "tune")
    said, sources = named_sources(row, files, options, place)
    # What is read and trained is the fit's; steps and batch are those of the trials.
    asked = row.asked(options, file=None, steps=None, batch=None)
    trials = Trials(options.steps, options.batch, options.kernel, not options.guess,
                    options.fresh)  # fmt: skip
    try:
        result = tune_set(
            row.load(), sources, asked, auto, place, trials=trials,
            resume=options.resume, overwrite=options.overwrite, processes=processes,
            lost_after=options.lost_after, listener=console, said=said,
        )  # fmt: skip
    except KeyboardInterrupt:
        console.error(
            f"stopped; the same command with `--resume --out {shlex.quote(str(place))}`"
            " goes on from here"
        )
        return INTERRUPTED
    if processes.index:
        return 0
    console.result(result, _table(result))
    if not result["failed"] + result["missing"]:
        return 0
    return SOME_FAILED if result["chosen"] else 1


def _table(result: dict[str, Any]) -> str:
    """A line for each input: its sigma, the first guess, and what half and twice cost
    on what was held out, in dB."""
    rows = result["choices"][:SHOWN]
    wide = max([len("file"), *(len(row["name"]) for row in rows)])
    lines = [f"{'file':{wide}s} " + " ".join(f"{h:>11s}" for h in HEAD) + "  mapping"]
    for row in rows:
        if "error" in row:
            lines.append(f"{row['name']:{wide}s}  {row['error']}")
            continue
        sure = "" if row["conclusive"] else "  (not conclusive)"
        cells = [f"{row[name]:.4g}" for name in ("sigma", "guess")]
        cells += ["-" if row[name] is None else f"{row[name]:.2f} dB"
                  for name in ("half", "twice")]  # fmt: skip
        text = " ".join(f"{cell:>11s}" for cell in cells)
        lines.append(f"{row['name']:{wide}s} {text}  {row['mapping']}{sure}")
    if len(result["choices"]) > SHOWN:
        lines.append(f"... all of them in {result['out']}/choices.jsonl")
    if result["missing"]:
        lines.append(f"{result['missing']} inputs are left; `--resume` takes them up")
    lines.append(f"choices  {result['out']}/choices.jsonl")
    return "\n".join(lines)
