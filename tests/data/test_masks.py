"""Sampling masks: the paper's own, the user's fraction, and what is held out."""

import numpy as np
import pytest

from passband.data.masks import (
    gaussian_mask,
    hold_out,
    opposite,
    paper_mask,
    uniform_mask,
)
from passband.errors import InputError


def test_the_mask_of_2020_has_the_density_its_notebook_printed():
    assert np.float32(paper_mask().mean(dtype=np.float32)) == np.float32(0.12560809)


@pytest.mark.parametrize("shape", [(20, 30), (12, 10, 8)])
@pytest.mark.parametrize("make", [gaussian_mask, uniform_mask])
def test_the_fraction_is_met(make, shape):
    mask = make(shape, 0.3, seed=3)
    assert mask.sum() == round(0.3 * np.prod(shape))
    assert mask.flat[0]  # frequency 0


@pytest.mark.parametrize("shape", [(128, 128), (181, 217), (64, 64), (5, 6)])
@pytest.mark.parametrize("make", [gaussian_mask, uniform_mask])
def test_frequency_0_is_always_measured(make, shape):
    """Of twelve seeds 2, 4 and 3 of the Gaussian's left it out of the first three."""
    for seed in range(12):
        mask = make(shape, 0.13, seed=seed)
        assert mask.flat[0]
        assert mask.sum() == round(0.13 * np.prod(shape))
    assert gaussian_mask(shape, 1e-9).flat[0]


def test_a_mask_that_drew_frequency_0_is_as_it_was():
    """Those of the paper's small items, as their results were made with them."""
    for mask, measured in (
        (gaussian_mask((8, 8), 0.35, spread=0.2), "1110000111100010"),
        (gaussian_mask((6, 7), 0.5), "1110011111001111"),
    ):
        assert "".join(str(int(bit)) for bit in mask.flat[:16]) == measured


def test_a_gaussian_mask_is_centred_on_frequency_0():
    mask = np.fft.fftshift(gaussian_mask((64, 64), 0.02))
    where = np.argwhere(mask) - 32
    assert np.abs(where.mean(axis=0)).max() < 2.5
    assert where.std(axis=0) == pytest.approx([9.24] * 2, rel=0.2)


def test_a_gaussian_cannot_measure_everything():
    with pytest.raises(InputError, match="is more than a Gaussian"):
        gaussian_mask((32, 32), 1.0, spread=0.05)


def test_a_uniform_mask_measures_its_centre():
    mask = np.fft.fftshift(uniform_mask((40, 40), 0.2, centre=0.2))
    assert mask[16:24, 16:24].all()
    with pytest.raises(InputError, match="less than the measured centre"):
        uniform_mask((40, 40), 0.03, centre=0.2)


@pytest.mark.parametrize("fraction", [0.0, 1.5])
def test_a_fraction_is_a_share(fraction):
    with pytest.raises(InputError, match="`fraction`"):
        gaussian_mask((8, 8), fraction)


@pytest.mark.parametrize("shape", [(24, 24), (23, 16), (9, 10, 11)])
def test_k_and_minus_k_are_held_out_together(shape):
    mask = gaussian_mask(shape, 0.4)
    train, held = hold_out(mask, 0.05)
    assert np.array_equal(train | held, mask) and not (train & held).any()
    assert held.sum() == pytest.approx(0.05 * mask.sum(), abs=2)
    assert not (held & opposite(train)).any()


def test_the_opposite_of_k_is_minus_k():
    k = np.fft.fftfreq(6, 1 / 6)
    along = np.broadcast_to(k[:, None], (6, 5))
    flipped = opposite(along)
    assert np.array_equal(flipped[[0, 1, 2, 4, 5]], -along[[0, 1, 2, 4, 5]])


def test_the_centre_always_trains():
    train, _ = hold_out(np.ones((16, 16), bool), 0.5)
    near = np.fft.fftshift(train)[6:11, 6:11]
    assert near.all()


def test_too_few_samples_to_hold_any_out():
    mask = np.zeros((16, 16), bool)
    mask[:2, :2] = True
    with pytest.raises(InputError, match="leaves nothing to train or test on"):
        hold_out(mask, 0.05)
