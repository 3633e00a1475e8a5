"""Labelled points near a surface."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trimesh
from scipy.stats import kstest
from trimesh.sample import sample_surface

from passband.data.meshes import normalise
from passband.data.primitives import sphere, torus
from passband.labels.near import SURFACE, NearPool, make_near, on_surface, points_near

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
    seen = [np.asarray(pool.batch(k, 24)[0]) for k in range(5)]
    assert len(np.unique(np.concatenate(seen[:4]), axis=0)) == 4 * 24
    np.testing.assert_array_equal(seen[4], seen[0])
