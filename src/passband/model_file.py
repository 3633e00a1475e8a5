"""The model file: one safetensors file that says what it holds.

Tensors: `encoding.frequencies` (m, d) in cycles per unit and `encoding.amplitudes`
(m,), or `encoding.scale` and `encoding.shift` (d,) for no mapping; `layer.0.weight`
(in, out), `layer.0.bias` (out,) and so on. The metadata entry `passband` is a JSON
object with `format`, `output` (the activation), `gains` (what W and b of a layer are
multiplied by, or null), and whatever the task adds: `task`, `mapping`, `shape`, `low`,
`high`, `metrics`. A point v is evaluated as

    x = [a sin(2 pi B v), a cos(2 pi B v)]       or scale * v + shift
    x = max(x @ W + b, 0) for every layer but the last, then x @ W + b
    y = output(x), in the user's units low + (high - low) * y
"""

import json
import os
import struct
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from .errors import InputError
from .field import MLP, OUTPUTS, Field
from .mappings import FourierFeatures, Identity
from .whole_file import write_bytes

FORMAT = 1
_LARGEST_HEADER = 1 << 20


def save(field: Field, path: str | os.PathLike, **info: Any) -> None:
    """Write a field, and JSON-able facts about it, whole or not at all."""
    tensors: dict[str, np.ndarray] = {}
    for f in ("frequencies", "amplitudes", "scale", "shift"):
        if hasattr(field.encoding, f):
            tensors[f"encoding.{f}"] = np.asarray(
                getattr(field.encoding, f), np.float32
            )
    for i, (W, b) in enumerate(zip(field.mlp.weights, field.mlp.biases, strict=True)):
        tensors[f"layer.{i}.weight"] = np.asarray(W, np.float32)
        tensors[f"layer.{i}.bias"] = np.asarray(b, np.float32)
    about = {
        "format": FORMAT,
        "output": field.output,
        "trains": field.trains,
        "gains": field.mlp.gains,
        **info,
    }
    data = save_tensors(tensors, metadata={"passband": json.dumps(about)})
    write_bytes(Path(path), data)


def load(path: str | os.PathLike) -> Field:
    """The field of a model file."""
    return load_with_info(path)[0]


def load_with_info(path: str | os.PathLike) -> tuple[Field, dict[str, Any]]:
    """The field of a model file and what the file says about it."""
    path = Path(path)
    about, data = read_header(path)
    try:
        tensors = load_tensors(data)
    except (SafetensorError, ValueError, TypeError, OverflowError) as error:
        raise _broken(path, str(error)) from None
    if about.get("output") not in OUTPUTS:
        raise _broken(path, f"its output `{about.get('output')}` is unknown")
    if bad := [n for n, t in tensors.items() if t.dtype != np.float32]:
        raise _broken(path, f"`{bad[0]}` is not float32")
    if bad := [n for n, t in tensors.items() if not np.isfinite(t).all()]:
        raise _broken(path, f"`{bad[0]}` holds values that are not finite")
    encoding = _encoding(path, tensors)
    count = sum(name.startswith("layer.") for name in tensors) // 2
    try:
        weights = [tensors[f"layer.{i}.weight"] for i in range(count)]
        biases = [tensors[f"layer.{i}.bias"] for i in range(count)]
    except KeyError as error:
        raise _broken(path, f"{error} is missing") from None
    width = encoding.features
    for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
        if W.ndim != 2 or W.shape[0] != width or b.shape != W.shape[1:]:
            raise _broken(path, f"layer {i} has shapes {W.shape} and {b.shape}")
        width = W.shape[1]
    if not weights:
        raise _broken(path, "it has no layers")
    gains = about.get("gains")
    network = MLP(
        tuple(jnp.asarray(W) for W in weights),
        tuple(jnp.asarray(b) for b in biases),
        None if gains is None else tuple((float(w), float(b)) for w, b in gains),
    )
    return Field(encoding, network, about["output"], about.get("trains", "")), about


def read_header(path: Path) -> tuple[dict[str, Any], bytes]:
    """The metadata of a model file and its bytes, checked before they are used."""
    if not path.exists():
        raise InputError(f"model `{path}` does not exist")
    if path.is_dir():
        raise InputError(
            f"model `{path}` is a folder; give the model.safetensors in it"
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read model `{path}`: {error.strerror}") from error
    if len(data) < 8:
        raise _broken(path, f"it has only {len(data)} bytes")
    (size,) = struct.unpack("<Q", data[:8])
    if size > min(_LARGEST_HEADER, len(data) - 8):
        raise _broken(path, f"its header claims {size} bytes of {len(data)}")
    try:
        header = json.loads(data[8 : 8 + size])
        about = json.loads(header["__metadata__"]["passband"])
        ends = [v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise _broken(path, "its header is not that of a passband model") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise _broken(path, "its format is not one this version reads")
    if not all(isinstance(e, int) for e in ends):
        raise _broken(path, "its header is not that of a passband model")
    want, have = max([0, *ends]), len(data) - 8 - size
    if want != have:
        raise _broken(path, f"it holds {have} bytes of {want}: cut short or damaged")
    return about, data


def _encoding(path: Path, tensors: dict[str, np.ndarray]) -> FourierFeatures | Identity:
    pairs = (
        ("frequencies", "amplitudes", FourierFeatures, 2),
        ("scale", "shift", Identity, 1),
    )
    for first, second, cls, rank in pairs:
        one = tensors.get(f"encoding.{first}")
        two = tensors.get(f"encoding.{second}")
        if one is None or two is None:
            continue
        if one.ndim != rank or two.shape != one.shape[:1] or one.size == 0:
            raise _broken(path, f"its encoding has shapes {one.shape} and {two.shape}")
        return cls(jnp.asarray(one), jnp.asarray(two))
    raise _broken(path, "it has no encoding")


def _broken(path: Path, why: str) -> InputError:
    return InputError(f"`{path}` is not a passband model: {why}")
