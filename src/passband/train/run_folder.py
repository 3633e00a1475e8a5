"""The folder of one fit: configuration, metrics, checkpoint, model and pictures."""

import json
import math
import shutil
import time
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..json_text import to_json
from ..whole_file import write_bytes
from .checkpoint import read_checkpoint, write_checkpoint
from .state import State

_OURS = ("config.json", "metrics.jsonl", "model.safetensors", "preview.png",
         "report.html", "result.json")  # fmt: skip


class RunFolder:
    """Everything a fit leaves behind, in an order that survives being killed.

    A metrics line is written before the checkpoint that includes its step; resuming
    drops the lines after the checkpoint, so that no step is there twice or missing.
    """

    def __init__(self, path: Path, config: dict[str, Any], every_seconds: float = 10):
        self.path, self.config = path, config
        self.every_seconds = every_seconds
        self._saved_at = time.monotonic()

    @classmethod
    def create(
        cls, path: Path, config: dict[str, Any], *, overwrite: bool = False
    ) -> "RunFolder":
        """A new folder; one that holds a run is refused or, asked to, cleared of it."""
        if path.exists() and not path.is_dir():
            raise InputError(f"`{path}` is a file; `--out` must name a folder")
        if path.exists() and any(path.iterdir()):
            if not (path / "config.json").exists():
                raise InputError(
                    f"`{path}` holds files that are not a run's; choose another `--out`"
                )
            if not overwrite:
                raise InputError(
                    f"run folder `{path}` exists; `--resume` goes on with it, "
                    "`--overwrite` starts anew, `--out` names another"
                )
            for name in _OURS:
                (path / name).unlink(missing_ok=True)
            shutil.rmtree(path / "checkpoint", ignore_errors=True)
        folder = cls(path, config)
        folder.write_json("config.json", config)
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run that was started before."""
        try:
            config = json.loads((path / "config.json").read_text())
        except FileNotFoundError:
            raise InputError(
                f"`{path}` has no config.json; there is no run to resume"
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"`{path}/config.json` cannot be read: {error}") from None
        return cls(path, config)

    def log(self, entry: dict[str, float]) -> None:
        """One more line of metrics."""
        with open(self.path / "metrics.jsonl", "a") as stream:
            stream.write(to_json(entry) + "\n")

    def checkpoint(self, state: State, seconds: float, *, now: bool = False) -> None:
        """Save the state if the last save is old enough, or `now`."""
        if not now and time.monotonic() - self._saved_at < self.every_seconds:
            return
        write_checkpoint(
            self.path / "checkpoint" / "state.safetensors",
            state,
            step=int(state.step),
            seconds=seconds,
        )
        self._saved_at = time.monotonic()

    def restore(self, like: State) -> tuple[State, float]:
        """The last saved state and the seconds spent until then; `like` if none was."""
        path = self.path / "checkpoint" / "state.safetensors"
        state, seconds = like, 0.0
        if path.exists():
            state, info = read_checkpoint(path, like)
            seconds = float(info["seconds"])
        last = int(state.step)
        kept = [line for line in self._lines() if line["step"] <= last]
        text = "".join(json.dumps(line) + "\n" for line in kept)
        write_bytes(self.path / "metrics.jsonl", text.encode())
        return state, seconds

    def history(self) -> dict[str, list[float]]:
        """The metrics so far, as columns."""
        columns: dict[str, list[float]] = {}
        for line in self._lines():
            for name, value in line.items():
                columns.setdefault(name, []).append(
                    math.nan if value is None else value
                )
        return columns

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        text = to_json(content, indent=2) + "\n"
        write_bytes(self.path / name, text.encode())

    def _lines(self) -> list[dict[str, Any]]:
        path = self.path / "metrics.jsonl"
        lines = []
        for text in path.read_text().splitlines() if path.exists() else []:
            try:
                lines.append(json.loads(text))
            except (
                ValueError
            ):  # the line that was being written when the run was killed
                break
        return lines
