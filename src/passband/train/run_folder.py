"""The folder of one fit: configuration, metrics, checkpoint, model and pictures."""

import contextlib
import json
import math
import os
from collections.abc import Container
from pathlib import Path
from typing import Any

from ..atomic_write import part_of, write_bytes
from ..errors import InputError
from ..json_text import to_json
from .checkpoint import read_checkpoint, write_checkpoint
from .state import State

_OURS = ("config.json", "metrics.jsonl", "model.safetensors", "preview.png",
         "report.html", "result.json", "state.safetensors")  # fmt: skip
_NEEDED = ("passband", "task", "sha256")  # texts that every config.json has


class RunFolder:
    """Everything a fit leaves behind, in an order that survives being killed.

    A metrics line is written before the checkpoint that includes its step; resuming
    drops the lines after the checkpoint, so that no step is there twice or missing.
    """

    def __init__(self, path: Path, config: dict[str, Any]):
        self.path, self.config = path, config
        self.checkpoint_path = path / "checkpoint" / "state.safetensors"

    @classmethod
    def create(
        cls, path: Path, config: dict[str, Any], *, overwrite: bool = False
    ) -> "RunFolder":
        """A new folder; one that holds a run is refused or, asked to, cleared of it."""
        try:
            there = [p for p in path.iterdir() if part_of(p.name) not in _OURS]
        except FileNotFoundError:
            there = []
        except NotADirectoryError:
            raise InputError(
                f"`{path}` is a file, or below one; `out` must name a folder"
            ) from None
        except OSError as error:
            raise InputError(f"`{path}` cannot be read: {error.strerror}") from error
        if there and _read_config(path) is None:
            raise InputError(
                f"`{path}` holds files that are not a run's; choose another `out`"
            )
        if there and not overwrite:
            raise InputError(
                f"run folder `{path}` exists; `resume` goes on with it, "
                "`overwrite` starts anew, `out` names another"
            )
        folder = cls(path, config)
        folder._remove(_OURS)
        with contextlib.suppress(OSError):  # not there, or with files of the user's
            folder.checkpoint_path.parent.rmdir()
        folder.configure(config)
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run that was started before."""
        if not os.path.lexists(path / "config.json"):
            raise InputError(f"`{path}` has no config.json; there is no run to resume")
        config = _read_config(path)
        if config is None:
            raise InputError(
                f"`{path / 'config.json'}` is not that of a run, or is damaged; "
                "choose another `out`"
            )
        return cls(path, config)

    def configure(self, config: dict[str, Any]) -> None:
        """Write the configuration."""
        self.config = config
        self.write_json("config.json", config)

    def log(self, entry: dict[str, float]) -> None:
        """One more line of metrics."""
        path = self.path / "metrics.jsonl"
        try:
            with open(path, "a") as stream:
                stream.write(to_json(entry) + "\n")
        except OSError as error:
            raise InputError(f"`{path}` cannot be written: {error.strerror}") from error

    def checkpoint(self, state: State, seconds: float) -> None:
        """Save the state, so that the run can go on from here."""
        with open(self.path / "metrics.jsonl", "ab") as stream:
            os.fsync(stream.fileno())  # no checkpoint without its metrics
        write_checkpoint(self.checkpoint_path, state, seconds=seconds)

    def restore(self, like: State) -> tuple[State, float]:
        """The last saved state and the seconds spent until then; `like` if none was."""
        state, seconds = like, 0.0
        if self.checkpoint_path.exists():
            state, seconds = read_checkpoint(self.checkpoint_path, like)
        self._remove(())
        last = int(state.step)
        kept = [to_json(entry) for entry in self._entries() if entry["step"] <= last]
        text = "".join(line + "\n" for line in kept)
        write_bytes(self.path / "metrics.jsonl", text.encode())
        return state, seconds

    def history(self) -> dict[str, list[float]]:
        """The metrics so far, as columns."""
        columns: dict[str, list[float]] = {}
        for entry in self._entries():
            for name, value in entry.items():
                number = math.nan if value is None else value
                columns.setdefault(name, []).append(number)
        return columns

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        text = to_json(content, indent=2) + "\n"
        write_bytes(self.path / name, text.encode())

    def _entries(self) -> list[dict[str, Any]]:
        path = self.path / "metrics.jsonl"
        entries: list[dict[str, Any]] = []
        for line in path.read_bytes().splitlines() if path.exists() else []:
            try:
                entry = json.loads(line)
                entry["step"] += 0
            except (ValueError, TypeError, LookupError):
                break  # the line that was being written when the run was killed
            entries.append(entry)
        return entries

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


def _read_config(path: Path) -> dict[str, Any] | None:
    """What config.json holds, if a run of ours wrote it."""
    try:
        config = json.loads((path / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(config, dict):
        return None
    ours = all(isinstance(config.get(name), str) for name in _NEEDED)
    return config if ours else None
