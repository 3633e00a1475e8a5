"""`passband fit KIND FILE`."""

import dataclasses
import shlex
import time
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..kinds.many_options import NAMES, ManyOptions
from ..kinds.table import Row
from ..options import argument, option
from .options import TYPED, Output, joined


@dataclasses.dataclass(frozen=True)
class SittingOptions(Output):
    """Where and how long a fit runs, and where it leaves its files."""

    minutes: float | None = option(
        None,
        "train no longer than this, and evaluate no longer than a quarter of it; "
        "--resume goes on",
        above=0,
    )
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))
    deterministic: bool = option(False, "the same bits on every run on a GPU too")
    save_every: float = option(
        10.0, "seconds between checkpoints", least=0, metavar="SECONDS"
    )
    out: str | None = option(
        None,
        "run folder (default: runs/NAME-MAPPING; without --mapping, runs/NAME-auto)",
        metavar="DIR",
    )
    config: str | None = option(
        None,
        "take the options from this config.json of a run, or its folder; those given "
        "here come first",
        metavar="FILE",
    )
    overwrite: bool = option(False, "start anew in a run folder that exists")
    resume: bool = option(False, "go on with the run in the run folder")


def options_of(row: Row) -> type:
    """Those of the kind, of which several may be given, then those of the sitting."""
    files = several_files(row)
    return joined(row.options.__doc__, row.options, files, SittingOptions, ManyOptions)


def several_files(row: Row) -> type:
    """The file of a kind's options, as one or more."""
    [file] = (f for f in dataclasses.fields(row.options) if f.name == "file")
    help, metavar = file.metadata["help"], file.metadata["metavar"]
    files = argument(help, metavar=metavar, default=None, many=True)
    return dataclasses.make_dataclass("Files", [("file", list, files)])


def run(row: Row, options: Any, given: set[str]) -> int:
    """Fit a file and leave a run folder; of several files, a set of fields."""
    from .device import find_ahead, prepare

    files = [name for name in options.file or [] if name]
    if row.is_many(files, options):
        from .many import run_many

        return run_many(row, files, options, given)
    options = dataclasses.replace(options, file=files[0] if files else None)
    unused = sorted(given & NAMES)
    if unused:
        raise InputError(f"`{unused[0]}` goes with several inputs")

    begun = time.perf_counter()
    prepare(options.device, options.deterministic, quiet=options.quiet)
    find_ahead()
    from ..kinds.fit import fit, read_kind
    from ..kinds.phases import Phases
    from ..kinds.resume import configured_options, resumed_options
    from ..kinds.session import Collapse
    from ..train.config_file import read_config
    from ..train.driver import Diverged
    from ..train.run_folder import RunFolder
    from .console import INTERRUPTED, Console

    kind, phases = row.load(), Phases()
    phases.add("import", time.perf_counter() - begun)
    console, again = Console.of(options), None
    if options.config is not None:
        if options.resume:
            raise InputError("`resume` and `config` exclude each other")
        again = read_config(options.config)
        options = configured_options(options, given, again, kind.name)
    place, folder = _run_path(kind, options, given), None
    if options.resume:
        if options.overwrite:
            raise InputError("`resume` and `overwrite` exclude each other")
        folder = RunFolder.open(place)
        options = resumed_options(options, given, folder.config, kind.name)
    try:
        data = read_kind(kind, options, console, phases)
        if again is not None and data.hashes(options)[0] != again.get("sha256"):
            console.warn("the data are not those of `config`")
        fitted = fit(
            data,
            options,
            place=place,
            resume=folder,
            overwrite=options.overwrite,
            minutes=options.minutes,
            save_every=options.save_every,
            listener=console,
            phases=phases,
            command=TYPED.get(),
        )
    except Diverged as error:
        console.error(
            f"passband: {error}; it is in `{place}/checkpoint/state.safetensors`"
        )
        return 1
    except Collapse as error:
        console.error(f"passband: {error}")
        return 1
    except KeyboardInterrupt:
        console.error(
            f"stopped; `passband fit {kind.name} --resume --out "
            f"{shlex.quote(str(place))}` goes on from here"
        )
        return INTERRUPTED
    console.result(fitted.result, _summary(fitted.result))
    return 0


def _run_path(kind: Any, options: Any, given: set[str]) -> Path:
    """The run folder, by its name or by those of file and mapping, as they were given:
    a run is found again by the same words."""
    if options.out is not None:
        return Path(options.out)
    if options.resume and options.file is None:
        raise InputError("`resume` needs `file` or `out` to find the run")
    word = options.mapping if "mapping" in given else "auto"
    name = f"{kind.source(options).stem}-{word}"
    return Path("runs") / "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)


def _summary(result: dict[str, Any]) -> str:
    from ..kinds.session import duration

    lines = [
        f"{result['mapping']}: {_scores(result['metrics'])}; {result['steps']} steps "
        f"of {result['step_points']} points in {duration(result['seconds'])} on "
        f"{result['device']}"
    ]
    if "members" in result:
        spread = result["spread"]
        told = "" if spread is None else f", spread {spread:.4g} in the data's units"
        lines.append(f"the mean of {result['members']} networks{told}")
    for name, scores in result.get("baselines", {}).items():
        lines.append(f"  beside it, {name}: {_scores(scores)}")
    if "evaluated" in result:
        lines.append(f"metrics, preview and report are of {result['evaluated']}")
    if "left_out" in result:
        lines.append(f"no time was left for {', '.join(result['left_out'])}")
    lines.append(f"model   {result['model']}\nreport  {result['run']}/report.html")
    return "\n".join(lines)


def _scores(metrics: dict[str, float]) -> str:
    """Metrics as people read them: a PSNR in decibels, the others as they are."""
    return ", ".join(
        f"{name} {value:.2f} dB" if name.startswith("psnr") else f"{name} {value:.4g}"
        for name, value in metrics.items()
    )
