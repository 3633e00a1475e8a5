"""Steps without samples in empty space: colours and gradients are the plain ones."""

import jax
import jax.numpy as jnp
import numpy as np

from passband.forward.empty_space import Occupied
from passband.forward.packed import Skip, render_packed
from passband.forward.render import render

NEAR, FAR, SAMPLES, RAYS = jnp.float32(0.0), jnp.float32(1.0), 24, 40
ENDS = jnp.zeros(3), jnp.ones(3)
KEY = jax.random.key(3)


def ball(points, size=1.0):
    """Soft at its rim, and nothing around it."""
    far = jnp.linalg.norm(points - jnp.asarray([0.4, 0.5, 0.6]), axis=-1)
    return jax.nn.sigmoid(3 * points), 60 * size * jax.nn.relu(0.3 - far)


def rays():
    """Along the third axis, through all of the unit cube."""
    across = jax.random.uniform(jax.random.key(0), (RAYS, 2))
    o = jnp.concatenate([across, jnp.zeros((RAYS, 1))], axis=1)
    return o, jnp.tile(jnp.asarray([0.0, 0.0, 1.0]), (RAYS, 1))


def skipping(points: int) -> Skip:
    return Skip(*ENDS, None, points, 32).looked(ball)


def packed(skip, radiance=ball, key: jax.Array | None = KEY):
    return render_packed(skip, radiance, *rays(), NEAR, FAR, samples=SAMPLES, key=key)


def plain(radiance=ball):
    return render(radiance, *rays(), NEAR, FAR, samples=SAMPLES, key=KEY)


def test_rays_are_those_of_the_plain_renderer_by_fewer_points():
    skip = skipping(RAYS * SAMPLES // 3)
    seen, fits = packed(skip)
    assert np.asarray(fits).all()
    want = plain()
    assert want.opacity.max() > 0.9 and want.opacity.min() < 0.01
    for a, b in zip(seen, want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_step_has_the_rays_that_fit_and_no_others():
    skip, want = skipping(100), plain()
    asked = []

    def counted(points):
        asked.append(len(points))
        return ball(points)

    seen, fits = packed(skip, counted)
    fits = np.asarray(fits)
    count = int(fits.sum())
    assert asked == [100] and 4 < count < RAYS
    assert fits[:count].all() and not fits[count:].any()
    np.testing.assert_allclose(seen.colour[:count], want.colour[:count], atol=1e-6)


def test_gradients_are_those_of_the_plain_renderer():
    skip = skipping(RAYS * SAMPLES // 3)

    def loss(render):
        return lambda size: jnp.sum(
            render(lambda points: ball(points, size)).colour ** 2
        )

    found = jax.grad(loss(lambda radiance: packed(skip, radiance)[0]))(0.5)
    want = jax.grad(loss(plain))(0.5)
    assert abs(float(want)) > 0.1
    np.testing.assert_allclose(found, want, rtol=1e-5)


def test_before_a_look_nothing_is_left_out():
    nowhere = Skip(*ENDS, None, SAMPLES * 10, 32)
    seen, fits = packed(nowhere)
    assert np.asarray(fits).tolist() == [True] * 10 + [False] * (RAYS - 10)
    np.testing.assert_allclose(seen.colour[:10], plain().colour[:10], atol=1e-6)


def test_the_last_sample_is_always_asked_for():
    """It stands for all behind it: a trace of density there is a wall."""
    empty = Occupied(jnp.zeros((4, 4, 4), bool), *ENDS)
    seen, fits = packed(
        Skip(*ENDS, empty, RAYS, 4), lambda p: (0 * p, 0 * p[:, 0] + 1e-6), key=None
    )
    assert np.asarray(fits).all()
    np.testing.assert_allclose(seen.opacity, 1, atol=1e-6)
    np.testing.assert_allclose(seen.depth, FAR, atol=1e-6)


def test_a_cell_that_fills_is_found_again():
    skip = skipping(100)

    def elsewhere(points):
        return points, 1.0 * (points[:, 0] > 0.9)

    corner, middle = jnp.full((1, 3), 0.95), jnp.full((1, 3), 0.5)
    assert skip.occupied is not None and not skip.occupied(corner)[0]
    again = skip.looked(elsewhere).occupied
    assert again is not None and again(corner)[0] and not again(middle)[0]
