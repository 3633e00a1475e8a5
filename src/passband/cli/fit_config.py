"""A fit's configuration: settled once, kept in config.json, taken up by `--resume`."""

import dataclasses
import hashlib
import typing
from pathlib import Path
from typing import Any

import jax

from ..errors import InputError
from ..mappings import Mapping
from ..version import __version__
from ..words import parse_mapping
from .fit_job import FitJob
from .fit_options import FREE, FitOptions
from .options import what_it_must_be

CPU_CHUNK = 2**18  # points between two looks at the clock: about 3 s


def resolve(job: FitJob, options: FitOptions, mapping: Mapping) -> dict[str, Any]:
    """Everything needed to run it again, with nothing left to be chosen."""
    config: dict[str, Any] = {"passband": __version__, "task": job.name}
    for f in dataclasses.fields(options):
        if f.name not in FREE:
            config[f.name] = getattr(options, f.name)
    if options.file is not None:
        config["file"] = str(Path(options.file).resolve())
    config["sha256"] = _hash(job.inputs(options))
    config["mapping"] = str(mapping)
    config["lr"] = job.rate(mapping) if options.lr is None else options.lr
    on_cpu = jax.default_backend() == "cpu"
    if options.steps is None:
        config["steps"] = job.default_steps(options, on_cpu)
    if options.batch is None:
        config["batch"] = job.batch(options, config["steps"], on_cpu)
    return config


def every(points: int) -> int:
    """Steps between two entries of the history, of so many points each."""
    if jax.default_backend() != "cpu":
        return 25
    return max(1, min(25, CPU_CHUNK // points))


def _hash(paths: list[Path]) -> str:
    """One hash of several files, and of one file its own."""
    digests = []
    for path in paths:
        with path.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def resumed_options(
    options: FitOptions, given: set[str], config: dict[str, Any], task: str
) -> FitOptions:
    """The options of a run that is resumed; those given must not disagree."""
    if config["task"] != task:
        raise InputError(
            f"the run is of task `{config['task']}`; resume it by "
            f"`passband fit {config['task']}`"
        )
    changes: dict[str, Any] = {}
    hints = typing.get_type_hints(type(options))
    for f in dataclasses.fields(options):
        if f.name in FREE:
            continue
        mine, theirs = getattr(options, f.name), config.get(f.name)
        bounded = not f.metadata.get("positional") and theirs is not None
        if not isinstance(theirs, hints[f.name]) or (
            bounded and what_it_must_be(theirs, f.metadata)
        ):
            raise InputError(
                f"config.json of the run is damaged: it has {theirs!r} for `{f.name}`; "
                "`--overwrite` starts anew"
            )
        if f.name in given and not _same(f.name, mine, theirs):
            if f.name == "steps" and mine > theirs:
                continue
            name = "FILE" if f.name == "file" else f"--{f.name.replace('_', '-')}"
            more = "; it may only grow" if f.name == "steps" else ""
            raise InputError(
                f"`{name}` (={mine}) disagrees with the run, which has {theirs}{more}"
            )
        changes[f.name] = theirs
    return dataclasses.replace(options, **changes)


def _same(name: str, mine: Any, theirs: Any) -> bool:
    """Whether an option says what the run has, be it in other words."""
    if name == "mapping":
        return str(parse_mapping(mine)) == theirs
    if name == "file":
        return str(Path(mine).resolve()) == theirs
    return mine == theirs


def run_path(job: FitJob, options: FitOptions) -> Path:
    """The run folder, by its name or by those of file and mapping."""
    if options.out is not None:
        return Path(options.out)
    if options.resume and options.file is None:
        raise InputError("`--resume` needs FILE or `--out DIR` to find the run")
    name = f"{job.source(options).stem}-{options.mapping or 'default'}"
    return Path("runs") / "".join(c if c.isalnum() or c in ".-_" else "-" for c in name)
