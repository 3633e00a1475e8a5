"""Fig. 5: the signals of 2020, the rate, the printed line, and the claims."""

import dataclasses

import jax
import numpy as np
import pytest
import scipy.linalg

from passband.paper import designed_runs, fig5, published, results
from passband.paper.designed_runs import Study, power_law, spectrum
from passband.paper.item import Outcome, Preset

SMOKE = designed_runs.SETTINGS[Preset.SMOKE]


@pytest.fixture(scope="module")
def study() -> Study:
    return designed_runs.choose(SMOKE)


@pytest.fixture(scope="module")
def arrays(study: Study) -> dict[str, np.ndarray]:
    found = designed_runs.train(study) | designed_runs.predictions(study)
    return found | {"bins": designed_runs.reference_bins()}


def test_reference_spectra_to_all_digits(arrays: dict[str, np.ndarray]):
    claim = fig5.claims_of(arrays, (), judged=False)[0]
    assert claim.verdict == "reproduced", claim.detail
    bins = arrays["bins"] * 1.001
    claim = fig5.claims_of(arrays | {"bins": bins}, (), judged=False)[0]
    assert claim.verdict == "differs" and "p = 0 bin0" in claim.detail


def test_choosing_signals_are_those_of_2020(study: Study):
    """The second alpha's first: after three sets of tests, and a set and a key."""
    with jax.threefry_partitionable(False):
        key = jax.random.PRNGKey(0)
        for count in (SMOKE.signals,) * 3 + (SMOKE.choosing, 1):
            key = jax.random.split(key, count + 1)[0]
        first = jax.random.split(key, SMOKE.choosing + 1)[1]
        z = np.asarray(jax.random.normal(first, (2 * SMOKE.n, 2)))
    f = np.fft.fftfreq(2 * SMOKE.n, 1 / (2 * SMOKE.n))
    y = np.fft.ifft((z[:, 0] + 1j * z[:, 1]) * (1 + np.abs(f)) ** -1.5).real
    found = study.choosing[1].y[0]
    # All the signals of an alpha share one scale and offset.
    assert np.corrcoef(found, y)[0, 1] == pytest.approx(1, abs=1e-6)


def test_rate_times_the_largest_eigenvalue_is_a_share_of_the_papers():
    for preset, setting in designed_runs.SETTINGS.items():
        largest = spectrum(power_law(np.inf, setting.n), setting).max()
        at_edge = 5e-3 * published.FIG5_BINS["inf", "bin0"].value
        expected = at_edge * (1 if preset is Preset.FULL else 0.5)
        assert setting.rate() * largest == pytest.approx(expected, rel=1e-4)
    assert designed_runs.SETTINGS[Preset.FULL].training().t == pytest.approx(5)


def test_training_goes_by_the_power_laws_own_frequencies():
    encoding = power_law(1.0, 16)
    np.testing.assert_array_equal(encoding.frequencies[:, 0], np.arange(1, 9))
    a = 1 / np.arange(1, 9)
    np.testing.assert_allclose(encoding.amplitudes, a / np.linalg.norm(a), rtol=1e-6)


def test_the_printed_lines_train_error_is_a_matrix_exponential(
    study: Study,
):
    """What is left of the first signal, exp(-K t) y, from the kernel matrix."""
    b = np.arange(1.0, SMOKE.n // 2 + 1)
    a = study.designs[-1]["notebook"].amplitudes
    x = np.arange(SMOKE.n) / SMOKE.n
    turns = 2 * np.pi * (x[:, None] - x)[..., None] * b
    with jax.enable_x64(True):
        k = np.asarray(
            designed_runs.theory.relu_ntk(
                np.sum(a**2 * np.cos(turns), axis=-1),
                1.0,
                1.0,
                layers=4,
                width=SMOKE.width,
                fan_in=SMOKE.n,
            )
        )
    y = study.tests[-1].y_train[0].astype(float)
    left = scipy.linalg.expm(-k * SMOKE.rate() * SMOKE.steps) @ y
    expected = -10 * np.log10(np.mean(left**2))
    # Coinciding points lose half the digits of their angle in this plain kernel.
    assert fig5._line(study)["train"] == pytest.approx(expected, abs=1e-3)


def test_the_notebooks_design_starts_from_its_first_frequency(
    study: Study,
):
    brief = dataclasses.replace(SMOKE, descent=1)
    design = designed_runs.choose(brief).designs[0]["notebook"]
    assert design.amplitudes[0] * design.norm == pytest.approx(1, abs=0.02)
    assert np.abs(design.amplitudes[1:] * design.norm).max() < 0.02
    later = study.designs[0]["notebook"]
    assert later.losses[-1] < later.losses[0]


def test_claims_follow_the_errors(arrays: dict[str, np.ndarray]):
    laws = len(arrays["powers"])
    trained = np.full((3, laws, 2), 1e-3)
    predicted = np.full((3, laws + 2), 1e-3)

    def verdicts(designed: float, expected: float) -> list[str]:
        predicted[:, laws:] = expected
        found = arrays | {
            "trained": trained,
            "designed": np.full((3, 2, 2), designed),
            "predicted_choosing": predicted,
            "predicted_test": predicted,
        }
        claims = fig5.claims_of(found, (), judged=True)
        return [c.verdict for c in claims[1:4]]

    assert verdicts(9e-4, 9e-4) == ["reproduced"] * 3
    assert verdicts(1.04e-3, 9e-4) == ["reproduced"] * 3
    assert verdicts(1.1e-3, 9e-4) == ["reproduced", "differs", "differs"]
    assert verdicts(9e-4, 1.01e-3) == ["differs", "reproduced", "reproduced"]


def test_every_plotted_value_has_its_number(
    study: Study, arrays: dict[str, np.ndarray]
):
    numbers = fig5.numbers_of(study, arrays, comparable=True)
    printed = [n for n in numbers if n.printed is not None]
    tables = (published.FIG5_BINS, published.FIG5, published.FIG5_LINE)
    assert len(printed) == sum(map(len, tables))
    assert len({n.name for n in numbers}) == len(numbers)


def test_figures_are_drawn_from_disk(tmp_path, arrays: dict[str, np.ndarray]):
    result = results.Result("fig5", Preset.SMOKE, Outcome(arrays=arrays), {})
    results.save(tmp_path, result)
    back = results.load(tmp_path, Preset.SMOKE, "fig5").outcome
    figures = fig5.ITEM.draw(back)
    assert list(figures) == ["fig5", "fig5-notebook"]
    for figure, words in zip(figures.values(), ("held-out", "notebook"), strict=True):
        spectra, errors = figure.axes
        assert spectra.get_yscale() == errors.get_yscale() == "log"
        assert len(spectra.lines) == 4
        legend = errors.get_legend()
        assert legend and any(words in t.get_text() for t in legend.get_texts())
