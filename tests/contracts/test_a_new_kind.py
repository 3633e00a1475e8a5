"""A kind of one's own, in one place, goes through everything a kind goes through."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from passband.cli.main import main
from passband.domain import grid
from passband.kinds.defaults import resolve
from passband.kinds.kind import Evaluation, Kind, Network, Rendered, TrialSize
from passband.kinds.options import TrainOptions
from passband.kinds.table import KINDS, Row
from passband.tasks.regression import regression_task
from passband.tuning.grid import grid_problem

# ---- the kind: heights on a grid, from a NumPy file ---------------------------------


@dataclasses.dataclass(frozen=True)
class HeightOptions(TrainOptions):
    """Fit a height map (NPY): a field from (x, y) to metres."""


@dataclasses.dataclass(frozen=True, eq=False)
class HeightKind(Kind):
    """Heights in metres, one a grid point."""

    name = "height"
    cpu_trials = gpu_trials = TrialSize(400, 256)

    heights: np.ndarray

    @classmethod
    def read(cls, options, listener=None):
        return cls(options, "heights", np.load(cls.source(options)))

    def training(self, asked, mapping):
        return resolve(asked, mapping, steps=500, batch=512, lr=1e-3)

    def network(self, training=None):
        return Network(2, 1, "identity")

    def task(self, training):
        coords = grid(self.heights.shape).reshape(-1, 2)
        return regression_task(coords, self.heights.ravel(), batch=training.batch)

    def nyquist(self):
        return max(self.heights.shape) / 2

    def trials(self, asked, size):
        low, high = self.heights.min(), self.heights.max()
        values = ((self.heights - low) / (high - low))[..., None]
        return grid_problem(values, batch=size.points, output="identity")

    def evaluate(self, task, field, training, listener=None, *, seconds=None):
        seen = task.predict(field).reshape(*self.heights.shape, 1)
        facts = {"low": float(task.low), "high": float(task.high),
                 "shape": [*self.heights.shape, 1]}  # fmt: skip
        return Evaluation(task.metrics(field), facts, lambda: seen, dict)

    @classmethod
    def render(cls, field, about, options, listener):
        n, low, high = options.resolution or 32, about["low"], about["high"]
        coords = grid((n, n)).reshape(-1, 2)

        def heights():
            return low + (high - low) * field.predict(coords).reshape(n, n)

        def write(out: Path):
            np.save(out, heights())
            return {"shape": [n, n]}

        return Rendered(heights, write)


ROW = Row(HeightKind, HeightOptions, "fit a height map: NPY", "a height map")

# ---- what it must do without another line of code -----------------------------------

QUICK = ("--layers", "2", "--width", "16", "--quiet")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "height", ROW)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    y, x = np.mgrid[:24, :32] / 32
    np.save("hills.npy", 300 + 100 * np.sin(9 * x + 4 * y))
    return tmp_path


def test_it_is_one_place_of_less_than_80_lines():
    text = Path(__file__).read_text().split("# ----")[1]
    assert len(text.strip().splitlines()) < 80


def test_it_is_fitted_tuned_rendered_and_exported(here, capsys):
    words = ["fit", "height", "hills.npy", "--mapping", "gaussian:auto,m=8", "--steps",
             "300", "--out", "run", "--batch", "128", *QUICK]  # fmt: skip
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["task"] == "height" and result["metrics"]["psnr"] > 15
    assert result["tuned"]["given"] == "gaussian:auto,m=8"
    page = (here / "run" / "report.html").read_text()
    assert "Which scale" in page and "passband render model.safetensors" in page
    assert main([*words[:-1], "--resume", "--steps", "320", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 320
    model = "run/model.safetensors"
    assert main(["render", model, "--out", "fine.npy", "--resolution", "50"]) == 0
    fine = np.load("fine.npy")
    assert fine.shape == (50, 50) and 150 < fine.mean() < 450  # metres
    assert main(["render", model, "--out", "hills.onnx"]) == 0
    session = onnxruntime.InferenceSession("hills.onnx")
    at = np.array([[0.25, 0.5]], np.float32)
    metres = np.asarray(session.run(None, {"coords": at})[0]).item()
    near = np.load("hills.npy")[16, 8]
    assert abs(metres - near) < 60
    words = ["tune", "height", "hills.npy", "--steps", "24", "--mapping",
             "gaussian:auto,m=8", *QUICK]  # fmt: skip
    assert main([*words, "--json"]) == 0
    capsys.readouterr()
    assert main(["fit", "--help"]) == 0
    assert "fit a height map: NPY" in capsys.readouterr().out
