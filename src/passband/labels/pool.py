"""A pool of labelled points: the points come from a key, a label is one bit.

A block's points are a pure function of (seed, block, index), in integer arithmetic that
NumPy, XLA on a CPU and XLA on a GPU all carry out exactly. So a file of 8 MB holds 64 M
labelled points, and a machine without Embree can train from it.
"""

import contextlib
import json
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from passband.atomic_write import write_bytes
from passband.errors import InputError, one_line
from passband.file_gate import reader
from passband.json_text import from_json
from passband.labels.occupancy import Labeller, Surface, judge_open

FORMAT = "passband labels 1"
QUANTUM = 2.0**-24  # points lie on this lattice: float32's own step just below 1
BOX_MARGIN = 1e-3  # protocol 8
TEST_POINTS = 1 << 18
BOUNDARY_SPREAD = 0.01


class LabelPool(eqx.Module):
    """Labels of `blocks` x `block` points uniform in a box, one bit each.

    A block is what is labelled at once. Whoever draws from a pool sees one sequence of
    points, each block after the one before.
    """

    bits: UInt8[Array, "*runs blocks bytes"]
    low: Int[Array, "*runs 3"]
    span: UInt32[Array, "*runs 3"]
    seed: UInt32[Array, "*runs 2"]

    @property
    def blocks(self) -> int:
        return self.bits.shape[-2]

    @property
    def block(self) -> int:
        return 8 * self.bits.shape[-1]

    def batch(
        self,
        part: Int[Array, ""] | int,
        count: int | None = None,
    ) -> tuple[Float[Array, "n 3"], Bool[Array, " n"]]:
        """The `part`th `count` points, a block by default, and labels.

        Inside jit `part` may be traced; `count` is a multiple of 8, and need not divide
        a block: a part may begin in one and end in the next.
        """
        count = self.block if count is None else count
        index, block, labels = unpacked(self.bits, part, count)
        points = lattice_points(jnp, index, block, self.seed, self.low, self.span)
        return points, labels


def unpacked(
    bits: UInt8[Array, "blocks bytes"], part: Int[Array, ""] | int, count: int
) -> tuple[UInt32[Array, " n"], UInt32[Array, " n"], Bool[Array, " n"]]:
    """Of the `part`th `count` points each one's index in its block, the block, and the
    label."""
    start = jnp.asarray(part).astype(jnp.uint32) * np.uint32(count)
    flat = jnp.asarray(bits).reshape(-1)  # in a compiled program this moves nothing
    row = jax.lax.dynamic_slice(flat, (start // 8,), (count // 8,))
    labels = (row[:, None] >> jnp.arange(8, dtype=jnp.uint8)) & 1
    place = start + jnp.arange(count, dtype=jnp.uint32)
    block = np.uint32(8 * bits.shape[-1])
    return place % block, place // block, labels.reshape(-1).astype(bool)


class LabelledPoints(NamedTuple):
    points: np.ndarray
    """(n, 3) float32."""
    labels: np.ndarray
    """(n,) bool."""


class ShapeLabels(NamedTuple):
    """All that a shape is trained and tested on, in the unit cube of its mesh."""

    pool: LabelPool
    uniform: LabelledPoints
    boundary: LabelledPoints
    about: dict[str, Any]
    """`name`, `digest`, `method`, `undecided`, `odd_edges` of the labelled mesh."""


def make_labels(
    mesh: Surface,
    *,
    seed: int = 0,
    blocks: int = 2048,
    block: int = 32_768,
    test_points: int = TEST_POINTS,
    cache_dir: str | Path | None = None,
    allow_open: bool = False,
    embree: bool = True,
    on_block: Callable[[int], None] | None = None,
) -> ShapeLabels:
    """Label a pool and two test sets of a normalised mesh, or find them in the cache.

    Args:
        cache_dir: where the file of an earlier call is looked for and a new one kept.
        on_block: called after each block with the number done, for progress.
    """
    if blocks < 1 or block < 8 or block % 8:
        raise InputError(
            f"`blocks` (={blocks}) must be positive and `block` (={block}) a multiple "
            "of 8, since labels are packed in bytes"
        )
    path = None
    if cache_dir is not None:
        name = f"{mesh.digest[:16]}-{blocks}x{block}-{test_points}-{seed}.safetensors"
        path = Path(cache_dir) / name
        if os.path.isfile(path):
            # Damaged, it is made again; of an open mesh, it is refused again below.
            with contextlib.suppress(InputError):
                return load_labels(path, mesh=mesh, allow_open=allow_open)
    labeller = Labeller(mesh, allow_open=allow_open, embree=embree)
    labels = ShapeLabels(
        _fill_pool(mesh, labeller, seed, blocks, block, on_block),
        uniform_points(mesh, labeller, test_points, seed=seed),
        boundary_points(mesh, labeller, test_points, seed=seed),
        facts(mesh, labeller),
    )
    if path is not None:
        try:
            save_labels(labels, path)
        except InputError as error:  # it costs time, the next time
            warnings.warn(f"labels are not kept: {error}", stacklevel=2)
    return labels


def facts(mesh: Surface, labeller: Labeller) -> dict[str, Any]:
    """What a file of labels says of its mesh, and of how it was labelled."""
    return {
        "name": mesh.name,
        "digest": mesh.digest,
        "method": labeller.method,
        "undecided": labeller.undecided,
        "odd_edges": mesh.edges.odd,
    }


def uniform_points(
    mesh: Surface, labeller: Labeller, n: int = TEST_POINTS, *, seed: int = 0
) -> LabelledPoints:
    """The easy test set: uniform in the box of the mesh."""
    low, high = mesh.vertices.min(0) - BOX_MARGIN, mesh.vertices.max(0) + BOX_MARGIN
    points = np.random.default_rng([seed, 1]).uniform(low, high, (n, 3))
    points = points.astype(np.float32)
    return LabelledPoints(points, labeller.inside(points))


def boundary_points(
    mesh: Surface, labeller: Labeller, n: int = TEST_POINTS, *, seed: int = 0
) -> LabelledPoints:
    """The hard test set: points of random faces, moved by N(0, 0.01^2) along each axis.

    A face is drawn uniformly over faces, whatever its area, and the point uniformly on
    it (protocol 8; the paper's text says random vertices).
    """
    rng = np.random.default_rng([seed, 2])
    corners = mesh.vertices[mesh.faces[rng.integers(len(mesh.faces), size=n)]]
    root, along = np.sqrt(rng.random((n, 1))), rng.random((n, 1))
    a, b, c = np.moveaxis(corners, 1, 0)
    points = (1 - root) * a + root * (1 - along) * b + root * along * c
    points += rng.normal(scale=BOUNDARY_SPREAD, size=(n, 3))
    points = points.astype(np.float32)
    return LabelledPoints(points, labeller.inside(points))


def block_order(steps: int, blocks: int, *, seed: int) -> np.ndarray:
    """The block each step trains on: each block once a pass, in a new order."""
    rng = np.random.default_rng([seed, 3])
    passes = -(-steps // blocks)
    order = [rng.permutation(blocks) for _ in range(passes)]
    return np.concatenate([np.zeros(0, int), *order])[:steps].astype(np.int32)


def lattice_points(xp: Any, index: Any, block: Any, seed: Any, low: Any, span: Any):
    """Points (n, 3) float32 of a block, the same bits from NumPy and from JAX.

    Each coordinate is (low + floor(r span / 2^31)) 2^-24 with r a 31-bit hash of
    (index, block, seed): integers throughout, so that no fused multiply-add of one
    device or another can round a point differently.
    """
    words = hashed(index, block, seed)
    columns = []
    for axis, word in enumerate(words[:3]):
        # The top 31 bits of the 56-bit product, from 16-bit halves in 32-bit words.
        word = word >> 1
        word_high, word_low = word >> 16, word & 0xFFFF
        span_high, span_low = span[axis] >> 16, span[axis] & 0xFFFF
        middle = word_high * span_low + word_low * span_high
        middle = middle + ((word_low * span_low) >> 16)
        step = 2 * word_high * span_high + (middle >> 15)
        columns.append(low[axis] + step.astype(np.int32))
    return xp.stack(columns, axis=-1).astype(np.float32) * np.float32(QUANTUM)


def hashed(index: Any, block: Any, seed: Any) -> list[Any]:
    """Four random words for each point of a block."""
    return _pcg4d(index, *(part + 0 * index for part in (block, seed[0], seed[1])))


def _pcg4d(*words: Any) -> list[Any]:
    """Four well mixed 32-bit words from four (Jarzynski and Olano 2020, pcg4d).

    JAX's own generators promise no equal bits from one release to the next, and the
    bits of a stored pool must mean the same points for good.
    """
    x, y, z, w = (word * np.uint32(1664525) + np.uint32(1013904223) for word in words)
    for rounds in range(2):
        x = x + y * w
        y = y + z * x
        z = z + x * y
        w = w + y * z
        if rounds == 0:
            x, y, z, w = (word ^ (word >> 16) for word in (x, y, z, w))
    return [x, y, z, w]


def _fill_pool(
    mesh: Surface,
    labeller: Labeller,
    seed: int,
    blocks: int,
    block: int,
    on_block: Callable[[int], None] | None,
) -> LabelPool:
    low = np.floor((mesh.vertices.min(0) - BOX_MARGIN) / QUANTUM)
    high = np.ceil((mesh.vertices.max(0) + BOX_MARGIN) / QUANTUM)
    if low.min() < -(2**23) or high.max() > 2**25 or (high - low).max() >= 2**25:
        raise ValueError("`mesh` leaves the unit cube: normalise it first")
    low, span = low.astype(np.int32), (high - low).astype(np.uint32)
    words = seed_words(seed)
    index = np.arange(block, dtype=np.uint32)

    def points(which: int) -> np.ndarray:
        return lattice_points(np, index, np.uint32(which), words, low, span)

    bits = labelled(labeller, points, range(blocks), on_block)
    return LabelPool(*(jnp.asarray(part) for part in (bits, low, span, words)))


def labelled(
    labeller: Labeller,
    points: Callable[[int], np.ndarray],
    blocks: range,
    on_block: Callable[[int], None] | None = None,
) -> np.ndarray:
    """The labels of these blocks of points, a bit each: (blocks, points / 8)."""
    rows = []
    with ThreadPoolExecutor(labeller.workers) as pool:
        for inside in pool.map(
            lambda which: labeller.inside_chunk(points(which)), blocks
        ):
            rows.append(np.packbits(inside, bitorder="little"))
            if on_block is not None:
                on_block(blocks.start + len(rows))
    return np.stack(rows)


def seed_words(seed: int) -> np.ndarray:
    return np.array([seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF], np.uint32)


def save_labels(labels: ShapeLabels, path: str | Path) -> None:
    """Write one file, whole or not at all."""
    from safetensors.numpy import save

    pool = labels.pool
    arrays = {k: np.asarray(getattr(pool, k)) for k in ("bits", "low", "span", "seed")}
    for name in ("uniform", "boundary"):
        points = getattr(labels, name)
        arrays[f"{name}.points"] = points.points
        arrays[f"{name}.labels"] = points.labels.astype(np.uint8)
    data = save(arrays, {"format": FORMAT, "about": json.dumps(labels.about)})
    write_bytes(Path(path), data)


def load_labels(
    path: str | Path, *, mesh: Surface | None = None, allow_open: bool = False
) -> ShapeLabels:
    """Read a file of `save_labels`; with `mesh`, check that it belongs to it."""
    labels = _read_labels(path)
    about = labels.about
    if mesh is not None and about["digest"] != mesh.digest:
        raise InputError(
            f"`{path}` holds labels of another mesh (`{one_line(about['name'])}`) than "
            f"`{mesh.name}`; label this mesh, or give the file made from it"
        )
    if about["odd_edges"]:
        judge_open(about["name"], about["odd_edges"], about["undecided"], allow_open)
    return labels


@reader("a file that labelling left in the cache")
def _read_labels(path: Path) -> ShapeLabels:
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        header = file.metadata() or {}
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    if header.get("format") != FORMAT:
        raise ValueError(f"it says format `{header.get('format')}`, not `{FORMAT}`")
    about = facts_of(header["about"])
    _check_arrays(arrays)
    uniform, boundary = (
        LabelledPoints(arrays[f"{name}.points"], arrays[f"{name}.labels"].astype(bool))
        for name in ("uniform", "boundary")
    )
    parts = (jnp.asarray(arrays[name]) for name in ("bits", "low", "span", "seed"))
    return ShapeLabels(LabelPool(*parts), uniform, boundary, about)


def facts_of(text: str) -> dict[str, Any]:
    """The same from a file, each entry of its type."""
    about = from_json(text)
    kinds = {"name": str, "digest": str, "undecided": int | float, "odd_edges": int}
    for name, kind in kinds.items():
        if not isinstance(about[name], kind):
            raise ValueError(f"its `{name}` is {about[name]!r:.40}")
    return about


def _check_arrays(arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays that are not those of labels."""
    types = {"bits": (np.uint8, 2), "low": (np.int32, 1), "span": (np.uint32, 1),
             "seed": (np.uint32, 1)}  # fmt: skip
    for name in ("uniform", "boundary"):
        types |= {f"{name}.points": (np.float32, 2), f"{name}.labels": (np.uint8, 1)}
        if arrays[f"{name}.points"].shape != (len(arrays[f"{name}.labels"]), 3):
            raise ValueError(f"it has other points than labels in `{name}`")
    for name, (dtype, rank) in types.items():
        if arrays[name].dtype != dtype or arrays[name].ndim != rank:
            raise ValueError(f"`{name}` is {arrays[name].dtype} of rank {rank}")
    sizes = [len(arrays[name]) for name in ("low", "span", "seed")]
    if sizes != [3, 3, 2] or not arrays["bits"].size:
        raise ValueError(f"its box and seed have {sizes} numbers")
