"""Labelled points near a surface, where inside and outside are hard to tell.

As in a `LabelPool`, points come from a key in integers, the same on every device, and a
label is one bit: a point of the surface, and an offset from it. Half of the offsets are
a thirtieth of the others, so that some points say where the surface is and others that
there is none close by.
"""

import contextlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from ..atomic_write import write_bytes
from ..errors import InputError
from ..file_gate import reader
from .occupancy import Labeller, Surface, judge_open
from .pool import QUANTUM, facts, facts_of, hashed, labelled, seed_words, unpacked

FORMAT = "passband near labels 1"
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
        part = jnp.asarray(part) % (self.blocks * self.block // count)
        index, block, labels = unpacked(self.bits, part, count)
        points = points_near(jnp, index, block, self.seed, jnp.asarray(self.surface))
        return points, labels


def make_near(
    mesh: Surface,
    *,
    seed: int,
    blocks: int,
    block: int,
    cache_dir: str | Path | None = None,
    allow_open: bool = False,
    on_block: Callable[[int], None] | None = None,
) -> NearPool:
    """Label points near a normalised mesh, or find them in the cache.

    More blocks begin with those of fewer, so a mesh has one file, which grows.

    Args:
        cache_dir: where the file of an earlier call is looked for and a new one kept.
        on_block: called after each block with the number done, for progress.
    """
    path = found = None
    if cache_dir is not None:
        name = f"{mesh.digest[:16]}-near-{block}-{seed}.safetensors"
        path = Path(cache_dir) / name
        found = _kept(path, mesh, seed, block)
    if found is None:
        rng = np.random.default_rng([seed, OTHER])
        surface = on_surface(mesh.vertices, mesh.faces, SURFACE, rng)
        bits = np.zeros((0, block // 8), np.uint8)
    else:
        (bits, surface), about = found
        if len(bits) >= blocks and about["odd_edges"]:
            judge_open(mesh.name, about["odd_edges"], about["undecided"], allow_open)
    words = seed_words(seed ^ OTHER)
    if len(bits) < blocks:
        labeller = Labeller(mesh, allow_open=allow_open)
        index = np.arange(block, dtype=np.uint32)

        def points(which: int) -> np.ndarray:
            return points_near(np, index, np.uint32(which), words, surface)

        more = labelled(labeller, points, range(len(bits), blocks), on_block)
        bits = np.concatenate([bits, more])
        if path is not None:
            _keep(path, bits, surface, words, facts(mesh, labeller))
    return NearPool(
        jnp.asarray(bits[:blocks]), jnp.asarray(surface), jnp.asarray(words)
    )


def _kept(
    path: Path, mesh: Surface, seed: int, block: int
) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, Any]] | None:
    """Bits and points of the surface that an earlier call left, and what it said of the
    mesh; None where there is no such file, or it is damaged or another mesh's."""
    if not os.path.isfile(path):
        return None
    with contextlib.suppress(InputError):
        bits, surface, words, about = _read_near(path)
        same = about["digest"] == mesh.digest and 8 * bits.shape[1] == block
        if same and np.array_equal(words, seed_words(seed ^ OTHER)):
            return (bits, surface), about
    return None


def _keep(
    path: Path,
    bits: np.ndarray,
    surface: np.ndarray,
    words: np.ndarray,
    about: dict[str, Any],
) -> None:
    """Write one file, whole or not at all."""
    from safetensors.numpy import save

    arrays = {"bits": bits, "surface": surface, "seed": words}
    data = save(arrays, {"format": FORMAT, "about": json.dumps(about)})
    try:
        write_bytes(path, data)
    except InputError as error:  # it costs time, the next time
        warnings.warn(f"labels are not kept: {error}", stacklevel=3)


@reader("a file that labelling left in the cache")
def _read_near(
    path: Path,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    """Bits, points of the surface, seed, and what is said of the mesh."""
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        header = file.metadata() or {}
        bits, surface, words = (
            file.get_tensor(name) for name in ("bits", "surface", "seed")
        )
    if header.get("format") != FORMAT:
        raise ValueError(f"it says format `{header.get('format')}`, not `{FORMAT}`")
    if bits.dtype != np.uint8 or bits.ndim != 2 or words.dtype != np.uint32:
        raise ValueError(f"`bits` is {bits.dtype} of rank {bits.ndim}")
    if surface.dtype != np.int32 or surface.shape != (SURFACE, 3):
        raise ValueError(f"`surface` is {surface.dtype} of shape {surface.shape}")
    return bits, surface, words, facts_of(header["about"])


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
