"""Raw counts to line integrals, and what is wrong with a detector."""

import numpy as np
import pytest

from passband.data.counts import line_integrals, without_rings
from passband.errors import InputError

RNG = np.random.default_rng(0)
SWING = 4 * np.cos(np.arange(40) / 6)[:, None]
TRUE = 1.5 * np.exp(-((np.arange(60) - 30 - SWING) ** 2) / 200)
GAIN = RNG.uniform(0.8, 1.2, 60)
DARK = RNG.uniform(90, 110, 60)
FLATS = np.stack([DARK + 20_000 * GAIN] * 4)
DARKS = np.stack([DARK] * 3)


def counted(seed: int = 1) -> np.ndarray:
    """Photons by Poisson's law, through pixels of unlike gain."""
    photons = np.random.default_rng(seed).poisson(20_000 * np.exp(-TRUE))
    return DARK + GAIN * photons


def test_gain_and_dark_drop_out():
    found = line_integrals(counted(), FLATS, DARKS)
    assert found.warnings == ()
    # The spread of a logarithm of n counts is 1 / sqrt(n).
    spread = 1 / np.sqrt(20_000 * np.exp(-TRUE))
    assert np.abs((found.values - TRUE) / spread).max() < 5


def test_weights_are_inverse_variances():
    many = np.stack(
        [line_integrals(counted(k), FLATS, DARKS).values for k in range(60)]
    )
    weights = line_integrals(counted(), FLATS, DARKS).weights.mean(axis=0)
    product = many.var(axis=0).mean(axis=0) * weights / GAIN
    assert product.std() / product.mean() < 0.1


def test_transmissions_need_no_flats():
    found = line_integrals(np.exp(-TRUE), None, None, blank=1.0)
    np.testing.assert_allclose(found.values, TRUE, atol=1e-6)


def test_bad_pixels_are_told_and_filled():
    counts, flats, darks = counted(), FLATS.copy(), DARKS.copy()
    flats[:, 7] = DARK[7] + 5  # dead
    darks[:, 20] = 15_000  # hot
    counts[:, 41] = 9_999  # stuck
    found = line_integrals(counts, flats, darks, name="`a.h5`")
    assert "1 dead pixels, at columns 7" in found.warnings[0]
    assert "1 hot pixels, at columns 20" in found.warnings[0]
    assert "1 stuck pixels, at columns 41" in found.warnings[0]
    for column in (7, 20, 41):
        assert np.abs(found.values[:, column] - TRUE[:, column]).max() < 0.1
    assert (found.weights[:, [7, 20, 41]] == 0).all()


def test_rays_that_lost_everything_stay_finite():
    counts = counted()
    counts[3, 10] = DARK[10] - 1
    found = line_integrals(counts, FLATS, DARKS)
    assert np.isfinite(found.values).all() and "nearly opaque" in found.warnings[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flats": DARKS[:, ::-1] - 50}, "are they swapped"),
        ({"flats": None}, "`flats` are missing"),
        ({"counts": 10 * counted()}, "of another exposure"),
    ],
)
def test_counts_that_cannot_be_are_refused(change, message):
    given = {"counts": counted(), "flats": FLATS, "darks": DARKS} | change
    with pytest.raises(InputError, match=message):
        line_integrals(given["counts"], given["flats"], given["darks"])


def test_rings_go_and_the_object_stays():
    turn = np.deg2rad(np.arange(90) * 2.0)[:, None]
    t = np.linspace(-1, 1, 80) - 0.3 * np.cos(turn)
    clean = np.sqrt(np.clip(0.3 - t**2, 0, None)).astype(np.float32)
    stripes = np.zeros(80, np.float32)
    stripes[[20, 33, 50, 61]] = (0.1, -0.08, 0.12, 0.07)
    found = without_rings(clean + stripes, 9)
    assert np.linalg.norm(found - clean) < 0.5 * np.linalg.norm(stripes + 0 * clean)
    with pytest.raises(InputError, match="`rings`"):
        without_rings(clean, 2)
