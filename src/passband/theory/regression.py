"""Kernel regression: where a wide network trained to the end arrives (eq. 1)."""

from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from ..errors import InputError
from .linear_map import LinearMap
from .psd import as_kernel, eigh_psd


def kernel_regression(
    k_train: Any, targets: Any, k_test_train: Any, *, ridge: float = 0.0
) -> Float[np.ndarray, "k *c"]:
    r"""The regression $\hat f = K_{test} (K + \rho I)^{-1} y$ (eq. 1 at $\rho = 0$).

    A singular K is inverted where it can be: the answer of least norm, which is also
    the limit of `linear_dynamics` at infinite time.

    Args:
        k_train: (n, n) kernel of the training points.
        targets: (n,) or (n, channels).
        k_test_train: (points, n) kernel of the wanted points against them.
        ridge: added to the diagonal.
    """
    k = as_kernel("k_train", k_train)
    y, channels = LinearMap(None, len(k)).targets(targets)
    wanted = np.asarray(k_test_train, np.float64)
    if wanted.ndim != 2 or wanted.shape[1] != len(k):
        raise InputError(
            f"`k_test_train` has shape {wanted.shape}; expected (points, {len(k)})"
        )
    if not (np.isfinite(ridge) and ridge >= 0):
        raise InputError(f"`ridge` (={ridge}) must be 0 or more")
    out = wanted @ _solve(k, y, ridge)
    return out if channels else out[:, 0]


def _solve(k: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    n = len(k)
    shifted = k + ridge * np.eye(n)
    noise = n * np.finfo(float).eps
    try:
        factor, lower = scipy.linalg.cho_factor(shifted, check_finite=False)
        (pocon,) = scipy.linalg.get_lapack_funcs(("pocon",), (factor,))
        size = float(np.abs(shifted).sum(axis=0).max())
        reciprocal, _ = pocon(factor, size, uplo="L" if lower else "U")
        if reciprocal > noise:
            return scipy.linalg.cho_solve((factor, lower), y)
    except scipy.linalg.LinAlgError:
        pass
    values, vectors = eigh_psd("k_train", k)
    values = values + ridge
    keep = values > noise * values[-1]
    vectors = vectors[:, keep]
    return vectors @ ((vectors.T @ y) / values[keep, None])
