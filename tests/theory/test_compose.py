"""Composed kernels: stationary, one row for a matrix, exact where points coincide."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.errors import InputError
from passband.mappings import Basic, Dense, FourierFeatures, Gaussian, NoMapping
from passband.theory import composed_ntk, kernel_row, relu_ntk

KEY = jax.random.key(0)
NET: Any = {"layers": 4, "width": 64}


def test_kernel_is_relu_ntk_of_the_features_inner_products():
    rng = np.random.default_rng(0)
    b, a = rng.normal(size=(5, 2)), rng.random(5)
    u, v = rng.random((4, 2)), rng.random((3, 2))
    # Written out with NumPy's own cosine, from the differences.
    difference = u[:, None] - v
    h = np.sum(a**2 * np.cos(2 * np.pi * difference @ b.T), axis=-1)
    with jax.enable_x64(True):
        encoding = FourierFeatures(jnp.asarray(b), jnp.asarray(a))
        norm = jnp.asarray(np.sum(a**2))
        expected = np.asarray(relu_ntk(jnp.asarray(h), norm, norm, fan_in=10, **NET))
    np.testing.assert_allclose(
        composed_ntk(encoding, u, v, **NET), expected, rtol=1e-12
    )


def test_fourier_features_make_the_kernel_stationary():
    encoding = Gaussian(3.0, m=32).draw(KEY, 2)
    u = np.random.default_rng(1).random((20, 2))
    k = composed_ntk(encoding, u, **NET)
    np.testing.assert_allclose(composed_ntk(encoding, u + 0.37, **NET), k, rtol=1e-9)


def test_raw_coordinates_do_not():
    encoding = NoMapping(shift=-0.5).draw(KEY, 1)
    u = np.linspace(0, 1, 9)
    k, moved = composed_ntk(encoding, u, **NET), composed_ntk(encoding, u + 0.3, **NET)
    assert np.abs(k - moved).max() > 0.1 * np.abs(k).max()


def test_matrix_is_symmetric_and_its_diagonal_one_number():
    encoding = Gaussian(10.0, m=256).draw(KEY, 2)
    u = np.random.default_rng(2).random((600, 2))  # more than one block of rows
    k = composed_ntk(encoding, u, **NET)
    assert np.array_equal(k, k.T)
    assert np.ptp(np.diag(k)) < 1e-12
    # Points that both sets share have the diagonal's value, not one off by a root.
    across = composed_ntk(encoding, u[:50], u, **NET)
    np.testing.assert_allclose(across, k[:50], rtol=1e-9)
    np.testing.assert_array_equal(np.diag(across), np.diag(k)[:50])


@pytest.mark.parametrize("n", [1, 7, 64])
def test_a_row_is_the_first_row_of_the_matrix(n):
    encoding = Gaussian(4.0, m=16).draw(KEY, 1)
    row = kernel_row(encoding, n, **NET)
    matrix = composed_ntk(encoding, np.arange(n) / n, **NET)
    np.testing.assert_allclose(row, matrix[0], rtol=1e-11)


@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5)])
def test_a_row_in_more_dimensions(shape):
    encoding = Gaussian(2.0, m=16).draw(KEY, len(shape))
    axes = np.meshgrid(*[np.arange(s) / s for s in shape], indexing="ij")
    grid = np.stack(axes, -1).reshape(-1, len(shape))
    expected = composed_ntk(encoding, grid[:1], grid, **NET)[0].reshape(shape)
    np.testing.assert_allclose(kernel_row(encoding, shape, **NET), expected, rtol=1e-11)


def test_a_million_points():
    encoding = Gaussian(10.0, m=256).draw(KEY, 1)
    n = 2**20
    row = kernel_row(encoding, n, **NET)
    some = np.random.default_rng(3).integers(0, n, 200)
    expected = composed_ntk(encoding, np.zeros(1), some / n, **NET)[0]
    np.testing.assert_allclose(row[some], expected, rtol=1e-9)


def test_zero_amplitudes_keep_their_fan_in():
    padded = Dense(np.inf, m=16).draw(KEY, 1)
    basic = Basic().draw(KEY, 1)
    row = kernel_row(padded, 8, **NET)
    np.testing.assert_allclose(row, kernel_row(basic, 8, fan_in=32, **NET), rtol=1e-12)
    assert row[0] < kernel_row(basic, 8, **NET)[0]


def test_the_users_precision_is_left_alone():
    encoding = Basic().draw(KEY, 1)
    assert kernel_row(encoding, 8, **NET).dtype == np.float64
    assert composed_ntk(encoding, np.zeros(2), **NET).dtype == np.float64
    assert jnp.ones(()).dtype == jnp.float32


def test_bad_points_are_refused():
    encoding = Gaussian(2.0, m=4).draw(KEY, 2)
    with pytest.raises(InputError, match=r"`u` has shape \(3,\).*\(n, 2\)"):
        composed_ntk(encoding, np.zeros(3), **NET)
    with pytest.raises(InputError, match="`v` is empty"):
        composed_ntk(encoding, np.zeros((3, 2)), np.zeros((0, 2)), **NET)
    with pytest.raises(InputError, match="`u` holds values that are not finite"):
        composed_ntk(encoding, np.full((3, 2), np.nan), **NET)
    with pytest.raises(InputError, match=r"`n` \(=8\) must be 2 positive sizes"):
        kernel_row(encoding, 8, **NET)
    with pytest.raises(InputError, match="no stationary kernel"):
        kernel_row(NoMapping().draw(KEY, 1), 8, **NET)
