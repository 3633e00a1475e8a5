"""Members of every kind: trained as one, queried, kept, exported and rendered."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import passband as pb
from passband.kinds.render import render_file
from passband.kinds.render_options import RenderOptions
from passband.kinds.report_parts import figures_of
from passband.kinds.table import IN_PYTHON, KINDS
from passband.model import Model

OLD = Path(__file__).parents[1] / "old_runs"
SMALL = {"width": 8, "layers": 2, "steps": 8, "mapping": "gaussian:2,m=8",
         "optimiser": "sgd"}  # fmt: skip
FILES = {
    "image": {"path": "photo.png"},
    "signal": {"path": "tone.wav"},
    "shape": {"path": "ball.obj", "labels": "labels.safetensors", "batch": 256},
    "ct": {"path": None, "simulate": "disc.npy", "views": 8},
    "mri": {"path": None, "simulate": "volume.npy", "fraction": 0.5},
    "nerf": {"path": "scene", "samples": 8, "batch": 32},
    "video": {"path": "film.gif", "holdout": "odd"},
    "volume": {"path": "volume.npy", "holdout": "odd"},
}
IN_MEMORY = ("points", "measured")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    shutil.copytree(OLD, tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("ct", "mri", "measured"):  # other methods have no members
        monkeypatch.setattr(f"passband.kinds.{name}.baselines", lambda *a, **k: {})
    for name, value in (("CPU_GRID", 16), ("SLICE", 32), ("CPU_SAMPLES", 64)):
        monkeypatch.setattr(f"passband.kinds.shape.{name}", value)
    return tmp_path / "data"


def fitted(name: str, **options) -> Model:
    options = SMALL | options
    x = np.random.default_rng(0).uniform(10, 20, (40, 2))
    if name == "points":
        return pb.fit(x, np.stack([x[:, 0], 100 * x[:, 1]], axis=1), **options)
    if name == "measured":
        A = np.random.default_rng(1).normal(size=(20, 36))
        return pb.fit(pb.measured(A, A @ np.arange(36.0), (6, 6)), **options)
    own = dict(FILES[name])
    return pb.fit(pb.read(own.pop("path"), name, **own), **options)


def test_no_kind_is_left_out():
    assert {*FILES, *IN_MEMORY} == {*KINDS, *IN_PYTHON}


@pytest.mark.parametrize("name", [*FILES, *IN_MEMORY])
def test_members_go_all_the_way(name):
    model = fitted(name, members=2)
    assert model.members == model.result["members"] == 2
    assert model.result["spread"] > 0 and model.evaluation is not None
    assert np.isfinite(list(model.metrics.values())).all()
    history = model.history
    assert all(np.less_equal(history["loss"], history["loss_worst"]))
    alone = dataclasses.replace(model.evaluation, figures=dict)
    assert [*figures_of(alone, "gaussian")] == ([] if name == "points" else ["spread"])

    # Mean and spread are NumPy's over the networks, each a model by itself.
    d = model.field.encoding.dims
    coords = np.random.default_rng(2).uniform(1, 12, (9, d))
    alone = [Model(one, model.about) for one in model.field.each()]  # pyright: ignore[reportAttributeAccessIssue]
    values = np.stack([one(coords) for one in alone])
    assert np.abs(values[0] - values[1]).max() > 0
    size = np.abs(values).max()
    np.testing.assert_allclose(model(coords), values.mean(axis=0), atol=1e-5 * size)
    np.testing.assert_allclose(
        model.spread(coords), values.std(axis=0), atol=1e-5 * size
    )

    # One file holds them, and one graph gives their mean.
    model.save("m.safetensors")
    back = pb.load("m.safetensors")
    assert back.members == 2 and (back(coords) == model(coords)).all()
    about = json.loads(json.dumps(back.about))
    assert "members" not in about  # the file says it, of its own tensors
    render_file("m.safetensors", RenderOptions(), Path("m.onnx"))
    session = onnxruntime.InferenceSession("m.onnx")
    [seen] = session.run(None, {"coords": coords.astype(np.float32)})
    pair = np.asarray(seen)
    if name == "mri" and pair.shape[1] == 2:
        pair = pair[:, :1] + 1j * pair[:, 1:]
    np.testing.assert_allclose(pair, model(coords), rtol=1e-4, atol=1e-4 * size)
    if name not in ("points", "shape"):  # a few steps give no surface
        shown = np.asarray(model.render(resolution=8))
        assert np.isfinite(shown).all()
