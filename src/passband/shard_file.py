"""The shard file: many fields of one shape in one safetensors file, read row by row.

Tensors have the names of the model file (`model_file`) and a leading axis, one entry
for each field; those that all fields share, such as one B for a whole set, are there
once, without it, and `shared` names them. The metadata entry `passband` is a JSON
object with `format` 3, what a model file says of its network, `common` (what is true of
every field: `task`, `mapping`, ...) and `rows`, one object for each field: `name`,
`source`, `sha256`, `metrics`, and in `about` what else a model file would say.
"""

import dataclasses
import math
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as save_tensors

from .atomic_write import write_bytes
from .field import Field
from .file_gate import check_file, decoding, open_file
from .json_text import from_json, to_json
from .model_file import FORMAT, MEMBERS_FORMAT, broken, field_of

SHARD_FORMAT = 3
WHAT = "a shard of fields"
_ABOUT = "about."
_LARGEST_HEADER = 1 << 28  # a million rows would have 300 MB
_SAID = ("task", "mapping", "metrics", "steps", "source", "sha256")
_NETWORK = ("activation", "output", "trains", "gains", "members")


def write_shard(
    path: Path,
    tensors: Mapping[str, np.ndarray],
    shared: Sequence[str],
    facts: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Write fields, whole or not at all.

    Args:
        tensors: with a leading axis of as many entries as there are rows.
        shared: names of those that have no such axis.
        facts: of the network (`model_file.facts_of`).
        rows: what there is to say of each field; what all agree on is kept once.
    """
    first = rows[0] if rows else {}
    agreed = {
        name: value
        for name, value in first.items()
        if name != "name" and all(row.get(name, _NO) == value for row in rows)
    }
    own = [{k: v for k, v in row.items() if k not in agreed} for row in rows]
    about = {"format": SHARD_FORMAT, **facts, "shared": list(shared)}
    about |= {"common": agreed, "rows": own}
    data = {k: np.ascontiguousarray(v, np.float32) for k, v in tensors.items()}
    text = to_json(about)
    write_bytes(path, save_tensors(data, metadata={"passband": text}))


_NO = object()


@dataclasses.dataclass(frozen=True, eq=False)
class Shard:
    """A shard whose header was read and checked; numbers are read when asked for."""

    path: Path
    facts: dict[str, Any]
    """Of the network."""
    rows: list[dict[str, Any]]
    """What is said of each field, common facts included."""
    shared: frozenset[str]
    places: dict[str, tuple[int, tuple[int, ...]]]
    """Where a tensor begins in the file, and its shape."""

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Shard":
        path = Path(path)
        size = check_file(path, WHAT)
        with decoding(path, WHAT), open_file(path, WHAT) as stream:
            start = stream.read(8)
            length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
            if length > min(_LARGEST_HEADER, size - 8):
                raise broken(path, "it does not begin with a header, as those do")
            header = from_json(stream.read(length))
            about = from_json(header.pop("__metadata__")["passband"])
            return _checked(path, header, about, 8 + length, size)

    def __len__(self) -> int:
        return len(self.rows)

    def arrays(self, which: slice | Sequence[int]) -> dict[str, np.ndarray]:
        """The tensors of some of the fields; shared ones as they are."""
        return {
            name: np.array(view if name in self.shared else view[which])
            for name, view in self._views().items()
            if not name.startswith(_ABOUT)
        }

    def field(self, row: int) -> tuple[Field, dict[str, Any]]:
        """One field, and what a model file of it would say."""
        members = self.facts.get("members")
        kind = FORMAT if members is None else MEMBERS_FORMAT
        said = self.rows[row]
        about = {**self.facts, **{k: said[k] for k in _SAID if k in said}}
        about |= {**said.get("about", {}), "format": kind}
        tensors = {}
        for name, view in self._views().items():
            values = np.array(view if name in self.shared else view[row])
            if not np.isfinite(values).all():
                raise broken(self.path, f"`{name}` holds values that are not finite")
            if name.startswith(_ABOUT):
                about[name.removeprefix(_ABOUT)] = values
            else:
                tensors[name] = values
        return field_of(self.path, about, tensors), about

    def _views(self) -> dict[str, np.ndarray]:
        """Every tensor, mapped into memory and not read."""
        with open_file(self.path, WHAT) as stream:
            data = np.memmap(stream, np.uint8, mode="r")
        end = max((at + 4 * math.prod(s) for at, s in self.places.values()), default=0)
        if end > len(data):
            raise broken(self.path, "it was cut short since it was opened")
        return {
            name: data[at : at + 4 * math.prod(shape)].view("<f4").reshape(shape)
            for name, (at, shape) in self.places.items()
        }


def _checked(
    path: Path, header: dict[str, Any], about: dict[str, Any], base: int, size: int
) -> Shard:
    """The shard of a header in which every number is possible."""
    if not isinstance(about, dict) or about.get("format") != SHARD_FORMAT:
        raise broken(path, f"it is no shard of format {SHARD_FORMAT}")
    rows, common, shared = about["rows"], about["common"], frozenset(about["shared"])
    if not isinstance(common, dict) or not all(
        isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows
    ):
        raise broken(path, "its rows have no names")
    if not all(isinstance(r.get("about", {}), dict) for r in (common, *rows)):
        raise broken(path, "its rows say nothing about their fields")
    places = {}
    for name, entry in header.items():
        shape, (start, end) = tuple(entry["shape"]), entry["data_offsets"]
        if entry["dtype"] != "F32" or end - start != 4 * math.prod(shape):
            raise broken(path, f"`{name}` is not float32 of shape {shape}")
        if not (0 <= start <= end <= size - base and min(shape, default=0) >= 0):
            raise broken(path, f"`{name}` lies outside the file: cut short or damaged")
        if name not in shared and shape[:1] != (len(rows),):
            raise broken(path, f"`{name}` is not that of {len(rows)} fields")
        places[name] = base + start, shape
    facts = {name: about[name] for name in _NETWORK if name in about}
    return Shard(path, facts, [{**common, **row} for row in rows], shared, places)
