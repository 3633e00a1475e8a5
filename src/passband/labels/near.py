"""Labelled points near a surface, where inside and outside are hard to tell.

As in a `LabelPool`, points come from a key in integers, the same on every device, and a
label is one bit: a point of the surface, and an offset from it. Half of the offsets are
a thirtieth of the others, so that some points say where the surface is and others that
there is none close by.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from .occupancy import Labeller, Surface
from .pool import QUANTUM, hashed, labelled, seed_words, unpacked

SURFACE = 2**18
"""Points of the surface itself, the same for all meshes, so that their tasks stack."""
FAR = 6
"""A difference of two numbers of 16 bits, so many bits further left, has a standard
deviation of 0.1 on the lattice of the unit cube."""
CLOSER = 5
"""By so many bits half of the offsets are closer: 0.003."""
OTHER = 0x6E656172
"""Keeps these points apart from those of a `LabelPool` of the same seed."""


class NearPool(eqx.Module):
    """Labels of `blocks` x `block` points near a surface, one bit each."""

    bits: UInt8[Array, "*runs blocks bytes"]
    surface: Int[Array, "*runs n 3"]
    """Points of the surface, on the lattice."""
    seed: UInt32[Array, "*runs 2"]

    @property
    def blocks(self) -> int:
        return self.bits.shape[-2]

    @property
    def block(self) -> int:
        return 8 * self.bits.shape[-1]

    def batch(
        self, part: Int[Array, ""] | int, count: int
    ) -> tuple[Float[Array, "n 3"], Bool[Array, " n"]]:
        """The `part`th `count` points, a multiple of 8, and labels; when all were
        given, the first again."""
        parts = self.block // count
        block, part = jnp.divmod(jnp.asarray(part) % (self.blocks * parts), parts)
        index, which, labels = unpacked(self.bits, block, part, count)
        points = points_near(jnp, index, which, self.seed, jnp.asarray(self.surface))
        return points, labels


def make_near(
    mesh: Surface,
    *,
    seed: int,
    blocks: int,
    block: int,
    allow_open: bool = False,
) -> NearPool:
    """Label points near a normalised mesh."""
    words = seed_words(seed ^ OTHER)
    rng = np.random.default_rng([seed, OTHER])
    surface = on_surface(mesh.vertices, mesh.faces, SURFACE, rng)
    index = np.arange(block, dtype=np.uint32)

    def points(which: int) -> np.ndarray:
        return points_near(np, index, np.uint32(which), words, surface)

    bits = labelled(Labeller(mesh, allow_open=allow_open), points, blocks)
    return NearPool(jnp.asarray(bits), jnp.asarray(surface), jnp.asarray(words))


def on_surface(
    vertices: np.ndarray, faces: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    """Points (n, 3) of the lattice, uniform over the area of the faces."""
    a, b, c = np.moveaxis(vertices[faces].astype(np.float64), 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    which = np.searchsorted(np.cumsum(area), rng.random(n) * area.sum())
    a, b, c = (corner[np.minimum(which, len(area) - 1)] for corner in (a, b, c))
    root, along = np.sqrt(rng.random((n, 1))), rng.random((n, 1))
    points = (1 - root) * a + root * (1 - along) * b + root * along * c
    return np.round(points / QUANTUM).astype(np.int32)


def points_near(xp: Any, index: Any, block: Any, seed: Any, surface: Any):
    """Points (n, 3) float32 of a block, the same bits from NumPy and from JAX."""
    *words, last = hashed(index, block, seed)
    start = surface[(last >> 1) % np.uint32(surface.shape[0])]
    shift = np.int32(CLOSER) * (last & 1).astype(np.int32)
    columns = []
    for axis, word in enumerate(words):
        offset = (word >> 16).astype(np.int32) - (word & 0xFFFF).astype(np.int32)
        columns.append(start[:, axis] + ((offset << FAR) >> shift))
    return xp.stack(columns, axis=-1).astype(np.float32) * np.float32(QUANTUM)
