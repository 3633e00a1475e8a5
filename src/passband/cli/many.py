"""`passband fit KIND` of several inputs."""

import dataclasses
import shlex
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..kinds.many_options import ManyOptions
from ..kinds.table import Row

NAMED = 10  # failures in the summary; the index has all


def run_many(row: Row, files: list[str], options: Any, given: set[str]) -> int:
    """Fit inputs and leave a set of fields."""
    from .console import INTERRUPTED, SOME_FAILED, Console
    from .device import join

    if alone := sorted(given & {"minutes", "save_every"}):
        raise InputError(f"`{alone[0]}` goes with one input; a set is saved by stacks")
    place = set_path(files, options, f"{options.mapping or 'auto'}-set")
    console = Console.of(options)
    processes = join(options, console, options.deterministic)
    from ..kinds.many_inputs import named_sources
    from ..kinds.many_set import fit_set

    own = {f.name: getattr(options, f.name) for f in dataclasses.fields(ManyOptions)}
    asked, cls = row.asked(options, file=None), row.load()
    said, sources = named_sources(row, files, options, place)
    try:
        result = fit_set(
            cls, sources, asked, given - {"file"}, place, many=ManyOptions(**own),
            resume=options.resume, overwrite=options.overwrite, processes=processes,
            listener=console, said=said,
        )  # fmt: skip
    except KeyboardInterrupt:
        console.error(
            f"stopped; the same command with `--resume --out {shlex.quote(str(place))}`"
            " goes on from here"
        )
        return INTERRUPTED
    if processes.index:
        return 0
    console.result(result, _summary(result))
    if not result["failed"] + result["missing"]:
        return 0
    return SOME_FAILED if result["fields"] else 1


def set_path(files: list[str], options: Any, what: str) -> Path:
    """The folder of what is made of several inputs: as given, or by the name of the
    first."""
    if options.out is not None:
        return Path(options.out)
    first = options.list or (files[0] if files else None)
    if first is None:
        raise InputError("`file` is missing")
    name = Path(first).resolve().stem
    if len(files) > 1:
        name += f"-and-{len(files) - 1}-more"
    return Path("runs") / f"{name}-{what}".replace(":", "-")


def _summary(result: dict[str, Any]) -> str:
    lines = [
        f"{result['mapping']}: {result['fields']} fields, {result['fitted_now']} of "
        f"them now, {result['fields_per_second']:.3g} a second on {result['device']}"
    ]
    for name, spread in result["metrics"].items():
        unit = " dB" if name.startswith("psnr") else ""
        lines.append(
            f"  {name}: mean {spread['mean']:.4g}{unit}, from {spread['least']:.4g} to "
            f"{spread['most']:.4g}"
        )
    if result["failed"]:
        lines.append(f"{result['failed']} inputs could not be fitted:")
        for name, error in list(result["failures"].items())[:NAMED]:
            lines.append(f"  {name}: {error}")
        if result["failed"] > NAMED:
            lines.append(f"  ... all of them in {result['out']}/index.jsonl")
    if result["missing"]:
        lines.append(f"{result['missing']} inputs are left; `--resume` fits them")
    lines.append(f"set      {result['out']}\nsummary  {result['out']}/summary.html")
    return "\n".join(lines)
