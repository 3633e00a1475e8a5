"""Kernel matrices: symmetric, without negative eigenvalues, or refused."""

from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from ..errors import InputError

# The share of its largest value that may be noise in a kernel computed in float32.
_NOISE = 1e-6


def as_kernel(name: str, k: Any) -> Float[np.ndarray, "n n"]:
    """A square, finite, symmetric float64 matrix."""
    k = np.asarray(k, np.float64)
    if k.ndim != 2 or k.shape[0] != k.shape[1]:
        raise InputError(f"`{name}` has shape {k.shape}; a kernel matrix is (n, n)")
    if not len(k):
        raise InputError(f"`{name}` is empty; give at least one point")
    if not np.isfinite(k).all():
        raise InputError(f"`{name}` holds values that are not finite")
    off = float(np.abs(k - k.T).max())
    if off > _NOISE * float(np.abs(k).max()):
        raise InputError(f"`{name}` is not symmetric: |k - k.T| reaches {off:.3g}")
    return k


def eigh_psd(name: str, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending and clipped at 0, and eigenvectors of a kernel matrix."""
    values, vectors = scipy.linalg.eigh(k)
    refuse_negative(name, values)
    return np.maximum(values, 0.0), vectors


def require_psd(name: str, k: np.ndarray) -> None:
    """Refuse a matrix with negative eigenvalues; a Cholesky factor clears most of them
    at a twentieth of the cost."""
    slack = _NOISE * float(np.trace(k)) / len(k)
    try:
        scipy.linalg.cholesky(k + slack * np.eye(len(k)), check_finite=False)
    except scipy.linalg.LinAlgError:
        refuse_negative(name, scipy.linalg.eigvalsh(k))


def refuse_negative(name: str, ascending: np.ndarray) -> None:
    """Refuse eigenvalues that are negative by more than rounding."""
    if ascending[0] < -_NOISE * float(np.abs(ascending).max()):
        raise InputError(
            f"`{name}` is not positive semidefinite: its eigenvalues run from "
            f"{ascending[0]:.3g} to {ascending[-1]:.3g}"
        )
