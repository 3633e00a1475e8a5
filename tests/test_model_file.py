"""The model file: what it promises to readers, and what it refuses."""

import functools
import json
import os
import struct

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save
from scipy.interpolate import RegularGridInterpolator

from passband.errors import InputError
from passband.field import Field, make_field, ntk
from passband.mappings import MAPPINGS
from passband.model_file import load, load_with_info
from passband.model_file import save as save_model

WORDS = {
    "none": "none:scale=2,shift=-1",
    "positional": "positional:3,m=12",
    "octaves": "octaves:3",
    "dense": "dense:p=1,m=9",
    "basic": "basic",
    "multigrid": "multigrid:9,levels=3,features=2",
}


def field_of(word: str, d: int = 2, **options) -> Field:
    key = jax.random.key(3)
    return make_field(word, d=d, out=3, key=key, layers=3, width=7, **options)


def at_points(grid, v):
    """What SciPy makes of a grid over the unit cube."""
    axes = [np.linspace(0, 1, side) for side in grid.shape[:-1]]
    return RegularGridInterpolator(axes, grid)(np.clip(v, 0, 1))


def evaluate_with_numpy(path, v: np.ndarray) -> np.ndarray:
    """A model's values at points (n, d), from the format's description alone."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    about = json.loads(header.pop("__metadata__")["passband"])
    tensors = {}
    for name, entry in header.items():
        start, end = (8 + size + offset for offset in entry["data_offsets"])
        assert entry["dtype"] == "F32"
        values = np.frombuffer(data[start:end], "<f4").reshape(entry["shape"])
        tensors[name] = values.astype(np.float64)
    if "encoding.frequencies" in tensors:
        phase = 2 * np.pi * v @ tensors["encoding.frequencies"].T
        a = tensors["encoding.amplitudes"]
        x = np.concatenate([a * np.sin(phase), a * np.cos(phase)], axis=1)
    elif "encoding.level.0" in tensors:
        levels = sum(name.startswith("encoding.level.") for name in tensors)
        grids = [tensors[f"encoding.level.{i}"] for i in range(levels)]
        x = np.hstack([at_points(grid, v) for grid in grids])
    else:
        x = tensors["encoding.scale"] * v + tensors["encoding.shift"]
    layers = sum(name.endswith(".weight") for name in tensors)
    for i in range(layers):
        gw, gb = (1.0, 1.0) if about["gains"] is None else about["gains"][i]
        x = x @ (gw * tensors[f"layer.{i}.weight"]) + gb * tensors[f"layer.{i}.bias"]
        between = {"relu": lambda x: np.maximum(x, 0), "sine": lambda x: np.sin(30 * x)}
        x = between[about["activation"]](x) if i < layers - 1 else x
    outputs = {
        "identity": lambda y: y,
        "sigmoid": lambda y: 1 / (1 + np.exp(-y)),
        "tanh": np.tanh,
    }
    return outputs[about["output"]](x)


@pytest.mark.parametrize("name", MAPPINGS)
def test_numpy_alone_evaluates_a_model(tmp_path, name):
    d = 1 if name == "dense" else 2
    field = field_of(WORDS.get(name, f"{name}:5,m=6"), d)
    save_model(field, tmp_path / "m.safetensors")
    points = np.random.default_rng(0).random((50, d))
    want = evaluate_with_numpy(tmp_path / "m.safetensors", points)
    np.testing.assert_allclose(field.predict(points), want, atol=2e-5)


@pytest.mark.parametrize("activation", ["relu", "sine"])
@pytest.mark.parametrize("output", ["identity", "sigmoid", "tanh"])
def test_activations_outputs_and_gains_are_in_the_file(tmp_path, output, activation):
    path = tmp_path / "m.safetensors"
    small = functools.partial(ntk, w_std=0.1)
    field = field_of("gaussian:2,m=5", output=output, init=small, activation=activation)
    save_model(field, path)
    points = np.random.default_rng(1).random((20, 2))
    want = evaluate_with_numpy(path, points)
    np.testing.assert_allclose(field.predict(points), want, atol=2e-5)
    np.testing.assert_array_equal(load(path).predict(points), field.predict(points))


def test_what_is_loaded_is_what_was_saved(tmp_path):
    path = tmp_path / "m.safetensors"
    field = field_of("gaussian:2,m=5,train=ab")
    save_model(field, path, task="image", metrics={"psnr": float("inf")}, shape=[4, 5])
    again, about = load_with_info(path)
    assert jax.tree.structure(again) == jax.tree.structure(field)
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(field), strict=True):
        np.testing.assert_array_equal(a, b)
    assert about["task"] == "image"
    assert about["shape"] == [4, 5]
    assert about["metrics"] == {"psnr": None}  # JSON knows no infinity
    assert again.trains == "ab"


def test_a_file_from_before_there_was_a_choice_means_relu(tmp_path):
    path = tmp_path / "m.safetensors"
    field = field_of("gaussian:2,m=5")
    save_model(field, path)
    tensors, about = load_file(path), load_with_info(path)[1]
    assert about.pop("activation") == "relu"
    path.write_bytes(save(tensors, metadata={"passband": json.dumps(about)}))
    assert load(path).mlp.activation == "relu"
    points = np.random.default_rng(2).random((20, 2))
    np.testing.assert_array_equal(load(path).predict(points), field.predict(points))


# From here on: files that are not models.


def build(header: object, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


ABOUT = {"format": 1, "output": "sigmoid", "gains": None}


def meta(**changes: object) -> dict:
    return {"__metadata__": {"passband": json.dumps(ABOUT | changes)}}


def tensor(shape, start, end, dtype="F32") -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


HOSTILE = {
    "nothing": b"",
    "seven bytes": b"1234567",
    "a huge header": build({}, size=2**63),
    "a header of all the memory": build({}, size=2**40),
    "a header past the end": build({}, size=100),
    "a megabyte of brackets": build(b"[" * 1_000_000),
    "no JSON": build(b"{nonsense"),
    "a list": build([1, 2]),
    "no metadata": build({"a": tensor([1], 0, 4)}, bytes(4)),
    "text as metadata": build({"__metadata__": "passband"}),
    "another format": build(meta(format=2)),
    "no format": build({"__metadata__": {"passband": "{}"}}),
    "facts that are a list": build({"__metadata__": {"passband": "[1]"}}),
    "facts that are a bomb": build({"__metadata__": {"passband": "[" * 90_000}}),
    "facts that are deep": build(meta(x=json.loads("[" * 90 + "]" * 90))),
    "an entry that is no object": build({**meta(), "a": 3}),
    "offsets that are text": build({**meta(), "a": tensor([1], "0", "4")}, bytes(4)),
    "negative offsets": build({**meta(), "a": tensor([1], -4, 0)}),
    "offsets backwards": build({**meta(), "a": tensor([1], 4, 0)}, bytes(4)),
    "offsets past the end": build({**meta(), "a": tensor([1], 0, 400)}, bytes(4)),
    "huge offsets": build({**meta(), "a": tensor([1], 0, 2**64)}, bytes(4)),
    "offsets of 4000 digits": build({**meta(), "a": tensor([1], 0, 10**4000)}),
    "overlapping tensors": build(
        {**meta(), "a": tensor([2], 0, 8), "b": tensor([2], 4, 12)}, bytes(12)
    ),
    "a hole between tensors": build(
        {**meta(), "a": tensor([1], 0, 4), "b": tensor([1], 8, 12)}, bytes(12)
    ),
    "an enormous shape": build({**meta(), "a": tensor([2**40, 2**40], 0, 4)}, bytes(4)),
    "a negative shape": build({**meta(), "a": tensor([-1], 0, 4)}, bytes(4)),
    "an unknown type": build({**meta(), "a": tensor([1], 0, 4, "F31")}, bytes(4)),
    "no tensors": build(meta()),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_headers_are_one_line(tmp_path, case):
    path = tmp_path / "m.safetensors"
    path.write_bytes(HOSTILE[case])
    says = r"not a (passband model|model\.safetensors): |is empty"
    with pytest.raises(InputError, match=says) as error:
        load(path)
    assert len(str(error.value)) < 400


@pytest.fixture
def good(tmp_path):
    """A whole model, and a way to write its tensors and facts changed."""
    path = tmp_path / "m.safetensors"
    save_model(field_of("gaussian:2,m=5"), path)
    tensors, about = load_file(path), load_with_info(path)[1]

    def write(facts: dict, **changes) -> None:
        kept = {k: v for k, v in (tensors | changes).items() if v is not None}
        text = json.dumps(about | facts)
        path.write_bytes(save(kept, metadata={"passband": text}))

    return path, write


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.9999])
def test_a_file_cut_short(good, share):
    path, _ = good
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match="is not a passband model: it"):
        load(path)


def test_bytes_that_follow_the_last_tensor(good):
    path, _ = good
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(InputError, match="holds 692 bytes of 688: cut short or dama"):
        load(path)


@pytest.mark.parametrize(
    ("facts", "changes", "message"),
    [
        ({"output": "relu"}, {}, "its output `relu` is unknown"),
        ({"output": ["sigmoid"]}, {}, "is unknown"),
        ({"activation": "gelu"}, {}, "its activation `gelu` is unknown"),
        ({"activation": ["relu"]}, {}, "is unknown"),
        ({"activation": None}, {}, "its activation `None` is unknown"),
        ({"trains": "abc"}, {}, "its `trains` is 'abc'"),
        ({"trains": 3}, {}, "its `trains` is 3"),
        ({"gains": 3}, {}, "`gains` are not two numbers for each layer"),
        ({"gains": [[1, 1]]}, {}, "`gains` are not two numbers"),
        ({"gains": [["a", "b"]] * 3}, {}, "`gains` are not two numbers"),
        ({"gains": [[1e999, 1]] * 3}, {}, "`gains` are not two numbers"),
        ({}, {"layer.1.weight": None}, "is missing|shapes"),
        ({}, {"layer.1.bias": None}, "is missing"),
        ({}, {"layer.1.weight": np.zeros((7, 6), "f4")}, "layer 1 has shapes"),
        ({}, {"layer.1.weight": np.zeros(49, "f4")}, "layer 1 has shapes"),
        ({}, {"layer.1.bias": np.full(7, np.nan, "f4")}, "not finite"),
        ({}, {"layer.1.bias": np.full(7, np.inf, "f4")}, "not finite"),
        ({}, {"layer.1.bias": np.zeros(7)}, "`layer.1.bias` is float64, not float32"),
        ({}, {"layer.1.bias": np.zeros(7, "i4")}, "is int32, not float32"),
        ({}, {"encoding.amplitudes": None}, "it has no encoding"),
        ({}, {"encoding.amplitudes": np.zeros(4, "f4")}, "its encoding has shapes"),
        ({}, {"encoding.frequencies": np.zeros(5, "f4")}, "its encoding has shapes"),
        ({}, {"encoding.frequencies": np.zeros((5, 0), "f4")}, "its encoding has"),
        ({}, {"encoding.level.0": np.zeros((3, 2, 4), "f4")}, "its grid 0 has shape"),
        ({}, {"encoding.level.0": np.zeros((1, 1, 4), "f4")}, "its grid 0 has shape"),
        ({}, {"encoding.level.0": np.zeros((2, 2, 4), "f4"),
              "encoding.level.1": np.zeros((2, 4), "f4")}, "its grid 1 has shape"),
        ({}, {"encoding.level.0": np.zeros((2, 2, 4), "f4"),
              "encoding.level.7": np.zeros((2, 2, 4), "f4")}, "its grid 1 has shape"),
        ({}, {f"layer.{i}.{n}": None for i in range(3) for n in ("weight", "bias")},
         "it has no layers"),
    ],
)  # fmt: skip
def test_models_that_contradict_themselves(good, facts, changes, message):
    path, write = good
    write({})
    load(path)
    write(facts, **changes)
    with pytest.raises(InputError, match=message):
        load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="has no model"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe"):
        load(tmp_path / "pipe")
