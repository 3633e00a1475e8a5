"""The masked Fourier transform against explicit sums."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from passband.forward.kspace import KSpace, crop, from_centred, to_centred


def sigpy_fft(x: np.ndarray, sides: tuple[int, ...]) -> np.ndarray:
    """SigPy's `fft(x, center=True, norm="ortho")`, written as the sum it stands for.

    y_k = 1/sqrt(N) sum_j x_j exp(-2 pi i (j - n//2)(k - n//2)/n) along every axis.
    """
    for axis, n in enumerate(sides):
        at = np.arange(n) - n // 2
        matrix = np.exp(-2j * np.pi * np.outer(at, at) / n) / np.sqrt(n)
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis - len(sides))), 0, axis)
    return x


def case(sides: tuple[int, ...], coils: int, pair: bool) -> KSpace:
    rng = np.random.default_rng(1)
    maps = None
    if coils:
        maps = rng.normal(size=(2, coils, *sides)).astype(np.float32)
        maps = jnp.asarray(maps[0] + 1j * maps[1])
    return KSpace(jnp.asarray(rng.random(sides) < 0.4), maps, pair)


@pytest.mark.parametrize("sides", [(6, 8), (5, 4), (3, 5, 4)])
def test_centred_samples_are_sigpys(sides):
    rng = np.random.default_rng(0)
    image = rng.normal(size=sides).astype(np.float32)
    forward = KSpace(jnp.ones(sides, bool))
    ours = np.asarray(forward(jnp.asarray(image)))
    theirs = sigpy_fft(image, sides)
    np.testing.assert_allclose(to_centred(ours, sides), theirs, atol=1e-6)
    np.testing.assert_allclose(from_centred(theirs, sides), ours, atol=1e-6)
    raw = theirs * np.sqrt(image.size)
    back = from_centred(raw, sides, normalised=False)
    np.testing.assert_allclose(back, ours, atol=1e-6)


def test_coils_hear_the_image_times_their_map():
    forward = case((6, 5), 3, False)
    assert forward.maps is not None
    x = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32)
    each = np.fft.fftn(np.asarray(forward.maps) * x, axes=(1, 2), norm="ortho")
    expected = np.where(np.asarray(forward.mask), each, 0)
    np.testing.assert_allclose(forward(jnp.asarray(x)), expected, atol=1e-5)


@pytest.mark.parametrize(("coils", "pair"), [(0, False), (3, False), (2, True)])
def test_zero_filling_is_exact_where_all_was_measured(coils, pair):
    forward = case((6, 5), coils, pair)
    forward = KSpace(jnp.ones((6, 5), bool), forward.maps, pair)
    x = np.random.default_rng(0).random(forward.input_shape).astype(np.float32)
    found = eqx.filter_jit(lambda A, x: A.zero_filled(A(x)))(forward, jnp.asarray(x))
    np.testing.assert_allclose(found, x, atol=1e-5)


@pytest.mark.parametrize(("side", "smaller"), [(12, 6), (12, 5), (9, 6), (9, 5)])
def test_a_cropped_k_space_is_that_of_a_coarser_grid(side, smaller):
    # A polynomial of low degree in exp(2 pi i x): the coarser grid holds all of it.
    def image(n: int) -> np.ndarray:
        x = np.arange(n)[:, None] / n
        y = np.arange(n)[None] / n
        wave = np.cos(2 * np.pi * (x + y)) + np.sin(2 * np.pi * (2 * x - y))
        return (wave + 0.5).astype(np.float32)

    fine, coarse = (np.fft.fftn(image(n), norm="ortho") for n in (side, smaller))
    cut = crop(fine, (side,) * 2, (smaller,) * 2)
    np.testing.assert_allclose(cut, coarse, atol=1e-5)
    mask = crop(np.ones((side, side), bool), (side,) * 2, (smaller,) * 2)
    assert mask.dtype == bool
    highest = 0 if smaller % 2 else 2 * smaller - 1
    assert mask.sum() == smaller**2 - highest
