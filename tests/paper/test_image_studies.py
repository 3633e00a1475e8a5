"""Figs. 8, 9 and 11: trained features, four families in 2D, and waves at all angles."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.mappings import FourierFeatures
from passband.paper import fig8, fig9, fig11, results
from passband.paper.item import Item, Outcome, Preset
from passband.words import parse_mapping

ITEMS = {"fig8": fig8.ITEM, "fig9": fig9.ITEM, "fig11": fig11.ITEM}


@pytest.fixture(scope="module")
def smoke() -> dict[str, Outcome]:
    return {id: item.run(Preset.SMOKE, lambda _: None) for id, item in ITEMS.items()}


@pytest.mark.parametrize(("id", "item"), ITEMS.items())
def test_smoke_agrees_and_is_drawn_from_disk(tmp_path, smoke, id: str, item: Item):
    assert smoke[id].verdict == "reproduced"
    results.save(tmp_path, results.Result(id, Preset.SMOKE, smoke[id], {}))
    figures = item.draw(results.load(tmp_path, Preset.SMOKE, id).outcome)
    assert list(figures) == [id]
    panels = {"fig8": 6, "fig9": 2, "fig11": 1}
    assert len(figures[id].axes) == panels[id]


def test_frozen_frequencies_are_the_2020_draw_and_trained_ones_left_it(smoke):
    found = smoke["fig8"].arrays
    with jax.threefry_partitionable(False):
        base = np.asarray(jax.random.normal(jax.random.PRNGKey(10), (16, 2)))
    scales = found["scales"][:, None, None]
    np.testing.assert_allclose(found["begun"], scales * base, rtol=1e-3)
    assert (found["ended"] != found["begun"]).any(axis=(1, 2)).all()
    assert (found["amplitudes"] != 1).any(axis=1).all()


def test_moves_are_medians_of_relative_lengths():
    begun = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]])
    ended = begun + np.array([[0.3, 0.4], [0.0, 1.0], [0.0, 0.0]])
    assert fig8.moves(begun[None], ended[None]) == pytest.approx([0.1])


def test_way_counts_octaves():
    b = np.ones((5, 2))
    assert fig8.way(b, 2 * b, 8 * b) == pytest.approx(1 / 3)
    assert fig8.way(b, 0.5 * b, 8 * b) == pytest.approx(-1 / 3)
    assert fig8.way(16 * b, 4 * b, 4 * b) == pytest.approx(1)


def fig8_claims(gain: float, moved: float, small: float) -> list[str]:
    frozen = np.array([[18.0], [25.0], [15.0]])
    trained = frozen + np.array([[1.0], [gain], [1.0]])
    b = np.ones((3, 1, 4, 2)) * np.array([1.0, 10.0, 64.0])[:, None, None, None]
    ended = b * np.array([small, 1.0, 1.0])[:, None, None, None]
    shares = np.array([[0.3], [moved], [0.01]])
    claims = fig8._claims(
        np.stack([frozen, trained]), np.stack([b, ended]), shares, Preset.FULL
    )
    return [c.verdict[0] for c in claims]


def test_features_that_gain_or_travel_are_told():
    assert fig8_claims(0.1, 0.02, 1.2) == ["r"] * 4
    assert fig8_claims(1.0, 0.02, 1.2) == ["d", "r", "r", "r"]
    assert fig8_claims(0.1, 0.2, 1.2) == ["r", "d", "r", "r"]
    assert fig8_claims(0.1, 0.02, 8.0) == ["r", "r", "d", "r"]


@pytest.mark.parametrize("rms", [0.5, math.sqrt(0.5), 64.0])
@pytest.mark.parametrize("family", fig9.FAMILIES)
def test_each_family_has_the_rms_it_is_asked_for(family: str, rms: float):
    word = f"{family}:{fig9.scale_of(family, rms)!r},m=50000"
    encoding = parse_mapping(word).draw(jax.random.PRNGKey(3), 2)
    assert isinstance(encoding, FourierFeatures)
    along = np.sqrt(np.mean(np.square(encoding.frequencies, dtype=float), axis=0))
    np.testing.assert_allclose(along, rms, rtol=0.03)


def test_families_meet_on_one_axis():
    rms = np.array([[1.0, 2.0, 8.0], [1.5, 3.0, 12.0]])
    widths, lines = fig9.on_one_axis(rms, 5 / rms**2)
    assert widths[0] == pytest.approx(1.5) and widths[-1] == pytest.approx(8)
    expected = np.log10(5 / widths**2)
    np.testing.assert_allclose(lines, [expected, expected], rtol=1e-12)


def fig9_claims(
    factor: float, shift: int = 0, wide: float = 1.0, narrow: float = 1.0
) -> list[str]:
    """Verdicts where one family is `factor` off, shifted, and has so many times the
    train error at its ends."""
    rms = np.tile(2.0 ** np.arange(7), (4, 1))
    test = np.tile(1e-2 * 4.0 ** np.abs(np.arange(7) - 3), (4, 1))
    train = np.tile(0.64 * 8.0 ** -np.arange(7), (4, 1))
    test[3] = factor * np.roll(test[3], shift)
    train[3] *= factor
    train[3, 0] *= narrow
    train[3, -1] *= wide
    claims = fig9._claims(rms, test[..., None], train[..., None], Preset.FULL)
    assert [c.aside for c in claims] == [False] * 4 + [True]
    return [c.verdict[0] for c in claims]


def test_families_off_the_curve_are_told():
    assert fig9_claims(1.5) == ["r"] * 5
    assert fig9_claims(1000.0) == ["d", "r", "r", "r", "r"]
    assert fig9_claims(1.0, shift=2)[1] == "d"
    assert fig9_claims(1.0, narrow=0.4)[3] == "d"  # not similar
    assert fig9_claims(1.0, wide=20)[3:] == ["r", "r"]
    assert fig9_claims(1.0, wide=100)[3:] == ["d", "r"]  # not further apart
    assert fig9_claims(1.0, wide=1e5)[3:] == ["d", "d"]


def test_frequencies_of_the_full_size_are_octaves():
    assert fig9.SETTINGS[Preset.FULL].targets().tolist() == pytest.approx(
        [1, 2, 4, 8, 16, 32, 64]
    )


def test_full_is_the_published_protocol():
    full = fig11.SETTINGS[Preset.FULL]
    assert (full.angles, full.radii, full.runs) == (17, (5, 10, 15, 20), 4)
    assert (full.side, full.m, full.width, full.batch) == (512, 256, 256, None)
    assert (full.rate, full.steps) == (1e-3, 476)


def test_waves_are_scored_at_all_pixels_by_the_2020_networks():
    """A step of next to no size: a forward pass in NumPy, scored against the cosine."""
    setting = dataclasses.replace(
        fig11.SETTINGS[Preset.SMOKE], angles=2, runs=2, m=8, width=16, rate=1e-9,
        steps=1, side=32,
    )  # fmt: skip
    found = fig11.train("gaussian:10", setting, lambda _: None)
    assert found.shape == (2, 1, 2)
    side = np.arange(32) / 32
    x, y = (part.ravel() for part in np.meshgrid(side, side))
    glorot = jax.nn.initializers.glorot_normal()
    with jax.threefry_partitionable(False):
        key = jax.random.split(jax.random.PRNGKey(10), 4)[1]
        b = 10 * np.asarray(jax.random.normal(key, (8, 2)), float)
        phase = 2 * np.pi * (np.outer(x, b[:, 0]) + np.outer(y, b[:, 1]))
        h = np.concatenate([np.sin(phase), np.cos(phase)], axis=1)
        for i, shape in enumerate([(16, 16), (16, 1)]):
            key, layer = jax.random.split(key)
            kw, kb = jax.random.split(layer)
            h = h @ np.asarray(glorot(kw, shape, jnp.float32), float)
            h = h + 0.01 * np.asarray(jax.random.normal(kb, shape[1:]), float)
            h = np.tanh(h) if i else np.maximum(h, 0)
            key, _ = jax.random.split(key)
    # At angle 0 and radius 5 the wave runs along the rows.
    error = np.mean((h[:, 0] - np.cos(2 * np.pi * 5 * y)) ** 2)
    assert found[0, 0, 1] == pytest.approx(-10 * np.log10(error), abs=1e-3)


def fig11_verdicts(off: float, dent: float) -> list[str]:
    """Where positional loses `off` dB off the axes and Gaussian `dent` at one angle."""
    angles = np.linspace(0, math.pi, 17)
    positional = np.full((17, 4, 4), 33.5) - off
    positional[[0, 8, 16]] = 33.5
    gaussian = np.full((17, 4, 4), 31.5)
    gaussian[5] -= dent
    scores = {"positional": positional, "gaussian": gaussian}
    claims = fig11._claims(angles, scores, Preset.FULL)
    numbers = fig11._numbers(angles, scores, comparable=True)
    assert [n.ours for n in numbers] == pytest.approx(
        [33.5, 33.5 - off, 33.5 - off, 31.5 - dent, 31.5]
    )
    return [c.verdict[0] for c in (*claims, fig11._near(numbers))]


def test_flat_and_biased_angles_are_told():
    assert fig11_verdicts(3.7, 0.4) == ["r"] * 4
    assert fig11_verdicts(3.7, 2.5) == ["d", "r", "r", "d"]
    assert fig11_verdicts(0.5, 0.4) == ["r", "d", "d", "d"]
