"""Fig. 14: the target, the keys of 2020, and what counts as flat."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from passband.paper import fig14, results
from passband.paper.item import Outcome, Preset
from passband.train.work import counted


@pytest.fixture(scope="module")
def counted_run() -> tuple[Outcome, int]:
    before = counted()
    return fig14.ITEM.run(Preset.SMOKE, lambda _: None), counted() - before


@pytest.fixture(scope="module")
def outcome(counted_run: tuple[Outcome, int]) -> Outcome:
    return counted_run[0]


def test_the_flop_of_a_run_are_steps_times_points_times_network(counted_run):
    """Forward and weight gradients of all four layers, input gradients of three."""
    rest = 64 * 64 + 64 * 64 + 64
    networks = [6 * rest + 4 * inputs * 64 for inputs in (1, 2)]
    assert counted_run[1] == 5 * 452 * 256 * sum(networks)


def test_smoke_has_the_papers_claims(outcome: Outcome):
    assert outcome.verdict == "reproduced"
    assert outcome.arrays["none"].shape == outcome.arrays["basic"].shape == (5, 1)


def test_centres_are_among_the_papers_forty():
    every = fig14.shifts(40)
    np.testing.assert_allclose(every, np.linspace(-math.pi, math.pi, 40))
    nine = fig14.shifts(9)
    assert np.isin(nine, every).all() and len(nine) == 9
    assert np.abs(nine).min() < 0.1 and nine[0] == -math.pi and nine[-1] == math.pi


def test_the_bump_moves_by_whole_samples():
    still = fig14.bump(0.0)
    assert still.max() == pytest.approx(math.exp(-0.5 * (math.pi / 255 / 0.05) ** 2))
    step = 2 * math.pi / 256
    np.testing.assert_array_equal(fig14.bump(10 * step + 1e-6), np.roll(still, 10))
    np.testing.assert_array_equal(fig14.bump(-10.5 * step), np.roll(still, -10))


def test_errors_are_mean_squares_of_the_2020_networks():
    """No step: a forward pass in NumPy with weights drawn from the keys as stax did."""
    setting = dataclasses.replace(fig14.SETTINGS[Preset.SMOKE], steps=0, inits=2)
    centre = np.array([1.0])
    [found] = fig14.train(["basic:units=rad"], centre, setting)
    x = np.linspace(-math.pi, math.pi, 256)
    glorot = jax.nn.initializers.glorot_normal()
    with jax.threefry_partitionable(False):
        key = jax.random.split(jax.random.PRNGKey(10), 20)[1]
        h = np.stack([np.sin(x), np.cos(x)], axis=1)
        for i, (fan_in, fan_out) in enumerate([(2, 64), (64, 64), (64, 64), (64, 1)]):
            key, layer = jax.random.split(key)
            kw, kb = jax.random.split(layer)
            W = np.asarray(glorot(kw, (fan_in, fan_out)), float)
            h = h @ W + 0.01 * np.asarray(jax.random.normal(kb, (fan_out,)), float)
            h = np.maximum(h, 0) if i < 3 else h
            key, _ = jax.random.split(key)
    expected = np.mean((h[:, 0] - fig14.bump(1.0)) ** 2)
    assert found.shape == (1, 2)
    assert found[0, 1] == pytest.approx(expected, rel=1e-5)


def claims(none: float, basic: float) -> list[str]:
    """Verdicts where the far errors are so many times those at the centre."""
    centres = fig14.shifts(9)
    away = np.abs(centres) > math.pi / 2
    errors = {
        "none": np.where(away, none, 1.0)[:, None] * 3e-4,
        "basic": np.where(away, basic, 1.0)[:, None] * 4e-4,
    }
    return [c.verdict for c in fig14._claims(centres, errors)]


def test_flat_and_not_flat():
    assert claims(30, 1.4) == ["reproduced"] * 3
    assert claims(30, 5) == ["differs", "reproduced", "reproduced"]
    assert claims(1.2, 1.1) == ["reproduced", "differs", "differs"]


def test_the_figure_is_drawn_from_disk(tmp_path, outcome: Outcome):
    results.save(tmp_path, results.Result("fig14", Preset.SMOKE, outcome, {}))
    back = results.load(tmp_path, Preset.SMOKE, "fig14").outcome
    (figure,) = fig14.ITEM.draw(back).values()
    (axes,) = figure.axes
    assert axes.get_yscale() == "log"
    np.testing.assert_allclose(axes.get_xlim(), (-math.pi, math.pi), rtol=1e-6)
    legend = axes.get_legend()
    assert legend
    assert [t.get_text() for t in legend.get_texts()] == ["No mapping", "Basic"]
