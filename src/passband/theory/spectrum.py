r"""Which frequencies a kernel lets through, and how fast each is learned.

On a periodic grid a stationary kernel is a convolution: its eigenvectors are the
Fourier basis and its eigenvalues the transform of one row (paper, section 5).
"""

from typing import Any

import numpy as np
import scipy
from jaxtyping import Float

from ..errors import InputError
from .dynamics import times
from .psd import as_kernel, refuse_negative


def circulant_eigenvalues(row: Any) -> Float[np.ndarray, "*n"]:
    """The eigenvalues of a periodic stationary kernel from one row, in FFT order.

    Bin k (an index for each axis) belongs to frequency k. The row must be even,
    k(Delta) = k(-Delta) around the domain, as whole-numbered frequencies make it.
    """
    row = _row(row)
    mirrored = np.roll(np.flip(row), 1, axis=tuple(range(row.ndim)))
    off = float(np.abs(row - mirrored).max())
    if off > 1e-9 * float(np.abs(row).max()):
        raise InputError(
            f"`row` is not even around the domain (off by {off:.3g}): its frequencies "
            "are not whole numbers; use `band_power` or `eigenvalues`"
        )
    values = np.fft.fftn(row).real
    refuse_negative("row", np.sort(values, axis=None))
    return values


def band_power(row: Any) -> Float[np.ndarray, " n"]:
    r"""The mean power of a 1D stationary kernel in every Fourier bin, in FFT order.

    $p_k = u_k^H K u_k$ for the unit Fourier vectors $u_k$: where the frequencies are
    whole numbers these are the eigenvalues, elsewhere (K Toeplitz, not circulant) what
    the kernel has on average at that frequency. From one row,
    $p = \mathrm{FFT}\,[((n - i)\,k_i + i\,k_{n-i})/n]$.
    """
    row = _row(row)
    if row.ndim != 1:
        raise InputError(f"`row` has shape {row.shape}; band power is for 1D rows")
    n = len(row)
    i = np.arange(n)
    wrapped = row[-i]  # k_{n-i}; k_0 stands in for k_n, whose weight is 0
    return np.fft.fft(((n - i) * row + i * wrapped) / n).real


def eigenvalues(k: Any) -> Float[np.ndarray, " n"]:
    """The eigenvalues of any kernel matrix, largest first."""
    values = scipy.linalg.eigvalsh(as_kernel("k", k))
    refuse_negative("k", values)
    return np.maximum(values[::-1], 0.0)


def band_errors(error: Any, *, axis: int = -1) -> Float[np.ndarray, "..."]:
    """The error in every Fourier bin, |FFT| without a factor (paper, fig. 3c)."""
    error = np.asarray(error, np.float64)
    if not error.size:
        raise InputError("`error` is empty; give at least one point")
    return np.abs(np.fft.fft(error, axis=axis))


def predicted_band_errors(
    t: Any, eigenvalues: Any, targets: Any, *, f0: Any = 0.0, loss_scale: float = 1.0
) -> Float[np.ndarray, "*t n"]:
    r"""Eq. 4 on a periodic grid: $|\hat y_k - \hat f_{0k}| e^{-s\lambda_k t}$ per bin.

    Args:
        eigenvalues: from `circulant_eigenvalues` or `band_power`, in FFT order.
        targets: (n,) values at the grid's points.
    """
    rates = np.asarray(eigenvalues, np.float64)
    y = np.asarray(targets, np.float64)
    if rates.ndim != 1 or y.shape != rates.shape:
        raise InputError(
            f"`targets` has shape {y.shape} but `eigenvalues` {rates.shape}; expected "
            "one value for each bin"
        )
    if not np.isfinite(y).all():
        raise InputError("`targets` holds values that are not finite")
    noise = len(rates) * np.finfo(float).eps * float(np.abs(rates).max())
    rates = np.where(rates > noise, rates, 0.0)
    t = times(t)[..., None] * loss_scale
    with np.errstate(invalid="ignore"):  # 0 * inf: a bin without power stays
        decay = np.where(rates > 0, np.exp(-rates * t), 1.0)
    return decay * band_errors(y - np.asarray(f0, np.float64))


def _row(row: Any) -> np.ndarray:
    row = np.asarray(row, np.float64)
    if row.ndim == 0 or not row.size:
        raise InputError("`row` is empty; give the kernel at one or more points")
    if not np.isfinite(row).all():
        raise InputError("`row` holds values that are not finite")
    return row
