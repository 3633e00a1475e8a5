"""Items of the paper run by several processes of one machine, which share its device.

While one process draws networks, compiles or scores, the networks of another train: of
a full run on an H200 a fifth of the time was the host's. A child runs its share of the
items and says lines of JSON; the parent runs a share of its own and speaks for all.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from . import plan, registry, results
from .item import Assembled, Item, Preset
from .results import Result
from .runs import Runs

CHILD = f"from {__name__} import child; child()"
PATIENCE = 20.0
"""Seconds that a child which was told to end has for it."""


def run_in_jobs(runs: Runs, items: Sequence[Item], jobs: int) -> None:
    """Run the items, shared by so many processes; what is put together from others'
    results comes after all of these.

    Items of a process that is lost are in `runs.skipped`, as those that failed are.
    """
    own = [item for item in items if not isinstance(item, Assembled)]
    there = {i.id for i in own if results.exists(runs.folder, runs.preset, i.id)}
    shares = plan.shares(
        own, runs.folder, runs.preset, jobs, kept=there if runs.resume else ()
    )
    mine, *others = [[item for item in own if item.id in share] for share in shares]
    runs.jobs = jobs
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(Child(runs, some)) for some in others if some]
        runs.run(mine)
        did = [one.did() for one in children]
    runs.take_in(own, did)
    runs.run([item for item in items if isinstance(item, Assembled)])
    order = {item.id: at for at, item in enumerate(items)}
    runs.results.sort(key=lambda result: order[result.id])


class Child:
    """A process with a share of the items; within a `with`, which it does not outlive.

    A result counts as soon as the child says that it is on the disk.
    """

    def __init__(self, runs: Runs, items: Sequence[Item]):
        self.runs, self.items = runs, {item.id: item for item in items}
        self._did: dict[str, Any] = {"skipped": {}, "broken": False}
        self._process = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=_environment(),
        )  # fmt: skip
        share = {
            "items": {id: item.seeds for id, item in self.items.items()},
            "preset": runs.preset.value,
            "folder": str(runs.folder),
            "resume": runs.resume,
            "jobs": runs.jobs,
        }
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # lost: its items are told as such
            self._process.stdin.write(json.dumps(share) + "\n")
            self._process.stdin.close()
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
            self._process.kill()
        self._hearing.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait()

    def did(self) -> dict[str, Any]:
        """Waits until it has ended; what `Runs.take_in` wants to know of it."""
        self._process.wait()
        self._hearing.join()
        return {"ran": [], "kept": [], **self._did}

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                told = json.loads(line)
                what, said = told["what"], told["said"]
            except (ValueError, TypeError, KeyError):  # a library's own word
                what, said = "progress", line.rstrip()
            self._take(what, said)

    def _take(self, what: str, said: Any) -> None:
        if what == "did":
            self._did = said
        elif what in ("ran", "kept"):
            self.runs.have_of_another(self.items[said], kept=what == "kept")
        elif what in ("say", "warn", "error", "progress"):
            getattr(self.runs.listener, what)(said)


def _environment() -> dict[str, str]:
    """A child is this package, wherever it was found, and hears of no terminal."""
    source = str(Path(__file__).parents[2])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


class _Speaker:
    """Says everything as lines of JSON, to the parent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def tell(self, what: str, said: Any) -> None:
        with self._lock:
            print(json.dumps({"what": what, "said": said}), flush=True)

    def say(self, text: str) -> None:
        self.tell("say", text)

    def warn(self, text: str) -> None:
        self.tell("warn", text)

    def error(self, text: str) -> None:
        self.tell("error", text)

    def progress(self, text: str, *, often: bool = True) -> None:
        self.tell("progress", text)


def child() -> None:
    """What a child does."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        _child()


def _child() -> None:
    from ..train.program_cache import keep_programs

    share, speaker = json.loads(sys.stdin.readline()), _Speaker()
    keep_programs()

    def tell(item: Item, result: Result) -> None:
        del result
        speaker.tell("kept" if item.id in runs.kept else "ran", item.id)

    preset, folder = Preset(share["preset"]), Path(share["folder"])
    runs = Runs(preset, folder, speaker, go_on="the command with `resume`", tell=tell,
                resume=share["resume"], whole=True)  # fmt: skip
    runs.jobs = share["jobs"]
    items = []
    for id, seeds in share["items"].items():
        item = registry.get_item(id)
        items.append(item if seeds == item.seeds else plan.seeded(item, seeds))
    try:
        runs.run(items)
    except InputError as error:
        speaker.error(f"passband: {error}")
    speaker.tell("did", {"skipped": runs.skipped, "broken": runs.broken})
