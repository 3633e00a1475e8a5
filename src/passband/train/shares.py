"""Work that the processes of a job share, in a folder that all of them see.

part-003/alive       is touched as long as process 3 lives
part-003/done.json   what it did, once it has done its share
"""

import contextlib
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..atomic_write import make_folder, write_bytes
from ..errors import InputError
from ..file_gate import read_json
from ..json_text import to_json
from .processes import Heartbeat, Processes, wait_for

ALIVE, SO_FAR, DONE = "alive", "so-far.json", "done.json"


def part_path(folder: Path, process: int) -> Path:
    """What is process `process`'s own in a shared folder."""
    return folder / f"part-{process:03d}"


def new_run(folder: Path) -> str:
    """A name for the run that begins now; who was alive in an earlier one is forgotten.

    For process 0, before the others begin (`Processes.agreed`).
    """
    for left in folder.glob(f"part-*/{ALIVE}"):
        with contextlib.suppress(OSError):
            left.unlink()
    return f"{time.time():.6f}"


class Share:
    """The share of one process: the others see that it lives, and when it is done."""

    def __init__(self, folder: Path, processes: Processes, run: str, lost_after: float):
        self.folder, self.processes, self.run = folder, processes, run
        self.lost_after = lost_after
        self.path = part_path(folder, processes.index)
        make_folder(self.path)
        for name in (SO_FAR, DONE):
            with contextlib.suppress(FileNotFoundError):
                (self.path / name).unlink()
        self._beat = Heartbeat(self.path, lost_after / 6)

    def __enter__(self) -> "Share":
        return self

    def __exit__(self, *error: object) -> None:
        self._beat.stop()

    def so_far(self, content: dict[str, Any]) -> None:
        """Say what this process has done on the way: it counts where it is lost."""
        self._write(SO_FAR, content)

    def done(self, content: dict[str, Any]) -> None:
        """Say that this process has done its share, and what came of it."""
        self._write(DONE, content)

    def _write(self, name: str, content: dict[str, Any]) -> None:
        write_bytes(self.path / name, to_json(content | {"run": self.run}).encode())

    def wait(
        self, tell: Callable[[str], None]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """For process 0: wait for the others.

        Returns:
            What each process said that it did, and the parts of those that fell
            silent.
        """
        parts = [part_path(self.folder, k) for k in range(self.processes.count)]
        lost = wait_for(
            parts[1:], lambda part: bool(self._said(part, DONE)), self._beat.path,
            self.lost_after, tell,
        )  # fmt: skip
        found = [self._said(p, DONE) or self._said(p, SO_FAR) for p in parts]
        return [one for one in found if one], [part.name for part in lost]

    def _said(self, part: Path, name: str) -> dict[str, Any]:
        """What the process of a part wrote in this run."""
        try:
            found = read_json(part / name)
        except InputError:
            return {}
        ours = isinstance(found, dict) and found.get("run") == self.run
        return found if ours else {}


def told_lost(part: str) -> str:
    """What is said of a process that fell silent."""
    return (
        f"`{part}` fell silent: its process was lost, and what it had not written is "
        "left out; `resume` does it"
    )


def remove_parts(folder: Path) -> None:
    """Remove a folder that holds nothing but signs of life."""
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)


def dealt(costs: Sequence[float], count: int) -> list[list[int]]:
    """The places of pieces of work, shared evenly: the longest first, each to the
    process that has least so far."""
    shares: list[list[int]] = [[] for _ in range(count)]
    loads = [0.0] * count
    for place in sorted(range(len(costs)), key=lambda k: -costs[k]):
        least = min(range(count), key=lambda k: (loads[k], len(shares[k])))
        loads[least] += costs[place]
        shares[least].append(place)
    return [sorted(share) for share in shares]
