"""`passband tune KIND FILE...`."""

import dataclasses
import os
import shlex
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..kinds.many_options import InputOptions, ProcessOptions
from ..kinds.table import Row
from ..options import option
from .fit import several_files
from .options import Output, joined


@dataclasses.dataclass(frozen=True)
class TuneOptions(Output):
    """What is asked of a choice."""

    mapping: str = option(
        "gaussian:auto",
        "the family to choose a scale of: gaussian:auto, positional:auto, ...",
        metavar="WORD",
    )
    steps: int | None = option(
        None, "of the longest trial (default: what the device does in time)",
        least=4, most=2**31 - 1,
    )  # fmt: skip
    kernel: bool = option(False, "predict the curve by the kernel too, by no training")
    guess: bool = option(
        False, "no training: the first guess, with --kernel the kernel's best"
    )
    fresh: bool = option(False, "choose again, though the same was chosen before")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))
    deterministic: bool = option(False, "the same bits on every run on a GPU too")
    out: str | None = option(
        None, "folder for curve, JSON and report (default: runs/NAME-tune)",
        metavar="DIR",
    )  # fmt: skip
    overwrite: bool = option(False, "replace an earlier choice in that folder")
    resume: bool = option(
        False, "of several inputs: leave out those whose choice is in that folder"
    )


FILES = ("choice.json", "curve.png", "report.html")
NOT_OF_A_FIT = {f.name for f in dataclasses.fields(TuneOptions)} | {"batch"}
OF_SEVERAL = {"resume"} | {
    f.name for part in (InputOptions, ProcessOptions) for f in dataclasses.fields(part)
}


def options_of(row: Row) -> type:
    """Those of the kind that decide what is trained, and those of the choice."""
    doc = f"Choose the scale of a mapping for {row.thing}, from the data."
    return joined(
        doc, row.options, several_files(row), TuneOptions, InputOptions, ProcessOptions
    )


def run(row: Row, options: Any, given: set[str]) -> int:
    """Choose a scale for a file, and leave curve, JSON and report in a folder; of
    several files, a table of choices."""
    from .console import Console
    from .device import join

    files, console = [name for name in options.file or [] if name], Console.of(options)
    many = row.is_many(files, options)
    if not many and (alone := sorted(given & OF_SEVERAL)):
        raise InputError(f"`{alone[0]}` goes with several inputs")
    processes = join(options, console, options.deterministic)
    from ..auto import Auto
    from ..words import parse_mapping

    auto = parse_mapping(options.mapping)
    if not isinstance(auto, Auto):
        raise InputError(
            f"`mapping` (={options.mapping}) leaves no scale to choose; name a "
            "family, such as gaussian:auto or positional:auto"
        )
    if many:
        from .tune_many import run_many

        return run_many(row, files, options, auto, processes, console)
    options = dataclasses.replace(options, file=files[0] if files else None)
    return _run_one(row, options, given, auto, console)


def _run_one(row: Row, options: Any, given: set[str], auto: Any, console: Any) -> int:
    from ..atomic_write import make_folder, refuse_existing, write_bytes
    from ..export.choice_report import write_choice
    from ..kinds.choose import choose_for
    from ..kinds.fit import read_kind
    from ..kinds.session import duration
    from ..plot.sigma_curve import choice_figure
    from ..plot.style import png_bytes
    from ..train.device import device_name

    kind = row.load()
    # What is read and trained is the fit's; steps and batch are those of the trials.
    asked = dataclasses.replace(options, steps=None, batch=None)
    source = kind.source(asked)
    folder = Path(options.out or f"runs/{source.stem}-tune")
    refuse_existing([folder / name for name in FILES], options.overwrite)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise InputError(f"`out` (={folder}) is a file; give a folder")
    choice = choose_for(
        read_kind(kind, asked, console), asked, auto,
        steps=options.steps, batch=options.batch, kernel=options.kernel,
        train=not options.guess, fresh=options.fresh,
        insist=options.steps is not None, listener=console,
    )  # fmt: skip
    make_folder(folder)
    content = {
        "task": kind.name,
        "file": str(source),
        **dataclasses.asdict(choice),
        "device": device_name(),
        "out": str(folder),
    }
    write_bytes(folder / "choice.json", choice.to_json().encode())
    figure = None
    if choice.curves:
        figure = choice_figure(dataclasses.asdict(choice))
        write_bytes(folder / "curve.png", png_bytes(figure))
    command = _command(kind.name, options, given, choice.mapping)
    write_choice(
        folder / "report.html", choice, title=source.name, task=kind.name,
        device=device_name(), command=command, figure=figure,
    )  # fmt: skip
    spent = f"chosen in {duration(sum(choice.seconds.values()))}"
    seen = "known from an earlier choice" if choice.cached else spent
    text = f"{choice.summary()}\n  {seen}\nfit     {command}"
    console.result(content, f"{text}\nreport  {folder}/report.html")
    return 0


def _command(name: str, options: Any, given: set[str], mapping: str) -> str:
    """The fit that the choice was made for."""
    words = ["passband", "fit", name]
    for f in dataclasses.fields(options):
        value = getattr(options, f.name)
        if f.name not in given or f.name in NOT_OF_A_FIT:
            continue
        if f.metadata.get("positional"):
            words.append(shlex.quote(str(value)))
            continue
        flag = f.name.replace("_", "-")
        words.append(f"--no-{flag}" if value is False else f"--{flag}")
        words += [] if isinstance(value, bool) else [shlex.quote(str(value))]
    return " ".join([*words, "--mapping", mapping])
