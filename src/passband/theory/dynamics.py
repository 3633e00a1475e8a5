r"""How a wide network learns: the linear dynamics of eq. 3, and of eq. 22 through A.

With K the kernel of the training points, gradient flow on
$\tfrac{s}{2}\|A f - b\|^2$ follows

$$\dot f = -s K A^T (A f - b).$$

K is never inverted: factor $A K A^T = U L U^T$ once, and at any time and point

$$f_t = f_0 + K_{test} A^T U\, \frac{1 - e^{-sLt}}{L}\, U^T (b - A f_0).$$
"""

import dataclasses
import functools
from typing import Any

import numpy as np
import scipy.linalg
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
    basis = None
    if A is None:
        rates, modes = eigh_psd("k_train", k)
    else:
        require_psd("k_train", k)
        if look.rows > n:
            # More measurements than unknowns: A = QR makes them n that say the same.
            basis = np.linalg.qr(look.matrix())
        ak = look(k) if basis is None else basis[1] @ k
        aka = look(ak.T) if basis is None else basis[1] @ ak.T
        rates, modes = eigh_psd("A k_train A^T", (aka + aka.T) / 2)
    return LinearDynamics(rates, modes, b, float(loss_scale), look, channels, basis)


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
    _look: LinearMap
    _channels: bool
    _basis: tuple[np.ndarray, np.ndarray] | None

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
        # (A K_test^T)^T is K_test A^T: no adjoint is needed.
        reach = self._reduced(k.T).T @ self.modes
        return self._at(t, reach, self._gain, start, f0_train)

    def train(self, t: Any, *, f0_train: Any = 0.0) -> Inexact[np.ndarray, "..."]:
        """What the training points are seen to give, A f, at time `t`."""
        start = self._look(self._f0("f0_train", f0_train, self._look.n))
        reach = self.modes if self._basis is None else self._basis[0] @ self.modes
        out = self._at(
            t, reach, lambda t: 1 - self._decay(t), start, f0_train, flat=True
        )
        out = self._look.unreal(out)
        return out if self._channels else out[..., 0]

    def loss(self, t: Any, *, f0_train: Any = 0.0) -> Float[np.ndarray, "..."]:
        """The training loss, loss_scale / 2 times the sum of squared residuals."""
        t = times(t)
        error, beyond = self._error(f0_train)
        decay = self._decay(t)
        square = np.einsum("...r,rc->...", decay**2, error**2)
        return np.asarray(0.5 * self.loss_scale * (square + beyond))

    def errors(self, t: Any, *, f0_train: Any = 0.0) -> Float[np.ndarray, "..."]:
        r"""What is left in every mode, $|e^{-sLt} U^T (b - A f_0)|$ (eq. 4)."""
        error, _ = self._error(f0_train)
        out = np.abs(self._decay(times(t))[..., :, None] * error)
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

    def _at(self, t, reach, gain, start, f0_train, flat=False):
        t = times(t)
        error, _ = self._error(f0_train)
        moved = gain(t)[..., :, None] * error  # (*T, r, c)
        out = start + reach @ moved
        return out if flat or self._channels else out[..., 0]

    def _error(self, f0_train: Any) -> tuple[np.ndarray, float]:
        """What is left to learn in every mode, and the square no output can remove."""
        start = self._look(self._f0("f0_train", f0_train, self._look.n))
        residual = self.measured - start
        if self._basis is None:
            return self.modes.T @ residual, 0.0
        inside = self._basis[0].T @ residual
        beyond = residual - self._basis[0] @ inside
        return self.modes.T @ inside, float(np.sum(beyond**2))

    def _reduced(self, columns: np.ndarray) -> np.ndarray:
        return self._look(columns) if self._basis is None else self._basis[1] @ columns

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

    def _gain(self, t: np.ndarray) -> np.ndarray:
        """(1 - exp(-s l t)) / l, with its limit s t at l = 0.

        A mode below rounding drifts at that rate as long as its eigenvalue, at most the
        floor, cannot bend it; past that the answer of least norm is to leave it alone.
        """
        st = self.loss_scale * t[..., None]
        learns = self.eigenvalues > self._floor
        safe = np.where(learns, self.eigenvalues, 1.0)
        with np.errstate(invalid="ignore", over="ignore"):
            drift = np.where(st * self._floor < 1, st, 0.0)
            return np.where(learns, -np.expm1(-safe * st) / safe, drift)

    def _f0(self, name: str, f0: Any, n: int) -> Float[np.ndarray, "n c"]:
        c = self.measured.shape[1]
        f0 = np.asarray(f0, np.float64)
        expected = (n, c) if self._channels else (n,)
        if f0.shape not in ((), expected):
            raise InputError(f"`{name}` has shape {f0.shape}; expected {expected} or 0")
        if not np.isfinite(f0).all():
            raise InputError(f"`{name}` holds values that are not finite")
        return np.broadcast_to(f0, expected).reshape(n, c)


def times(t: Any) -> np.ndarray:
    """Times as float64, infinity allowed."""
    t = np.asarray(t, np.float64)
    if not (t >= 0).all():
        raise InputError("`t` must be 0 or more; time is learning rate x steps")
    return t
