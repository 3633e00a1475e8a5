"""The volume renderer against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.forward.render import (
    BEHIND,
    composite,
    depths,
    on_background,
    ray,
    render,
    render_view,
)

one_ray = jax.jit(composite)
RED = jnp.array([0.9, 0.2, 0.1])
EYE = jnp.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 4]])


def constant(density: float):
    return lambda points: (
        jnp.broadcast_to(RED, points.shape),
        jnp.full(points.shape[0], density),
    )


def rendered(radiance, samples: int):
    """A ray from (0, 0, 4) down the z axis."""
    origin, direction = EYE[None, :, 3], -EYE[None, :, 2]
    return jax.jit(lambda o, d: render(radiance, o, d, 2.0, 6.0, samples=samples))(
        origin, direction
    )


@pytest.mark.parametrize("density", [0.01, 0.5, 3.0])
def test_constant_density_absorbs_exponentially(density: float):
    # Without what lies behind the last sample: opacity 1 - exp(-sigma length).
    t = np.linspace(2, 6, 64, dtype=np.float32)
    values = np.append(np.full(63, density), 0).astype(np.float32)
    seen = one_ray(jnp.tile(RED, (64, 1)), jnp.asarray(values), jnp.asarray(t))
    opacity = 1 - np.exp(-density * 4)
    assert float(seen.opacity) == pytest.approx(opacity, rel=1e-5)
    np.testing.assert_allclose(seen.colour, opacity * RED, rtol=1e-5)
    # The quadrature holds colour and depth constant between samples.
    cells = np.exp(-density * (t[:-1] - 2))
    weights = cells * (1 - np.exp(-density * 4 / 63))
    assert float(seen.depth) == pytest.approx((weights * t[:-1]).sum(), rel=1e-4)


def test_what_lies_behind_the_last_sample_is_all_there_is():
    seen = rendered(constant(1e-6), 16)
    assert float(seen.opacity[0]) == pytest.approx(1.0)
    assert float(seen.depth[0]) == pytest.approx(6.0, rel=1e-4)
    assert BEHIND * 1e-6 > 100


def test_a_thin_slab_lets_its_share_through():
    def slab(points):
        inside = jnp.abs(points[:, 2]) < 0.05
        return jnp.broadcast_to(RED, points.shape), jnp.where(inside, 7.0, 0.0)

    seen = rendered(slab, 2001)
    assert float(seen.opacity[0]) == pytest.approx(1 - np.exp(-0.7), rel=0.02)
    mean = float(seen.depth[0] / seen.opacity[0])
    # Mean depth of exponential absorption over 0.1.
    share = 0.1 * np.exp(-0.7) / (1 - np.exp(-0.7))
    assert mean == pytest.approx(3.95 + 1 / 7 - share, abs=1e-3)


def test_a_hard_sphere_is_seen_where_it_is():
    def sphere(points):
        inside = jnp.linalg.norm(points, axis=1) < 1
        return jnp.broadcast_to(RED, points.shape), jnp.where(inside, 1e4, 0.0)

    lens = jnp.array([30.0, 30.0, 12.0, 12.0])
    seen = render_view(sphere, EYE, lens, 2.0, 6.0, size=(25, 25), samples=257)
    y, x = np.mgrid[-12:13, -12:13] / 30.0
    length = np.sqrt(x**2 + y**2 + 1)
    # The ray (x, y, -1) / length from distance 4 passes the centre at 4 sin(angle).
    miss = 4 * np.sqrt(1 - 1 / length**2)
    np.testing.assert_array_equal(
        np.asarray(seen.opacity)[np.abs(miss - 1) > 0.02] > 0.5,
        (miss < 1)[np.abs(miss - 1) > 0.02],
    )
    hit = miss < 0.95
    first = (
        4 / length - np.sqrt(1 - miss**2, where=hit, out=np.zeros_like(x))
    ) / length
    step = 4 / 256
    late = (np.asarray(seen.depth) - first)[hit]
    assert late.min() > -1e-4 and late.max() < step + 1e-4
    red = np.broadcast_to(RED, (hit.sum(), 3))
    np.testing.assert_allclose(np.asarray(seen.colour)[hit], red, atol=1e-5)


def test_energy_is_conserved():
    """Weights are a partition of what comes: none negative, none lost or made."""
    random = np.random.default_rng(0)
    density = jnp.asarray(random.exponential(3, (50, 40)), jnp.float32)
    t = jnp.sort(jnp.asarray(random.uniform(2, 6, (50, 40)), jnp.float32), axis=1)
    seen = jax.vmap(composite)(jnp.ones((50, 40, 3)), density, t)
    assert float(seen.opacity.max()) <= 1 + 1e-6
    np.testing.assert_allclose(seen.colour[:, 1], seen.opacity, rtol=1e-6)
    white = on_background(seen, jnp.ones(3))
    np.testing.assert_allclose(white, 1.0, atol=1e-6)


def test_transmittance_equals_the_notebooks_product():
    """cumprod(1 - alpha), in float64, where it does not underflow."""
    random = np.random.default_rng(1)
    density = random.exponential(2, 64)
    colour, t = random.random((64, 3)), np.sort(random.uniform(2, 6, 64))
    alpha = 1 - np.exp(-density * np.append(np.diff(t), BEHIND))
    weight = alpha * np.cumprod(np.append(1.0, 1 - alpha[:-1]))
    seen = one_ray(*(jnp.asarray(x, jnp.float32) for x in (colour, density, t)))
    np.testing.assert_allclose(seen.colour, weight @ colour, rtol=1e-5)
    assert float(seen.depth) == pytest.approx(weight @ t, rel=1e-5)


@pytest.mark.parametrize("density", [0.0, 1e-20, 1.0, 1e6, 1e30])
def test_gradients_are_finite(density: float):
    def out(x):
        seen = composite(jnp.full((16, 3), 0.5), x, depths(2.0, 6.0, 16))
        return seen.colour.sum() + seen.depth + seen.opacity

    slope = jax.jit(jax.grad(out))
    values = np.full(16, density, np.float32)
    assert np.isfinite(slope(values)).all()
    values[::2] = 0
    assert np.isfinite(slope(values)).all()


def test_gradient_of_a_density_is_that_of_finite_differences():
    random = np.random.default_rng(2)
    colour, density = random.random((8, 3)), random.exponential(1, 8)
    t = np.linspace(2, 6, 8)

    def out(x):
        return composite(jnp.asarray(colour), x, jnp.asarray(t))

    with jax.enable_x64(True):
        slopes = np.asarray(jax.jit(jax.jacobian(lambda x: out(x).colour))(density))
        colours = jax.jit(lambda x: out(x).colour)
        for k in range(7):
            step = 1e-6 * np.eye(8)[k]
            change = (colours(density + step) - colours(density - step)) / 2e-6
            np.testing.assert_allclose(slopes[:, k], change, atol=1e-8)


def test_jitter_stays_in_its_stratum():
    jitter = jax.random.uniform(jax.random.key(0), (200, 32))
    t = np.asarray(depths(2.0, 6.0, 32, jitter))
    ends = np.linspace(2, 6, 32)
    assert (t >= ends - 1e-6).all() and (t < ends + 4 / 32 + 1e-6).all()
    assert (np.diff(t, axis=1) > 0).all()
    np.testing.assert_allclose(t.mean(axis=0), ends + 2 / 32, atol=0.02)


def test_a_ray_goes_through_its_pixel():
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    pose = np.column_stack([turn, [1.0, 2.0, 3.0]])
    lens = np.array([50.0, 40.0, 16.0, 12.0])
    o, d = ray(jnp.asarray(pose), jnp.asarray(lens), jnp.array([20.0, 5.0]))
    np.testing.assert_allclose(o, [1, 2, 3])
    x, y, z = turn.T @ np.asarray(d)  # back into the camera, which looks along -z
    assert z == pytest.approx(-1)
    assert 50 * x + 16 == pytest.approx(20, abs=1e-4)
    assert -40 * y + 12 == pytest.approx(5, abs=1e-4)


def test_a_view_is_its_rays_whatever_the_parts():
    """More rays than one part takes, and not a multiple of it."""
    lens = jnp.array([30.0, 30.0, 20.0, 8.0])
    seen = render_view(constant(0.3), EYE, lens, 2.0, 6.0, size=(17, 41), samples=64)
    assert seen.colour.shape == (17, 41, 3) and seen.depth.shape == (17, 41)
    pixel = jnp.array([37.0, 15.0])
    o, d = ray(EYE, lens, pixel)
    one = render(constant(0.3), o[None], d[None], 2.0, 6.0, samples=64)
    np.testing.assert_allclose(seen.depth[15, 37], one.depth[0], rtol=1e-6)
