"""Designed amplitudes: the predicted loss is eq. 3's, and descent lowers it."""

import dataclasses

import jax
import numpy as np
import pytest

from passband.data.noise import power_law_signals
from passband.errors import InputError
from passband.theory import (
    Training,
    composed_ntk,
    design_amplitudes,
    linear_dynamics,
    predicted_loss,
)

SMALL = Training(t=2.0, width=64)


def signals(count, *, n=32, c=2, alpha=1.5):
    keys = jax.random.split(jax.random.key(0), count)
    return power_law_signals(keys, n=n, c=c, alpha=alpha).y.astype(float)


@pytest.fixture(scope="module")
def designed():
    return design_amplitudes(signals(200), training=SMALL, steps=300)


@pytest.mark.parametrize("every", [2, 4])
def test_predicted_loss_is_that_of_the_linear_dynamics(designed, every):
    y = signals(5)
    training = dataclasses.replace(SMALL, every=every)
    N, m = y.shape[1], len(designed.amplitudes)
    x = np.arange(N) / N
    train = np.arange(N) % every == 0
    k = composed_ntk(designed.encoding(), x, x[train], layers=4, width=64)
    output = linear_dynamics(k[train], y[:, train].T)(2.0, k).T
    error = (output - y) ** 2
    given = {"training": training, "frequencies": np.arange(1, m + 1)}
    held_out = predicted_loss(designed.amplitudes, y, **given)
    assert held_out == pytest.approx(error[:, ~train].mean(), rel=1e-5)
    # The notebook's: every second signal, all points, over N once more (protocol 4).
    notebook = predicted_loss(designed.amplitudes, y, as_published=True, **given)
    assert notebook == pytest.approx(error[1::2].mean() / (2 * N), rel=1e-5)


def test_descent_is_no_worse_than_the_best_power_law(designed):
    j = np.arange(1.0, len(designed.amplitudes) + 1)
    y = signals(300)[200:]  # signals the design has not seen
    power_laws = [
        predicted_loss(j**-p, y, training=SMALL) for p in np.arange(0, 2.01, 0.25)
    ]
    assert predicted_loss(designed.amplitudes, y, training=SMALL) < min(power_laws)
    assert designed.losses[-1] < 0.7 * designed.losses[0]


def test_the_honest_loss_and_the_notebooks_want_different_amplitudes(designed):
    y = signals(200)
    published = design_amplitudes(y, training=SMALL, steps=300, as_published=True)
    off = np.linalg.norm(published.amplitudes - designed.amplitudes)
    assert off > 0.05
    assert predicted_loss(published.amplitudes, y, training=SMALL) > predicted_loss(
        designed.amplitudes, y, training=SMALL
    )


def test_a_design_is_a_mapping_of_unit_norm(designed):
    encoding = designed.encoding()
    assert np.linalg.norm(designed.amplitudes) == pytest.approx(1)
    assert (designed.amplitudes >= 0).all()
    np.testing.assert_array_equal(encoding.frequencies[:, 0], np.arange(1, 17))
    scaled = predicted_loss(3 * designed.amplitudes, signals(4), training=SMALL)
    same = predicted_loss(designed.amplitudes, signals(4), training=SMALL)
    assert scaled == pytest.approx(same, rel=1e-12)


Y = np.ones((2, 8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signals": np.ones(8)}, r"`signals` has shape \(8,\)"),
        ({"signals": np.ones((0, 8))}, r"`signals` has shape \(0, 8\)"),
        ({"signals": Y * np.nan}, "`signals` holds values that are not finite"),
        ({"training": Training(every=3)}, r"`every` \(=3\).*divide the 8 points"),
        ({"training": Training(t=0.0)}, r"`t` \(=0.0\) must be positive"),
        ({"training": Training(layers=0)}, r"`layers` \(=0\)"),
        ({"frequencies": [1.5]}, "`frequencies` must be a list of whole numbers"),
        ({"initial": [1.0, 2, 3]}, r"`initial` has shape \(3,\); expected \(2,\)"),
        ({"initial": [0.0, 0]}, "`initial` must be finite and not all zero"),
        ({"steps": 0}, r"`steps` \(=0\)"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        design_amplitudes(**({"signals": Y} | arguments))
