"""Empty space is skipped and nothing is lost: views are those of the plain renderer."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.forward.empty_space import (
    Occupied,
    box_of_views,
    occupied,
    render_rays_of,
    render_view_of,
)
from passband.forward.render import points_along, rays_of, render, render_view

NEAR, FAR = jnp.float32(2.0), jnp.float32(6.0)
LENS = jnp.asarray([30.0, 30.0, 9.5, 7.5])
SIZE = (16, 20)


def pose(angle: float) -> jax.Array:
    """A camera 4 away from 0, which it looks at."""
    c, s = np.cos(angle), np.sin(angle)
    back = np.array([s, 0, c])
    turn = np.stack([[c, 0, -s], [0, 1, 0], back], axis=1)
    return jnp.asarray(np.concatenate([turn, 4 * back[:, None]], axis=1), jnp.float32)


def balls(points: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Two balls that are soft at their rims, and nothing around them."""
    middles = jnp.asarray([[0.4, 0.1, 0.0], [-0.5, -0.2, 0.3]])
    far = jnp.linalg.norm(points[:, None] - middles, axis=-1)
    density = 40 * jnp.sum(jnp.maximum(0, 0.35 - far), axis=1)
    return jax.nn.sigmoid(3 * points), density


@pytest.mark.parametrize("angle", [0.0, 1.1])
def test_a_view_is_that_of_the_plain_renderer(angle):
    camera, counted = pose(angle), []

    def asked(points):
        counted.append(len(points))
        return balls(points)

    box = box_of_views(np.asarray(camera)[None], np.asarray(LENS)[None], SIZE, (2, 6))
    where = occupied(balls, *box, lattice=48)
    found = render_view_of(where, asked, camera, LENS, NEAR, FAR, size=SIZE, samples=64)
    want = render_view(balls, camera, LENS, NEAR, FAR, size=SIZE, samples=64)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert want.opacity.max() > 0.9  # there is something to see
    assert max(counted) <= 2**14 / 2  # of a part's samples


def test_rays_are_those_of_the_plain_renderer():
    o, d = rays_of(jnp.arange(50, 150), 20, pose(0.3), LENS, None)
    where = occupied(balls, np.full(3, -2.5), np.full(3, 2.5), lattice=64)
    found = render_rays_of(where, balls, o, d, NEAR, FAR, samples=48)
    want = render(balls, o, d, NEAR, FAR, samples=48)
    for a, b in zip(found, want, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert want.opacity.max() > 0.9


def test_a_thin_wall_beside_the_lattice_is_not_lost():
    where = occupied(
        lambda p: (p, 1.0 * (jnp.abs(p[:, 0] - 0.5) < 0.004)),
        np.zeros(3), np.ones(3), lattice=129,
    )  # fmt: skip
    inside = jnp.asarray([[0.497, 0.3, 0.2], [0.5035, 0.9, 0.9]])
    assert np.asarray(where(inside)).all()
    assert not where(jnp.asarray([[0.2, 0.5, 0.5]]))[0]


def test_what_lies_outside_the_box_is_asked_for():
    empty = Occupied(jnp.zeros((4, 4, 4), bool), jnp.zeros(3), jnp.ones(3))
    points = jnp.asarray([[0.5, 0.5, 0.5], [1.01, 0.5, 0.5], [0.5, -0.01, 0.5]])
    assert np.asarray(empty(points)).tolist() == [False, True, True]


def test_the_box_holds_every_sample():
    cameras = np.stack([np.asarray(pose(a)) for a in (0.0, 2.0)])
    low, high = box_of_views(cameras, np.tile(LENS, (2, 1)), SIZE, (2, 6))
    t = jnp.broadcast_to(jnp.linspace(2, 6, 5), (320, 5))
    for camera in cameras:
        o, d = rays_of(jnp.arange(320), 20, jnp.asarray(camera), LENS, None)
        points = np.asarray(points_along(o, d, t))
        assert (points >= low - 1e-5).all() and (points <= high + 1e-5).all()
