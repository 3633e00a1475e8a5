"""The folder of one fit: configuration, metrics, checkpoint, model and pictures."""

import contextlib
import math
import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from ..atomic_write import append_text, make_folder, part_of, write_bytes
from ..errors import InputError
from ..file_gate import read_bytes
from ..json_text import from_json, to_json
from .checkpoint import read_checkpoint, write_checkpoint
from .config_file import config_of_run
from .run_lock import NAME as LOCK
from .run_lock import RunLock
from .state import State

_OURS = ("config.json", "metrics.jsonl", "model.safetensors", "preview.png",
         "report.html", "result.json", "state.safetensors")  # fmt: skip
_LONGEST = 2**32  # bytes of metrics


class RunFolder:
    """Everything a fit leaves behind, in an order that survives being killed.

    A metrics line is written before the checkpoint that includes its step; resuming
    drops the lines after the checkpoint, so that no step is there twice or missing.
    One process owns the folder until `release`.
    """

    def __init__(self, path: Path, config: dict[str, Any], lock: RunLock):
        self.path, self.config, self.lock = path, config, lock
        self.checkpoint_path = path / "checkpoint" / "state.safetensors"

    @classmethod
    def create(
        cls, path: Path, config: dict[str, Any], *, overwrite: bool = False
    ) -> "RunFolder":
        """A new folder; one that holds a run is refused or, asked to, cleared of it."""
        cls.check(path, overwrite=overwrite)
        make_folder(path)
        folder = cls(path, config, RunLock(path))
        folder._remove(_OURS)
        with contextlib.suppress(OSError):  # not there, or with files of the user's
            folder.checkpoint_path.parent.rmdir()
        folder.configure(config)
        return folder

    @staticmethod
    def check(path: Path, *, overwrite: bool = False) -> None:
        """An error if `create` would be refused: before the work, not after it."""
        try:
            there = [p for p in path.iterdir() if not _passing(p.name)]
        except FileNotFoundError:
            there = []
        except NotADirectoryError:
            raise InputError(
                f"`{path}` is a file, or below one; `out` must name a folder"
            ) from None
        except OSError as error:
            raise InputError(f"`{path}` cannot be read: {error.strerror}") from error
        if there and config_of_run(path / "config.json") is None:
            raise InputError(
                f"`{path}` holds files that are not a run's; choose another `out`"
            )
        if there and not overwrite:
            raise InputError(
                f"run folder `{path}` exists; `resume` goes on with it, "
                "`overwrite` starts anew, `out` names another"
            )

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run that was started before."""
        if not os.path.lexists(path / "config.json"):
            raise InputError(f"`{path}` has no config.json; there is no run to resume")
        lock = RunLock(path)  # before anything is read that its owner may change
        config = config_of_run(path / "config.json")
        if config is None:
            lock.release()
            raise InputError(
                f"`{path / 'config.json'}` is not that of a run, or is damaged; "
                "choose another `out`"
            )
        return cls(path, config, lock)

    def release(self) -> None:
        """Let another process go on with the run."""
        self.lock.release()

    def configure(self, config: dict[str, Any]) -> None:
        """Write the configuration."""
        self.config = config
        self.write_json("config.json", config)

    def log(self, entry: dict[str, float]) -> None:
        """One more line of metrics."""
        self._append(to_json(entry) + "\n")

    def checkpoint(self, state: State, seconds: float) -> None:
        """Save the state, so that the run can go on from here."""
        self._append("", sync=True)  # no checkpoint without its metrics
        write_checkpoint(self.checkpoint_path, state, seconds=seconds)

    def restore(self, like: State) -> tuple[State, float]:
        """The last saved state and the seconds spent until then; `like` if none was."""
        state, seconds = like, 0.0
        if self.checkpoint_path.exists():
            state, seconds = read_checkpoint(self.checkpoint_path, like)
        self._remove(())
        last = int(state.step)
        kept = {entry["step"]: to_json(entry) for entry in self._entries()}
        text = "".join(kept[step] + "\n" for step in sorted(kept) if step <= last)
        write_bytes(self.path / "metrics.jsonl", text.encode())
        return state, seconds

    def history(self) -> dict[str, list[float]]:
        """The metrics so far, as columns."""
        columns: dict[str, list[float]] = {}
        for entry in self._entries():
            add_entry(columns, entry)
        return columns

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        text = to_json(content, indent=2) + "\n"
        write_bytes(self.path / name, text.encode())

    def _append(self, text: str, *, sync: bool = False) -> None:
        """Add to the metrics of a folder that is still there."""
        path = self.path / "metrics.jsonl"
        if not os.path.exists(self.path / "config.json"):
            raise InputError(
                f"run folder `{self.path}` was removed while its fit was running; "
                "nothing more is written there"
            )
        append_text(path, text, sync=sync)

    def _entries(self) -> list[dict[str, Any]]:
        """The lines of metrics that are whole: one that was being written when the run
        was killed, or was damaged since, costs that line."""
        path = self.path / "metrics.jsonl"
        if not os.path.exists(path):
            return []
        lines = read_bytes(path, "the metrics of a run", _LONGEST).splitlines()
        entries = [_entry(line) for line in lines]
        return [entry for entry in entries if entry is not None]

    def _remove(self, names: Container[str]) -> None:
        """Remove these files of the run, and temporary ones that a kill left behind."""
        try:
            for place in (self.path, self.checkpoint_path.parent):
                for path in place.iterdir() if place.is_dir() else ():
                    if path.name in names or part_of(path.name) in _OURS:
                        path.unlink()
        except OSError as error:
            raise InputError(
                f"`{self.path}` cannot be cleared: {error.strerror}"
            ) from error


def _passing(name: str) -> bool:
    """Whether a file in a run folder is one that no run is known by."""
    return name == LOCK or part_of(name) in _OURS


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line of metrics: numbers by name, a step among them."""
    try:
        entry = from_json(line)
        good = entry["step"] >= 0 and all(_is_number(v) for v in entry.values())
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
    return entry if good else None


def _is_number(value: Any) -> bool:
    return value is None or (
        isinstance(value, int | float) and not isinstance(value, bool)
    )


def add_entry(
    columns: dict[str, list[float]], entry: Mapping[str, float | None]
) -> None:
    """One line more of a history, whose columns stay equally long: what an entry does
    not have is no number there."""
    length = max(map(len, columns.values()), default=0)
    for name in {**columns, **entry}:
        value = entry.get(name)
        column = columns.setdefault(name, [math.nan] * length)
        column.append(math.nan if value is None else value)
