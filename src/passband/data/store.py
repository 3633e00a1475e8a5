"""Named data sets: what they are, where they are, whether they are whole."""

import difflib
import functools
import hashlib
import json
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from ..errors import InputError
from .images import read_image


@dataclass(frozen=True)
class DataFile:
    """One file of a set, as its source publishes it."""

    path: str
    """Relative to the folder of the set."""
    size: int
    sha256: str


@dataclass(frozen=True)
class DataSet:
    """What is known of a set without having it."""

    name: str
    what: str
    licence: str
    source: str
    standin: str | None
    """What runs in its place, where anything does."""
    url: str | None
    """The published folder with these very files; None where they were converted."""
    how: str | None
    """How to convert the originals, where `url` is None."""
    files: tuple[DataFile, ...]


@dataclass(frozen=True)
class SetStatus:
    """A set, and what of it is on this machine."""

    name: str
    what: str
    licence: str
    source: str
    where: Path | None
    """The folder that `find` gives, or an incomplete one."""
    complete: bool


@functools.cache
def known_sets() -> dict[str, DataSet]:
    """Every set that passband knows, by name."""
    text = resources.files("passband.data").joinpath("sets.json").read_text("utf-8")
    sets = {}
    for name, entry in json.loads(text).items():
        listed = entry.pop("files").items()
        files = tuple(DataFile(path, size, digest) for path, (size, digest) in listed)
        sets[name] = DataSet(name=name, files=files, **entry)
    return sets


def known_set(name: str) -> DataSet:
    """The set of that name, or an error with the nearest one."""
    sets = known_sets()
    if name in sets:
        return sets[name]
    near = difflib.get_close_matches(name, sets, n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    raise InputError(f"data set `{name}` is unknown; {hint}there are {', '.join(sets)}")


def cache_folder() -> Path:
    """Where `fetch` puts the sets: $XDG_CACHE_HOME/passband, else ~/.cache/passband."""
    found = cache_or_none()
    if found is None:
        raise InputError(
            "there is no home folder to keep data in; set XDG_CACHE_HOME to a folder"
        )
    return found


def cache_or_none() -> Path | None:
    """The user's cache; None for a user who has no home."""
    # The XDG rules say that a relative path there is to be ignored.
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        try:
            cache = Path.home() / ".cache"
        except RuntimeError:
            return None
    return cache / "passband"


def kept_folder(name: str) -> Path | None:
    """Where things of that name are kept from one command to the next; None where
    nothing is to be kept."""
    given = os.environ.get("PASSBAND_CACHE", "on")
    if given not in ("on", "off"):
        raise InputError(f"`PASSBAND_CACHE` (={given}) must be on or off")
    cache = cache_or_none()
    return None if given == "off" or cache is None else cache / name


def _places(name: str) -> list[Path]:
    given = os.environ.get("PASSBAND_DATA")
    roots = [Path(given) if given else None, cache_or_none()]
    return [root / name for root in roots if root is not None]


def _missing(folder: Path, data_set: DataSet) -> list[str]:
    return [f.path for f in data_set.files if not os.path.isfile(folder / f.path)]


def _started(data_set: DataSet) -> list[Path]:
    """The folders that hold at least one file of a set."""
    total = len(data_set.files)
    places = _places(data_set.name)
    return [folder for folder in places if len(_missing(folder, data_set)) < total]


def list_sets() -> list[SetStatus]:
    """Every known set, with where it is and whether no file of it is missing."""
    found = []
    for data_set in known_sets().values():
        folders = _started(data_set)
        whole = [folder for folder in folders if not _missing(folder, data_set)]
        found.append(
            SetStatus(
                name=data_set.name,
                what=data_set.what,
                licence=data_set.licence,
                source=data_set.source,
                where=next(iter(whole or folders), None),
                complete=bool(whole),
            )
        )
    return found


def find(name: str) -> Path:
    """The folder with every file of a set: under $PASSBAND_DATA, else in the cache.

    Their content is not read; `check` does that.
    """
    data_set = known_set(name)
    folders = _started(data_set)
    for folder in folders:
        if not _missing(folder, data_set):
            return folder
    state = "is not on this machine"
    if folders:
        folder = folders[0]
        missing = _missing(folder, data_set)
        share = f"{len(missing)} of {len(data_set.files)}"
        state = f"lacks {share} files, such as `{folder / missing[0]}`"
    standin = data_set.standin
    meanwhile = f"; meanwhile {standin} can stand in" if standin else ""
    raise InputError(
        f"data set `{name}` {state}: {data_set.what}; licence: {data_set.licence}; "
        f"source: {data_set.source}; {_way(data_set)}, or set PASSBAND_DATA to the "
        f"folder that holds `{name}/`{meanwhile}"
    )


def _way(data_set: DataSet) -> str:
    if data_set.url is not None:
        return f"get it with `passband data fetch {data_set.name}`"
    cache = cache_or_none()
    where = "a folder of your own" if cache is None else f"`{cache / data_set.name}`"
    return f"put it under {where} ({data_set.how})"


def whole_folder(name: str) -> Path | None:
    """The first folder where every file of the set is right to the byte, if any."""
    files = known_set(name).files
    for folder in _places(name):
        if all(mismatch(folder / file.path, file) is None for file in files):
            return folder
    return None


def check(name: str) -> Path:
    """The folder of a set, every file of which has the published size and sha256."""
    folder = find(name)
    for file in known_set(name).files:
        check_file(folder / file.path, file)
    return folder


def check_file(path: Path, file: DataFile) -> None:
    """Refuse a file that is not, to the byte, the one that its set lists."""
    problem = mismatch(path, file)
    if problem is not None:
        raise InputError(
            f"`{path}` is corrupted: {problem}; delete it and get the set again"
        )


def mismatch(path: Path, file: DataFile) -> str | None:
    """What is wrong with the bytes of a file, if anything."""
    try:
        size = path.stat().st_size
        if size != file.size:
            return f"it has {size} bytes, not {file.size}"
        with path.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if digest != file.sha256:
        return f"its sha256 is {digest[:12]}..., not {file.sha256[:12]}..."
    return None


def load_images(name: str, split: str) -> UInt8[np.ndarray, "n h w c"]:
    """The pictures in one folder of a set, each checked, in the order of their names.

    Args:
        name: `natural` or `text`, or another set whose pictures have one size.
        split: `train_data` (scales are swept on it) or `test_data` (tables report it).
    """
    data_set = known_set(name)
    listed = sorted(
        (file for file in data_set.files if file.path.startswith(f"{split}/")),
        key=lambda file: file.path,
    )
    if not listed:
        folders = {str(Path(file.path).parent) for file in data_set.files} - {"."}
        raise InputError(
            f"`split` (={split}) is no folder of data set `{name}`, which has "
            f"{', '.join(sorted(folders)) or 'none'}"
        )
    folder = find(name)
    for file in listed:
        check_file(folder / file.path, file)
    return np.stack([read_image(folder / file.path).values for file in listed])
