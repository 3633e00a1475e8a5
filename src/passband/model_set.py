"""A set of fields that `passband fit` or `pb.fit_many` left: lazy, by name or slice."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, overload

import numpy as np

from .errors import InputError, unknown_word
from .model import Model, model_of
from .shard_file import Shard
from .train.set_folder import SetFolder, is_set


class ModelSet:
    """Many models of one kind; nothing is read before it is asked for.

    `models[3]` and `models["name"]` are a `Model`, `models[10:20]` a part of the set,
    `stacked()` all weights as arrays with a leading axis.
    """

    def __init__(self, path: Path, rows: list[dict[str, Any]]):
        self.path = path
        self.rows = [row for row in rows if "error" not in row]
        """What the index says of each field: name, source, sha256, mapping, metrics."""
        self.failures = {r["name"]: r["error"] for r in rows if "error" in r}
        """Inputs that could not be fitted, and why."""
        self._at = {row["name"]: k for k, row in enumerate(self.rows)}
        self._open: dict[str, Shard] = {}

    @property
    def names(self) -> list[str]:
        """Of all fields, in order."""
        return [row["name"] for row in self.rows]

    @property
    def metrics(self) -> dict[str, np.ndarray]:
        """Each metric as one array over the fields."""
        names = sorted({name for row in self.rows for name in row["metrics"]})
        return {
            name: np.array(
                [_number(row["metrics"].get(name)) for row in self.rows], np.float64
            )
            for name in names
        }

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, name: object) -> bool:
        return name in self._at

    def __iter__(self) -> Iterator[Model]:
        return (self[k] for k in range(len(self)))

    @overload
    def __getitem__(self, which: int | str) -> Model: ...
    @overload
    def __getitem__(self, which: slice) -> "ModelSet": ...
    def __getitem__(self, which: int | str | slice) -> "Model | ModelSet":
        if isinstance(which, slice):
            return ModelSet(self.path, self.rows[which])
        if isinstance(which, str):
            if which not in self._at:
                if which in self.failures:
                    raise InputError(
                        f"`{which}` could not be fitted: {self.failures[which]}"
                    )
                raise unknown_word("field", which, self._at)
            which = self._at[which]
        row = self.rows[which]
        field, about = self._shard(row).field(row["row"])
        return model_of(field, about, self.path)

    def stacked(self) -> dict[str, np.ndarray]:
        """Weights and biases of all fields, (fields, in, out) and (fields, out), by the
        names of the model file; what all share, such as B, without that axis.

        All fields must have networks of one shape; a slice takes less memory.
        """
        parts: list[dict[str, np.ndarray]] = []
        shared: set[str] = set()
        for shard, rows in self._runs():
            parts.append(shard.arrays(rows))
            shared |= shard.shared
        if not parts:
            raise InputError("the set is empty; there is nothing to stack")
        found = {}
        for name in parts[0]:
            each = [part.get(name) for part in parts]
            if any(a is None for a in each):
                raise InputError("the fields have networks of several shapes")
            arrays = [a for a in each if a is not None]
            first = arrays[0]
            if name in shared and all(np.array_equal(a, first) for a in arrays):
                found[name] = first
                continue
            if len({a.shape[1:] for a in arrays}) > 1 or name in shared:
                raise InputError(
                    f"`{name}` differs in shape between fields; take a slice of one"
                )
            found[name] = np.concatenate(arrays)
        return found

    def _runs(self) -> Iterator[tuple[Shard, list[int]]]:
        """Neighbours that are in one shard, with their places there."""
        begin = 0
        for k in range(1, len(self.rows) + 1):
            same = k < len(self.rows) and (
                self.rows[k]["shard"] == self.rows[begin]["shard"]
            )
            if not same and self.rows:
                some = self.rows[begin:k]
                yield self._shard(some[0]), [row["row"] for row in some]
                begin = k

    def _shard(self, row: dict[str, Any]) -> Shard:
        name = row["shard"]
        if name not in self._open:
            path = (self.path / name).resolve()
            if not path.is_relative_to(self.path.resolve()):
                raise InputError(f"`{self.path}`: its index names `{name}` outside it")
            self._open[name] = Shard.open(path)
        shard = self._open[name]
        place = row["row"]
        if not isinstance(place, int) or not 0 <= place < len(shard):
            raise InputError(f"`{self.path}`: its index is not that of `{name}`")
        return shard

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"ModelSet({self.path}: {len(self)} fields{failed})"


def load_many(path: str | os.PathLike[str]) -> ModelSet:
    """The set of fields in a folder that `passband fit` or `pb.fit_many` left.

    Args:
        path: the folder.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.linspace(0, 1, 32)
        >>> waves = [(x, np.sin(k * x)) for k in (3, 5)]
        >>> pb.fit_many(waves, out="waves", mapping="gaussian:1", steps=20, width=16)
        ModelSet(waves: 2 fields)
        >>> models = pb.load_many("waves")
        >>> models.names, models.stacked()["layer.1.weight"].shape
        (['0', '1'], (2, 16, 16))
    """
    folder = SetFolder(path)
    if not is_set(path):
        raise InputError(
            f"`{path}` is no set of fields; give the folder that `passband fit KIND "
            "FOLDER` left"
        )
    rows = [r for r in folder.rows() if "error" in r or _is_field(r)]
    return ModelSet(Path(path), rows)


def _is_field(row: dict[str, Any]) -> bool:
    return isinstance(row.get("shard"), str) and isinstance(row.get("metrics"), dict)


def _number(value: Any) -> float:
    """A metric as JSON has it: it knows no infinity."""
    return np.inf if value is None else float(value)
