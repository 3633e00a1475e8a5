"""The pool of labelled points: its points, its bits, its file."""

import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.meshes import Mesh, bounding_box, make_mesh, normalise
from passband.data.primitives import sphere, torus
from passband.errors import InputError
from passband.labels.occupancy import Labeller
from passband.labels.pool import (
    LabelPool,
    block_order,
    boundary_points,
    lattice_points,
    load_labels,
    make_labels,
)

MESH, _ = normalise(torus(ring=32, tube=16).mesh)
SIZES: dict[str, Any] = {"blocks": 6, "block": 4096, "test_points": 2048}


def _numpy_points(pool: LabelPool, block: int) -> np.ndarray:
    seed, low, span = (np.asarray(x) for x in (pool.seed, pool.low, pool.span))
    index = np.arange(pool.block, dtype=np.uint32)
    return lattice_points(np, index, np.uint32(block), seed, low, span)


def test_points_have_the_same_bits_from_numpy_and_xla() -> None:
    pool = make_labels(MESH, seed=2**40 + 5, **SIZES).pool
    for block in (0, 5):
        compiled, _ = jax.jit(LabelPool.batch)(pool, block)
        np.testing.assert_array_equal(compiled, pool.batch(block)[0])
        np.testing.assert_array_equal(compiled, _numpy_points(pool, block))
    assert compiled.dtype == jnp.float32


def test_points_never_change() -> None:
    # The bits of stored pools mean these points; arithmetic in Python's own integers.
    low, span = [-16_000, 3_000_000, 8_000_000], [16_800_000, 9_000_001, 4_097]
    seed, block, index = (7, 11), 1234, 31_415
    x, y, z, w = (
        (v * 1664525 + 1013904223) % 2**32 for v in (index, block, seed[0], seed[1])
    )
    for last in (False, True):
        x = (x + y * w) % 2**32
        y = (y + z * x) % 2**32
        z = (z + x * y) % 2**32
        w = (w + y * z) % 2**32
        if not last:
            x, y, z, w = (v ^ v >> 16 for v in (x, y, z, w))
    words = [v >> 1 for v in (x, y, z)]
    expected = [a + (r * s >> 31) for a, r, s in zip(low, words, span, strict=True)]
    points = lattice_points(
        np,
        np.array([index], np.uint32),
        np.uint32(block),
        np.array(seed, np.uint32),
        np.array(low, np.int32),
        np.array(span, np.uint32),
    )
    np.testing.assert_array_equal(points[0], np.array(expected) * 2.0**-24)
    np.testing.assert_array_equal(points[0] * 2**24, [10953923, 11949816, 8002096])


def test_points_are_uniform_and_independent() -> None:
    pool = make_labels(MESH, seed=3, blocks=16, block=32_768, test_points=8).pool
    points = np.concatenate([_numpy_points(pool, block) for block in range(16)])
    low, high = bounding_box(MESH)
    unit = (points - low) / (high - low)
    assert unit.min() >= -1e-6
    assert unit.max() < 1 + 1e-6
    assert len(np.unique(points, axis=0)) == len(points)
    # 16^3 cells hold 128 points each; chi-square of 4095 degrees, six deviations wide.
    counts, _ = np.histogramdd(unit, bins=16, range=[(0, 1)] * 3)
    chi = ((counts - 128) ** 2 / 128).sum()
    assert abs(chi - 4095) < 6 * np.sqrt(2 * 4095)
    # A point and the next one, and a block and the next one, are not correlated.
    n = len(points)
    steps = np.concatenate([unit[1:], unit[:1]], axis=0)
    blocks = np.roll(unit, 32_768, axis=0)
    for other in (steps, blocks):
        mixed = np.corrcoef(unit.T, other.T)[:3, 3:]
        assert np.abs(mixed).max() < 6 / np.sqrt(n)


def test_labels_are_those_of_the_points() -> None:
    labels = make_labels(MESH, **SIZES)
    labeller = Labeller(MESH, embree=False, cells=False)
    for block in range(6):
        points, inside = jax.jit(LabelPool.batch)(labels.pool, jnp.int32(block))
        np.testing.assert_array_equal(inside, labeller.inside(np.asarray(points)))
    for points, inside in (labels.uniform, labels.boundary):
        np.testing.assert_array_equal(inside, labeller.inside(points))
    # The share inside is the volume over the box.
    low, high = bounding_box(MESH)
    share = MESH.volumes[0] / np.prod(high - low)
    n = 6 * 4096
    found = np.unpackbits(np.asarray(labels.pool.bits)).mean()
    assert abs(found - share) < 5 * np.sqrt(share / n)


def test_pools_of_several_meshes_stack() -> None:
    other, _ = normalise(sphere(2).mesh)
    pools = [make_labels(mesh, **SIZES).pool for mesh in (MESH, other)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *pools)
    for count in (4096, 3000):  # parts of 3000 run over the ends of blocks
        batch = jax.vmap(functools.partial(LabelPool.batch, count=count))
        parts = jnp.array([4, 1])
        points, inside = jax.jit(batch)(stacked, parts)
        for run, pool in enumerate(pools):
            alone = pool.batch(int(parts[run]), count)
            np.testing.assert_array_equal(points[run], alone[0])
            np.testing.assert_array_equal(inside[run], alone[1])


@pytest.mark.parametrize("count", [4096, 1024, 8])
def test_parts_that_divide_a_block_are_what_they_were(count: int) -> None:
    # The runs of the paper and of earlier versions: a block, and a part of its own row.
    pool = make_labels(MESH, seed=9, **SIZES).pool
    bits = np.asarray(pool.bits)
    each = pool.block // count
    for part in (0, 1, each, 5 * each, 6 * each - 1):
        block, within = divmod(part, each)
        row = bits[block, within * count // 8 : (within + 1) * count // 8]
        expected = np.unpackbits(row, bitorder="little").astype(bool)
        points, inside = pool.batch(part, count)
        start = within * count
        np.testing.assert_array_equal(
            points, _numpy_points(pool, block)[start : start + count]
        )
        np.testing.assert_array_equal(inside, expected)


def test_parts_of_any_size_are_one_sequence_of_all_points() -> None:
    pool = make_labels(MESH, **SIZES).pool
    points = np.concatenate([_numpy_points(pool, block) for block in range(6)])
    inside = np.unpackbits(np.asarray(pool.bits), bitorder="little").astype(bool)
    for count in (3000, 4104, 10_000):
        batch = jax.jit(functools.partial(LabelPool.batch, count=count))
        seen = [batch(pool, jnp.int32(k)) for k in range(6 * 4096 // count)]
        drawn = len(seen) * count
        assert 6 * 4096 - drawn < count
        np.testing.assert_array_equal(np.concatenate([p for p, _ in seen]),
                                      points[:drawn])  # fmt: skip
        np.testing.assert_array_equal(np.concatenate([y for _, y in seen]),
                                      inside[:drawn])  # fmt: skip


def test_the_last_of_67_million_points_are_found() -> None:
    # Places near 2^26, and parts whose number times their size is there.
    bits = np.random.default_rng(0).integers(0, 256, (2048, 4096), dtype=np.uint8)
    box = np.zeros(3, np.int32), np.full(3, 2**24, np.uint32)
    parts = (bits, *box, np.zeros(2, np.uint32))
    pool = LabelPool(*(jnp.asarray(part) for part in parts))
    for count in (8, 19_664):
        last = 2**26 // count - 1
        points, inside = jax.jit(functools.partial(LabelPool.batch, count=count))(
            pool, jnp.int32(last)
        )
        place = np.arange(last * count, (last + 1) * count)
        expected = bits[place >> 15, (place & 32_767) >> 3] >> (place & 7) & 1
        np.testing.assert_array_equal(inside, expected.astype(bool))
        block = _numpy_points(pool, int(place[-1] >> 15))
        np.testing.assert_array_equal(points[-1], block[place[-1] & 32_767])


def test_a_step_does_not_copy_the_bits() -> None:
    bits = np.zeros((2, 2048, 4096), np.uint8)
    rest = np.zeros((2, 3), np.int32), np.ones((2, 3), np.uint32)
    pools = LabelPool(*map(jnp.asarray, (bits, *rest, np.zeros((2, 2), np.uint32))))

    def total(pools: LabelPool, parts: jax.Array) -> jax.Array:
        batch = jax.vmap(functools.partial(LabelPool.batch, count=1_000))

        def step(seen: jax.Array, part: jax.Array):
            return seen + batch(pools, part)[1].sum(), None

        return jax.lax.scan(step, jnp.int32(0), parts)[0]

    parts = jnp.zeros((50, 2), jnp.int32)
    found = jax.jit(total).lower(pools, parts).compile().memory_analysis()
    assert found is not None
    assert found.temp_size_in_bytes < bits.nbytes / 8


def test_boundary_points_draw_faces_not_areas() -> None:
    # One half of the faces covers little of the surface; it gets half of the points.
    tall = make_mesh(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -0.05]]),
        np.array([[0, 1, 3], [1, 2, 3], [2, 0, 3], [1, 0, 4], [2, 1, 4], [0, 2, 4]]),
    )
    mesh, placement = normalise(tall)
    points, _ = boundary_points(mesh, Labeller(mesh), 60_000)
    lower = placement.to_original(points)[:, 2]
    # Means of the two halves: a uniform point of a triangle has z = 1/3 of its apex.
    assert lower.mean() == pytest.approx((1 - 0.05) / 6, abs=0.005)
    inner, _ = normalise(sphere(4).mesh)
    points, inside = boundary_points(inner, Labeller(inner), 60_000)
    radial = np.linalg.norm(points - 0.5, axis=1) - 0.5
    assert radial.std() == pytest.approx(0.01, rel=0.03)
    assert inside.mean() == pytest.approx(0.5, abs=0.03)


def test_order_visits_every_block_once_a_pass() -> None:
    order = block_order(10, 4, seed=0)
    assert order.dtype == np.int32
    assert sorted(order[:4]) == sorted(order[4:8]) == [0, 1, 2, 3]
    passes = block_order(2048 * 4, 2048, seed=0).reshape(4, 2048)
    assert (passes[0] != passes[1]).mean() > 0.9
    assert len(block_order(0, 4, seed=0)) == 0


def test_cache_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_labels(MESH, cache_dir=tmp_path, **SIZES)

    def never(*args: object, **options: object) -> None:
        raise AssertionError("labelled again")

    monkeypatch.setattr("passband.labels.pool.Labeller", never)
    found = make_labels(MESH, cache_dir=tmp_path, **SIZES)
    assert [file.suffix for file in tmp_path.iterdir()] == [".safetensors"]
    jax.tree.map(np.testing.assert_array_equal, made.pool, found.pool)
    np.testing.assert_array_equal(made.boundary.points, found.boundary.points)
    np.testing.assert_array_equal(made.uniform.labels, found.uniform.labels)
    assert found.about == made.about
    assert found.about["method"] == "first hit (Embree)"
    with pytest.raises(AssertionError, match="labelled again"):
        make_labels(MESH, cache_dir=tmp_path, seed=1, **SIZES)


def test_files_that_do_not_fit(tmp_path: Path) -> None:
    make_labels(MESH, cache_dir=tmp_path, **SIZES)
    (path,) = tmp_path.iterdir()
    other, _ = normalise(sphere(2).mesh)
    with pytest.raises(InputError, match=r"another mesh .`torus`. than `sphere`"):
        load_labels(path, mesh=other)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match="not a file that labelling left"):
        load_labels(path)
    make_labels(MESH, cache_dir=tmp_path, **SIZES)  # the cache mends itself
    assert load_labels(path, mesh=MESH).pool.blocks == SIZES["blocks"]
    with pytest.raises(InputError, match="does not exist"):
        load_labels(tmp_path / "none")


def _open_mesh(height: float) -> Mesh:
    ball, _ = normalise(sphere(4).mesh)
    top = ball.vertices[ball.faces][:, :, 2].min(axis=1)
    return make_mesh(ball.vertices, ball.faces[top < height], name="holed")


def test_cached_labels_of_an_open_mesh_are_judged_too(tmp_path: Path) -> None:
    holed = _open_mesh(0.75)
    with pytest.warns(UserWarning, match="is open"):
        make_labels(holed, cache_dir=tmp_path, allow_open=True, **SIZES)
    with pytest.raises(InputError, match="allow_open"):
        make_labels(holed, cache_dir=tmp_path, **SIZES)
    with pytest.warns(UserWarning, match="is open"):
        make_labels(holed, cache_dir=tmp_path, allow_open=True, **SIZES)


def test_block_is_whole_bytes() -> None:
    with pytest.raises(InputError, match=r"`block` .=12. a multiple of 8"):
        make_labels(MESH, blocks=2, block=12)


def test_progress_counts_blocks() -> None:
    seen: list[int] = []
    make_labels(MESH, on_block=seen.append, **SIZES)
    assert seen == [1, 2, 3, 4, 5, 6]
