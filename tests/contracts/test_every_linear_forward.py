"""Laws of every linear instrument: one that is not in the table fails a test here."""

import importlib
import inspect
import pkgutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import sigpy
from jaxtyping import Array
from scipy.sparse.linalg import aslinearoperator

import passband.forward
from passband.forward.fan import fan
from passband.forward.kspace import KSpace
from passband.forward.linear import LinearForward, Masked, Weighted
from passband.forward.operator import linear, refined
from passband.forward.radon import radon
from passband.forward.radon_nearest import nearest_radon
from passband.forward.slices import Slices

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


def kspace(sides: tuple[int, ...], coils: int = 0, *, pair: bool = False) -> KSpace:
    rng = np.random.default_rng(1)
    maps = None
    if coils:
        maps = rng.normal(size=(2, coils, *sides)).astype(np.float32)
        maps = jnp.asarray(maps[0] + 1j * maps[1])
    return KSpace(jnp.asarray(rng.random(sides) < 0.4), maps, pair)


def own_operators() -> dict[str, LinearForward]:
    """What users bring along, real and complex."""
    rng = np.random.default_rng(2)
    real = rng.normal(size=(17, 30))
    both = real + 1j * rng.normal(size=real.shape)
    thin = scipy.sparse.random_array((17, 30), density=0.3, rng=0)
    where = rng.random((6, 5)) < 0.6
    spectrum = sigpy.linop.Multiply((6, 5), where) * sigpy.linop.FFT((6, 5))
    return {
        "NumPy matrix": linear(real, (6, 5)),
        "NumPy matrix, complex": linear(both),
        "JAX matrix": linear(jnp.asarray(real), 30),
        "sparse matrix": linear(thin, (6, 5)),
        "sparse matrix, complex": linear(scipy.sparse.csc_array(thin * (1 - 2j))),
        "SciPy operator": linear(aslinearoperator(real), (5, 6), dtype=np.float64),
        "SciPy operator, complex": linear(aslinearoperator(both), dtype=np.float64),
        "SigPy operator": linear(spectrum),
        "A and A^T": linear(
            lambda x: np.diff(x, axis=0), (6, 5),
            adjoint=lambda y: -np.diff(np.pad(y, ((1, 1), (0, 0))), axis=0),
        ),
        "A and A^H": linear(
            lambda x: np.fft.rfft(x, norm="ortho"), (4, 5), dtype=np.float64,
            adjoint=lambda y: np.fft.fft(np.pad(y.conj(), ((0, 0), (0, 2))),
                                         norm="ortho").conj(),
        ),
        "A and A^T of JAX": linear(
            lambda x: jnp.cumsum(x), 12, adjoint=lambda y: jnp.cumsum(y[::-1])[::-1]
        ),
        "JAX function": linear(lambda x: jnp.cumsum(x, axis=1)[:, ::2], (5, 7)),
        "JAX function, complex": linear(lambda x: 1j * jnp.fft.fft2(x)[1:], (5, 4)),
        "JAX function with arrays": linear(
            jax.tree_util.Partial(jnp.convolve, jnp.asarray(rng.normal(size=4))), 9
        ),
        "coarser": refined(linear(real, (6, 5)), (4, 3)),
        "coarser, of a host's": refined(linear(aslinearoperator(both), (6, 5)), (3, 5)),
    }  # fmt: skip


def instruments() -> dict[str, LinearForward]:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(12, 12)) + 1j * rng.normal(size=(12, 12))
    plain = radon(ANGLES, 33)
    return {
        "radon": plain,
        "radon, off its axis": radon(ANGLES, 32, offset=1.3, pixel=0.4),
        "radon, coarse grid": radon(ANGLES, 40, side=25),
        "radon, fine grid": radon(ANGLES, 25, side=41),
        "fan": fan(ANGLES, 18, source_origin=40, source_detector=60, side=14),
        "fan, arc, off its axis": fan(
            ANGLES,
            30,
            source_origin=70,
            source_detector=110,
            side=41,
            offset=1.3,
            pixel=0.5,
            unit=20.0,
            arc=True,
        ),
        "rows of parallel rays": Slices(radon(ANGLES, 7, side=5), 9),
        "nearest": nearest_radon(ANGLES, 32),
        "masked": Masked(plain, jnp.asarray(rng.random(plain.output_shape) < 0.7)),
        "weighted": Weighted(
            plain, jnp.asarray(rng.random(plain.output_shape), jnp.float32)
        ),
        "complex": Spectrum(jnp.asarray(weights, jnp.complex64)),
        "k-space": kspace((6, 5)),
        "k-space of a volume": kspace((4, 5, 3)),
        "k-space, coils": kspace((6, 5), 3),
        "k-space, complex": kspace((4, 3, 5), pair=True),
        "k-space, complex, coils": kspace((5, 4), 2, pair=True),
        "k-space, masked": Masked(
            kspace((6, 5)), jnp.asarray(rng.random((6, 5)) < 0.7)
        ),
        **own_operators(),
    }


INSTRUMENTS = instruments()
EVERY = pytest.mark.parametrize("A", INSTRUMENTS.values(), ids=INSTRUMENTS)


def test_no_instrument_is_left_out():
    for module in pkgutil.iter_modules(passband.forward.__path__, "passband.forward."):
        importlib.import_module(module.name)
    found, known = [LinearForward], {type(A) for A in INSTRUMENTS.values()}
    for cls in found:
        found += cls.__subclasses__()
    ours = {
        c
        for c in found[1:]
        if c.__module__.startswith("passband.forward") and not inspect.isabstract(c)
    }
    assert len(ours) >= 9 and ours <= known


def measurements(A: LinearForward, *shape: int, seed: int = 1) -> np.ndarray:
    """Random ones, complex where the instrument's are."""
    kind = jax.eval_shape(A, jnp.zeros(A.input_shape)).dtype
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(2, *shape, *A.output_shape))
    return (y[0] + 1j * y[1] if kind == jnp.complex64 else y[0]).astype(kind)


def values(A: LinearForward, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*shape, *A.input_shape)).astype(np.float32)


def close(found, wanted, share: float = 2e-6) -> None:
    """Within a share of the largest, against which sums cancel."""
    np.testing.assert_allclose(found, wanted, atol=share * np.abs(wanted).max())


@EVERY
def test_adjoint_is_transpose(A: LinearForward):
    """<A x, y> = <x, H y> in real parts, jitted and not."""
    x, y = values(A), measurements(A)
    seen, back = np.asarray(A(jnp.asarray(x))), np.asarray(A.H(jnp.asarray(y)))
    assert seen.shape == A.output_shape and back.shape == A.input_shape
    assert back.dtype == np.float32
    forth = np.vdot(seen.astype(complex), y).real
    # Against the size of the sums themselves, which cancel.
    size = np.linalg.norm(seen) * np.linalg.norm(y)
    assert abs(float(forth) - float(np.vdot(x.astype(float), back))) < 3e-7 * size
    both = eqx.filter_jit(lambda A, x, y: (A(x), A.H(y)))
    for jitted, plain in zip(both(A, x, y), (seen, back), strict=True):
        close(jitted, plain)


@EVERY
def test_a_mixture_is_seen_as_a_mixture(A: LinearForward):
    x, z = jnp.asarray(values(A)), jnp.asarray(values(A, seed=5))
    close(A(2 * x - 0.5 * z), 2 * A(x) - 0.5 * A(z), 3e-6)


@EVERY
def test_the_normal_operator_is_that_of_its_matrix(A: LinearForward):
    """N = Re M^H M, with M written out column by column."""
    n = int(np.prod(A.input_shape))
    basis = jnp.eye(n).reshape(n, *A.input_shape)
    columns = np.asarray(jax.jit(jax.vmap(A))(basis)).reshape(n, -1).astype(complex)
    x = values(A)
    wanted = np.real(columns.conj() @ (columns.T @ x.ravel()))
    close(A.N(jnp.asarray(x)).ravel(), wanted, 1e-5)
    energy = jax.grad(lambda x: 0.5 * jnp.sum(jnp.abs(A(x)) ** 2))
    close(energy(jnp.asarray(x)).ravel(), wanted, 1e-4)


@EVERY
def test_many_at_once_are_each_by_itself(A: LinearForward):
    x = jnp.asarray(values(A, 3))
    together = jax.jit(jax.vmap(A))(x)
    close(together, jnp.stack([A(one) for one in x]), 1e-5)
    y = jnp.asarray(measurements(A, 3))
    close(jax.jit(jax.vmap(A.H))(y), jnp.stack([A.H(one) for one in y]), 1e-5)


@pytest.mark.parametrize(
    "name", ["radon", "fan", "nearest", "A and A^T", "sparse matrix"]
)
def test_the_adjoint_has_a_derivative_too(name: str):
    A = INSTRUMENTS[name]
    x, y = jnp.asarray(values(A)), jnp.asarray(measurements(A))
    slope = jax.grad(lambda y: jnp.vdot(A.H(y), x))(y)
    np.testing.assert_allclose(slope, A(x), rtol=1e-5, atol=1e-5)


def test_the_norm_is_the_largest_singular_value():
    A = radon(ANGLES, 12)
    columns = [A(jnp.asarray(e.reshape(12, 12))) for e in np.eye(144, dtype=np.float32)]
    matrix = np.asarray(columns).reshape(144, -1)
    assert A.norm() == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-2)
