"""ONNX files, run by onnxruntime and compared with float64 NumPy."""

import itertools
from typing import Any

import numpy as np
import onnxruntime
import pytest

from passband.errors import InputError
from passband.export.onnx import onnx_bytes

LAYERS = (3, 256)  # layers and width


def _network(fan_in: int, c: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sizes = [fan_in, *[LAYERS[1]] * (LAYERS[0] - 1), c]
    pairs = list(itertools.pairwise(sizes))
    return {
        "weights": [
            rng.normal(scale=(2 / (i + o)) ** 0.5, size=(i, o)) for i, o in pairs
        ],
        "biases": [rng.normal(scale=0.01, size=o) for _, o in pairs],
    }


def _reference(coords: np.ndarray, model: dict[str, Any]) -> np.ndarray:
    v = coords.astype(np.float64) * model.get("input_scale", 1)
    x = v + model.get("input_shift", 0)
    if "frequencies" in model:
        phase = 2 * np.pi * x @ np.asarray(model["frequencies"], np.float64).T
        a = model.get("amplitudes", 1)
        x = np.concatenate([a * np.sin(phase), a * np.cos(phase)], axis=1)
    last = len(model["weights"]) - 1
    for layer, (w, b) in enumerate(zip(model["weights"], model["biases"], strict=True)):
        x = x @ w + b
        x = x if layer == last else np.maximum(x, 0)
    x = {
        "identity": lambda y: y,
        "sigmoid": lambda y: 1 / (1 + np.exp(-y)),
        "tanh": np.tanh,
    }[model.get("output", "identity")](x)
    return x * model.get("output_scale", 1) + model.get("output_shift", 0)


def _run(data: bytes, coords: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (values,) = session.run(["values"], {"coords": coords.astype(np.float32)})
    return np.asarray(values)


def _models() -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(1)
    steps = 2.0 ** np.linspace(0, 6, 128) - 1
    axes = np.concatenate([steps[:, None] * [1, 0], steps[:, None] * [0, 1]])
    return {
        "gaussian": {
            "frequencies": rng.normal(scale=10, size=(256, 2)).astype(np.float32),
            "output": "sigmoid",
            **_network(512, 3),
        },
        "positional": {
            "frequencies": axes.astype(np.float32),
            "amplitudes": np.linspace(1, 0.1, 256) / 16,
            "output": "tanh",
            **_network(512, 1),
        },
        "none": {
            "input_scale": 2.0,
            "input_shift": -1.0,
            "output_scale": np.array([30.0, 2.0]),
            "output_shift": np.array([-5.0, 1000.0]),
            **_network(3, 2),
        },
        "own units": {
            "frequencies": rng.normal(scale=4, size=(64, 3)).astype(np.float32),
            "input_scale": np.array([0.5, 0.25, 0.125]),
            "input_shift": np.array([0.1, 0.2, 0.3]),
            **_network(128, 1),
        },
    }


MODELS = _models()


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_agrees_with_float64(name: str) -> None:
    model = MODELS[name]
    d = model["frequencies"].shape[1] if "frequencies" in model else 3
    coords = np.random.default_rng(2).random((4000, d)).astype(np.float32)
    expected = _reference(coords, model)
    size = np.abs(expected).max()
    found = _run(onnx_bytes(**model), coords)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4 * max(1, size))


def test_any_number_of_points() -> None:
    data = onnx_bytes(**MODELS["gaussian"])
    coords = np.random.default_rng(3).random((257, 2))
    whole = _run(data, coords)
    for n in (0, 1, 256):
        np.testing.assert_allclose(_run(data, coords[:n]), whole[:n], atol=1e-5)


def test_names_and_shapes_are_in_the_file() -> None:
    data = onnx_bytes(**MODELS["gaussian"], metadata={"mapping": "gaussian:10"})
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (given,), (asked,) = session.get_inputs(), session.get_outputs()
    assert (given.name, given.shape) == ("coords", ["n", 2])
    assert (asked.name, asked.shape) == ("values", ["n", 3])
    about = session.get_modelmeta()
    assert about.producer_name == "passband"
    assert about.custom_metadata_map == {"mapping": "gaussian:10"}
    # Little beyond the weights themselves.
    numbers = sum(w.size for w in MODELS["gaussian"]["weights"])
    assert len(data) < 4 * numbers + 8000


def test_large_phases_stay_exact() -> None:
    # 10,000 turns away from 0 the angle itself would be off by 0.004 in float32.
    B = np.array([[8192.0]])
    network = {"weights": [np.eye(2)], "biases": [np.zeros(2)]}
    coords = np.arange(64)[:, None] / 64 + 1 / 2**17
    values = _run(onnx_bytes(frequencies=B, **network), coords)
    turns = np.arange(64) * 128 + 0.0625
    expected = np.stack([np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)], axis=1)
    np.testing.assert_allclose(values, expected, atol=1e-5)


def test_what_does_not_fit_is_named() -> None:
    model = MODELS["gaussian"]
    with pytest.raises(InputError, match=r"`output` \(=softplus\) .* sigmoid"):
        onnx_bytes(**{**model, "output": "softplus"})
    with pytest.raises(InputError, match="activation `rleu` is unknown; did you mean"):
        onnx_bytes(**{**model, "activation": "rleu"})
    with pytest.raises(InputError, match=r"layer 0 has weights \(512, 256\)"):
        onnx_bytes(**{**model, "frequencies": model["frequencies"][:100]})
    with pytest.raises(InputError, match="3 `weights` and 2 `biases`"):
        onnx_bytes(**{**model, "biases": model["biases"][:2]})
    with pytest.raises(InputError, match=r"`amplitudes` has shape \(3,\)"):
        onnx_bytes(**{**model, "amplitudes": np.ones(3)})
