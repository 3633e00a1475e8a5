"""The classical reconstructions, against scikit-image and closed forms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.linalg import lsqr
from skimage.restoration import denoise_tv_chambolle
from skimage.transform import iradon

from passband.data.phantoms import shepp_logan
from passband.errors import InputError
from passband.forward.linear import LinearForward
from passband.forward.operator import linear
from passband.forward.radon import radon
from passband.reconstruct.backprojection import filtered_backprojection
from passband.reconstruct.free_grid import free_grid
from passband.reconstruct.least_squares import least_squares
from passband.reconstruct.sart import sart
from passband.reconstruct.total_variation import (
    chosen_total_variation,
    total_variation,
)
from passband.tasks.ct import CTTask
from passband.tasks.primal_dual import gradient, gradient_adjoint

SIDE, ANGLES = 32, np.arange(16) * 11.25
A = radon(ANGLES, SIDE, pixel=1 / SIDE)


class Identity(LinearForward):
    shape: tuple[int, ...] = eqx.field(static=True)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self.shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.shape

    def __call__(self, values):
        return values


@pytest.fixture(scope="module")
def head() -> np.ndarray:
    return shepp_logan(SIDE)


@pytest.fixture(scope="module")
def noisy(head) -> jax.Array:
    clean = np.asarray(A(jnp.asarray(head)))
    noise = np.random.default_rng(0).normal(size=clean.shape)
    return jnp.asarray(clean + 0.05 * clean.max() * noise, jnp.float32)


@pytest.fixture(scope="module")
def train_mask() -> jax.Array:
    return jnp.asarray(np.random.default_rng(1).random(A.output_shape) > 0.1)


def error(values, truth) -> float:
    return float(np.linalg.norm(np.asarray(values) - truth))


def test_backprojection_is_that_of_scikit_image(head, noisy):
    ours = np.asarray(filtered_backprojection(A, noisy))
    theirs = iradon(np.asarray(noisy).T * SIDE, theta=ANGLES, circle=True)
    rows, columns = np.mgrid[:SIDE, :SIDE] - SIDE // 2
    inside = np.hypot(rows, columns) < 0.42 * SIDE  # they cut their rims differently
    np.testing.assert_allclose(ours[inside], theirs[inside], atol=5e-3)
    hann = filtered_backprojection(A, noisy, window="hann")
    theirs = iradon(
        np.asarray(noisy).T * SIDE, theta=ANGLES, circle=True, filter_name="hann"
    )
    np.testing.assert_allclose(np.asarray(hann)[inside], theirs[inside], atol=5e-3)


def test_views_of_a_whole_turn_count_half_each(head, noisy):
    twice = radon(np.concatenate([ANGLES, ANGLES + 360]), SIDE, pixel=1 / SIDE)
    again = filtered_backprojection(twice, jnp.concatenate([noisy, noisy]))
    once = np.asarray(filtered_backprojection(A, noisy))
    np.testing.assert_allclose(again, once, atol=1e-4)


def test_the_gradient_has_its_transpose():
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, 5, 6)), jnp.float32)
    p = jnp.asarray(rng.normal(size=(3, 4, 5, 6)), jnp.float32)
    forth = jax.jit(lambda x: jnp.vdot(gradient(x), p))(x)
    back = jax.jit(lambda p: jnp.vdot(x, gradient_adjoint(p)))(p)
    np.testing.assert_allclose(forth, back, rtol=1e-4)


def test_seen_directly_it_is_the_denoising_of_scikit_image():
    rng = np.random.default_rng(0)
    noisy = (np.eye(24) + 0.2 * rng.normal(size=(24, 24))).astype(np.float32)
    theirs = denoise_tv_chambolle(noisy, weight=0.05, eps=1e-9, max_num_iter=3000)
    ours = total_variation(
        Identity((24, 24)), jnp.asarray(noisy), weight=0.05, iterations=2000, low=-9.0
    )
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


def test_the_chosen_weight_is_the_largest_of_the_best(head, noisy, train_mask):
    found = chosen_total_variation(A, noisy, train_mask, search=80)
    errors, lowest = list(found.errors.values()), min(found.errors.values())
    assert lowest < min(errors[0], errors[-1])
    near = lowest * (1 + 1 / np.sqrt(2 * np.sum(~np.asarray(train_mask))))
    assert found.errors[found.weight] <= near
    assert all(e > near for w, e in found.errors.items() if w > found.weight)
    assert found.values.min() >= 0
    assert error(found.values, head) < 0.8 * error(
        filtered_backprojection(A, noisy), head
    )


def test_sart_stops_where_held_out_rays_are_best(head, noisy, train_mask):
    found = sart(A, noisy, train_mask)
    assert found.errors[found.sweeps - 1] == min(found.errors)
    assert len(found.errors) == 20 and found.values.min() >= 0
    assert error(found.values, head) < error(filtered_backprojection(A, noisy), head)


def test_sart_without_noise_comes_to_fit_every_ray(head):
    clean = A(jnp.asarray(head))
    values = sart(A, clean, sweeps=60).values
    assert error(A(jnp.asarray(values)), clean) < 0.02 * float(jnp.linalg.norm(clean))


def test_a_free_grid_fits_what_it_sees(head, noisy, train_mask):
    values = free_grid(CTTask(A, noisy, train_mask, SIDE), steps=300)
    off = jnp.where(train_mask, A(values) - noisy, 0)
    assert float(jnp.linalg.norm(off)) < 0.15 * float(jnp.linalg.norm(noisy))
    assert float(values.min()) >= 0 and float(values.max()) <= 1


def test_a_negative_weight_is_refused():
    with pytest.raises(InputError, match=r"`weight` \(=-1\)"):
        total_variation(Identity((4, 4)), jnp.ones((4, 4)), weight=-1, iterations=2)


def test_least_squares_is_that_of_scipy():
    """As LSQR, iteration by iteration; stopped where it predicts best."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 20))
    y = A @ rng.normal(size=20) + 0.5 * rng.normal(size=30)
    forward, seen = linear(A, (4, 5)), jnp.asarray(y, jnp.float32)
    for k in (1, 3, 8):
        wanted = lsqr(A, y, iter_lim=k)[0].reshape(4, 5)
        found = least_squares(forward, seen, iterations=k).values
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    train = rng.random(30) < 0.8
    best = least_squares(
        forward, seen, jnp.asarray(train), jnp.asarray(~train), iterations=12
    )
    rows, held = A[train], A[~train]
    errors = [np.linalg.norm(held @ lsqr(rows, y[train], iter_lim=k)[0] - y[~train])
              for k in range(1, 13)]  # fmt: skip
    np.testing.assert_allclose(
        best.errors, np.array(errors) / np.linalg.norm(y[~train]), rtol=1e-2
    )
    assert best.iterations == 1 + int(np.argmin(best.errors))
