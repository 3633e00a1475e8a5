"""What an instrument measures of values on a grid: a linear map, made real.

A complex map of a real field (MRI) is two real ones, its real part above its imaginary
part. Written so, its transpose is its adjoint and nothing needs conjugating.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..errors import InputError

_COLUMNS = 64  # vectors that go through a matrix-free map together


class LinearMap:
    """`A` as a real matrix acting on columns, dense or never written down.

    `A` is a matrix (NumPy, JAX, SciPy sparse), a SciPy `LinearOperator`, or a function
    of (n,) values that JAX can trace; None is the identity.
    """

    def __init__(self, A: Any, n: int) -> None:
        self.n = n
        self.identity = A is None
        if A is None:
            self.shape, self.complex = (n,), False
            self._columns = None
        elif hasattr(A, "shape") and hasattr(A, "dtype"):
            if len(A.shape) != 2 or A.shape[1] != n:
                raise InputError(
                    f"`A` has shape {tuple(A.shape)}; the kernel needs (rows, {n})"
                )
            if A.shape[0] == 0:
                raise InputError("`A` has no rows; it must measure something")
            dense = np.asarray(A) if isinstance(A, jax.Array) else A
            if isinstance(dense, np.ndarray):
                if not np.isfinite(dense).all():
                    raise InputError("`A` holds values that are not finite")
                dense = dense.astype(np.result_type(dense.dtype, np.float64))
            self.shape = (int(A.shape[0]),)
            self.complex = np.issubdtype(np.dtype(A.dtype), np.complexfloating)
            self._columns = lambda x: np.asarray(dense @ x)
        elif callable(A):
            self.shape, self.complex = _probe(A, n)
            self._columns = functools.partial(_stream, _compiled(A))
        else:
            raise InputError(
                f"`A` is a {type(A).__name__}; give a matrix or a function of "
                f"({n},) values"
            )

    @property
    def rows(self) -> int:
        """How many real numbers are measured."""
        return int(np.prod(self.shape)) * (2 if self.complex else 1)

    def __call__(self, x: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "rows k"]:
        """The measurements of every column."""
        return x if self._columns is None else self._real(self._columns(x))

    def matrix(self) -> Float[np.ndarray, "rows n"]:
        """The map written down."""
        return self(np.eye(self.n))

    def targets(self, b: Any) -> tuple[Float[np.ndarray, "rows c"], bool]:
        """Measurements as real columns, and whether they came with a channel axis."""
        b = np.asarray(b)
        s = self.shape
        if b.shape != s and not (b.ndim == len(s) + 1 and b.shape[:-1] == s):
            raise InputError(
                f"`targets` has shape {b.shape}; expected {s} or {(*s, 'channels')}"
            )
        if np.iscomplexobj(b) and not self.complex:
            raise InputError("`targets` is complex but what is measured is real")
        if not np.isfinite(b).all():
            raise InputError("`targets` holds values that are not finite")
        if b.size == 0:
            raise InputError("`targets` is empty; give at least one measurement")
        return self._real(b.reshape(int(np.prod(s)), -1)), b.ndim > len(s)

    def unreal(self, y: Float[np.ndarray, "*lead rows c"]) -> np.ndarray:
        """Real columns as measurements in their own shape, complex where they were."""
        if self.complex:
            half = self.rows // 2
            y = y[..., :half, :] + 1j * y[..., half:, :]
        return y.reshape(*y.shape[:-2], *self.shape, y.shape[-1])

    def _real(self, y: np.ndarray) -> Float[np.ndarray, "rows c"]:
        if self.complex:
            y = np.concatenate([np.real(y), np.imag(y)])
        return np.asarray(y, np.float64)


def _compiled(A: Callable) -> Callable:
    def columns(x):
        out = jax.lax.map(A, x.T, batch_size=min(_COLUMNS, x.shape[1]))
        return out.reshape(x.shape[1], -1).T

    return jax.jit(columns)


def _stream(columns: Callable, x: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(columns(jnp.asarray(x, jnp.float64)))


def _probe(A: Callable, n: int) -> tuple[tuple[int, ...], bool]:
    """The shape and kind of what `A` measures, after a look at whether it is linear."""
    x = np.random.default_rng(0).normal(size=(2, n))
    with jax.enable_x64(True):
        try:
            one, two, both, none = (
                np.asarray(A(jnp.asarray(v)))
                for v in (x[0], x[1], x[0] + 2 * x[1], np.zeros(n))
            )
        except (TypeError, ValueError, IndexError) as error:
            reason = str(error).splitlines()[0]
            raise InputError(
                f"`A` does not take values of shape ({n},): {reason}"
            ) from error
    if one.size == 0:
        raise InputError("`A` gives no measurements")
    # 1e-4 leaves room for a map that works in float32.
    size = float(np.abs(one).max() + 2 * np.abs(two).max())
    off = max(np.abs(both - one - 2 * two).max(), np.abs(none).max())
    if not off <= 1e-4 * size:
        raise InputError(
            f"`A` is not linear: A(x + 2y) - A(x) - 2A(y) reaches {off:.3g}"
        )
    return one.shape, np.iscomplexobj(one)
