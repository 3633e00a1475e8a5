"""Figs. 3 and 12: the 2020 keys, both theories against matrix exponentials, claims."""

import dataclasses

import jax
import numpy as np
import pytest
import scipy.linalg

from passband import theory
from passband.paper import convergence, fig3, fig12, signal_runs
from passband.paper.convergence import NAMES, Losses, Study
from passband.paper.item import Preset


@pytest.fixture(scope="module")
def found() -> Study:
    return convergence.study(Preset.SMOKE, lambda _: None)


def kernel(name: str, width: int) -> np.ndarray:
    """The composed kernel of the 32 train points, from its formula."""
    x = np.arange(32) / 32
    if name == "none":
        xy, fan_in = np.outer(x - 0.5, x - 0.5), 1
    else:
        a = np.arange(1, 17.0) ** -float(name.removeprefix("p="))
        turns = 2 * np.pi * (x[:, None] - x)[..., None] * np.arange(1, 17)
        xy, fan_in = np.sum(a**2 * np.cos(turns), axis=-1) / np.sum(a**2), 32
    own = np.diagonal(xy)
    with jax.enable_x64(True):
        k = theory.relu_ntk(xy, own[:, None], own, layers=4, width=width, fan_in=fan_in)
        return np.asarray(k)


def test_networks_start_from_the_keys_of_2020():
    """W of the first layer of p = 1: stax's splits of the third of seven keys."""
    with jax.threefry_partitionable(False):
        key = jax.random.split(jax.random.PRNGKey(0), 8)[3]
        _, layer = jax.random.split(key)
        expected = jax.random.normal(jax.random.split(layer)[0], (32, 64)) / np.sqrt(32)
        _, keys = convergence.signal_2020()
        field = signal_runs.network(convergence.WORDS[2], keys[2], 64)
    np.testing.assert_array_equal(field.mlp.weights[0], expected)
    assert float(np.abs(field.mlp.biases[0]).max()) == 0


def test_both_theories_start_at_the_network(found: Study):
    np.testing.assert_allclose(found.flow[:, 0], found.outputs[:, 0], atol=1e-12)
    np.testing.assert_allclose(found.coded[:, 0], found.outputs[:, 0], atol=1e-12)


@pytest.mark.parametrize("name", ["p=0", "p=1", "p=inf", "none"])
def test_theories_are_matrix_exponentials(found: Study, name: str):
    i, seen = NAMES.index(name), found.signal.train
    k = kernel(name, found.size.width)
    largest = np.linalg.eigvalsh(kernel(name, 1024))[-1] / np.linalg.eigvalsh(k)[-1]
    t = largest * convergence.END  # rate x largest eigenvalue is the paper's
    y = found.signal.y_train[0].astype(float)
    start, last = found.outputs[i, 0, seen], found.outputs[i, -1, seen]
    honest = y + scipy.linalg.expm(-k * t) @ (start - y)
    drawn = y + scipy.linalg.expm(-k * t / 32) @ (last - y)
    np.testing.assert_allclose(found.flow[i, -1, seen], honest, atol=1e-6)
    np.testing.assert_allclose(found.coded[i, -1, seen], drawn, atol=1e-6)


def test_bands_are_the_transform_of_the_train_error(found: Study):
    error = found.outputs[2, 5, ::8] - found.signal.y[0, ::8]
    k = np.arange(32)
    by_hand = np.abs(np.exp(-2j * np.pi * 15 * k / 32) @ error)
    assert found.bands(found.outputs)[2, 5, 15] == pytest.approx(by_hand, rel=1e-9)


def test_eq_4_decays_at_the_kernels_rates(found: Study):
    """In eq. 3 a Fourier mapping's bins decay exactly at `decay`."""
    bands = found.bands(found.flow)[:6]
    late = 10
    expected = bands[:, 0] * np.exp(-found.decay[:6] * found.times[late])
    np.testing.assert_allclose(bands[:, late], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("item", [fig3.ITEM, fig12.ITEM], ids=lambda i: i.id)
def test_a_narrow_network_shows_the_order_but_not_the_numbers(found: Study, item):
    del found  # trained once for both
    outcome = item.run(Preset.SMOKE, lambda _: None)
    assert outcome.verdict == "reproduced"
    assert not any(n.comparable for n in outcome.numbers)
    assert [c.claim for c in outcome.claims if "MSE" in c.claim and
            c.verdict != "not comparable"] == []  # fmt: skip


def test_claims_fail_when_the_curves_are_swapped(found: Study):
    turned = dataclasses.replace(found, outputs=found.outputs[::-1])
    verdicts = [c.verdict for c in fig3.ordering_claims(Losses(turned))[:2]]
    assert "differs" in verdicts
    assert "differs" in [c.verdict for c in fig3.band_claims(turned)]
    assert "differs" in [c.verdict for c in fig12.gradual_claims(turned)]


def test_panels_are_the_papers(found: Study):
    data = fig3.arrays(found, Losses(found))
    for names in (fig3.SHOWN, NAMES):
        figure = fig3.figure(data, names)
        functions, test, train, *bands = figure.axes
        assert functions.get_xlim() == (0.5, pytest.approx(0.746, abs=1e-3))
        assert len(functions.lines) == 2 + len(names)
        for axes in (test, train):  # observed, eq. 3, and what was published
            assert len(axes.lines) == 3 * len(names)
        assert [axes.get_title(loc="center") for axes in bands] == [
            "Low",
            "Mid",
            "High",
        ]
        for axes in (test, train, *bands):
            assert axes.get_yscale() == "log"
            assert axes.get_xlim() == (0, 50000)
    assert sum(a.astype(np.float32).nbytes for a in data.values()) < 1_000_000
