"""The spectrum's guess, the ladder about it, and the top of a curve."""

import jax
import numpy as np
import pytest

from passband.auto import Auto
from passband.errors import InputError
from passband.mappings import Gaussian, Positional
from passband.tuning.grid import grid_problem
from passband.tuning.ladder import beyond, ladder, neighbours, rung_at, top_of
from passband.tuning.spectrum import AT_WHITE, axis_shares, first_guess
from passband.tuning.sweep import successive_halving
from passband.words import parse_mapping


def auto(word: str) -> Auto:
    mapping = parse_mapping(word)
    assert isinstance(mapping, Auto)
    return mapping


def falling(side: int, power: float, seed: int = 0) -> np.ndarray:
    """Noise whose amplitude falls as a power of the frequency."""
    f = np.fft.fftfreq(side, 1 / side)
    radius = np.maximum(np.hypot(f[:, None], f), 1)
    noise = np.random.default_rng(seed).normal(size=(side, side))
    out = np.fft.ifft2(np.fft.fft2(noise) * radius**-power).real
    return ((out - out.min()) / np.ptp(out))[..., None].astype(np.float32)


def test_a_guess_is_in_cycles_of_the_domain():
    picture = falling(64, 1.2)
    assert first_guess(picture, 0.5 / 64) == pytest.approx(
        2 * first_guess(picture, 1 / 64)
    )


def test_white_noise_has_the_lowest_guess_and_steep_spectra_higher_ones():
    guesses = [first_guess(falling(128, p), 1 / 128) for p in (0.0, 0.5, 1.0, 1.5)]
    assert guesses[0] == pytest.approx(AT_WHITE * 64, rel=0.1)
    assert guesses == sorted(guesses)


def test_a_band_far_below_the_nyquist_frequency_is_no_noise():
    wave = np.sin(2 * np.pi * 20 * np.arange(4000) / 4000)[:, None].astype(np.float32)
    assert 20 / 8 < first_guess(wave, 1 / 4000) < 20


def test_a_stretched_picture_has_a_lower_scale_along_the_stretch():
    picture = falling(96, 1.0)
    assert axis_shares(picture) is None
    shares = axis_shares(np.repeat(picture[:24], 4, axis=0))
    assert shares is not None
    assert shares[1] == 1.0
    # Three of four steps along the stretch change nothing.
    assert shares[0] == pytest.approx(0.5, rel=0.15)
    # The widest axis is the columns: x, the first coordinate.
    problem = grid_problem(np.repeat(picture[:24], 4, axis=0))
    assert problem.axes == (shares[1], shares[0])


def test_a_ladder_is_even_in_ratios_about_its_centre():
    rungs = ladder(auto("gaussian:auto,m=8"), 9.0, count=5, spacing=2.0)
    assert [r.sigma for r in rungs] == pytest.approx([2.25, 4.5, 9, 18, 36])
    assert rungs[2].mapping == Gaussian(9.0, m=8)
    both = ladder(auto("gaussian:auto"), 9.0, count=3, spacing=2.0, axes=(1.0, 0.25))
    assert [str(r.mapping) for r in both[3:]] == [
        "gaussian:4.5/1.12", "gaussian:9/2.25", "gaussian:18/4.5",
    ]  # fmt: skip


def test_other_families_reach_as_far_in_their_own_units():
    assert rung_at(auto("positional:auto"), 15.75).mapping == Positional(6.0)
    assert rung_at(auto("gaussian:auto,units=rad"), 1.0).scale == pytest.approx(6.28)
    assert rung_at(auto("uniform:auto"), 3.0).scale == 6.0


def test_a_word_without_its_scale_parses_back_and_is_not_drawn():
    for word in ("gaussian:auto", "positional:auto,m=64", "laplace:auto,norm=1"):
        assert str(parse_mapping(word)) == word
    with pytest.raises(InputError, match="`gaussian:auto` has no scale yet"):
        auto("gaussian:auto").draw(jax.random.key(0), 2)
    with pytest.raises(InputError, match="`count` \\(=auto\\)"):
        parse_mapping("octaves:auto")


def test_the_top_lies_between_scales_where_their_levels_put_it():
    sigmas = 5 * 1.5 ** np.arange(7)
    levels = 25 - 20 * np.log(sigmas / 20.0) ** 2
    assert top_of(sigmas, levels) == pytest.approx(20.0, rel=0.01)
    # Two that are alike, and one that seeds have lifted by a little.
    flat = np.array([-20.0, -20.0, 0.0, 0.2, -20.0])
    assert top_of(sigmas[:5], flat) == pytest.approx(
        np.sqrt(sigmas[2] * sigmas[3]), 0.02
    )
    # No top inside: the best scale itself, which is at an end.
    assert top_of(sigmas, np.log(sigmas)) == sigmas[-1]


def test_who_goes_on_has_both_sides_of_the_best():
    score = np.array([1.0, 2.0, 3.0, 9.0, 4.0, 8.0, 7.0])
    row = ladder(auto("gaussian:auto"), 9.0, count=7, spacing=2.0)
    assert successive_halving(score, 3, neighbours(row)) == [2, 3, 4]
    assert successive_halving(score, 5, neighbours(row)) == [2, 3, 4, 5, 6]
    score[[0, 1, 4, 6]] = np.nan  # fallen out
    assert successive_halving(score, 2, neighbours(row)) == [2, 3]


def test_neighbours_have_the_same_axes():
    both = ladder(auto("gaussian:auto"), 9.0, count=3, spacing=2.0, axes=(1.0, 0.25))
    assert neighbours(both) == [[1], [0, 2], [1], [4], [3, 5], [4]]
    more = beyond(auto("gaussian:auto"), both, both[3], count=2, spacing=2.0)
    assert [r.sigma for r in more] == pytest.approx([2.25, 1.125])
    assert neighbours(both + more)[3:] == [[6, 4], [3, 5], [4], [7, 3], [6]]
