"""What a run was made from and with: its input files, versions, device, precision."""

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import jax
import jaxlib.version

from ..errors import InputError
from ..field import Field
from ..file_gate import open_file
from ..ops.mlp import Precision
from ..train.device import device_name
from ..version import __version__

NAMES = {
    "passband": "passband",
    "jax": "jax",
    "jaxlib": "jaxlib",
    "device": "the device",
    "precision": "matrix products in",
}


def environment(precision: str) -> dict[str, str]:
    """What decides the bits of a run besides its configuration."""
    return {
        "passband": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "device": device_name(),
        "precision": Precision.resolve(precision, jax.default_backend()).value,
    }


def went_on_with(
    before: Mapping[str, Any], now: dict[str, str]
) -> tuple[str | None, list[Any]]:
    """What differs from where a run was before, if anything, as its config.json knows,
    and where it has been."""
    old = before.get("environment")
    old = dict(old) if isinstance(old, dict) else {}
    old.setdefault("passband", before.get("passband"))
    changed = [
        f"{NAMES[name]} {old[name]} is {now[name]} now"
        for name in NAMES
        if old.get(name) not in (None, now[name])
    ]
    places = before.get("earlier")
    places = places if isinstance(places, list) else []
    if not changed:
        return None, places
    told = (
        f"the run was made elsewhere: {', '.join(changed)}; it goes on, and its "
        "numbers will differ from those of a run that was not interrupted"
    )
    return told, [*places, old]


def sizes_of(field: Field, files: list[Path]) -> dict[str, Any]:
    """Numbers and bytes of a model, and the bytes of the files it was fitted to."""
    sizes = {"model": sum(leaf.nbytes for leaf in jax.tree.leaves(field))}
    with contextlib.suppress(OSError):
        if files:
            sizes["source"] = sum(os.path.getsize(file) for file in files)
    return {"parameters": field.parameters, "bytes": sizes}


def file_hash(path: str | os.PathLike[str]) -> str:
    """The sha256 of a file."""
    with open_file(path) as stream:
        return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()


def file_hashes(paths: list[Path]) -> list[tuple[str, str]]:
    """Absolute paths, and the sha256 of what is there."""
    return [(os.path.realpath(path), file_hash(path)) for path in paths]


def together(hashes: list[str]) -> str:
    """One hash of several files; that of one file is its own."""
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


def names_file(value: Any, meta: Mapping[str, Any]) -> bool:
    """Whether an option that may name a file does: `0:180:20` and `gaussian` do not."""
    return (
        isinstance(value, str)
        and bool(meta.get("path"))
        and value not in meta.get("words", ())
        and os.path.exists(value)
    )


def same_file(mine: str, theirs: str, config: Mapping[str, Any]) -> bool:
    """Whether a file is the one that a run has, be it in other words or elsewhere."""
    if os.path.realpath(mine) == os.path.realpath(theirs):
        return True
    if os.path.isdir(mine):
        return not os.path.exists(theirs)  # moved; the hash of all its files decides
    kept = config.get("inputs")
    known = kept.get(theirs) if isinstance(kept, dict) else None
    if known is None:
        return not os.path.exists(theirs)
    try:
        return file_hash(mine) == known
    except InputError:
        return False
