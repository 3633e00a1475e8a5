"""Labelled points near a surface."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh
from scipy.stats import kstest
from trimesh.sample import sample_surface

from passband.data.meshes import make_mesh, normalise
from passband.data.primitives import sphere, torus
from passband.errors import InputError
from passband.labels.near import SURFACE, NearPool, make_near, on_surface, points_near
from passband.labels.occupancy import Labeller

MESH, _ = normalise(torus(ring=32, tube=16).mesh)


def _points(pool: NearPool) -> np.ndarray:
    whole = [np.asarray(pool.batch(k, pool.block)[0]) for k in range(pool.blocks)]
    return np.concatenate(whole)


def test_points_have_the_same_bits_from_numpy_and_xla():
    pool = make_near(MESH, seed=2**40 + 5, blocks=3, block=4096)
    index, seed = np.arange(4096, dtype=np.uint32), np.asarray(pool.seed)
    for block in (0, 2):
        compiled, _ = jax.jit(NearPool.batch, static_argnums=2)(pool, block, 4096)
        plain = points_near(np, index, np.uint32(block), seed, np.asarray(pool.surface))
        np.testing.assert_array_equal(compiled, plain)
    assert compiled.dtype == jnp.float32


def test_labels_are_those_of_trimesh():
    pool = make_near(MESH, seed=1, blocks=2, block=4096)
    points = _points(pool)
    inside = np.concatenate([pool.batch(k, 4096)[1] for k in range(2)])
    judge = trimesh.Trimesh(MESH.vertices, MESH.faces)
    assert np.mean(inside == judge.contains(points)) > 0.999


def test_half_of_them_lie_within_a_thirtieth_of_the_other_half():
    # Of a plane as far as offsets reach, the distance is one coordinate of the offset.
    corners = np.array([[0, 0.5, 0], [1, 0.5, 0], [1, 0.5, 1], [0, 0.5, 1]], float)
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    surface = on_surface(corners, faces, SURFACE, np.random.default_rng(0))
    index = np.arange(200_000, dtype=np.uint32)
    words = np.array([1, 2], np.uint32)
    moved = points_near(np, index, np.uint32(0), words, surface)[:, 1] - 0.5
    # Mixed of two: the fourth and the second moment tell the deviations apart.
    size = np.abs(moved)
    assert size.max() < 0.26
    near = size[size < 0.0082]  # all that a thirty-second of it can reach
    far = np.sqrt(np.mean(moved**2) * 2 / (1 + 2.0**-10))
    assert far == pytest.approx(0.102, rel=0.01)
    assert len(near) / len(size) == pytest.approx(0.5 * (1 + 0.0615), abs=0.01)
    assert moved.mean() == pytest.approx(0, abs=6 * far / np.sqrt(2 * len(moved)))


def test_the_surface_is_covered_by_area():
    mesh = sphere(2).mesh
    vertices, rng = mesh.vertices * [0.4, 0.1, 0.1] + 0.5, np.random.default_rng(0)
    points = on_surface(vertices, mesh.faces, 40_000, rng) * 2.0**-24
    judge = trimesh.Trimesh(vertices, mesh.faces)
    theirs = sample_surface(judge, len(points), seed=0)[0]
    for axis in range(3):
        told = kstest(points[:, axis], theirs[:, axis])
        assert told.pvalue > 0.01
    # An egg is convex: the face a point lies on is the one it is furthest out of.
    apart = points[:500, None] - judge.triangles_center
    out = np.einsum("pfi,fi->pf", apart, judge.face_normals).max(axis=1)
    np.testing.assert_allclose(out, 0, atol=1e-6)


def test_parts_come_one_after_another_and_then_again():
    pool = make_near(MESH, seed=0, blocks=2, block=64)
    batch = jax.jit(NearPool.batch, static_argnums=2)
    seen = [batch(pool, jnp.int32(k), 24) for k in range(6)]
    inside = np.concatenate([pool.batch(k, 64)[1] for k in range(2)])
    np.testing.assert_array_equal(
        np.concatenate([p for p, _ in seen[:5]]), _points(pool)[: 5 * 24]
    )
    np.testing.assert_array_equal(
        np.concatenate([y for _, y in seen[:5]]), inside[: 5 * 24]
    )
    np.testing.assert_array_equal(seen[5][0], seen[0][0])


@pytest.mark.parametrize("count", [512, 64, 8])
def test_parts_that_divide_a_block_are_what_they_were(count):
    pool = make_near(MESH, seed=3, blocks=3, block=512)
    each, surface = 512 // count, np.asarray(pool.surface)
    for step in (0, 1, 3 * each - 1, 3 * each, 7 * each + 1):
        block, part = divmod(step % (3 * each), each)
        index = np.arange(part * count, (part + 1) * count, dtype=np.uint32)
        row = np.asarray(pool.bits)[block, index[0] // 8 : (index[-1] + 1) // 8]
        points, inside = pool.batch(step, count)
        seed = np.asarray(pool.seed)
        expected = points_near(np, index, np.uint32(block), seed, surface)
        np.testing.assert_array_equal(points, expected)
        labels = np.unpackbits(row, bitorder="little").astype(bool)
        np.testing.assert_array_equal(inside, labels)


def test_the_cache_is_found_again_and_grows(tmp_path, monkeypatch):
    sizes: dict[str, Any] = {"seed": 0, "block": 512, "cache_dir": tmp_path}
    made = make_near(MESH, blocks=2, **sizes)
    whole = make_near(MESH, seed=0, blocks=5, block=512)
    done: list[int] = []
    more = make_near(MESH, blocks=5, on_block=done.append, **sizes)
    assert done == [3, 4, 5]  # the first two were there
    jax.tree.map(np.testing.assert_array_equal, more, whole)
    with monkeypatch.context() as patch:
        patch.setattr("passband.labels.near.Labeller", None)  # not asked again
        for blocks, expected in ((5, whole), (2, made)):
            found = make_near(MESH, blocks=blocks, **sizes)
            jax.tree.map(np.testing.assert_array_equal, found, expected)
    assert len([*tmp_path.iterdir()]) == 1
    for other in ({"seed": 1}, {"block": 64}):
        changed: dict[str, Any] = sizes | other
        make_near(MESH, blocks=1, **changed)
    make_near(normalise(sphere(2).mesh)[0], blocks=1, **sizes)
    assert len([*tmp_path.iterdir()]) == 4


def test_a_damaged_cache_is_made_again(tmp_path, monkeypatch):
    sizes: dict[str, Any] = {"seed": 0, "blocks": 2, "block": 64, "cache_dir": tmp_path}
    made = make_near(MESH, **sizes)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    other = MESH.digest[::-1].encode()
    for damaged in (
        whole[:1000],
        b"",
        whole.replace(b"near labels", b"near lapels"),
        whole.replace(b"odd_edges", b"odd_wedge"),
        whole.replace(MESH.digest.encode(), other),  # another mesh's
    ):
        path.write_bytes(damaged)
        for labeller in (Labeller, None):  # and then it is found
            monkeypatch.setattr("passband.labels.near.Labeller", labeller)
            found = make_near(MESH, **sizes)
            jax.tree.map(np.testing.assert_array_equal, found, made)
    monkeypatch.setattr("passband.labels.near.Labeller", Labeller)
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="labels are not kept"):
        make_near(MESH, **sizes | {"cache_dir": tmp_path / "file"})


def test_cached_labels_of_an_open_mesh_are_judged_too(tmp_path):
    ball, _ = normalise(sphere(4).mesh)
    top = ball.vertices[ball.faces][:, :, 2].min(axis=1)
    holed = make_mesh(ball.vertices, ball.faces[top < 0.75], name="holed")
    sizes: dict[str, Any] = {"seed": 0, "block": 64, "cache_dir": tmp_path}
    for blocks in (2, 2, 3):
        with pytest.warns(UserWarning, match="is open"):
            make_near(holed, allow_open=True, blocks=blocks, **sizes)
        with pytest.raises(InputError, match="allow_open"):
            make_near(holed, blocks=blocks, **sizes)
