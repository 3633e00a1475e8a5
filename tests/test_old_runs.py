"""Run folders and model files of passband 0.1.0 at 1bf55cf still resume and load."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from passband.cli.main import main
from passband.model_file import load, load_with_info

RUNS = Path(__file__).parent / "old_runs"
OLD = ("image", "signal", "shape", "ct", "mri", "nerf")


@pytest.fixture
def old(tmp_path, monkeypatch) -> Path:
    """The folders as they were written, the files they name at their new place."""
    folder = tmp_path / "old"
    shutil.copytree(RUNS, folder)
    for config in folder.glob("*/config.json"):
        config.write_text(config.read_text().replace("/data/", f"{folder}/"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.mark.parametrize("kind", OLD)
def test_an_old_run_goes_on_and_renders(old, kind, capsys):
    run = old / f"run-{kind}"
    before = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    assert before["step"] == 20
    words = ["fit", kind, "--resume", "--out", run, "--steps", "30", "--json"]
    assert main([str(word) for word in words]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["steps"] == 30
    text = (run / "metrics.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0]["loss"] == before["loss"] and lines[-1]["step"] == 30
    config = json.loads((run / "config.json").read_text())
    assert config["optimiser"] == "adam" and config["activation"] == "relu"
    assert config["schedule"] == ("decay" if kind == "shape" else "constant")
    onnx = ["render", str(run / "model.safetensors"), "--out", str(old / "m.onnx")]
    assert main([*onnx, "--quiet"]) == 0


@pytest.mark.parametrize("kind", OLD)
def test_an_old_model_loads_and_gives_the_field_it_held(kind):
    path = RUNS / f"run-{kind}" / "model.safetensors"
    field, about = load_with_info(path)
    assert about["task"] == kind and field.mlp.activation == "relu"
    points = np.random.default_rng(0).random((5, field.encoding.dims), np.float32)
    # In NumPy, as docs/model-file.md has it.
    B, a = (
        np.asarray(getattr(field.encoding, n)) for n in ("frequencies", "amplitudes")
    )
    turns = 2 * np.pi * points.astype(np.float64) @ B.T
    x = np.concatenate([a * np.sin(turns), a * np.cos(turns)], axis=1)
    *hidden, last = zip(field.mlp.weights, field.mlp.biases, strict=True)
    for W, b in hidden:
        x = np.maximum(x @ np.asarray(W) + np.asarray(b), 0)
    y = x @ np.asarray(last[0]) + np.asarray(last[1])
    y = y if field.output == "identity" else 1 / (1 + np.exp(-y))
    np.testing.assert_allclose(load(path).predict(points), y, rtol=1e-3, atol=1e-4)


def test_a_run_that_left_its_samples_open_keeps_those_of_then(old, capsys):
    """On a CPU 48 of a ray, where now 96 are usual."""
    run = old / "run-nerf"
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | {"samples": None}))
    words = ["fit", "nerf", "--resume", "--out", str(run), "--steps", "30", "--json"]
    assert main(words) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["step_points"] == 48 * config["batch"]
    config = json.loads((run / "config.json").read_text())
    assert config["samples"] == 48 and config["skip_empty"] is False
