"""Linear instruments: an operator, its adjoint `H` and the normal operator `N`."""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact


class LinearForward(eqx.Module):
    """What an instrument measures of a real field, linear in the field's values.

    y = A x with x of `input_shape` and y of `output_shape`, real or complex. A subclass
    gives the two shapes and `__call__`; where its own transpose is not fast enough it
    gives `H` too, and makes it the derivative of `__call__`.
    """

    @property
    @abc.abstractmethod
    def input_shape(self) -> tuple[int, ...]: ...

    @property
    @abc.abstractmethod
    def output_shape(self) -> tuple[int, ...]: ...

    @abc.abstractmethod
    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        """The measurements of values on the grid."""

    def H(self, measurements: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        """The adjoint, Re A^H y for a real field: <A x, y> = <x, H y> in real parts.

        JAX's transpose is A^T, so y goes in conjugated, and the result is conjugated.
        """
        kind = jnp.finfo(measurements.dtype).dtype  # the real one, of a complex y
        x = jax.ShapeDtypeStruct(self.input_shape, kind)
        see = lambda values: self(values)  # noqa: E731  JAX would compare its arrays
        y = jax.eval_shape(see, x)
        [out] = jax.linear_transpose(see, x)(jnp.conj(measurements).astype(y.dtype))
        return jnp.conj(out)

    def N(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        """The normal operator A^H A, whose null space no measurement can fill."""
        return self.H(self(values))

    def norm(self, iterations: int = 30) -> float:
        """The largest singular value, by power iteration (from below, within 1 %)."""
        return float(_norm(self, iterations))


class Changed(LinearForward):
    """An instrument whose measurements are changed one by one."""

    whole: LinearForward

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.whole.input_shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.whole.output_shape


class Masked(Changed):
    """Some of an instrument's measurements: what is left out reads 0."""

    keep: Bool[Array, "..."]

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return jnp.where(self.keep, self.whole(values), 0)

    def H(self, measurements: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self.whole.H(jnp.where(self.keep, measurements, 0))


class Weighted(Changed):
    """An instrument's measurements, each times a number."""

    weights: Float[Array, "..."]

    def __call__(self, values: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self.weights * self.whole(values)

    def H(self, measurements: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self.whole.H(self.weights * measurements)


def relative_error(
    seen: Inexact[Array, "..."],
    measurements: Inexact[Array, "..."],
    among: Bool[Array, "..."] | None = None,
) -> float:
    """|seen - measured| / |measured|, over some of the measurements."""
    among = jnp.ones(measurements.shape, bool) if among is None else among
    error = jnp.linalg.norm(jnp.where(among, seen - measurements, 0).ravel())
    size = jnp.linalg.norm(jnp.where(among, measurements, 0).ravel())
    return float(error / jnp.maximum(size, jnp.finfo(size.dtype).tiny))


@eqx.filter_jit
def _norm(forward: LinearForward, iterations: int) -> Array:
    def body(x, _):
        y = forward.N(x)
        size = jnp.linalg.norm(y.ravel())
        return y / jnp.maximum(size, jnp.finfo(y.dtype).tiny), size

    x = jax.random.normal(jax.random.key(0), forward.input_shape)
    x = x / math.sqrt(math.prod(forward.input_shape))
    _, sizes = jax.lax.scan(body, x, length=iterations)
    return jnp.sqrt(sizes[-1])
