"""Spectra: the transform of one row is the matrix's spectrum."""

from typing import Any

import jax
import numpy as np
import pytest

from passband.errors import InputError
from passband.mappings import Basic, Dense, FourierFeatures, Gaussian
from passband.theory import (
    band_errors,
    band_power,
    circulant_eigenvalues,
    composed_ntk,
    eigenvalues,
    kernel_row,
    linear_dynamics,
    predicted_band_errors,
)

KEY = jax.random.key(0)
NET: Any = {"layers": 4, "width": 64}


@pytest.mark.parametrize("p", [0.0, 1.0, np.inf])
def test_fft_agrees_with_eigh(p):
    encoding = Dense(p, m=16).draw(KEY, 1)
    by_fft = circulant_eigenvalues(kernel_row(encoding, 64, **NET))
    by_eigh = eigenvalues(composed_ntk(encoding, np.arange(64) / 64, **NET))
    np.testing.assert_allclose(np.sort(by_fft)[::-1], by_eigh, rtol=1e-9)


def test_fft_agrees_with_eigh_in_two_dimensions():
    b = np.array([[1.0, 0], [0, 2], [1, -1], [3, 1]], np.float32)
    encoding = FourierFeatures(jax.numpy.asarray(b), jax.numpy.ones(4))
    by_fft = circulant_eigenvalues(kernel_row(encoding, (8, 6), **NET))
    axes = np.meshgrid(np.arange(8) / 8, np.arange(6) / 6, indexing="ij")
    matrix = composed_ntk(encoding, np.stack(axes, -1).reshape(-1, 2), **NET)
    np.testing.assert_allclose(
        np.sort(by_fft, axis=None)[::-1], eigenvalues(matrix), atol=1e-10
    )


def test_band_power_is_the_kernels_power_along_fourier_vectors():
    encoding = Gaussian(3.0, m=16).draw(KEY, 1)
    n = 48
    matrix = composed_ntk(encoding, np.arange(n) / n, **NET)
    fourier = np.fft.fft(np.eye(n), norm="ortho")
    expected = np.diag(fourier @ matrix @ fourier.conj().T).real
    np.testing.assert_allclose(
        band_power(kernel_row(encoding, n, **NET)), expected, rtol=1e-10
    )


def test_band_power_is_the_spectrum_where_the_grid_wraps():
    row = kernel_row(Dense(1.0, m=8).draw(KEY, 1), 32, **NET)
    np.testing.assert_allclose(band_power(row), circulant_eigenvalues(row), rtol=1e-10)


def test_band_errors_of_eq4_are_those_of_the_dynamics():
    encoding = Dense(1.0, m=8).draw(KEY, 1)
    x = np.arange(16) / 16
    y, f0 = np.random.default_rng(0).normal(size=(2, 16))
    t = np.array([0.0, 0.01, 0.3, np.inf])
    spectrum = circulant_eigenvalues(kernel_row(encoding, 16, **NET))
    predicted = predicted_band_errors(t, spectrum, y, f0=f0, loss_scale=0.5)
    k = composed_ntk(encoding, x, **NET)
    output = linear_dynamics(k, y, loss_scale=0.5).train(t, f0_train=f0)
    np.testing.assert_allclose(predicted, band_errors(output - y), atol=1e-11)


def test_a_bin_without_power_keeps_its_error():
    left = predicted_band_errors(np.inf, [2.0, 0.0, 1.0, 0.0], [1.0, 0, 0, 0])
    np.testing.assert_array_equal(left, [0, 1, 0, 1])


def test_higher_frequencies_pass_with_smaller_p():
    rows = [kernel_row(Dense(p, m=16).draw(KEY, 1), 32, **NET) for p in (0.0, 1.0, 2.0)]
    high = [circulant_eigenvalues(row)[15] for row in rows]
    assert high[0] > high[1] > high[2] > 0


def test_bad_rows_are_refused():
    row = kernel_row(Gaussian(3.0, m=8).draw(KEY, 1), 16, **NET)
    with pytest.raises(InputError, match="not even around the domain"):
        circulant_eigenvalues(row)
    with pytest.raises(InputError, match="not positive semidefinite"):
        circulant_eigenvalues([0.0, 1.0, 0.0, 1.0])
    with pytest.raises(InputError, match="`row` is empty"):
        band_power([])
    with pytest.raises(InputError, match="`row` holds values that are not finite"):
        band_power([1.0, np.nan])
    with pytest.raises(InputError, match="band power is for 1D"):
        band_power(kernel_row(Basic().draw(KEY, 2), (4, 4), **NET))
    with pytest.raises(InputError, match=r"`targets` has shape \(3,\)"):
        predicted_band_errors(1.0, np.ones(4), np.ones(3))
    with pytest.raises(InputError, match="`targets` holds values that are not finite"):
        predicted_band_errors(1.0, np.ones(2), [1.0, np.inf])
    with pytest.raises(InputError, match="`error` is empty"):
        band_errors([])
    with pytest.raises(InputError, match="not positive semidefinite"):
        eigenvalues([[1.0, 2.0], [2.0, 1.0]])
