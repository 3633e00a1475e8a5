"""Kernel regression against NumPy's own solvers."""

import numpy as np
import pytest

from passband.errors import InputError
from passband.theory import kernel_regression

RNG = np.random.default_rng(0)
ROOT = RNG.normal(size=(6, 6))
K = ROOT @ ROOT.T
K_TEST = RNG.normal(size=(4, 6)) @ ROOT.T
Y = RNG.normal(size=(6, 2))


def test_eq1_interpolates_and_extends():
    np.testing.assert_allclose(kernel_regression(K, Y, K), Y, atol=1e-9)
    expected = K_TEST @ np.linalg.solve(K, Y)
    np.testing.assert_allclose(kernel_regression(K, Y, K_TEST), expected, rtol=1e-8)
    one = kernel_regression(K, Y[:, 0], K_TEST)
    np.testing.assert_allclose(one, expected[:, 0], rtol=1e-8)


def test_ridge_is_tikhonovs():
    expected = K_TEST @ np.linalg.solve(K + 0.3 * np.eye(6), Y)
    np.testing.assert_allclose(
        kernel_regression(K, Y, K_TEST, ridge=0.3), expected, rtol=1e-9
    )


def test_a_singular_kernel_gives_the_answer_of_least_norm():
    k = ROOT[:, :3] @ ROOT[:, :3].T
    expected = k @ np.linalg.pinv(k, hermitian=True) @ Y
    np.testing.assert_allclose(kernel_regression(k, Y, k), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k_train": -K}, "`k_train` is not positive semidefinite"),
        ({"targets": Y[:5]}, r"`targets` has shape \(5, 2\)"),
        ({"targets": Y * np.nan}, "`targets` holds values that are not finite"),
        ({"k_test_train": K_TEST.T}, r"`k_test_train` has shape \(6, 4\)"),
        ({"ridge": -1.0}, r"`ridge` \(=-1.0\)"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    good = {"k_train": K, "targets": Y, "k_test_train": K_TEST}
    with pytest.raises(InputError, match=message):
        kernel_regression(**(good | arguments))
