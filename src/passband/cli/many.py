"""`passband fit KIND` of several inputs."""

import dataclasses
import os
import shlex
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..kinds.many_options import ManyOptions
from ..kinds.table import Row

SOME_FAILED = 3
"""The exit status where some inputs could not be fitted, and all others were."""
NAMED = 10  # failures in the summary; the index has all


def run_many(row: Row, files: list[str], options: Any, given: set[str]) -> int:
    """Fit inputs and leave a set of fields."""
    from .device import prepare

    if alone := sorted(given & {"minutes", "save_every"}):
        raise InputError(f"`{alone[0]}` goes with one input; a set is saved by stacks")
    place = _place(row, files, options)
    # Processes join before JAX looks for its devices.
    early = "auto" if options.distributed and options.device == "gpu" else None
    prepare(early or options.device, options.deterministic, quiet=options.quiet)
    from ..kinds.many_inputs import sources_of
    from ..kinds.many_set import fit_set, inputs_before
    from ..train.processes import ALONE, distributed
    from .console import INTERRUPTED, Console

    console = Console.of(options)
    joined = options.distributed or options.coordinator is not None
    processes = ALONE
    if joined:
        processes = distributed(options.coordinator, options.processes, options.process)
        console.quiet = console.quiet or processes.index > 0
    own = {f.name: getattr(options, f.name) for f in dataclasses.fields(ManyOptions)}
    fields = dataclasses.fields(row.options)
    plain: dict[str, Any] = {f.name: getattr(options, f.name) for f in fields}
    plain["file"] = None
    asked = row.options(**plain)
    cls = row.load()
    said = {"files": [os.path.abspath(f) for f in files], "pattern": options.pattern,
            "list": options.list and os.path.abspath(options.list)}  # fmt: skip
    if not files and options.list is None:
        said = inputs_before(place)  # it goes on with what it began with
    sources = sources_of(
        cls, said["files"], suffixes=row.suffixes, pattern=said["pattern"],
        list_file=said["list"],
    )  # fmt: skip
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


def _place(row: Row, files: list[str], options: Any) -> Path:
    """The folder of the set: as given, or by the name of the first input."""
    if options.out is not None:
        return Path(options.out)
    first = options.list or (files[0] if files else None)
    if first is None:
        raise InputError("`file` is missing")
    name = Path(first).resolve().stem
    if len(files) > 1:
        name += f"-and-{len(files) - 1}-more"
    return Path("runs") / f"{name}-{options.mapping or 'auto'}-set".replace(":", "-")


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
