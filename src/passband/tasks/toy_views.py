"""Photographs of the toy scene, taken by the renderer that fits them."""

import jax.numpy as jnp
import numpy as np

from ..data.toy_scene import FAR, NEAR, toy_cameras, toy_lens, toy_radiance
from ..forward.render import render_view
from .nerf import Views

FINE = 2
"""Rays a pixel along each axis: photographs average over their pixels."""


def toy_views(count: int, side: int, *, seed: int) -> Views:
    """`count` photographs of side x side pixels, on black."""
    lens = np.asarray(toy_lens(FINE * side), np.float32)
    pixels = []
    poses = toy_cameras(count, seed=seed).astype(np.float32)
    for pose in poses:
        seen = render_view(
            toy_radiance, jnp.asarray(pose), jnp.asarray(lens), NEAR, FAR,
            size=(FINE * side, FINE * side), samples=192,
        )  # fmt: skip
        fine = np.asarray(seen.colour).reshape(side, FINE, side, FINE, 3)
        mean = np.clip(fine.mean(axis=(1, 3)), 0, 1)
        pixels.append(np.rint(255 * mean).astype(np.uint8))
    lenses = np.tile(np.asarray(toy_lens(side), np.float32), (count, 1))
    return Views(jnp.asarray(np.stack(pixels)), jnp.asarray(poses), jnp.asarray(lenses))
