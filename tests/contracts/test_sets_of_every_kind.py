"""Every kind of data in a set: stacked, written, and read back as what a fit gives."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import passband as pb
from passband.kinds.table import IN_PYTHON, KINDS

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


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> Path:
    shutil.copytree(OLD, tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("ct", "mri", "measured"):
        monkeypatch.setattr(f"passband.kinds.{name}.baselines", lambda *a, **k: {})
    for name, value in (("CPU_GRID", 16), ("SLICE", 32), ("CPU_SAMPLES", 64)):
        monkeypatch.setattr(f"passband.kinds.shape.{name}", value)
    monkeypatch.setattr("passband.kinds.many_set.pictures_of", lambda *a: {})
    return tmp_path / "data"


def data(name: str):
    x = np.random.default_rng(0).uniform(10, 20, (40, 2))
    if name == "points":
        return x, np.stack([x[:, 0], 100 * x[:, 1]], axis=1)
    if name == "measured":
        A = np.random.default_rng(1).normal(size=(20, 36))
        return pb.measured(A, A @ np.arange(36.0), (6, 6))
    own = dict(FILES[name])
    return pb.read(own.pop("path"), name, **own)


def test_no_kind_is_left_out():
    assert {*FILES, "points", "measured"} == {*KINDS, *IN_PYTHON}


@pytest.mark.parametrize("name", [*FILES, "points", "measured"])
def test_a_field_of_a_set_is_that_of_a_fit_alone(name):
    item = data(name)
    models = pb.fit_many([item, item], out="set", **SMALL)
    assert models.failures == {} and len(models) == 2
    one = models[0]
    if isinstance(item, tuple):
        alone = pb.fit(*item, **SMALL)
    else:
        alone = pb.fit(item, **SMALL)
    assert one.kind == alone.kind == name and one.mapping == alone.mapping
    assert one.metrics == pytest.approx(alone.metrics, rel=1e-2, abs=1e-4)
    coords = np.random.default_rng(2).uniform(1, 12, (9, one.field.encoding.dims))
    size = np.abs(alone(coords)).max()
    np.testing.assert_allclose(one(coords), alone(coords), atol=1e-3 * size)
    np.testing.assert_array_equal(one(coords), models[1](coords))
    assert one.coords == alone.coords
