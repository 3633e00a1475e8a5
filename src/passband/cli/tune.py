"""What every `passband tune` does, and what `gaussian:auto` does in `passband fit`."""

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import jax

from ..atomic_write import make_folder, write_bytes
from ..auto import Auto
from ..data.store import cache_folder
from ..errors import InputError
from ..plot.sigma_curve import choice_figure
from ..plot.style import png_bytes
from ..tune.choice import Choice
from ..tune.choose import choose
from ..words import parse_mapping
from .console import Console, duration
from .device import device_name
from .fit_job import FitJob
from .fit_options import FitOptions
from .tune_report import write_choice
from .tune_trials import trials

TOO_SHORT = (
    "the trials of a scene that a CPU has time for are too short to tell: this is a "
    "first guess; `passband tune nerf --steps 400` tries"
)
NOT_OF_A_FIT = {"mapping", "out", "json", "quiet", "kernel", "guess", "fresh", "steps",
                "batch"}  # fmt: skip


def tune(job: FitJob, fit: type[FitOptions], options: Any, given: set[str]) -> int:
    """Choose a scale for a file, and leave curve, JSON and report in a folder.

    Args:
        fit: the options of the task's fit; a job knows these.
    """
    console = Console(json=options.json, quiet=options.quiet)
    auto = parse_mapping(options.mapping)
    if not isinstance(auto, Auto):
        raise InputError(
            f"`--mapping` (={options.mapping}) leaves no scale to choose; name a "
            "family, such as gaussian:auto or positional:auto"
        )
    names = [f.name for f in dataclasses.fields(fit) if hasattr(options, f.name)]
    asked = fit(**{name: getattr(options, name) for name in names})
    try:
        source = job.source(asked)
    except InputError as error:  # nothing was named, and the help is another verb's
        raise InputError(str(error).replace("passband fit", "passband tune")) from None
    job.read(asked, console)
    choice = choice_for(
        job, asked, auto, console, steps=options.steps, batch=options.batch,
        kernel=options.kernel, train=not options.guess, fresh=options.fresh,
        insist=options.steps is not None,
    )  # fmt: skip
    folder = Path(options.out or f"runs/{source.stem}-tune")
    make_folder(folder)
    content = {
        "task": job.name,
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
    command = _command(job.name, options, given, choice)
    write_choice(
        folder / "report.html", choice, title=source.name, task=job.name,
        device=device_name(), command=command, figure=figure,
    )  # fmt: skip
    text = f"{_text(choice)}\nfit     {command}"
    console.result(content, f"{text}\nreport  {folder}/report.html")
    return 0


def choice_for(
    job: FitJob,
    options: FitOptions,
    auto: Auto,
    console: Console,
    *,
    steps: int | None,
    batch: int | None = None,
    kernel: bool = False,
    train: bool = True,
    fresh: bool = False,
    insist: bool = False,
) -> Choice:
    """The scale for a job that has read its files; the same question is asked once.

    Args:
        insist: try scales even where trials are known to mislead.
    """
    console.progress("choosing a scale", often=False)
    on_cpu = jax.default_backend() == "cpu"
    mislead = train and job.name == "nerf" and on_cpu and not insist
    problem, plan = trials(job, options, auto, steps=steps, batch=batch)
    choice = choose(
        problem, auto, plan, kernel=kernel, train=train and not mislead,
        seed=options.seed,
        cache=cache_folder() / "tune", fresh=fresh,
        progress=lambda text: console.progress(f"choosing a scale: {text}"),
    )  # fmt: skip
    if mislead and choice.conclusive:
        notes = [*choice.notes, TOO_SHORT]
        choice = dataclasses.replace(choice, conclusive=False, notes=notes)
    return choice


def _text(choice: Choice) -> str:
    spent = f"chosen in {duration(sum(choice.seconds.values()))}"
    seen = "known from an earlier choice" if choice.cached else spent
    return f"{choice.summary()}\n  {seen}"


def _command(task: str, options: Any, given: set[str], choice: Choice) -> str:
    """The fit that the choice was made for."""
    words = ["passband", "fit", task]
    for f in dataclasses.fields(options):
        value = getattr(options, f.name)
        if f.name not in given or f.name in NOT_OF_A_FIT:
            continue
        if f.metadata.get("positional"):
            words.append(shlex.quote(str(value)))
            continue
        words.append(f"--{f.name.replace('_', '-')}")
        words += [] if value is True else [shlex.quote(str(value))]
    return " ".join([*words, "--mapping", choice.mapping])
