"""Operators of one's own: a matrix, a SciPy or SigPy operator, or functions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array

from ..errors import InputError
from .linear import LinearForward
from .own import Functions as Functions
from .own import Matrix as Matrix
from .own import SparseMatrix as SparseMatrix
from .own import Traced as Traced
from .refined import Refined as Refined
from .refined import refined as refined

CLOSE = 1e-3
"""How far <A x, y> and <x, A^H y> may be apart, as a share of |A x| |y|: float32 adds
up to 1e-4 for sums of millions, and a back-projector that is not the projector's own
differs by 1e-2."""


def linear(
    A: Any,
    shape: int | Sequence[int] | None = None,
    *,
    adjoint: Callable[[Any], Any] | None = None,
    dtype: DTypeLike = np.float32,
    check: bool = True,
) -> LinearForward:
    """An instrument made of what one has: y = A x, with its adjoint `H` and N = H A.

    It can be jitted, differentiated and mapped over. Matrices and functions of JAX
    become part of the compiled program; NumPy, SciPy, SigPy and PyTorch are called
    back on the host, one field after another.

    The field x is real. Measurements may be complex; then `H` is Re A^H.

    Args:
        A: a matrix (NumPy, JAX, or sparse of SciPy); a SciPy `LinearOperator`, or
            anything with `shape`, `matvec` and `rmatvec`; a SigPy `Linop`; a function
            of arrays of `shape`, with an `adjoint`; or a function that JAX can trace,
            without.
        shape: of the grid that the field is on. A matrix of n columns has (n,) by
            default, a Linop its `ishape`; a function needs one.
        adjoint: measurements in, an array of `shape` out: A^T, of complex A A^H. It
            goes before one that `A` brings along.
        dtype: of the values that host functions are given.
        check: apply both once to random arrays, and refuse an adjoint for which
            <A x, y> and <x, A^H y> differ by more than a thousandth of |A x| |y|.

    Example:
        >>> import numpy as np, passband as pb
        >>> back = lambda y: -np.diff(np.pad(y, 1))
        >>> A = pb.forward.linear(np.diff, (8,), adjoint=back)
        >>> A.input_shape, A.output_shape
        ((8,), (7,))
    """
    sides = None if shape is None else _sides(shape)
    if isinstance(A, LinearForward):
        return _with_shape(A, sides)
    if type(A).__module__.startswith("scipy.sparse") and hasattr(A, "tocoo"):
        return _sparse(A, sides)
    if hasattr(A, "ishape") and hasattr(A, "oshape"):
        own = _sides(A.ishape)
        if sides is not None and sides != own:
            raise InputError(f"`shape` (={sides}) differs from A's own, {own}")
        back, name = (A.H, "`A.H`") if adjoint is None else (adjoint, "`adjoint`")
        return _host(A, back, own, dtype, check, name)
    if hasattr(A, "matvec") and hasattr(A, "shape"):
        return _operator(A, sides, adjoint, dtype, check)
    if callable(A):
        if sides is None:
            raise InputError("`shape` is missing: of the grid that `A` takes values on")
        return _function(A, adjoint, sides, dtype, check)
    return _matrix(A, sides)


def _sides(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        given = [shape] if isinstance(shape, int | np.integer) else list(shape)
        sides = tuple(int(n) for n in given)
        good = bool(sides) and all(
            n > 0 and n == m for n, m in zip(sides, given, strict=True)
        )
    except (TypeError, ValueError):
        good, sides = False, ()
    if not good:
        raise InputError(
            f"`shape` (={shape}) must be positive whole numbers, one for each axis"
        )
    return sides


def _of_columns(columns: int, sides: tuple[int, ...] | None) -> tuple[int, ...]:
    """The grid of an operator with so many columns."""
    if sides is None:
        return (columns,)
    if math.prod(sides) != columns:
        raise InputError(
            f"`shape` (={sides}) has {math.prod(sides)} points, and `A` {columns} "
            "columns; they must be equal"
        )
    return sides


def _with_shape(A: LinearForward, sides: tuple[int, ...] | None) -> LinearForward:
    if sides not in (None, A.input_shape):
        raise InputError(f"`shape` (={sides}) differs from A's own, {A.input_shape}")
    return A


def _matrix(A: Any, sides: tuple[int, ...] | None) -> Matrix:
    matrix = np.asarray(A)
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "buifc":
        raise InputError(
            f"`A` is {_described(A, matrix)}; give a matrix (2 axes of numbers), an "
            "operator or a function"
        )
    _refuse_nan("`A`", matrix)
    kind = jnp.complex64 if np.iscomplexobj(matrix) else jnp.float32
    return Matrix(jnp.asarray(matrix, kind), _of_columns(matrix.shape[1], sides))


def _sparse(A: Any, sides: tuple[int, ...] | None) -> SparseMatrix:
    if len(A.shape) != 2:
        raise InputError(f"`A` has shape {A.shape}; a matrix has 2 axes")
    count, columns = A.shape
    csr = A.tocsr().tocoo()
    _refuse_nan("`A`", csr.data)
    kind = jnp.complex64 if np.iscomplexobj(csr.data) else jnp.float32
    return SparseMatrix(
        jnp.asarray(csr.data, kind),
        jnp.asarray(csr.row, jnp.int32),
        jnp.asarray(csr.col, jnp.int32),
        count,
        _of_columns(columns, sides),
    )


def _operator(
    A: Any,
    sides: tuple[int, ...] | None,
    adjoint: Callable[[Any], Any] | None,
    dtype: DTypeLike,
    check: bool,
) -> Functions:
    """One of SciPy's, whose vectors are flat."""
    sides = _of_columns(int(A.shape[1]), sides)

    def run(values: np.ndarray) -> Any:
        return A.matvec(values.ravel())

    def back(measurements: np.ndarray) -> Any:
        return np.reshape(A.rmatvec(measurements), sides)

    if adjoint is not None:
        return _host(run, adjoint, sides, dtype, check, "`adjoint`")
    return _host(run, back, sides, dtype, check, "`A.rmatvec`")


def _function(
    A: Callable[[Any], Any],
    adjoint: Callable[[Any], Any] | None,
    sides: tuple[int, ...],
    dtype: DTypeLike,
    check: bool,
) -> LinearForward:
    x = jax.ShapeDtypeStruct(sides, jnp.float32)
    if adjoint is not None:
        if not _traceable(A, adjoint, x):
            return _host(A, adjoint, sides, dtype, check, "`adjoint`")
        return _traced_pair(A, adjoint, x, check)
    try:
        out = jax.eval_shape(A, x)
    except Exception as error:
        raise InputError(
            f"`A` cannot be traced by JAX for values of shape {sides} "
            f"({_line(error)}); of a function of NumPy arrays give the `adjoint` too"
        ) from error
    if not isinstance(out, jax.ShapeDtypeStruct):
        raise InputError(f"`A` gives a {type(out).__name__}; it must give one array")
    arrays, rest = eqx.partition(A, eqx.is_array)
    forward = Traced(arrays, rest, sides, out.shape)
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        raise InputError(f"`A` gives {out.dtype}; measurements must be real or complex")
    try:
        forward.H(jnp.zeros(out.shape, out.dtype))
    except Exception as error:
        raise InputError(
            f"`A` has no transpose, so it is not linear ({_line(error)})"
        ) from error
    if check:
        _check_zero(np.asarray(forward(jnp.zeros(sides))))
        _check_pair(
            _numpy(forward), _numpy(forward.H), forward, "`A`, as JAX transposes it,"
        )
    return forward


def _traceable(A: Any, adjoint: Any, x: jax.ShapeDtypeStruct) -> bool:
    try:
        jax.eval_shape(adjoint, jax.eval_shape(A, x))
    except Exception:
        return False
    return True


def _traced_pair(
    A: Callable[[Any], Any],
    adjoint: Callable[[Any], Any],
    x: jax.ShapeDtypeStruct,
    check: bool,
) -> Functions:
    """Two functions of JAX: they stay in the program, and need no host."""
    y = jax.eval_shape(A, x)
    back = jax.eval_shape(adjoint, y)
    _of_shape("`adjoint`", back, x.shape)
    _check_real("`adjoint`", back, y)
    forward = Functions(A, lambda y: jnp.real(adjoint(y)), x.shape, y.shape)
    if check:
        _check_zero(np.asarray(forward(jnp.zeros(x.shape))))
        _check_pair(_numpy(forward), _numpy(forward.H), forward, "`adjoint`")
    return forward


def _host(
    A: Callable[[Any], Any],
    adjoint: Callable[[Any], Any],
    sides: tuple[int, ...],
    dtype: DTypeLike,
    check: bool,
    name: str,
) -> Functions:
    """Functions of NumPy arrays; JAX's arrays are copied, so that they may be written
    to."""
    kind = np.dtype(dtype)
    if kind.kind not in "fc":
        raise InputError(f"`dtype` (={kind}) must be one of real or complex numbers")
    probe = _called(A, "`A`", np.zeros(sides, kind))
    _refuse_nan("`A`", probe)
    complex_ = np.iscomplexobj(probe)
    theirs = np.result_type(kind, np.complex64) if complex_ else kind
    shape, ours = probe.shape, np.dtype(np.complex64 if complex_ else np.float32)

    def run(values: Any) -> np.ndarray:
        return _of_shape("`A`", _called(A, "`A`", np.array(values, kind)), shape)

    def back(measurements: Any) -> np.ndarray:
        found = _called(adjoint, name, np.array(measurements, theirs))
        if kind.kind == "f":
            _check_real(name, found, probe)
        return _of_shape(name, found, sides)

    back(np.zeros(shape, theirs))  # its shape and kind, whatever `check` says
    real = np.dtype(np.float32)
    forward = Functions(
        _callback(run, shape, ours), _callback(back, sides, real), sides, shape
    )
    if check:
        _check_zero(probe)
        _check_pair(run, back, forward, name)
    return forward


def _callback(
    function: Callable[[Any], np.ndarray], shape: tuple[int, ...], kind: np.dtype
) -> Callable[[Array], Array]:
    """A host function as JAX sees it; complex results are cut to their real part where
    a real one is wanted, as Re A^H is of a real field."""
    out = jax.ShapeDtypeStruct(shape, kind)

    def host(array: Any) -> np.ndarray:
        found = function(array)
        found = np.real(found) if kind.kind == "f" else found
        return np.ascontiguousarray(found, kind)

    def call(array: Array) -> Array:
        return jax.pure_callback(host, out, array, vmap_method="sequential")

    return call


def _numpy(function: Callable[[Array], Array]) -> Callable[[Any], np.ndarray]:
    return lambda array: np.asarray(function(jnp.asarray(array)))


def _called(function: Callable[[Any], Any], name: str, given: np.ndarray) -> np.ndarray:
    """What a host function makes of an array, as an array of numbers."""
    try:
        found = np.asarray(function(given))
    except Exception as error:
        raise InputError(
            f"{name} fails for an array of shape {given.shape} and {given.dtype}: "
            f"{_line(error)}"
        ) from error
    if found.dtype.kind not in "buifc":
        raise InputError(
            f"{name} gives {found.dtype}; it must give an array of numbers"
        )
    return found


def _of_shape(name: str, found: Any, shape: tuple[int, ...]) -> Any:
    if found.shape != shape:
        raise InputError(
            f"{name} gives an array of shape {found.shape}; it must be {shape}"
        )
    return found


def _check_real(name: str, found: Any, measurements: Any) -> None:
    complex_ = [jnp.iscomplexobj(a) for a in (found, measurements)]
    if complex_ == [True, False]:
        raise InputError(
            f"{name} gives complex numbers of real measurements; take their real part"
        )


def _check_zero(found: np.ndarray) -> None:
    _refuse_nan("`A`", found)
    if found.any():
        raise InputError(
            "`A` is not linear: of values that are all 0 it gives up to "
            f"{np.abs(found).max():.3g}; take the constant off the measurements"
        )


def _check_pair(
    run: Callable[[Any], Any],
    back: Callable[[Any], Any],
    forward: LinearForward,
    name: str,
) -> None:
    """<A x, y> = <x, A^H y> for a random x; y has a part along A x, where a wrong
    factor or shift shows whole, and a random one, for what A x never reaches."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=forward.input_shape).astype(np.float32)
    seen = np.asarray(run(x))
    _refuse_nan("`A`", seen)
    size = float(np.linalg.norm(seen.ravel()))
    if size == 0:
        return
    other = rng.normal(size=seen.shape)
    if np.iscomplexobj(seen):
        other = other + 1j * rng.normal(size=seen.shape)
    y = (seen / size + other / np.linalg.norm(other.ravel())).astype(seen.dtype)
    found = np.asarray(back(y))
    _refuse_nan(name, found)
    forth = float(np.vdot(seen.astype(complex), y).real)
    again = float(np.vdot(x.astype(float), np.real(found)))
    if not abs(forth - again) <= CLOSE * size * float(np.linalg.norm(y.ravel())):
        raise InputError(
            f"{name} is not the adjoint of `A`: for random x and y <A x, y> = "
            f"{forth:.6g} and <x, A^H y> = {again:.6g}, which must be equal; "
            "`check=False` takes it as it is"
        )


def _refuse_nan(name: str, found: np.ndarray) -> None:
    if not np.isfinite(found).all():
        raise InputError(f"{name} gives NaN or infinite numbers")


def _described(A: Any, array: np.ndarray) -> str:
    if array.dtype.kind not in "buifc":
        return f"a {type(A).__name__}"
    return f"an array of shape {array.shape}"


def _line(error: Exception) -> str:
    """An error in one line."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
