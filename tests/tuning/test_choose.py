"""What is chosen for easy data, hard data, and data that say nothing."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from passband.errors import InputError
from passband.field import Field, make_field
from passband.mappings import FourierFeatures
from passband.tasks.task import Task
from passband.tuning import (
    Choice,
    Held,
    Plan,
    Problem,
    choose,
    grid_problem,
    points_problem,
)
from passband.tuning.choice import rank_agreement

PLAN = Plan(rungs=(30, 60), keep=(4,), lr=1e-2, layers=2, width=24, looks=1, slots=2)
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
    assert first.conclusive
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
    assert not found.conclusive
    assert "look like noise" in found.notes[0]


def test_a_single_edge_and_a_picture_that_is_not_square():
    x, y = plane()
    edge = chosen((x + y > 0.9).astype(float))
    assert edge.conclusive
    x, y = plane(8, 32)
    wide = chosen(0.5 + 0.2 * np.sin(24 * x + 9 * y) + 0.2 * np.cos(22 * y - 18 * x))
    assert wide.sigma > 0
    assert wide.nyquist == 16


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (24, 24)])
def test_what_says_nothing_is_guessed_and_said_so(shape):
    found = chosen(np.full(shape, 0.3))
    assert not found.conclusive
    assert found.notes == ["all values are equal: any scale fits them"]
    assert found.sigma == found.guess > 0


def test_too_few_points_are_a_guess():
    found = chosen(np.random.default_rng(0).random((2, 3)))
    assert not found.conclusive
    assert "too few points" in found.notes[0]


class Clock(Task):
    """One step moves the last bias by one learning rate: a field tells its steps."""

    def loss(self, field, key, step=0):
        return field.mlp.biases[-1].sum()

    def predict(self, field):
        raise NotImplementedError

    def metrics(self, field):
        raise NotImplementedError

    @property
    def step_points(self):
        return 1


class Moving(Held[Clock]):
    """Levels that are highest at `tops[k]` after k + 1 steps, whatever is trained."""

    tops: Float[Array, " steps"]

    def error(self, field):
        steps = jnp.round(-field.mlp.biases[-1][0] / RATE).astype(int)
        scale = spread(field) / SPREAD
        level = 10 * steps - (2 * jnp.log(scale / self.tops[steps - 1])) ** 2
        return 10 ** (-level / 10)


def spread(field: Field) -> Array:
    assert isinstance(field.encoding, FourierFeatures)
    return jnp.std(field.encoding.frequencies)


RATE = 0.125
KEY = jax.random.split(jax.random.split(jax.random.key(0), 1)[0])[0]
SPREAD = spread(make_field("gaussian:1,m=16", d=1, out=1, key=KEY, layers=1))
"""Of the frequencies that a sweep's first seed draws at scale 1."""


def chosen_as_if(tops: tuple[float, ...], **more) -> Choice:
    """The choice from a first guess of 1, when levels are highest at these scales."""
    held = Moving(Clock(), jnp.asarray(tops))
    problem = Problem("pixels", held, 1e40, 1, 1, "identity", 1.0)
    options: dict = {"rungs": (1, 2, 3), "looks": 1, "seeds": 1, "lr": RATE,
                     "layers": 1, "width": 1, "slots": 1} | more  # fmt: skip
    return choose(problem, WORD, Plan(**options))


def reached(found: Choice, steps: int) -> list[int]:
    [curve] = [c for c in found.curves if c.steps == steps]
    return [i for i, level in enumerate(curve.mean) if level is not None]


def test_scales_beside_the_best_come_back_and_are_tried_to_the_end():
    # The lowest four go on, then the lowest three; at the end a higher one is best.
    found = chosen_as_if((0.4, 0.4, 1.2))
    assert len(reached(found, 1)) == 8
    assert reached(found, 3) == [0, 1, 2, 3, 4, 5]
    assert found.sigma == pytest.approx(1.2, rel=0.1)
    assert found.untried == []
    assert found.notes == []
    assert found.half is not None


def test_no_scale_falls_out_of_a_seat_that_would_stay_empty():
    found = chosen_as_if((0.4, 0.4, 1.2), slots=6)
    assert reached(found, 3) == [0, 1, 2, 3, 4, 5]
    assert reached(chosen_as_if((0.4, 0.4, 0.4), slots=None), 3) == list(range(8))


def test_what_lies_between_samples_bears_a_higher_scale():
    held = Moving(Clock(), jnp.asarray([1.0]))
    problem = Problem("pixels", held, 1e40, 1, 1, "identity", 1.0, above=1.2)
    plan = Plan((1,), (), looks=1, seeds=1, lr=RATE, layers=1, width=1)
    assert choose(problem, WORD, plan).sigma == pytest.approx(1.2, rel=0.01)


def test_scales_that_are_as_good_are_named():
    found = chosen_as_if((1.0, 1.0, 1.0))
    assert found.sigma == pytest.approx(1.0, rel=0.01)
    assert "sigma from 0.816 to 1.22 cannot be told apart" in found.notes[0]


def test_a_neighbour_that_was_left_out_is_named():
    found = chosen_as_if((0.4, 0.4, 1.2), revivals=1)
    assert reached(found, 3) == [0, 1, 2, 3]
    assert found.untried == [pytest.approx(1.5**0.5)]
    assert "sigma 1.22 fell out early, not tried to the end" in found.notes[0]
    assert json.loads(found.to_json())["untried"] == found.untried
    assert "sigma 1.22" in found.summary()


@pytest.mark.parametrize(("top", "end"), [(1e-3, "lowest"), (1e3, "highest")])
def test_the_end_of_all_sweeps_is_called_by_its_name(top, end):
    found = chosen_as_if((top, top, top))
    # The ladder has grown twice, by four scales on that side.
    far = np.log(found.sigma) / np.log(1.5)
    assert abs(far) == pytest.approx(3.5 + 2 * 4)
    assert len(found.sigmas) == 16
    assert f"the best scale is the {end} that was tried" in found.notes[0]


def test_points_of_a_grid_have_its_nyquist_frequency():
    x, y = plane(32, 32)
    coords = np.stack([x, y], axis=-1).reshape(-1, 2)
    values = np.sin(9 * x * y).reshape(-1, 1)
    problem = points_problem(coords, values, most=256)
    assert problem.nyquist == pytest.approx(16, rel=0.05)
    assert problem.share == 0.25


def test_a_scale_that_is_given_is_not_chosen():
    with pytest.raises(InputError, match="`gaussian:4` leaves no scale to choose"):
        choose(grid_problem(np.zeros((4, 4, 1), np.float32)), "gaussian:4")  # pyright: ignore


def test_agreement_of_ranks_is_spearmans_correlation_with_ties():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(0)
    for _ in range(5):
        a, b = rng.integers(0, 6, (2, 12)).astype(float)
        a[3] = np.nan
        there = np.isfinite(a)
        expected = spearmanr(a[there], b[there])[0]
        assert rank_agreement(a, b) == pytest.approx(expected, abs=1e-12)
    assert rank_agreement(np.ones(5), np.arange(5.0)) is None
