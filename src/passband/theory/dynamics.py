r"""How a wide network learns: the linear dynamics of eq. 3, and of eq. 22 through A.

With K the kernel of the training points, gradient flow on
$\tfrac{s}{2}\|A f - b\|^2$ follows

$$\dot f = -s K A^T (A f - b).$$

K is never inverted: factor $A K A^T = U L U^T$ once, and at any time and point

$$f_t = f_0 + K_{test} A^T U\, \frac{1 - e^{-sLt}}{L}\, U^T (b - A f_0).$$
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from jaxtyping import Float, Inexact

from ..errors import InputError
from .linear_map import LinearMap
from .psd import as_kernel, eigh_psd, require_psd


def linear_dynamics(
    k_train: Any, targets: Any, *, A: Any = None, loss_scale: float = 1.0
) -> "LinearDynamics":
    r"""Factor the kernel of the training points; the result predicts at any time.

    Args:
        k_train: (n, n) kernel of the training points.
        targets: what is measured: (n,) or (n, channels) values, or, with `A`, what `A`
            gives of them, with or without a last axis of channels.
        A: the linear map the loss looks through, a matrix or a function of (n,) values;
            a complex one acts on a real field.
        loss_scale: 1 for half the sum of squares, 1 / n for half the mean.
    """
    k = as_kernel("k_train", k_train)
    n = len(k)
    if not (np.isfinite(loss_scale) and loss_scale > 0):
        raise InputError(f"`loss_scale` (={loss_scale}) must be positive")
    look = LinearMap(A, n)
    b, channels = look.targets(targets)
    tall = None
    if A is None:
        rates, modes = eigh_psd("k_train", k)
    else:
        require_psd("k_train", k)
        if look.rows > n:
            tall = _Tall.of(look.matrix(), b)
        reduce = look if tall is None else tall
        aka = reduce(reduce(k).T)
        rates, modes = eigh_psd("A k_train A^T", (aka + aka.T) / 2)
    return LinearDynamics(rates, modes, b, float(loss_scale), k, look, channels, tall)


@dataclasses.dataclass(frozen=True, eq=False)
class _Tall:
    """More measurements than unknowns: A = QR makes them n that say the same."""

    R: np.ndarray
    targets: np.ndarray
    """Q^T b; Q itself, the largest matrix of all, is never written down."""
    beyond: float
    """The square of b that no output can remove."""

    @staticmethod
    def of(A: np.ndarray, b: np.ndarray) -> "_Tall":
        factors: Any = scipy.linalg.qr_multiply(A, b.T, mode="right")
        inside, R = factors
        # Two squares that nearly cancel know their difference to 1e-16 of themselves.
        beyond = max(float(np.sum(b**2) - np.sum(inside**2)), 0.0)
        return _Tall(R, inside.T, beyond)

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        return self.R @ columns


@dataclasses.dataclass(frozen=True, eq=False)
class LinearDynamics:
    """A network's predicted training, for every time and point.

    Times are learning rate x steps. A scalar time gives one prediction; an array of
    times adds a leading axis. Time 0 and infinity are exact.
    """

    eigenvalues: Float[np.ndarray, " r"]
    """Of A K A^T, ascending; a mode's error decays as exp(-loss_scale * value * t)."""
    modes: Float[np.ndarray, "r r"]
    measured: Float[np.ndarray, "rows c"]
    loss_scale: float
    _k: Float[np.ndarray, "n n"]
    _look: LinearMap
    _channels: bool
    _tall: _Tall | None

    def __call__(
        self, t: Any, k_test_train: Any, *, f0_train: Any = 0.0, f0_test: Any = 0.0
    ) -> Float[np.ndarray, "..."]:
        """The network's outputs at the points of `k_test_train` (points, n)."""
        k = np.asarray(k_test_train, np.float64)
        if k.ndim != 2 or k.shape[1] != self._look.n:
            raise InputError(
                f"`k_test_train` has shape {k.shape}; expected (points, {self._look.n})"
            )
        if not np.isfinite(k).all():
            raise InputError("`k_test_train` holds values that are not finite")
        start = self._f0("f0_test", f0_test, len(k))
        out = start + self._moved(times(t), k, self._error(f0_train))
        return out if self._channels else out[..., 0]

    def train(self, t: Any, *, f0_train: Any = 0.0) -> Inexact[np.ndarray, "..."]:
        """What the training points are seen to give, A f, at time `t`."""
        t = times(t)
        f0, error = self._f0("f0_train", f0_train, self._look.n), self._error(f0_train)
        if self._tall is None:
            learned = 1 - self._decay(t)
            moved = act(lambda x: self.modes @ x, learned[..., None] * error)
            out = self._look(f0) + moved
        else:
            out = act(self._look, f0 + self._moved(t, self._k, error))
        out = self._look.unreal(out)
        return out if self._channels else out[..., 0]

    def loss(self, t: Any, *, f0_train: Any = 0.0) -> Float[np.ndarray, "..."]:
        """The training loss, loss_scale / 2 times the sum of squared residuals."""
        left = self._decay(times(t)) ** 2 @ np.sum(self._error(f0_train) ** 2, axis=1)
        beyond = 0.0 if self._tall is None else self._tall.beyond
        return np.asarray(0.5 * self.loss_scale * (left + beyond))

    def errors(self, t: Any, *, f0_train: Any = 0.0) -> Float[np.ndarray, "..."]:
        r"""What is left in every mode, $|e^{-sLt} U^T (b - A f_0)|$ (eq. 4)."""
        out = np.abs(self._decay(times(t))[..., None] * self._error(f0_train))
        return out if self._channels else out[..., 0]

    @functools.cached_property
    def unseen(self) -> Float[np.ndarray, "n k"]:
        """An orthonormal basis of what A maps to zero (to 3e-7 of its largest value).

        The error's component along it, in the eigenbasis of K A^T A, never changes:
        training leaves it at the prior. Without A nothing is unseen.
        """
        if self._look.identity:
            return np.zeros((self._look.n, 0))
        A = self._look.matrix()
        size, directions = scipy.linalg.eigh(A.T @ A)
        return directions[:, size <= 1e-13 * max(size[-1], np.finfo(float).tiny)]

    def _error(self, f0_train: Any) -> Float[np.ndarray, "r c"]:
        """What is left to learn in every mode at the start."""
        f0 = self._f0("f0_train", f0_train, self._look.n)
        if self._tall is None:
            return self.modes.T @ (self.measured - self._look(f0))
        return self.modes.T @ (self._tall.targets - self._tall(f0))

    def _moved(self, t: np.ndarray, k: np.ndarray, error: np.ndarray) -> np.ndarray:
        """K_test A^T U (1 - exp(-sLt)) / L U^T (b - A f0), for every time.

        Modes below rounding have L = 0 and the limit s t, as long as an eigenvalue at
        the floor could not bend it; past that, of least norm, they are left alone.
        They reach no training point, and others only where K_test is above rounding.
        """
        reduce = self._look if self._tall is None else self._tall
        reach = reduce(k.T).T  # (A K_test^T)^T is K_test A^T: no adjoint is needed
        st = self.loss_scale * t[..., None]
        learns = self.eigenvalues > self._floor
        rates = self.eigenvalues[learns]
        gain = -np.expm1(-rates * st) / rates
        modes = self.modes[:, learns]
        out = act(lambda x: reach @ (modes @ x), gain[..., None] * error[learns])
        if not learns.all():
            still = reach @ self.modes[:, ~learns]
            still[np.abs(still) <= 4 * self._floor] = 0.0
            with np.errstate(invalid="ignore"):  # inf * 0 where the kernel is zero
                drift = np.where(st * self._floor < 1, st, 0.0)
            out = out + drift[..., None] * (still @ error[~learns])
        return out

    @property
    def _floor(self) -> float:
        """Below it an eigenvalue is rounding."""
        return len(self.eigenvalues) * np.finfo(float).eps * float(self.eigenvalues[-1])

    def _decay(self, t: np.ndarray) -> np.ndarray:
        """exp(-s l t); at infinity 0 for the modes that learn, 1 for the others."""
        st = self.loss_scale * t[..., None]
        learns = self.eigenvalues > self._floor
        at_end = np.where(learns, 0.0, 1.0)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(np.isinf(st), at_end, np.exp(-self.eigenvalues * st))

    def _f0(self, name: str, f0: Any, n: int) -> Float[np.ndarray, "n c"]:
        c = self.measured.shape[1]
        f0 = np.asarray(f0, np.float64)
        expected = (n, c) if self._channels else (n,)
        if f0.shape not in ((), expected):
            raise InputError(f"`{name}` has shape {f0.shape}; expected {expected} or 0")
        if not np.isfinite(f0).all():
            raise InputError(f"`{name}` holds values that are not finite")
        return np.broadcast_to(f0, expected).reshape(n, c)


def act(A: Callable, x: np.ndarray) -> np.ndarray:
    """A on the last axis but one of `x`, all its columns in one product."""
    columns = np.moveaxis(x, -2, 0)
    out = A(columns.reshape(len(columns), -1))
    return np.moveaxis(out.reshape(len(out), *columns.shape[1:]), 0, -2)


def times(t: Any) -> np.ndarray:
    """Times as float64, infinity allowed."""
    t = np.asarray(t, np.float64)
    if not (t >= 0).all():
        raise InputError("`t` must be 0 or more; time is learning rate x steps")
    return t
