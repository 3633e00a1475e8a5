"""Measurements in memory go through everything a kind goes through."""

import doctest
import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import passband.forward
from passband.errors import InputError
from passband.forward.operator import linear
from passband.kinds.fit import fit, model_facts
from passband.kinds.kind import TrialSize
from passband.kinds.measured import coarser, measured
from passband.kinds.render import kind_of, render_file, render_values
from passband.kinds.render_options import RenderOptions
from passband.train.run_folder import RunFolder
from passband.tuning.measurements import HeldMeasurements
from passband.words import parse_mapping

RNG = np.random.default_rng(0)
ROW, COLUMN = np.mgrid[:12, :16] / 16
X = 40 + 15 * np.sin(5 * COLUMN + 3 * ROW)
A = RNG.normal(size=(120, 192)) / 14
QUICK = {
    "mapping": "gaussian:1,m=16",
    "width": 32,
    "layers": 3,
    "steps": 150,
    "lr": 0.003,
}


def data_of(operator: Any = A, y: Any = None, **options):
    y = A @ X.ravel() if y is None else y
    return measured(operator, y, (12, 16), **QUICK | options)


def off(values) -> float:
    return float(np.linalg.norm(values - X) / np.linalg.norm(X))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_field_is_fitted_in_the_users_units():
    data = data_of(aslinearoperator(A), truth=X)
    fitted = fit(data, data.options)
    seen = data.values(fitted.field)
    # 120 sums of 192 points: what least squares leaves is a third of the energy.
    rough = np.linalg.lstsq(A, A @ X.ravel(), rcond=None)[0].reshape(12, 16)
    assert off(seen) < 0.05 < 0.4 < off(rough)
    found = fitted.evaluation
    assert found.metrics["psnr"] > 20 and "error_test" in found.metrics
    facts = model_facts(fitted.result, found)
    assert set(found.baselines) == {"least squares", "total variation", "free grid"}
    assert found.baselines["least squares"]["error_train"] < 0.1
    shown = render_values(fitted.field, facts, RenderOptions())
    np.testing.assert_allclose(shown, seen, rtol=1e-5)
    finer = RenderOptions(resolution=32)
    fine = render_values(fitted.field, facts, finer)
    assert fine.shape == (24, 32)
    np.testing.assert_allclose(fine[::2, ::2], seen, rtol=1e-4)
    units = data.units(fitted.field, facts)
    at = fitted.field.predict((np.array([[5, 2]]) - units.center) * units.scale)
    assert data.low + (data.high - data.low) * at[0, 0] == pytest.approx(
        seen[2, 5], 1e-4
    )


def test_a_run_folder_is_left_resumed_and_guarded(tmp_path):
    data, place = data_of(), tmp_path / "run"
    fit(data, data.options, place=place)
    config = json.loads((place / "config.json").read_text())
    assert config["task"] == "measured" and config["sha256"] == data.sha256
    assert "Reconstructions" in (place / "report.html").read_text()
    out = tmp_path / "x.npy"
    render_file(place / "model.safetensors", RenderOptions(), out)
    assert off(np.load(out)) < 0.1
    render_file(place / "model.safetensors", RenderOptions(), tmp_path / "x.png")
    assert kind_of({"task": "measured"}) is type(data)
    more = data_of(steps=160)
    ended = fit(more, more.options, place=place, resume=RunFolder.open(place))
    assert ended.result["steps"] == 160
    other = data_of(y=A @ X.ravel() + 1)
    with pytest.raises(InputError, match="`measurements` has changed"):
        fit(other, other.options, place=place, resume=RunFolder.open(place))


def test_the_scale_is_chosen_by_held_out_measurements():
    data = data_of(mapping="gaussian:auto,m=16", steps=60)
    fitted = fit(data, data.options)
    tuned = fitted.result["tuned"]
    assert tuned["given"] == "gaussian:auto,m=16" and tuned["held"] == "measurements"
    assert 0.1 < tuned["sigma"] < 4
    assert data_of(mapping=None).default_mapping() == "gaussian:auto"


def test_trials_see_neither_the_test_measurements_nor_another_operator():
    data = data_of()
    problem = data.trials(data.options, TrialSize(10, 10**6))
    task, held = data._task((12, 16)), problem.held
    assert isinstance(held, HeldMeasurements) and task.test_mask is not None
    train, out = np.asarray(held.task.train_mask), np.asarray(held.out)
    assert not (train & out).any() and not ((train | out) & task.test_mask).any()
    again = data_of(2 * A).trials(data.options, TrialSize(10, 10**6))
    assert problem.digest != again.digest
    # A field that is its mean everywhere, worked out by hand.
    ones, y = A.sum(axis=1), A @ X.ravel()
    mean = ones[train] @ y[train] / (ones[train] @ ones[train])
    blank = np.mean((mean * ones - y)[out] ** 2) / float(task.unit) ** 2
    assert problem.blank == pytest.approx(blank, rel=1e-3)


def test_other_options_take_the_same_data_and_no_file():
    data = data_of()
    options = data_of(seed=3).options
    again = data.again(options)
    assert again.measurements is data.measurements and again.options.seed == 3
    masks = [np.asarray(k._task(k.sides).train_mask) for k in (data, again)]
    assert (masks[0] != masks[1]).any()


def test_a_fit_begins_at_the_mean_that_a_constant_tells():
    flat = data_of(y=A.sum(axis=1) * 42, low=0.0, high=100.0)
    assert flat.network().start == pytest.approx(0.42, abs=1e-3)
    blind = measured(lambda x: x[1:] - x[:-1], np.ones(9), 10, high=9.0, **QUICK)
    assert blind.network().start == 0.5


def test_the_range_is_estimated_where_it_is_not_given():
    data = data_of()
    assert data.low == 0 and X.max() < data.high < 3 * X.max()
    signed = data_of(y=A @ (X - 40).ravel(), low=None)
    assert signed.low < -10 and signed.high > 10
    assert data_of(high=60.0, low=20.0).high == 60.0


def test_a_small_batch_is_a_coarser_grid_over_the_same_box():
    data = data_of(batch=64)
    training = data.training(data.options, parse_mapping("gaussian:1"))
    task = data.task(training)
    assert task.forward.input_shape == coarser((12, 16), 64) == (6, 9)
    assert "grid of 6 x 9 for 12 x 16" in data.remarks(task)[0]
    flat = jnp.full((6, 9), 0.5)
    np.testing.assert_allclose(
        task.see(flat), data._task((12, 16)).see(jnp.full((12, 16), 0.5)), rtol=1e-4
    )
    fitted = fit(data, data.options)
    assert off(data.values(fitted.field)) < 0.1 and fitted.result["grid"] == [6, 9]


@pytest.mark.parametrize("shape", [(192,), (4, 6, 8)])
def test_lines_and_volumes_are_fitted_and_shown(shape, tmp_path):
    data = measured(A, A @ X.ravel(), shape, **QUICK | {"steps": 10, "holdout": 0.0})
    fitted = fit(data, data.options, place=tmp_path / "run")
    assert data.values(fitted.field).shape == shape
    assert (tmp_path / "run" / "preview.png").stat().st_size > 1000
    assert set(fitted.evaluation.metrics) == {"error_train"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(3)}, r"`y` has shape \(3,\)"),
        ({"y": ["a"] * 120}, "`y` holds <U1"),
        ({"y": np.full(120, np.inf)}, "`y` has 120 NaN or infinite"),
        ({"truth": np.ones((3, 4))}, r"`truth` has shape \(3, 4\)"),
        ({"truth": np.full((12, 16), np.nan)}, "`truth` has NaN"),
        ({"low": np.nan}, "`low` .* finite"),
        ({"low": 5.0, "high": 5.0}, "`low` .* below `high`"),
        ({"operator": np.eye(192), "y": -X.ravel()}, "give `high`, or a lower `low`"),
        ({"step": 3}, "`step` is no option here; did you mean `steps`"),
        ({"operator": linear(A)}, "`shape`"),
    ],
)
def test_what_is_wrong_names_the_argument(change, message):
    with pytest.raises(InputError, match=message):
        data_of(**change)


def test_the_examples_of_the_docstrings_run():
    names = {"passband.forward": passband.forward, "linear": linear,
             "measured": measured}  # fmt: skip
    for name, thing in names.items():
        found = doctest.DocTestFinder(recurse=False).find(thing, name)
        assert sum(len(one.examples) for one in found) > 0
        runner = doctest.DocTestRunner()
        assert [runner.run(one).failed for one in found] == [0] * len(found)
