"""A run's state on disk: every array of it, bit for bit."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from ..atomic_write import write_bytes
from ..errors import InputError, one_line
from ..file_gate import decoding, open_file
from ..json_text import from_json


def write_checkpoint(path: Path, state: PyTree, *, seconds: float) -> None:
    """Write a state whole or not at all; the last good one stays until then."""
    tensors = {f"{i:04d}": _bits(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
    info = json.dumps({"seconds": seconds})
    write_bytes(path, save_tensors(tensors, metadata={"passband": info}))


def read_checkpoint(path: Path, like: PyTree) -> tuple[PyTree, float]:
    """A state with the structure of `like`, and the seconds spent to reach it."""
    what = "a checkpoint"
    try:
        with decoding(path, what), open_file(path, what) as stream:
            data = stream.read()
            tensors = load_tensors(data)
            size = int.from_bytes(data[:8], "little")
            info = from_json(from_json(data[8 : 8 + size])["__metadata__"]["passband"])
            seconds = float(info["seconds"])
    except InputError as error:
        raise _unusable(path, f"cannot be read: {one_line(error)}") from None
    leaves, structure = jax.tree.flatten(like)
    if len(tensors) != len(leaves):
        raise _unusable(path, f"is of another run: {len(tensors)} arrays in it")
    restored = []
    for i, leaf in enumerate(leaves):
        found, want = tensors.get(f"{i:04d}"), _bits(leaf)
        if found is None or (found.shape, found.dtype) != (want.shape, want.dtype):
            raise _unusable(path, f"is of another run: array {i} differs")
        array = jnp.asarray(found)
        if _is_key(leaf):
            array = jax.random.wrap_key_data(array)
        restored.append(array)
    return jax.tree.unflatten(structure, restored), seconds


def _bits(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _unusable(path: Path, why: str) -> InputError:
    return InputError(f"checkpoint `{path}` {why}; `overwrite` starts anew")
