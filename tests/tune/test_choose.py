"""What is chosen for easy data, hard data, and data that say nothing."""

import dataclasses
import importlib
import json

import numpy as np
import pytest

from passband.errors import InputError
from passband.tune import Choice, Plan, choose, grid_problem, points_problem
from passband.tune.sweep import Swept, survivors

PLAN = Plan(rungs=(30, 60), keep=(4,), rate=1e-2, layers=2, width=24, looks=1, seats=2)
WORD = "gaussian:auto,m=16"


def chosen(values: np.ndarray, **more) -> Choice:
    problem = grid_problem(values.astype(np.float32)[..., None], batch=128)
    return choose(problem, WORD, PLAN, **more)


def plane(rows: int = 16, columns: int = 16) -> tuple[np.ndarray, np.ndarray]:
    y, x = np.mgrid[:rows, :columns] / max(rows, columns)
    return x, y


def test_a_small_picture_has_a_top_between_too_low_and_too_high(tmp_path):
    x, y = plane()
    values = 0.5 + 0.2 * np.sin(12 * x + 5 * y) + 0.2 * np.cos(14 * y - 3 * x)
    first = chosen(values, cache=tmp_path)
    assert first.told
    assert first.cost[0] is not None
    assert first.cost[0] > 1  # far too low
    assert first.cost[-1] is not None
    assert first.cost[-1] > 1  # far too high
    assert min(first.sigmas) < first.sigma < max(first.sigmas)
    assert first.mapping == f"gaussian:{first.scale:g},m=16"
    assert not first.cached
    again = chosen(values, cache=tmp_path)
    assert again == dataclasses.replace(first, cached=True)
    [file] = tmp_path.iterdir()
    file.write_text(json.dumps({"mapping": "gaussian:3"}))  # damaged: chosen anew
    anew = chosen(values, cache=tmp_path)
    assert anew.mapping == first.mapping
    assert not anew.cached
    assert not chosen(values, cache=tmp_path, fresh=True, train=False).cached


def test_noise_is_called_noise():
    found = chosen(np.random.default_rng(0).random((16, 16)))
    assert not found.told
    assert "look like noise" in found.notes[0]


def test_a_single_edge_and_a_picture_that_is_not_square():
    x, y = plane()
    edge = chosen((x + y > 0.9).astype(float))
    assert edge.told
    x, y = plane(8, 32)
    wide = chosen(0.5 + 0.2 * np.sin(24 * x + 9 * y) + 0.2 * np.cos(22 * y - 18 * x))
    assert wide.sigma > 0
    assert wide.nyquist == 16


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (24, 24)])
def test_what_says_nothing_is_guessed_and_said_so(shape):
    found = chosen(np.full(shape, 0.3))
    assert not found.told
    assert found.notes == ["all values are equal: any scale fits them"]
    assert found.sigma == found.guess > 0


def test_too_few_points_are_a_guess():
    found = chosen(np.random.default_rng(0).random((2, 3)))
    assert not found.told
    assert "too few points" in found.notes[0]


def swept_as_if(tops: tuple[float, float, float], monkeypatch) -> tuple[list, Choice]:
    """The choice when levels are highest at these scales after each rung, from a first
    guess of 1, and the sweeps that it took."""
    told = []

    def fake(held, mappings, plan, **options):
        told.append((len(mappings), plan.keep))
        scales = np.asarray([m.scale for m in mappings])
        alive, rows = list(range(len(scales))), []
        for k, top in enumerate(tops):
            level = -((2 * np.log(scales / top)) ** 2) + 10 * k
            row = np.full(len(scales), np.nan)
            row[alive] = level[alive]
            rows.append(np.repeat(10 ** (-row / 10)[:, None], 2, axis=1))
            if k < len(plan.keep):
                alive = survivors(level, alive, plan.keep[k])
        return Swept(np.arange(1, 4), np.stack(rows), (1, 2, 3), 1, 0.0, 0.0)

    module = importlib.import_module("passband.tune.choose")
    monkeypatch.setattr(module, "sweep", fake)
    x, y = plane(32, 32)
    problem = grid_problem(np.sin(9 * x * y)[..., None].astype(np.float32))
    problem = dataclasses.replace(problem, guess=1.0, blank=1e40, share=1.0)
    return told, choose(problem, WORD, Plan())


def test_a_scale_that_fell_out_too_early_is_tried_to_the_end(monkeypatch):
    told, found = swept_as_if((0.4, 1.2, 3.5), monkeypatch)
    assert told[0] == (8, (4, 3))
    assert set(told[1:]) == {(5, ())}
    assert found.sigma == pytest.approx(3.5, rel=0.1)
    assert found.half is not None
    assert found.notes == []


@pytest.mark.parametrize(("top", "end"), [(1e-3, "lowest"), (1e3, "highest")])
def test_the_end_of_all_sweeps_is_called_by_its_name(top, end, monkeypatch):
    told, found = swept_as_if((top, top, top), monkeypatch)
    assert told == 3 * [(8, (4, 3))]
    assert f"the best scale is the {end} that was tried" in found.notes[0]


def test_points_of_a_grid_have_its_nyquist_frequency():
    x, y = plane(32, 32)
    coords = np.stack([x, y], axis=-1).reshape(-1, 2)
    values = np.sin(9 * x * y).reshape(-1, 1)
    problem = points_problem(coords, values, most=256)
    assert problem.nyquist == pytest.approx(16, rel=0.05)
    assert problem.share == 0.25


def test_a_scale_that_is_given_is_not_chosen():
    with pytest.raises(InputError, match="`gaussian:4` has its scale already"):
        choose(grid_problem(np.zeros((4, 4, 1), np.float32)), "gaussian:4")  # pyright: ignore
