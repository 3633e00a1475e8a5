"""Shepp-Logan phantoms: the modified head, and the paper's random variations of it."""

import numpy as np
from jaxtyping import Float, Float32

from ..errors import InputError

# The head of Shepp and Logan (1974) with Toft's (1996) contrasts: grey value, half axes
# along x and y, centre x and y, angle in degrees; on [-1, 1]^2.
MODIFIED = np.array(
    [
        (1.0, 0.69, 0.92, 0.0, 0.0, 0),
        (-0.8, 0.6624, 0.874, 0.0, -0.0184, 0),
        (-0.2, 0.11, 0.31, 0.22, 0.0, -18),
        (-0.2, 0.16, 0.41, -0.22, 0.0, 18),
        (0.1, 0.21, 0.25, 0.0, 0.35, 0),
        (0.1, 0.046, 0.046, 0.0, 0.1, 0),
        (0.1, 0.046, 0.046, 0.0, -0.1, 0),
        (0.1, 0.046, 0.023, -0.08, -0.605, 0),
        (0.1, 0.023, 0.023, 0.0, -0.605, 0),
        (0.1, 0.023, 0.046, 0.06, -0.605, 0),
    ]
)
MODIFIED[:, 5] = np.deg2rad(MODIFIED[:, 5])
MODIFIED.flags.writeable = False
SPREAD = 0.05


def shepp_logan(
    side: int = 512, ellipses: Float[np.ndarray, "k 6"] = MODIFIED
) -> Float32[np.ndarray, "side side"]:
    """A sum of ellipses on `linspace(-1, 1, side)`, clipped to [0, 1].

    Row 0 is at y = -1, as phantominator has it. An ellipse covers the points with
    (u / a)^2 + (v / b)^2 <= 1, where u, v are along its own axes.
    """
    if side < 2:
        raise InputError(f"`side` (={side}) must be at least 2 pixels")
    x, y = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
    picture = np.zeros((side, side))
    for grey, a, b, xc, yc, angle in ellipses:
        c, s = np.cos(angle), np.sin(angle)
        u, v = (x - xc) * c + (y - yc) * s, (y - yc) * c - (x - xc) * s
        picture[(u / a) ** 2 + (v / b) ** 2 <= 1] += grey
    return np.clip(picture, 0, 1).astype(np.float32)


def paper_phantoms(
    side: int = 512, count: int = 16
) -> Float32[np.ndarray, "count side side"]:
    """The paper's phantoms, from the 2020 keys: eight for the sweep, eight to test.

    Each of the 60 numbers of the head is moved by N(0, 0.05^2) (protocol 6).
    """
    import jax

    pictures = []
    with jax.threefry_partitionable(False):
        key = jax.random.PRNGKey(10)
        for _ in range(count):
            key, own = jax.random.split(key)
            moved = SPREAD * np.asarray(jax.random.normal(own, MODIFIED.shape))
            pictures.append(shepp_logan(side, MODIFIED + moved))
    return np.stack(pictures)
