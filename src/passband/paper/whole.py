"""How long `passband paper all` took, as its user sees it: results/<preset>/all.json.

The clock runs from the command's start to its report, over everything between the items
too. A command that kept results of an earlier one adds to it; one that ran all begins
anew.
"""

import dataclasses
from pathlib import Path
from typing import Any

from ..atomic_write import make_folder, write_bytes
from ..errors import InputError
from ..file_gate import read_json
from ..json_text import to_json
from .item import Preset
from .results import commit_now, path_of, today

NAME = "all"
"""Of the file; no item is called so."""


@dataclasses.dataclass(frozen=True)
class Command:
    """One `passband paper all` that came to its report."""

    command: str
    commit: str | None
    date: str
    device: str
    seconds: float
    ran: list[str]
    """Ids of the items that ran."""
    kept: list[str]
    """Ids of those whose result was there already."""
    processes: int = 1
    """How many shared it."""


@dataclasses.dataclass(frozen=True)
class Whole:
    """The commands that together made a preset's results."""

    commands: list[Command]

    @property
    def seconds(self) -> float:
        return sum(command.seconds for command in self.commands)

    @property
    def processes(self) -> int:
        """How many shared a command, at most."""
        return max(command.processes for command in self.commands)

    @property
    def told(self) -> str:
        """How many commands it took, and processes, where that is more than one."""
        count, shared = len(self.commands), self.processes
        text = "" if count == 1 else f" in {count} commands"
        return text if shared == 1 else f"{text} by {shared} processes"


def command(
    preset: Preset,
    ran: list[str],
    kept: list[str],
    seconds: float,
    device: str,
    processes: int = 1,
    companions: bool = False,
    jobs: int = 1,
) -> Command:
    """The command of this process, which is at its report."""
    words = f"passband paper all --preset {preset.value}"
    words += companions * " --companions" + bool(kept) * " --resume"
    words += (processes > 1) * " --distributed" + (jobs > 1) * f" --jobs {jobs}"
    now, shared = (commit_now(), today()), processes * jobs
    return Command(words, *now, device, round(seconds, 1), ran, kept, shared)


def note(folder: Path, preset: Preset, command: Command) -> None:
    """Write down that a command has come to its report."""
    earlier = load(folder, preset)
    before = earlier.commands if earlier is not None and command.kept else []
    content = {"commands": [dataclasses.asdict(c) for c in (*before, command)]}
    path = path_of(folder, preset, NAME)
    make_folder(path.parent)
    write_bytes(path, (to_json(content, indent=2) + "\n").encode())


def load(folder: Path, preset: Preset) -> Whole | None:
    """What was noted; None where nothing was, or it cannot be read."""
    path = path_of(folder, preset, NAME)
    if not path.is_file():
        return None
    try:
        content: dict[str, Any] = read_json(path)
        commands = [Command(**command) for command in content["commands"]]
    except (InputError, KeyError, TypeError):
        return None
    return Whole(commands) if commands else None
