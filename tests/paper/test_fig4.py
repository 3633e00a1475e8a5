"""Fig. 4: the keys of 2020, what counts as one curve, and the claims."""

import dataclasses

import jax
import numpy as np
import pytest

from passband.paper import fig4, results
from passband.paper.common_curve import fit_curve
from passband.paper.item import Number, Outcome, Preset
from passband.paper.readings import readings

FAMILIES = 4


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return fig4.ITEM.run(Preset.SMOKE, lambda _: None)


def dots(*shifts: float, scatter: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """36 dots of each family on a parabola in log-log, moved up by `shifts` decades."""
    noise = np.random.default_rng(0).normal(size=(FAMILIES, 36))
    x = np.linspace(0, 9, 36) + 0.01 * np.arange(FAMILIES)[:, None]
    y = 0.1 * (x - 5) ** 2 - 4 + np.array(shifts)[:, None] + scatter * noise
    return 2**x, 10**y


def test_frequencies_are_those_of_the_2020_stream(outcome: Outcome):
    """The last family at the last scale of the second alpha, by counting the splits."""
    setting = fig4.SETTINGS[Preset.SMOKE]
    scales, families = setting.scales, 4
    with jax.threefry_partitionable(False):
        key = jax.random.PRNGKey(0)
        # Signals and dense networks, then draws and networks of each cell.
        per_alpha = 2 + 2 * scales * families
        for _ in range(2 * per_alpha - 2):
            key = jax.random.split(key, setting.signals + 1)[0]
        draw = jax.random.split(key, setting.signals + 1)[1]
        u = np.asarray(jax.random.laplace(draw, (16,)))
    expected = 20 * 2**4 * setting.n / 1024 * np.sqrt(np.mean(u**2))
    assert outcome.arrays["rms"][1, 3, -1, 0] == pytest.approx(expected, rel=1e-5)


def test_multipliers_are_the_papers():
    paper = fig4.SETTINGS[Preset.FULL].multipliers()
    np.testing.assert_allclose(np.diff(np.log2(paper)), 1.125)
    assert paper[0] * fig4.FAMILIES["gaussian"] == pytest.approx(1)
    assert paper[-1] * fig4.FAMILIES["loguniform"] == pytest.approx(1280)


def test_networks_trained(outcome: Outcome):
    found = outcome.arrays
    assert found["test"].shape == found["rms"].shape == (3, 4, 3, 1)
    assert np.isfinite(found["test"]).all() and np.isfinite(found["dense_test"]).all()
    # The signals' own mean square, which an untrained network is far above.
    assert np.median(found["train"]) < 0.02


def test_one_parabola_is_one_curve():
    curve = fit_curve(*dots(0, 0, 0, 0))
    assert curve.one
    assert curve.within == pytest.approx(0.05, rel=0.15)
    assert curve.between is not None and curve.between < 0.02
    assert curve.explained > 0.98


@pytest.mark.parametrize(("shift", "one"), [(0.02, True), (0.2, False)])
def test_families_apart_are_one_curve_only_within_the_scatter(shift: float, one: bool):
    curve = fit_curve(*dots(-shift, shift, -shift, shift))
    assert curve.one is one
    if not one:
        assert curve.between == pytest.approx(shift, rel=0.1)


def test_the_lowest_point_is_the_parabolas():
    curve = fit_curve(*dots(0, 0, 0, 0, scatter=0.0))
    width, error = curve.lowest()
    assert np.log2(width) == pytest.approx(5, abs=0.02)
    assert error == pytest.approx(1e-4, rel=1e-3)
    left, right = curve.ends()
    assert left == pytest.approx(10**2.5, rel=1e-2)
    assert right == pytest.approx(10 ** (0.1 * 4.03**2), rel=1e-2)


def test_few_dots_are_not_judged():
    widths, errors = dots(0, 0, 0, 0)
    assert fit_curve(widths[:, ::5], errors[:, ::5]).one is None


def test_a_dense_mapping_that_is_better_is_a_difference():
    widths, errors = (a.reshape(1, 4, 9, 4).repeat(3, axis=0) for a in dots(0, 0, 0, 0))
    curves = [fit_curve(a, b) for a, b in zip(widths, errors, strict=True)]
    best = errors.mean(axis=3).min()
    spread = np.array([0.9, 1.0, 1.0, 1.1])
    verdicts = []
    for level in (best, best / 2):
        found = {"test": errors, "dense_test": np.tile(level * spread, (3, 1))}
        verdicts.append([c.verdict for c in fig4._claims(found, curves, ())])
    no, yes, other = "not comparable", "reproduced", "differs"
    assert verdicts[0] == [yes, no, yes, no, yes]
    assert verdicts[1] == [yes, no, yes, no, other]


@pytest.mark.parametrize(("better", "verdict"), [(1.2, "reproduced"), (1.4, "differs")])
def test_a_match_is_what_the_printed_plot_shows(better: float, verdict: str):
    """Printed, the bottom lies at 1, 0.9 and 1.09 times the dense error."""
    widths, errors = (a.reshape(1, 4, 9, 4).repeat(3, axis=0) for a in dots(0, 0, 0, 0))
    curves = [fit_curve(a, b) for a, b in zip(widths, errors, strict=True)]
    ratios = zip(curves, (1, 0.9, better), strict=True)
    level = np.array([[curve.lowest()[1] / ratio] for curve, ratio in ratios])
    found = {"test": errors, "dense_test": level * np.array([0.9, 1.0, 1.0, 1.1])}
    numbers = fig4._numbers(found, curves, comparable=True)
    _, match, *_, bars = fig4._claims(found, curves, numbers)
    assert match.verdict == verdict and not match.aside and bars.aside
    assert f"alpha 1.5: {better:.2f}, printed 1.09" in match.detail


def test_what_was_read_off_the_plot_is_drawn_beside_a_full_run(outcome: Outcome):
    full = [dataclasses.replace(n, comparable=True) for n in outcome.numbers]
    both = dataclasses.replace(outcome, numbers=tuple(full))
    (figure,) = fig4.ITEM.draw(both).values()
    for axes, floor, dense in zip(
        figure.axes, (6e-3, 9e-5, 6e-7), (6e-3, 1e-4, 5.5e-7), strict=True
    ):
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert np.asarray(lines["Lowest, printed"].get_ydata()) == pytest.approx(floor)
        assert np.asarray(lines["Dense, printed"].get_ydata()) == pytest.approx(dense)


def test_readings_are_held_to_15_percent():
    near = Number("alpha 1, floor", 9e-5, 1e-4)
    far = Number("alpha 1, dense", 1e-4, 1.2e-4)
    small = Number("alpha 2, dense", 1e-4, 5e-4, comparable=False)
    assert readings([near, small]).verdict == "reproduced"
    assert readings([near, far]).verdict == "differs"
    assert readings([small]).verdict == "not comparable"


def test_the_figure_is_drawn_from_disk(tmp_path, outcome: Outcome):
    results.save(tmp_path, results.Result("fig4", Preset.SMOKE, outcome, {}))
    back = results.load(tmp_path, Preset.SMOKE, "fig4").outcome
    (figure,) = fig4.ITEM.draw(back).values()
    assert [a.get_xscale() + a.get_yscale() for a in figure.axes] == ["loglog"] * 3
    first = figure.axes[0].get_legend_handles_labels()[1]
    assert first == ["Gaussian", "Uniform", "Log-uniform", "Laplace", "Dense, test"]
    assert (tmp_path / "smoke" / "fig4.npz").stat().st_size < 1_000_000
