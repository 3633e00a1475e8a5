"""The model file: one safetensors file that says what it holds.

Tensors: `encoding.frequencies` (m, d) in cycles per unit and `encoding.amplitudes`
(m,), or `encoding.scale` and `encoding.shift` (d,) for no mapping, or the grids of a
multigrid, `encoding.level.0` (side, ..., side, features) and so on; `layer.0.weight`
(in, out), `layer.0.bias` (out,) and so on. The metadata entry `passband` is a JSON
object with `format`, `activation` (between the layers; `relu` where it is left out),
`output` (behind the last), `gains` (what W and b of a layer are multiplied by, or
null), and whatever the task adds: `task`, `mapping`, `shape`, `low`,
`high`, `metrics`. Arrays among these are tensors of their own, `about.maps` say. A
point v is evaluated as

    x = [a sin(2 pi B v), a cos(2 pi B v)]       or scale * v + shift, or what the
                                                 grids over the unit cube have at v
    x = activation(x @ W + b) for every layer but the last, then x @ W + b
    y = output(x), in the user's units low + (high - low) * y

A file of several networks (`members` K, `format` 2) has every tensor K times, along a
leading axis; y is the mean over them.
"""

import math
import os
import struct
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from .activations import parse_activation
from .atomic_write import write_bytes
from .errors import InputError, one_line
from .field import MLP, OUTPUTS, Field
from .file_gate import check_file, decoding, open_file
from .json_text import from_json, to_json
from .mappings import FourierFeatures, Grids, Identity
from .members import stacked

FORMAT, MEMBERS_FORMAT = 1, 2
"""Of a single network, and of several, whose tensors have a leading axis."""
_ABOUT = "about."
_LARGEST_HEADER = 1 << 20
_DEEPEST = 4  # levels of lists and objects in what a file says about itself


def save(field: Field, path: str | os.PathLike, **info: Any) -> None:
    """Write a field, and JSON-able facts and arrays about it, whole or not at all."""
    arrays = {name: x for name, x in info.items() if isinstance(x, np.ndarray)}
    info = {name: x for name, x in info.items() if name not in arrays}
    # safetensors takes the bytes as they lie, whatever their order.
    tensors = {
        f"{_ABOUT}{name}": np.ascontiguousarray(x, np.float32)
        for name, x in arrays.items()
    }
    tensors |= tensors_of(field)
    many: dict[str, Any] = {"format": FORMAT}
    if field.members > 1:
        many = {"format": MEMBERS_FORMAT, "members": field.members}
    about = {**many, **facts_of(field), **info}
    write_bytes(
        Path(path), save_tensors(tensors, metadata={"passband": to_json(about)})
    )


def tensors_of(field: Field) -> dict[str, np.ndarray]:
    """The arrays of a field by the names that they have in a file."""
    tensors = {}
    for name in ("frequencies", "amplitudes", "scale", "shift"):
        if hasattr(field.encoding, name):
            values = np.asarray(getattr(field.encoding, name), np.float32)
            tensors[f"encoding.{name}"] = values
    if isinstance(field.encoding, Grids):
        for i, level in enumerate(field.encoding.levels):
            tensors[f"encoding.level.{i}"] = np.asarray(level, np.float32)
    for i, (W, b) in enumerate(zip(field.mlp.weights, field.mlp.biases, strict=True)):
        tensors[f"layer.{i}.weight"] = np.asarray(W, np.float32)
        tensors[f"layer.{i}.bias"] = np.asarray(b, np.float32)
    return tensors


def facts_of(field: Field) -> dict[str, Any]:
    """What a file says of a field besides its arrays."""
    return {
        "activation": field.mlp.activation,
        "output": field.output,
        "trains": field.trains,
        "gains": field.mlp.gains,
    }


def model_path(path: str | os.PathLike) -> Path:
    """The model file of a path, which may be that of the run folder it is in."""
    path = Path(path)
    if not os.path.isdir(path):
        return path
    inside = path / "model.safetensors"
    if os.path.exists(inside):
        return inside
    if os.path.exists(path / "config.json"):
        raise InputError(
            f"folder `{path}` has no model.safetensors yet: its fit has not ended; "
            f"`passband fit ... --resume --out {path}` goes on with it"
        )
    raise InputError(f"folder `{path}` has no model.safetensors; give a run's folder")


def load(path: str | os.PathLike) -> Field:
    """The field of a model file, or of the one in a run folder."""
    return load_with_info(path)[0]


def load_with_info(path: str | os.PathLike) -> tuple[Field, dict[str, Any]]:
    """The field of a model file, or of the one in a run folder, and what the file says
    about it."""
    path = model_path(path)
    about, tensors = _read(path)
    arrays = {name: x for name, x in tensors.items() if name.startswith(_ABOUT)}
    tensors = {name: x for name, x in tensors.items() if name not in arrays}
    about |= {name.removeprefix(_ABOUT): x for name, x in arrays.items()}
    return field_of(path, about, tensors), about


def field_of(
    path: Path, about: dict[str, Any], tensors: dict[str, np.ndarray]
) -> Field:
    """The field of these facts and tensors, which a file of this path has."""
    if about["format"] == FORMAT:
        return _field(path, about, tensors)
    count = about.get("members")
    lengths = {tensor.shape[:1] for tensor in tensors.values()}
    if not isinstance(count, int) or count < 2 or lengths != {(count,)}:
        raise broken(path, f"its tensors are not those of {count} members")
    each = [{name: tensor[k] for name, tensor in tensors.items()} for k in range(count)]
    return stacked([_field(path, about, part) for part in each])


def _field(path: Path, about: dict[str, Any], tensors: dict[str, np.ndarray]) -> Field:
    """One network, each shape checked."""
    output, trains = about.get("output"), about.get("trains", "")
    if output not in tuple(OUTPUTS):
        raise broken(path, f"its output `{output}` is unknown")
    if trains not in ("", "a", "b", "ab"):
        raise broken(path, f"its `trains` is {trains!r}")
    activation = str(about.get("activation", "relu"))
    try:
        parse_activation(activation)
    except InputError:
        raise broken(path, f"its activation `{activation}` is unknown") from None
    encoding = _encoding(path, tensors, trains)
    count = sum(name.startswith("layer.") for name in tensors) // 2
    try:
        weights = [tensors[f"layer.{i}.weight"] for i in range(count)]
        biases = [tensors[f"layer.{i}.bias"] for i in range(count)]
    except KeyError as error:
        raise broken(path, f"{error} is missing") from None
    if not weights:
        raise broken(path, "it has no layers")
    width = encoding.features
    for i, (W, b) in enumerate(zip(weights, biases, strict=True)):
        if W.ndim != 2 or W.shape[0] != width or b.shape != W.shape[1:] or not b.size:
            raise broken(path, f"layer {i} has shapes {W.shape} and {b.shape}")
        width = W.shape[1]
    network = MLP(
        tuple(jnp.asarray(W) for W in weights),
        tuple(jnp.asarray(b) for b in biases),
        _gains(path, about.get("gains"), count),
        activation,
    )
    return Field(encoding, network, output)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a model file says and holds, each number checked before it is used."""
    what = "a model.safetensors"
    check_file(path, what)
    with decoding(path, what), open_file(path, what) as stream:
        about, data = _read_header(path, stream)
        data += stream.read()
        tensors = load_tensors(data)
    for name, tensor in tensors.items():
        if tensor.dtype != np.float32:
            raise broken(path, f"`{name}` is {tensor.dtype}, not float32")
        if not np.isfinite(tensor).all():
            raise broken(path, f"`{name}` holds values that are not finite")
    return about, tensors


def _read_header(path: Path, stream: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """The facts in the header and the bytes read, with the file's size as it says."""
    total = os.fstat(stream.fileno()).st_size
    start = stream.read(8)
    if len(start) < 8:
        raise broken(path, f"it has only {total} bytes")
    (size,) = struct.unpack("<Q", start)
    if size > min(_LARGEST_HEADER, total - 8):
        raise broken(path, "it does not begin with a header, as those do")
    text = stream.read(size)
    try:
        header = from_json(text)
        about = from_json(header["__metadata__"]["passband"])
        ends = [v["data_offsets"][1] for k, v in header.items() if k != "__metadata__"]
        want, have = max([0, *ends]), total - 8 - size
    except (ValueError, LookupError, TypeError, AttributeError):
        raise broken(path, "its header is not that of a passband model") from None
    if not isinstance(about, dict) or _depth(about) > _DEEPEST:
        raise broken(path, "its header is not that of a passband model")
    if about.get("format") not in (FORMAT, MEMBERS_FORMAT):
        raise broken(
            path,
            f"its format is {about.get('format')!r}; this version reads {FORMAT} and "
            f"{MEMBERS_FORMAT}",
        )
    if want != have:
        raise broken(path, f"it holds {have} bytes of {want}: cut short or damaged")
    return about, start + text


def _encoding(
    path: Path, tensors: dict[str, np.ndarray], trains: str
) -> FourierFeatures | Grids | Identity:
    if "encoding.level.0" in tensors:
        return _grids(path, tensors)
    pairs = (
        ("frequencies", "amplitudes", partial(FourierFeatures, train=trains), 2),
        ("scale", "shift", Identity, 1),
    )
    for first, second, make, rank in pairs:
        one = tensors.get(f"encoding.{first}")
        two = tensors.get(f"encoding.{second}")
        if one is None or two is None:
            continue
        if one.ndim != rank or two.shape != one.shape[:1] or one.size == 0:
            raise broken(path, f"its encoding has shapes {one.shape} and {two.shape}")
        return make(jnp.asarray(one), jnp.asarray(two))
    raise broken(path, "it has no encoding")


def _grids(path: Path, tensors: dict[str, np.ndarray]) -> Grids:
    count = sum(name.startswith("encoding.level.") for name in tensors)
    d, levels = tensors["encoding.level.0"].ndim - 1, []
    for i in range(count):
        level = tensors.get(f"encoding.level.{i}", np.zeros(0, np.float32))
        sides = set(level.shape[:-1])
        if level.ndim != d + 1 or not 1 <= d <= 3 or len(sides) != 1 or min(sides) < 2:
            raise broken(path, f"its grid {i} has shape {level.shape}")
        levels.append(jnp.asarray(level))
    return Grids(tuple(levels), d)


def _gains(
    path: Path, given: Any, layers: int
) -> tuple[tuple[float, float], ...] | None:
    if given is None:
        return None
    try:
        gains = tuple((float(w), float(b)) for w, b in given)
    except (TypeError, ValueError):
        gains = ()
    if len(gains) != layers or not all(math.isfinite(w + b) for w, b in gains):
        raise broken(path, "its `gains` are not two numbers for each layer")
    return gains


def _depth(value: Any, level: int = 0) -> int:
    """Levels of nesting; it stops counting just above what is allowed."""
    if level > _DEEPEST or not isinstance(value, dict | list):
        return level
    parts = value.values() if isinstance(value, dict) else value
    return max((_depth(part, level + 1) for part in parts), default=level + 1)


def broken(path: Path, why: str) -> InputError:
    """The error of a file that is none of ours."""
    # It may quote the file.
    return InputError(f"`{path}` is not a passband model: {one_line(why)}")
