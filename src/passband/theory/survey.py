"""Which frequencies a network sees, and how soon: a mapping's passband at a glance."""

import dataclasses
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from ..mappings import Encoding, FourierFeatures
from .compose import composed_ntk, kernel_row
from .dynamics import times
from .psd import eigh_psd
from .spectrum import band_power

_DENSE = 4096  # the largest kernel matrix that is factored, about a minute on 2 cores


@dataclasses.dataclass(frozen=True)
class Survey:
    """What the theory says of a network behind an encoding on n points of [0, 1)."""

    offset: Float[np.ndarray, " n"]
    """x - 1/2, at the n points."""
    kernel: Float[np.ndarray, " n"]
    """k(1/2, x): the network's reconstruction filter around the middle."""
    matrix: Float[np.ndarray, "n n"] | None
    """k(x, x') where it is not a function of x - x' alone, without a mapping."""
    frequency: Float[np.ndarray, " f"]
    """0 to Nyquist, in cycles per unit."""
    power: Float[np.ndarray, " f"]
    """Of the kernel at each frequency: where the grid wraps, its eigenvalue."""
    rates: Float[np.ndarray, " r"]
    """Eigenvalues of the kernel matrix."""
    weights: Float[np.ndarray, "r f"] | None
    """Share of each eigenvector in each wave; None where the waves are eigenvectors."""

    @property
    def largest(self) -> float:
        """The largest eigenvalue: gradient descent diverges above a rate of 2 over it
        (for a loss that is half the sum of squares)."""
        return float(self.rates.max())

    def error(self, t: Any) -> Float[np.ndarray, "*t f"]:
        """How much of a wave of each frequency is still missing at time t, 1 to 0."""
        t = times(t)[..., None]
        learns = self.rates > len(self.rates) * np.finfo(float).eps * self.largest
        rates = np.where(learns, self.rates, 0.0)
        with np.errstate(invalid="ignore"):  # 0 * inf: what does not learn stays
            decay = np.where(learns, np.exp(-rates * t), 1.0)
        if self.weights is None:
            return decay
        return np.sqrt(decay**2 @ self.weights)

    def half_time(self, bands: Any = None) -> Float[np.ndarray, " b"]:
        """When half of each wave is learned; infinite where it never is.

        Args:
            bands: frequencies, as whole numbers; left out, all of them.
        """
        bands = np.arange(len(self.frequency)) if bands is None else np.asarray(bands)
        if bands.ndim != 1 or not np.isin(bands, self.frequency).all():
            raise InputError(
                f"`bands` must be whole numbers from 0 to {self.frequency[-1]:.0f}"
            )
        bands = bands.astype(int)
        low = np.full(len(bands), math.log(1e-3 / self.largest))
        high = low + math.log(1e20)
        for _ in range(80):  # the error only falls: halve the interval of log t
            middle = (low + high) / 2
            missing = self._own_error(bands, np.exp(middle)) > 0.5
            low, high = np.where(missing, middle, low), np.where(missing, high, middle)
        ever = self.error(np.inf)[bands] < 0.5
        return np.where(ever, np.exp(high), np.inf)

    def _own_error(self, bands: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The error of every band at a time of its own."""
        if self.weights is None:
            return np.exp(-self.rates[bands] * t)
        decay = np.exp(-2 * np.outer(self.rates, t))
        return np.sqrt(np.sum(decay * self.weights[:, bands], axis=0))


def survey(
    encoding: Encoding,
    points: int,
    *,
    layers: int,
    width: int | None = None,
    activation: str = "relu",
    parameterization: str = "standard",
    w_std: float = 1.0,
    b_std: float = 0.0,
) -> Survey:
    """Kernel, spectrum and predicted convergence of a 1D encoding on equal points.

    Whole-numbered frequencies make the waves eigenvectors, of any number of points; any
    other kernel is factored, which 4096 points are the most for.
    """
    if encoding.dims != 1:
        raise InputError(f"`encoding` has {encoding.dims} dimensions; a survey has 1")
    n = points
    if n < 2:
        raise InputError(f"`points` (={n}) must be at least 2")
    network: Any = {
        "layers": layers,
        "width": width,
        "activation": activation,
        "parameterization": parameterization,
        "w_std": w_std,
        "b_std": b_std,
    }
    offset = np.arange(n) / n - 0.5
    frequency = np.arange(n // 2 + 1.0)
    fourier = isinstance(encoding, FourierFeatures)
    if fourier and _whole(encoding):
        row = kernel_row(encoding, n, **network)
        power = np.maximum(band_power(row)[: len(frequency)], 0.0)
        around = row[np.abs(np.arange(n) - n // 2)]
        return Survey(offset, around, None, frequency, power, power, None)
    if n > _DENSE:
        raise InputError(
            f"`points` (={n}) must be at most {_DENSE} here: this kernel does not wrap "
            "around, so its matrix is factored"
        )
    k = composed_ntk(encoding, np.arange(n) / n, **network)
    rates, modes = eigh_psd("k", k)
    # Row f of the real FFT of the modes: what each shares with the wave of frequency f.
    shared = np.abs(np.fft.rfft(modes, axis=0, norm="ortho").T) ** 2
    power = rates @ shared
    matrix = None if fourier else k
    return Survey(offset, k[n // 2], matrix, frequency, power, rates, shared)


def _whole(encoding: FourierFeatures) -> bool:
    b = np.asarray(encoding.frequencies)[np.asarray(encoding.amplitudes) != 0]
    return bool((b == np.round(b)).all())
