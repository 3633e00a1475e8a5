"""1D signals whose spectrum falls as 1/f^alpha, as in Figs. 3, 4, 5, 12 and 13."""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Shaped

from ..errors import InputError


@dataclass(frozen=True)
class DenseSignals:
    """Periodic signals on cn points of [0, 1), every c-th of them a train point."""

    x: Float32[np.ndarray, " cn"]
    """Positions k / (c n)."""
    y: Float32[np.ndarray, "signals cn"]
    c: int
    """Dense points per train point (8 in Fig. 3, 2 in Figs. 4 and 5)."""

    @property
    def train(self) -> Bool[np.ndarray, " cn"]:
        """True at the train points 0, c, 2c, ...; every other point is a test point."""
        return np.arange(self.x.size) % self.c == 0

    @property
    def x_train(self) -> Float32[np.ndarray, " n"]:
        return self.x[self.train]

    @property
    def y_train(self) -> Float32[np.ndarray, "signals n"]:
        return self.y[:, self.train]

    @property
    def x_test(self) -> Float32[np.ndarray, " rest"]:
        return self.x[~self.train]

    @property
    def y_test(self) -> Float32[np.ndarray, "signals rest"]:
        return self.y[:, ~self.train]


def power_law_signals(
    keys: Shaped[Array, "signals ..."],
    *,
    n: int,
    c: int,
    alpha: float,
    bandlimited: bool = False,
) -> DenseSignals:
    """One signal per key, all scaled together so that they fill [-0.5, 0.5].

    y = Re ifft(z * (1 + |f|)^-alpha), z_k complex with two standard normals as parts,
    then (y - min y) / (max y - min y) - 0.5 with min and max over all the signals.

    The authors' 2020 signal of Fig. 3 (protocol 2.1) is `PRNGKey(0)` itself, unsplit,
    under `jax.threefry_partitionable(False)` with n=32, c=8, alpha=1, bandlimited:

        with jax.threefry_partitionable(False):
            s = power_law_signals(jax.random.PRNGKey(0)[None], n=32, c=8, ...)

    Args:
        keys: a stack of keys, as `jax.random.split` gives it; `key[None]` for one.
        bandlimited: drop the bins with index >= cn/4, as Fig. 3 does; all the negative
            frequencies are among them.
    """
    if n < 1 or c < 1:
        raise InputError(f"`n` (={n}) and `c` (={c}) must both be at least 1")
    if n * c < 2:
        raise InputError(f"`n` x `c` (={n * c}) must be at least 2 points")
    points = n * c
    z = np.asarray(jax.vmap(lambda k: jax.random.normal(k, (points, 2)))(keys))
    weights = power_law_weights(points, alpha, bandlimited=bandlimited)
    y = np.fft.ifft((z[..., 0] + 1j * z[..., 1]) * weights).real
    y = (y - y.min()) / np.ptp(y) - 0.5
    x = np.arange(points) / points
    return DenseSignals(x=x.astype(np.float32), y=y.astype(np.float32), c=c)


def power_law_weights(
    points: int, alpha: float, *, bandlimited: bool = False
) -> Float[np.ndarray, " points"]:
    """The spectrum's amplitude (1 + |f|)^-alpha in the order of `numpy.fft`.

    DC has weight 1, the bins +-1 have 2^-alpha, Nyquist (1 + points/2)^-alpha.
    """
    bins = np.arange(points)
    weights = (1.0 + np.minimum(bins, points - bins)) ** -alpha
    if bandlimited:
        weights[bins >= points / 4] = 0.0
    return weights
