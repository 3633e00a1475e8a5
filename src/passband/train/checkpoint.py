"""A run's state on disk: every array of it, bit for bit."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from ..errors import InputError
from ..whole_file import write_bytes


def write_checkpoint(path: Path, state: PyTree, **info: Any) -> None:
    """Write a state whole or not at all; the last good one stays until then."""
    tensors = {f"{i:04d}": _bits(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
    data = save_tensors(tensors, metadata={"passband": json.dumps(info)})
    write_bytes(path, data)


def read_checkpoint(path: Path, like: PyTree) -> tuple[PyTree, dict[str, Any]]:
    """A state with the structure of `like`, and the facts written with it."""
    leaves, structure = jax.tree.flatten(like)
    try:
        data = path.read_bytes()
        tensors = load_tensors(data)
        size = int.from_bytes(data[:8], "little")
        info = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["passband"])
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"checkpoint `{path}` cannot be read: {error}") from None
    restored = []
    for i, leaf in enumerate(leaves):
        found = tensors.get(f"{i:04d}")
        want = _bits(leaf)
        if found is None or (found.shape, found.dtype) != (want.shape, want.dtype):
            raise InputError(f"checkpoint `{path}` is of another run: leaf {i} differs")
        array = jnp.asarray(found)
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            array = jax.random.wrap_key_data(array)
        restored.append(array)
    return jax.tree.unflatten(structure, restored), info


def _bits(leaf: Any) -> np.ndarray:
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)
