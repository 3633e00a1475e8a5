"""The folder of a set of fields: shards in parts, one part a process, and an index.

    config.json                      what was asked for and settled, for all processes
    part-000/00000.safetensors ...   shards (`shard_file`): a stack of fields each
    part-000/failed.jsonl            inputs that could not be fitted, and why
    part-000/alive, done.json        of the process that has the part
    index.jsonl                      a line for each input: where it is, or its error
    summary.html, result.json        what came of it

A shard is written whole or not at all and names its fields, so that what is done is
what the shards say, whoever was killed when. Every process writes into its own part
alone; process 0 writes what is beside the parts.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..atomic_write import make_folder, part_of, write_bytes
from ..errors import InputError
from ..file_gate import read_bytes, read_json
from ..json_text import from_json, to_json
from ..shard_file import Shard
from .run_lock import RunLock
from .shares import part_path

INDEX, CONFIG = "index.jsonl", "config.json"
_OURS = (INDEX, CONFIG, "summary.html", "result.json")
_OF_A_PART = ("failed.jsonl", "done.json", "alive")
_INDEXED = ("name", "place", "source", "sha256", "mapping", "metrics", "seconds",
            "warning")  # fmt: skip
_LONGEST = 2**32  # bytes of an index


class SetFolder:
    """A set of fields on the disk."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    @classmethod
    def create(cls, path: Path, *, overwrite: bool = False) -> "SetFolder":
        """A new folder; one that holds a set is refused or, asked to, cleared of it."""
        folder = cls(path)
        there = os.path.isdir(path) and any(path.iterdir())
        if there and folder.config() is None and folder.parts() == []:
            raise InputError(
                f"`{path}` holds files that are not a set's; choose another `out`"
            )
        if there and not overwrite:
            raise InputError(
                f"`{path}` exists; `resume` goes on with it, `overwrite` starts anew, "
                "`out` names another"
            )
        make_folder(path)
        folder._clear()
        return folder

    def config(self) -> dict[str, Any] | None:
        """What config.json holds, if a set of ours wrote it."""
        try:
            found = read_json(self.path / CONFIG)
        except InputError:
            return None
        ours = isinstance(found, dict) and found.get("set") is True
        return found if ours and isinstance(found.get("task"), str) else None

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        write_bytes(self.path / name, (to_json(content, indent=2) + "\n").encode())

    def parts(self) -> list[Path]:
        """The parts that there are, in order."""
        return sorted(p for p in self.path.glob("part-*") if os.path.isdir(p))

    def shards(self) -> Iterator[Shard]:
        """Every shard that is whole, in order; one that is damaged is left out, so
        that its inputs are fitted again."""
        for part in self.parts():
            for path in sorted(part.glob("[0-9]*.safetensors")):
                with contextlib.suppress(InputError):
                    yield Shard.open(path)

    def fitted(self) -> set[str]:
        """The names of all fields that are there."""
        return {row["name"] for shard in self.shards() for row in shard.rows}

    def failures(self) -> dict[str, dict[str, Any]]:
        """What the parts know of inputs that could not be fitted, by name."""
        found: dict[str, dict[str, Any]] = {}
        for part in self.parts():
            for row in read_lines(part / "failed.jsonl"):
                found[row["name"]] = row
        return found

    def merge(self) -> list[dict[str, Any]]:
        """Write the index of all parts, and give its rows."""
        rows = self._merged()
        self.write_lines(self.path / INDEX, rows)
        return rows

    def _merged(self) -> list[dict[str, Any]]:
        rows, names = [], set()
        for shard in self.shards():
            where = shard.path.relative_to(self.path).as_posix()
            for k, row in enumerate(shard.rows):
                if row["name"] not in names:
                    names.add(row["name"])
                    said = {name: row[name] for name in _INDEXED if name in row}
                    rows.append(said | {"shard": where, "row": k})
        rows += [r for name, r in self.failures().items() if name not in names]
        return sorted(rows, key=_place)

    def rows(self) -> list[dict[str, Any]]:
        """The index; put together anew where there is none: a fit was killed."""
        path = self.path / INDEX
        return read_lines(path) if os.path.exists(path) else self._merged()

    @staticmethod
    def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
        write_bytes(path, "".join(to_json(row) + "\n" for row in rows).encode())

    def _clear(self) -> None:
        """Remove every file of a set, and nothing else."""
        places = [(self.path, _OURS), *((p, _OF_A_PART) for p in self.parts())]
        for place, names in places:
            for path in place.iterdir():
                shard = place != self.path and path.suffix == ".safetensors"
                if shard or path.name in names or part_of(path.name) in names:
                    path.unlink()
            if place != self.path:
                with contextlib.suppress(OSError):  # with files of the user's
                    place.rmdir()


class Part:
    """What one process of a set writes; it holds the part as a context."""

    def __init__(self, folder: SetFolder, process: int):
        self.path = part_path(folder.path, process)
        make_folder(self.path)
        self.lock = RunLock(self.path)
        taken = [int(p.stem) for p in self.path.glob("[0-9]*.safetensors")
                 if p.stem.isdecimal()]  # fmt: skip
        self._next = max(taken, default=-1) + 1
        for left in self.path.iterdir():  # of a process that was killed
            if part_of(left.name) is not None:
                left.unlink()

    def next_shard(self) -> Path:
        """The name of the next shard."""
        self._next += 1
        return self.path / f"{self._next - 1:05d}.safetensors"

    def failed(self, rows: list[dict[str, Any]]) -> None:
        """Write down all inputs of this process that could not be fitted."""
        SetFolder.write_lines(self.path / "failed.jsonl", rows)

    def __enter__(self) -> "Part":
        return self

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def _place(row: dict[str, Any]) -> int:
    """Where an input stood in the list of all."""
    place = row.get("place")
    return place if isinstance(place, int) else 0


def is_set(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a set of fields."""
    return os.path.isdir(path) and SetFolder(path).config() is not None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file that name something."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return []
    found = []
    for line in read_bytes(path, "the index of a set", _LONGEST).splitlines():
        with contextlib.suppress(ValueError):
            row = from_json(line)
            if isinstance(row, dict) and isinstance(row.get("name"), str):
                found.append(row)
    return found
