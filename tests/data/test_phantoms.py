"""Shepp-Logan phantoms: the head itself, and the paper's sixteen from its own keys."""

import numpy as np
import pytest

from passband.data.phantoms import MODIFIED, paper_phantoms, shepp_logan
from passband.errors import InputError

# Protocol 6, recomputed there with phantominator: eight for the sweep, eight to test.
MEANS = (.1457, .1261, .1447, .2382, .2073, .1302, .1308, .0893,
         .1698, .0673, .1109, .1491, .1563, .1994, .1028, .0585)  # fmt: skip


def test_the_2020_keys_give_the_papers_phantoms():
    pictures = paper_phantoms()
    assert pictures.shape == (16, 512, 512)
    np.testing.assert_allclose(pictures.mean(axis=(1, 2)), MEANS, atol=5e-5)
    assert pictures.min() == 0 and pictures.max() <= 1


def test_the_mean_of_ellipses_is_their_area():
    # Inside each other and with grey values that nothing clips.
    ellipses = np.array([[0.5, 0.6, 0.8, 0.05, -0.1, 0.3], [-0.2, 0.2, 0.3, 0, 0, 1.0]])
    area = np.pi * (0.5 * 0.6 * 0.8 - 0.2 * 0.2 * 0.3) / 4
    assert shepp_logan(1000, ellipses).mean() == pytest.approx(area, rel=3e-3)


def test_an_ellipse_turns_from_x_to_y():
    turned = shepp_logan(101, np.array([[1.0, 0.9, 0.1, 0, 0, np.pi / 4]]))
    assert turned[75, 75] == 1 and turned[75, 25] == 0


def test_the_head_is_the_same_at_every_side():
    large, small = shepp_logan(511), shepp_logan(256)
    np.testing.assert_array_equal(large[::2, ::2], small)
    assert MODIFIED.shape == (10, 6)


def test_a_side_of_one_pixel_is_refused():
    with pytest.raises(InputError, match=r"`side` \(=1\) must be at least 2"):
        shepp_logan(1)
