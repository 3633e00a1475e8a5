"""The inputs of a set of fits: files, folders and lists, each with its own name."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..file_gate import allowing, read_json, read_text

if TYPE_CHECKING:
    from .kind import Kind, Listener
    from .table import Row


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Source:
    """One input: its name in the set, and how it is read."""

    name: str
    path: str | None
    """None where the data are in memory."""
    load: "Callable[[Any, Any], Kind]"
    """From the path and options to data; one function for all files."""
    place: int = 0
    """In the list of all inputs."""

    def read(self, asked: Any) -> "Kind":
        """The data; whatever is raised costs this input alone."""
        return self.load(self.path, asked)


def sources_of(
    cls: "type[Kind]",
    paths: Sequence[str],
    *,
    suffixes: Sequence[str] = (),
    pattern: str | None = None,
    list_file: str | None = None,
) -> list[Source]:
    """The inputs that files, folders and a list name, in order.

    Args:
        suffixes: of the files that are taken from a folder without a `pattern`; where
            there are none, a folder is one input of the kind itself (a scene, say).
        pattern: of names in a folder, such as `*.nii.gz`, `**/*.png` or `*/`.
        list_file: a text file, one input a line, from its own folder on.
    """
    found: list[tuple[str, str]] = []  # names and paths
    for path in [*paths, *(_listed(list_file) if list_file is not None else ())]:
        if os.path.isdir(path) and (pattern is not None or suffixes):
            found += _inside(Path(path), pattern, suffixes)
        else:
            found.append((Path(path).stem, path))
    if not found:
        raise InputError("`file` is missing: there is nothing to fit")
    names = unique([name for name, _ in found], [path for _, path in found])
    load = _reader(cls)
    return [
        Source(name, path, load, place)
        for place, (name, (_, path)) in enumerate(zip(names, found, strict=True))
    ]


MOST_SAID = 1000
"""Names of files that config.json keeps."""


def short(said: dict[str, Any] | None) -> dict[str, Any] | None:
    """How inputs were named, where that is not a long list."""
    return said if said and len(said["files"]) <= MOST_SAID else None


def named_sources(
    row: "Row", files: Sequence[str], options: Any, place: Path
) -> tuple[dict[str, Any], list[Source]]:
    """How the inputs of a command are named, for its config.json, and the inputs.

    Where none are, they are those that the folder `place` was begun with.
    """
    said = {"files": [os.path.abspath(f) for f in files], "pattern": options.pattern,
            "list": options.list and os.path.abspath(options.list)}  # fmt: skip
    if not files and options.list is None:
        try:
            before = read_json(place / "config.json")
        except InputError:
            before = None
        said = before.get("said") if isinstance(before, dict) else None
        if not isinstance(said, dict) or {*said} != {"files", "pattern", "list"}:
            raise InputError(f"`file` is missing: `{place}` does not say what it is of")
    return said, sources_of(
        row.load(), said["files"], suffixes=row.suffixes, pattern=said["pattern"],
        list_file=said["list"],
    )  # fmt: skip


def in_parts(
    cls: "type[Kind]", sources: Sequence[Source], asked: Any, listener: "Listener"
) -> list[Source]:
    """The inputs, those that are several (`Kind.parts`) one by one."""
    found: list[Source] = []
    for source in sources:
        loads: dict[str, Callable[[Any], Kind]] = {}
        if source.path is not None:
            with allowing(asked.max_input):
                own = dataclasses.replace(asked, file=source.path)
                loads = cls.parts(own, listener)
        found += [
            Source(f"{source.name}-{name}", source.path, _part(load))
            for name, load in loads.items()
        ] or [source]
    return [dataclasses.replace(one, place=place) for place, one in enumerate(found)]


def source_of(cls: "type[Kind]", path: str) -> Source:
    """The input of one file."""
    return Source(Path(path).stem, path, _reader(cls))


def _part(load: "Callable[[Any], Kind]") -> "Callable[[Any, Any], Kind]":
    def of_the_source(path: str, asked: Any) -> "Kind":
        del path
        return load(asked)

    return of_the_source


def _reader(cls: "type[Kind]") -> "Callable[[Any, Any], Kind]":
    def load(path: str, asked: Any) -> "Kind":
        with allowing(asked.max_input):
            return cls.read(dataclasses.replace(asked, file=path))

    return load


def unique(names: Sequence[str], longer: Sequence[str]) -> list[str]:
    """Names of which no two are equal: those that are, by their longer ones, and by a
    number where that is not enough."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    taken: set[str] = set()
    given = []
    for name, long in zip(names, longer, strict=True):
        own = base = name if counts[name] == 1 else Path(long).as_posix()
        number = 1
        while own in taken:
            number += 1
            own = f"{base}#{number}"
        taken.add(own)
        given.append(own)
    return given


def _inside(
    folder: Path, pattern: str | None, suffixes: Sequence[str]
) -> Iterable[tuple[str, str]]:
    """What a folder has of a pattern, or of the kind's suffixes, by name."""
    try:
        entries = sorted(folder.glob(pattern or "*"))
    except (ValueError, NotImplementedError, IndexError) as error:
        raise InputError(f"`pattern` (={pattern}) is none: {error}") from None
    if pattern is None:
        entries = [p for p in entries if p.suffix.lower() in suffixes]
    entries = [p for p in entries if not p.name.startswith(".")]
    if not entries:
        what = f"matches `{pattern}`" if pattern else f"ends in {', '.join(suffixes)}"
        raise InputError(f"folder `{folder}` holds nothing that {what}")
    return [(p.relative_to(folder).with_suffix("").as_posix(), str(p)) for p in entries]


def _listed(list_file: str) -> list[str]:
    """The lines of a list that are not empty and no remarks."""
    base = Path(list_file).parent
    lines = read_text(list_file, "a text file, one input a line").splitlines()
    kept = [line.strip() for line in lines]
    return [str(base / line) for line in kept if line and not line.startswith("#")]
