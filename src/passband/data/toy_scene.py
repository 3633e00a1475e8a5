"""A scene in closed form: coloured stripes on a ball, a chequered slab and a ring.

It stands in for photographs: colour and density at any point, and cameras about it in
the units of the paper's own scene (4 from the origin, near 2, far 6).
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .cameras import look_at

NEAR, FAR, DISTANCE = 2.0, 6.0, 4.0
ANGLE = 0.6911112070083618
"""Horizontal field of view in radians, that of the paper's scene."""


def toy_radiance(
    points: Float[Array, "n 3"],
) -> tuple[Float[Array, "n 3"], Float[Array, " n"]]:
    """Colour in [0, 1] and density at points."""
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    ball = 0.6 - jnp.sqrt(x * x + y * y + (z - 0.15) ** 2 + 1e-12)
    slab = 0.12 - jnp.maximum(jnp.abs(z + 0.6), jnp.maximum(abs(x), abs(y)) - 0.65)
    round_ = jnp.sqrt(x * x + y * y + 1e-12) - 0.95
    ring = 0.12 - jnp.sqrt(round_**2 + (z - 0.15) ** 2 + 1e-12)
    inside = jnp.stack([ball, slab, ring])
    stripes = _wave(9 * z + 2 * jnp.arctan2(y, x + 1e-9) / math.pi)
    squares = _wave(2.5 * x) * _wave(2.5 * y)
    beads = _wave(6 * jnp.arctan2(y, x + 1e-9) / math.pi)
    colours = jnp.stack(
        [
            _between(stripes, (0.95, 0.75, 0.10), (0.15, 0.20, 0.60)),
            _between(squares, (0.95, 0.95, 0.95), (0.25, 0.10, 0.10)),
            _between(beads, (0.85, 0.15, 0.15), (0.10, 0.70, 0.35)),
        ]
    )
    share = jax.nn.softmax(60 * inside, axis=0)
    colour = jnp.sum(share[..., None] * colours, axis=0)
    return colour, 40 * jax.nn.sigmoid(60 * jnp.max(inside, axis=0))


def toy_cameras(count: int, *, seed: int) -> Float[np.ndarray, "count 3 4"]:
    """Poses on the upper half of a sphere about the scene, looking at it."""
    random = np.random.default_rng(seed)
    turn = 2 * math.pi * (np.arange(count) + random.random(count)) / count
    # Even shares of the sphere's area from 6 to 64 degrees up, in random order.
    height = 0.1 + 0.8 * (random.permutation(count) + 0.5) / count
    level = np.sqrt(1 - height**2)
    eyes = np.stack([level * np.cos(turn), level * np.sin(turn), height], axis=1)
    up, middle = np.array([0.0, 0.0, 1.0]), np.zeros(3)
    return np.stack([look_at(DISTANCE * eye, middle, up) for eye in eyes])


def toy_lens(side: int) -> Float[np.ndarray, "4"]:
    """The lens of square pictures, the centre on a pixel's corner."""
    focal = side / 2 / math.tan(ANGLE / 2)
    return np.array([focal, focal, (side - 1) / 2, (side - 1) / 2])


def _wave(turns: Array) -> Array:
    """+1 and -1 in turn, with soft edges."""
    return jnp.tanh(4 * jnp.sin(math.pi * turns))


def _between(wave: Array, first: tuple[float, ...], second: tuple[float, ...]) -> Array:
    share = 0.5 + 0.5 * wave[:, None]
    return share * jnp.asarray(first) + (1 - share) * jnp.asarray(second)
