"""Operators of one's own: what is refused, and how JAX sees them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from passband.errors import InputError
from passband.forward.operator import Functions, linear, refined

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(7, 12))


def pair(**changed):
    given = {"A": lambda x: MATRIX @ np.asarray(x).ravel(), "shape": (3, 4),
             "adjoint": lambda y: (MATRIX.T @ np.asarray(y)).reshape(3, 4)}  # fmt: skip
    return linear(**given | changed)


class OnlyForth(LinearOperator):
    def _matvec(self, x):
        return MATRIX @ x


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: linear(MATRIX, (3, 5)), r"`shape` .* 15 points, and `A` 12 columns"),
        (lambda: linear(MATRIX, (3, 0)), "`shape`.*positive whole numbers"),
        (lambda: linear(MATRIX, (3, -4)), "`shape`.*positive whole numbers"),
        (lambda: linear(MATRIX[0]), r"`A` is an array of shape \(12,\)"),
        (lambda: linear("radon"), "`A` is a str"),
        (lambda: linear(np.full((2, 3), np.nan)), "`A` gives NaN"),
        (lambda: linear(scipy.sparse.eye_array(3) * np.inf), "`A` gives NaN"),
        (lambda: linear(np.diff), "`shape` is missing"),
        (lambda: linear(lambda x: np.diff(x), 5), "cannot be traced.*`adjoint`"),
        (lambda: linear(lambda x: x**2, 5), "`A` has no transpose.*not linear"),
        (lambda: linear(lambda x: x + 1, 5), "`A` is not linear: .* gives up to 1"),
        (lambda: linear(lambda x: (x, x), 5), "`A` gives a tuple"),
        (lambda: linear(OnlyForth(float, (7, 12))), "`A.rmatvec` fails.*NotImpl"),
        (lambda: pair(adjoint=lambda y: MATRIX.T @ np.asarray(y)),
         r"`adjoint` gives an array of shape \(12,\); it must be \(3, 4\)"),
        (lambda: pair(adjoint=lambda y: 1j * (np.asarray(y) @ MATRIX).reshape(3, 4)),
         "`adjoint` gives complex numbers of real measurements"),
        (lambda: pair(A=lambda x: 3 + MATRIX @ np.asarray(x).ravel()),
         "`A` is not linear: .* up to 3"),
        (lambda: pair(A=lambda x: np.asarray(x).ravel()[:7] / 0 * 0),
         "`A` gives NaN"),
        (lambda: pair(A=lambda x: np.asarray(x) @ MATRIX), "`A` fails.*ValueError"),
        (lambda: pair(A=lambda x: [str(v) for v in np.asarray(x)]), "array of numbers"),
        (lambda: pair(dtype=int), "`dtype`"),
        (lambda: linear(linear(MATRIX), (3, 4)), r"`shape` .* A's own, \(12,\)"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_wrong_is_told_in_one_line(make, message):
    with pytest.raises(InputError, match=message) as told:
        make()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda y: 1.01 * (MATRIX.T @ y).reshape(3, 4),  # off by a factor
        lambda y: np.roll((MATRIX.T @ y).reshape(3, 4), 1),  # by a pixel
        lambda y: (np.linalg.pinv(MATRIX) @ y).reshape(3, 4),  # the inverse
    ],
)
def test_a_wrong_adjoint_is_noticed(wrong):
    host = lambda y: wrong(np.asarray(y))  # noqa: E731
    with pytest.raises(InputError, match=r"<A x, y> = .* <x, A\^H y> = ") as told:
        pair(adjoint=host)
    forth, back = (float(w.split(",")[0]) for w in str(told.value).split(" = ")[1:]
                   for w in [w.split(" and")[0]])  # fmt: skip
    assert abs(forth - back) > 1e-3 * abs(forth)
    assert pair(adjoint=host, check=False).input_shape == (3, 4)


def test_an_adjoint_without_the_conjugate_is_noticed():
    forth = lambda x: np.fft.fft(np.asarray(x))  # noqa: E731
    with pytest.raises(InputError, match="not the adjoint"):
        linear(forth, 9, adjoint=lambda y: np.fft.fft(np.asarray(y)))
    linear(forth, 9, adjoint=lambda y: 9 * np.fft.ifft(np.asarray(y)))


def test_a_given_adjoint_goes_before_the_operators_own():
    A = linear(OnlyForth(float, (7, 12)), (3, 4),
               adjoint=lambda y: (MATRIX.T @ np.asarray(y)).reshape(3, 4))  # fmt: skip
    y = RNG.normal(size=7).astype(np.float32)
    np.testing.assert_allclose(A.H(jnp.asarray(y)).ravel(), y @ MATRIX, rtol=1e-5)


def test_the_host_is_given_the_dtype_it_asks_for_and_may_write_to_it():
    seen = []

    def forth(x):
        x = np.asarray(x)
        seen.append(x.dtype)
        x *= 2
        return x

    A = linear(forth, 4, adjoint=lambda y: 2 * np.asarray(y), dtype=np.float64)
    assert np.asarray(A(jnp.ones(4))).tolist() == [2.0] * 4
    assert {str(kind) for kind in seen} == {"float64"}


def test_functions_of_jax_do_not_go_through_the_host():
    A = linear(jnp.cumsum, 5, adjoint=lambda y: jnp.cumsum(y[::-1])[::-1])
    assert isinstance(A, Functions)
    assert "callback" not in str(jax.make_jaxpr(A)(jnp.ones(5)))
    assert "callback" in str(jax.make_jaxpr(pair())(jnp.ones((3, 4))))


def test_another_shape_is_refused_and_not_read_as_a_batch():
    for A in (pair(), linear(MATRIX, (3, 4)), linear(aslinearoperator(MATRIX), (3, 4))):
        with pytest.raises(InputError, match=r"shape \(12,\); it takes \(3, 4\)"):
            A(jnp.ones(12))


def test_a_coarser_grid_is_the_same_field():
    """Straight lines are the same on both grids, but past the last point."""
    eye = linear(np.eye(60), (6, 10))
    y, x = np.mgrid[:3, :5] * 2.0
    fine = np.asarray(refined(eye, (3, 5))(jnp.asarray(3 * y + x, jnp.float32)))
    fine = fine.reshape(6, 10)
    at, along = np.mgrid[:6, :10]
    np.testing.assert_allclose(fine[:5, :9], (3.0 * at + along)[:5, :9], rtol=1e-5)
    np.testing.assert_allclose(fine[5], fine[4])
    assert refined(eye, (6, 10)) is eye
