"""What holds for every kind of data: frozen, read once, fitted, judged and rendered."""

import dataclasses
import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from passband.cli.main import main
from passband.errors import InputError
from passband.kinds.fit import fit
from passband.kinds.kind import Kind, TrialSize
from passband.kinds.options import InstrumentOptions
from passband.kinds.prior import Prior, asked_prior
from passband.kinds.render import render_values, shown_by
from passband.kinds.render_options import ONLY_OF, RenderOptions
from passband.kinds.table import KINDS
from passband.tasks.task import Task
from passband.tuning.problem import HeldMeasured
from passband.words import parse_mapping

OLD = Path(__file__).parents[1] / "old_runs"
DATA = {
    "image": {"file": "photo.png", "holdout": "quarter"},
    "signal": {"file": "tone.wav"},
    "shape": {"file": "ball.obj", "labels": "labels.safetensors", "batch": 256},
    "ct": {"simulate": "disc.npy", "views": 8},
    "mri": {"simulate": "volume.npy", "fraction": 0.5},
    "nerf": {"file": "scene", "samples": 8, "batch": 32},
    "video": {"file": "film.gif", "holdout": "odd"},
    "volume": {"file": "volume.npy", "holdout": "odd"},
}
SMALL = {"steps": 30, "width": 8, "layers": 2, "mapping": "gaussian:2,m=8"}


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    shutil.copytree(OLD, tmp_path / "data")
    monkeypatch.chdir(tmp_path / "data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def read(name: str) -> Kind:
    row = KINDS[name]
    return row.load().read(row.options(**SMALL | DATA[name]))


def test_every_kind_of_a_file_has_its_data_here():
    assert set(DATA) == set(KINDS)


@pytest.mark.parametrize("name", DATA)
def test_a_kind_is_frozen_and_settles_its_training_once(here, name):
    kind = read(name)
    assert kind.name == name and kind.title and isinstance(kind.warnings, tuple)
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind.title = "other"  # pyright: ignore[reportAttributeAccessIssue]
    mapping = parse_mapping("gaussian:2,m=8")
    one, two = (kind.training(kind.options, mapping) for _ in range(2))
    assert one == two and one.steps == 30 and one.lr > 0 and one.batch > 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.lr = 1.0  # pyright: ignore[reportAttributeAccessIssue]
    default = kind.default_mapping()
    assert str(parse_mapping(default)) == default
    task = kind.task(one)
    assert isinstance(task, Task) and task.step_points > 0
    network = kind.network(one)
    field = one.draw(network, jax.random.key(0))
    assert np.isfinite(task.loss(field, jax.random.key(1)))
    assert field.encoding.dims == network.d
    assert (kind.nyquist() or 1.0) > 0


@pytest.mark.parametrize("name", DATA)
def test_what_an_instrument_sees_takes_a_prior_and_nothing_else_does(here, name):
    kind = read(name)
    usual = kind.usual_tv
    assert asked_prior(kind, kind.options) == Prior(usual)
    paper = dataclasses.replace(kind.options, recipe="paper")
    assert asked_prior(kind, paper) == Prior()
    assert usual is None or isinstance(kind.options, InstrumentOptions)
    training = kind.training(kind.options, parse_mapping("gaussian:2,m=8"))
    priors = [
        getattr(kind.task(dataclasses.replace(training, prior=word)), "prior", None)
        for word in ("none", "tv:0.5")
    ]
    assert priors[0] is None
    assert (priors[1] is not None) == isinstance(kind.options, InstrumentOptions)
    # Its weight can be chosen: trials hold measurements out.
    if priors[1] is not None:
        held = kind.trials(kind.options, TrialSize(16, 512)).held
        assert isinstance(held, HeldMeasured) and held.measured().size > 0


@pytest.mark.parametrize("name", DATA)
def test_a_kind_has_trials_that_tell_a_field_from_none(here, name):
    kind = read(name)
    problem = kind.trials(kind.options, TrialSize(16, 512))
    assert problem.guess > 0 and problem.blank > 0 and problem.held is not None
    assert problem.digest
    assert (problem.d, problem.out) == (kind.network().d, kind.network().out)


@pytest.mark.parametrize("name", DATA)
def test_a_kind_is_fitted_judged_and_rendered_without_a_folder(here, name):
    kind = read(name)
    before = {p: p.stat().st_mtime_ns for p in here.rglob("*")}
    fitted = fit(kind, kind.options)
    assert fitted.result["task"] == name and fitted.result["steps"] == 30
    found = fitted.evaluation
    assert found.metrics and np.isfinite(list(found.metrics.values())).all()
    for scores in found.baselines.values():
        assert np.isfinite(list(scores.values())).all()
    json.dumps(found.about)  # what a model file can hold
    assert fitted.history["step"][-1] == 30
    about = found.about | {"task": name, "folder": "."}
    units = type(kind).units(fitted.field, about)
    d = fitted.field.encoding.dims
    assert units.center.shape == units.scale.shape == units.shift.shape == (d,)
    if name != "shape":  # thirty steps give no surface
        shown = render_values(fitted.field, about, RenderOptions(resolution=8))
        assert np.isfinite(np.asarray(shown)).all()
    assert {p: p.stat().st_mtime_ns for p in here.rglob("*")} == before


ASKED = {
    "level": 0.0, "reference": "a.ply", "azimuth": 1.0, "elevation": 1.0, "radius": 1.0,
    "orbit": 3, "camera": "a.json", "views": "test", "depth": True, "time": 0.0,
    "frames": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_refuses_what_is_asked_of_another(name):
    kind = KINDS[name].load()
    for owner, options in ONLY_OF.items():
        for option in options:
            asked = RenderOptions(**{option: ASKED[option]})
            if owner == name:
                shown_by(kind, asked)
            else:
                with pytest.raises(InputError, match=f"`{option}` is for a model"):
                    shown_by(kind, asked)


def test_every_word_of_a_recipe_resumes_to_the_same_bits(here):
    words = ["fit", "image", "photo.png", "--activation", "sine", "--optimiser", "muon",
             "--schedule", "cosine", "--mapping", "gaussian:2,m=8", "--width", "8",
             "--layers", "3", "--batch", "64", "--members", "2", "--quiet",
             "--steps", "60"]  # fmt: skip
    assert main([*words, "--out", "whole"]) == 0
    # One look at the clock is enough to stop; the second sitting goes on.
    assert main([*words, "--out", "parts", "--minutes", "1e-9"]) == 0
    steps = [json.loads(s)["step"] for s in open_lines("parts/metrics.jsonl")]
    assert steps == [25]
    assert main(["fit", "image", "--resume", "--out", "parts", "--quiet"]) == 0
    one, two = (load_file(f"{run}/model.safetensors") for run in ("whole", "parts"))
    for name, tensor in one.items():
        np.testing.assert_array_equal(two[name], tensor)
    config = json.loads(Path("parts/config.json").read_text())
    said = [config[k] for k in ("activation", "optimiser", "schedule", "members")]
    assert said == ["sine", "muon", "cosine", 2]
    page = Path("parts/report.html").read_text()
    assert "Spread of the members" in page and "--members" not in page


def open_lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()
