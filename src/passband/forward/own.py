"""What an operator of one's own becomes: a matrix, a sparse one, two functions, or one
that JAX has traced."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact, Int

from ..errors import InputError
from .linear import LinearForward


class Matrix(LinearForward):
    """A matrix of (measurements, points)."""

    matrix: Inexact[Array, "m n"]
    sides: tuple[int, ...] = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.sides

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.matrix.shape[:1]

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, " m"]:
        # In full: a GPU would round the factors.
        flat = _on(self.sides, values).ravel()
        return jnp.matmul(self.matrix, flat, precision=jax.lax.Precision.HIGHEST)


class SparseMatrix(LinearForward):
    """A matrix by its entries, those of a row side by side."""

    entries: Inexact[Array, " k"]
    rows: Int[Array, " k"]
    columns: Int[Array, " k"]
    count: int = eqx.field(static=True)
    """Rows, empty ones too."""
    sides: tuple[int, ...] = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.sides

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.count,)

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, " m"]:
        parts = self.entries * _on(self.sides, values).ravel()[self.columns]
        return jax.ops.segment_sum(
            parts, self.rows, num_segments=self.count, indices_are_sorted=True
        )


class Functions(LinearForward):
    """A function and its adjoint, each the other's derivative."""

    run: Callable[[Array], Array] = eqx.field(static=True)
    back: Callable[[Array], Array] = eqx.field(static=True)
    sides: tuple[int, ...] = eqx.field(static=True)
    measured: tuple[int, ...] = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.sides

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.measured

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return _forth(self, _on(self.sides, values))

    def H(self, measurements: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return _back(self, _on(self.measured, measurements))


class Traced(LinearForward):
    """A function that JAX can trace and transpose; arrays in it may be stacked."""

    arrays: Any
    rest: Any = eqx.field(static=True)
    sides: tuple[int, ...] = eqx.field(static=True)
    measured: tuple[int, ...] = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.sides

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.measured

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return eqx.combine(self.arrays, self.rest)(_on(self.sides, values))


# A and its adjoint are each other's derivatives. JAX's cotangent of a complex number is
# the conjugate of the gradient.
@jax.custom_vjp
def _forth(forward: Functions, values: Array) -> Array:
    return forward.run(values)


@jax.custom_vjp
def _back(forward: Functions, measurements: Array) -> Array:
    return forward.back(measurements)


_forth.defvjp(
    lambda forward, x: (_forth(forward, x), forward),
    lambda forward, g: (None, _back(forward, jnp.conj(g))),
)
_back.defvjp(
    lambda forward, y: (_back(forward, y), forward),
    lambda forward, g: (None, jnp.conj(_forth(forward, g))),
)


def _on(shape: tuple[int, ...], array: Array) -> Array:
    """The array, refused where it has another shape than the operator takes."""
    if jnp.shape(array) != shape:
        raise InputError(
            f"the operator was given an array of shape {jnp.shape(array)}; it takes "
            f"{shape}, and `jax.vmap` many"
        )
    return array
