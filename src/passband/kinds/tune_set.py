"""The scale of a mapping for each of several inputs, in a folder:

config.json                 what was asked for, for all processes
choices.jsonl               a line for each input, in order: its choice, or its error
part-000/choices.jsonl ...  those of each process, a line as soon as it is chosen
"""

import dataclasses
import os
import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..atomic_write import append_text, make_folder, write_bytes
from ..auto import Auto
from ..errors import InputError, one_line
from ..file_gate import read_json
from ..json_text import from_json, to_json
from ..train.device import device_name
from ..train.processes import ALONE, Processes
from ..train.run_lock import RunLock
from ..train.set_folder import SetFolder, read_lines
from ..train.shares import Share, new_run, told_lost
from ..version import __version__
from .choose import choose_for
from .fit import FREE
from .kind import SILENT, Kind, Listener
from .many_inputs import Source, in_parts, short
from .many_read import Failed
from .options import TrainOptions

CHOICES, CONFIG = "choices.jsonl", "config.json"
SHORT = ("name", "source", "mapping", "sigma", "guess", "half", "twice", "conclusive",
         "error")  # fmt: skip
"""What `--json` and the table have of a line of choices.jsonl."""


@dataclasses.dataclass(frozen=True)
class Trials:
    """How scales are tried, for all inputs: arguments of `choose_for`."""

    steps: int | None = None
    batch: int | None = None
    kernel: bool = False
    train: bool = True
    fresh: bool = False

    def choose(self, kind: Kind, auto: Auto, listener: Listener) -> dict[str, Any]:
        """The choice for data that were read, as numbers."""
        choice = choose_for(
            kind, kind.options, auto, **dataclasses.asdict(self),
            insist=self.steps is not None, listener=listener,
        )  # fmt: skip
        return dataclasses.asdict(choice)


def tune_set(
    cls: type[Kind],
    sources: Sequence[Source],
    asked: TrainOptions,
    auto: Auto,
    place: Path,
    *,
    trials: Trials,
    resume: bool = False,
    overwrite: bool = False,
    processes: Processes = ALONE,
    lost_after: float = 60.0,
    listener: Listener = SILENT,
    said: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Choose a scale for each input; what came of it, in numbers.

    Args:
        asked: of the fits that the scales are for.
        resume: go on with the choices in the folder: those that are there stay.
        processes: which share of the inputs is this process's.
        lost_after: seconds of silence after which another process counts as lost.
        said: how the inputs were named, for a resume without them.
    """
    begun = time.perf_counter()
    sources = in_parts(cls, sources, asked, listener)
    config = _config(cls, asked, auto, trials)
    if resume and overwrite:
        raise InputError("`resume` and `overwrite` exclude each other")

    def begin() -> dict[str, Any]:
        if resume:
            _check_same(place, config)
        else:
            _create(place, overwrite)
            content = config | {"inputs": len(sources), "said": short(said)}
            write_bytes(place / CONFIG, (to_json(content, indent=2) + "\n").encode())
        return {"run": new_run(place)}

    run = processes.agreed(begin)["run"]
    there = {row["name"] for row in _rows(place) if "error" not in row}
    left = processes.share([s for s in sources if s.name not in there])
    if there:
        listener.say(f"{len(there)} choices are there; {len(left)} are left here")
    with Share(place, processes, run, lost_after) as share:
        lock = RunLock(share.path)
        try:
            _choose_each(left, share.path, asked, auto, trials, listener)
        finally:
            lock.release()
        share.done({"chosen": len(left)})
        if processes.index:
            return {"process": processes.index}
        _, lost = share.wait(listener.progress)
    for part in lost:
        listener.warn(told_lost(part))
    names = {source.name for source in sources}
    rows = [row for row in _rows(place) if row["name"] in names]
    SetFolder.write_lines(place / CHOICES, rows)
    return _result(rows, cls.name, str(auto), len(sources)) | {
        "lost": lost,
        "processes": processes.count,
        "seconds": round(time.perf_counter() - begun, 3),
        "device": device_name(),
        "out": str(place),
    }


def _choose_each(
    sources: Sequence[Source],
    part: Path,
    asked: TrainOptions,
    auto: Auto,
    trials: Trials,
    listener: Listener,
) -> None:
    """Choose for one input after the other, a line as soon as each is there."""
    path = part / CHOICES
    # What a kill cut off, and what failed and is tried again, are not kept.
    kept = [row for row in read_lines(path) if "error" not in row]
    SetFolder.write_lines(path, kept)
    for at, source in enumerate(sources):
        listener.progress(f"{source.name}: {at + 1} of {len(sources)}")
        try:
            kind = source.read(asked)
            row = {"name": source.name, "place": source.place, "source": source.path}
            row |= trials.choose(kind, auto, listener)
        except Exception as error:  # whatever it is, it costs this input alone
            row = Failed(source, one_line(error)).row
            listener.warn(f"{source.name}: {row['error']}")
        append_text(path, to_json(row) + "\n")


def _rows(place: Path) -> list[dict[str, Any]]:
    """What all parts have, in the order of the inputs; an error where there is no
    choice."""
    found: dict[str, dict[str, Any]] = {}
    for part in sorted(place.glob(f"part-*/{CHOICES}")):
        for row in read_lines(part):
            if "error" not in row or row["name"] not in found:
                found[row["name"]] = row
    return sorted(found.values(), key=lambda row: row["place"])


def _config(
    cls: type[Kind], asked: TrainOptions, auto: Auto, trials: Trials
) -> dict[str, Any]:
    """What decides the choices, as config.json has it."""
    free = {*FREE, "file", "mapping", "steps", "batch", "max_input"}
    names = [f.name for f in dataclasses.fields(asked) if f.name not in free]
    tried = dataclasses.asdict(trials)
    del tried["fresh"]
    return {"passband": __version__, "tune": True, "task": cls.name,
            "mapping": str(auto), **{n: getattr(asked, n) for n in names},
            **tried}  # fmt: skip


def _create(place: Path, overwrite: bool) -> None:
    """Make the folder; one that holds choices is refused or, asked to, cleared."""
    if os.path.lexists(place) and not os.path.isdir(place):
        raise InputError(f"`out` (={place}) is a file; give a folder")
    ours = [place / CONFIG, place / CHOICES, *place.glob(f"part-*/{CHOICES}")]
    there = [path for path in ours if os.path.lexists(path)]
    if there and _before(place) is None:
        raise InputError(
            f"`{place}` holds files that are no choices; name another `out`"
        )
    if there and not overwrite:
        raise InputError(
            f"`{place}` exists; `resume` goes on with it, `overwrite` starts anew, "
            "`out` names another"
        )
    make_folder(place)
    for path in there:
        path.unlink()


def _before(place: Path) -> dict[str, Any] | None:
    """What config.json holds, if choices of ours are beside it."""
    try:
        found = read_json(place / CONFIG)
    except InputError:
        return None
    return found if isinstance(found, dict) and found.get("tune") is True else None


def _check_same(place: Path, config: dict[str, Any]) -> None:
    """An error unless the folder's choices were asked for in the same way."""
    before = _before(place)
    if before is None:
        raise InputError(f"`{place}` has no choices to resume")
    now = from_json(to_json(config))  # as it would be read back
    for name, value in now.items():
        if name != "passband" and before.get(name) != value:
            raise InputError(
                f"`{name}` (={value}) disagrees with `{place}`, which has "
                f"{before.get(name)}; `overwrite` starts anew"
            )


def _result(
    rows: Iterable[dict[str, Any]], task: str, mapping: str, inputs: int
) -> dict[str, Any]:
    """What `passband tune --json` prints of several inputs."""
    told = [{name: row[name] for name in SHORT if name in row} for row in rows]
    good = [row for row in told if "error" not in row]
    bad = [row for row in told if "error" in row]
    sigmas = sorted(row["sigma"] for row in good)
    spread = None
    if sigmas:
        middle = statistics.median(sigmas)
        spread = {"least": sigmas[0], "median": middle, "most": sigmas[-1]}
    return {
        "task": task,
        "mapping": mapping,
        "inputs": inputs,
        "chosen": len(good),
        "failed": len(bad),
        "missing": inputs - len(told),
        "sigma": spread,
        "choices": told,
    }
