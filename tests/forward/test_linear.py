"""Laws of every linear instrument."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from passband.forward.linear import LinearForward, Masked
from passband.forward.radon import radon
from passband.forward.radon_nearest import nearest_radon

ANGLES = np.array([0.0, 11.0, 45.0, 90.0, 118.0, 135.0, 200.0])


class Spectrum(LinearForward):
    """Complex measurements, by JAX's own transpose."""

    weights: Array
    side: int = eqx.field(static=True, default=12)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.side, self.side

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.side, self.side

    def __call__(self, values):
        return self.weights * jnp.fft.fft2(values)


def instruments() -> dict[str, LinearForward]:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(12, 12)) + 1j * rng.normal(size=(12, 12))
    plain = radon(ANGLES, 33)
    return {
        "radon": plain,
        "radon, off its axis": radon(ANGLES, 32, offset=1.3, pixel=0.4),
        "radon, coarse grid": radon(ANGLES, 40, side=25),
        "radon, fine grid": radon(ANGLES, 25, side=41),
        "nearest": nearest_radon(ANGLES, 32),
        "masked": Masked(plain, jnp.asarray(rng.random(plain.output_shape) < 0.7)),
        "complex": Spectrum(jnp.asarray(weights, jnp.complex64)),
    }


@pytest.mark.parametrize("name", instruments())
def test_adjoint_is_transpose(name: str):
    A = instruments()[name]
    rng = np.random.default_rng(1)
    x = rng.normal(size=A.input_shape).astype(np.float32)
    y = rng.normal(size=A.output_shape).astype(np.float32)
    if name == "complex":
        y = (y + 1j * rng.normal(size=y.shape)).astype(np.complex64)
    seen, back = np.asarray(A(jnp.asarray(x))), np.asarray(A.H(jnp.asarray(y)))
    assert seen.shape == A.output_shape and back.shape == A.input_shape
    assert back.dtype == np.float32
    forth = np.vdot(seen.astype(complex), y).real
    # Against the size of the sums themselves, which cancel.
    size = np.linalg.norm(seen) * np.linalg.norm(y)
    assert abs(forth - np.vdot(x.astype(float), back)) < 3e-7 * size


@pytest.mark.parametrize("name", ["radon", "nearest", "masked", "complex"])
def test_derivatives_are_the_adjoint(name: str):
    A = instruments()[name]
    x = jax.random.normal(jax.random.key(0), A.input_shape)

    def energy(x):
        return 0.5 * jnp.sum(jnp.abs(A(x)) ** 2)

    np.testing.assert_allclose(
        jax.grad(energy)(x), A.N(x), rtol=1e-4, atol=1e-4 * float(jnp.abs(A.N(x)).max())
    )


@pytest.mark.parametrize("name", ["radon", "nearest"])
def test_the_adjoint_has_a_derivative_too(name: str):
    A = instruments()[name]
    x = jax.random.normal(jax.random.key(0), A.input_shape)
    y = jax.random.normal(jax.random.key(1), A.output_shape)
    slope = jax.grad(lambda y: jnp.vdot(A.H(y), x))(y)
    np.testing.assert_allclose(slope, A(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["radon", "nearest"])
def test_many_pictures_at_once_are_each_by_itself(name: str):
    A = instruments()[name]
    x = jax.random.normal(jax.random.key(2), (3, *A.input_shape))
    together = jax.jit(jax.vmap(A))(x)
    alone = jnp.stack([A(one) for one in x])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-5)
    y = jax.jit(jax.vmap(A.H))(together)
    np.testing.assert_allclose(y[1], A.H(alone[1]), rtol=1e-5, atol=1e-4)


def test_the_norm_is_the_largest_singular_value():
    A = radon(ANGLES, 12)
    columns = [A(jnp.asarray(e.reshape(12, 12))) for e in np.eye(144, dtype=np.float32)]
    matrix = np.asarray(columns).reshape(144, -1)
    assert A.norm() == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-2)
