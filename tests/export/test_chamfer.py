"""Chamfer distance: closed forms, and an independent search for the nearest point."""

import numpy as np
import pytest
import trimesh

from passband.data.primitives import sphere, torus
from passband.errors import InputError
from passband.export.chamfer import chamfer, point_triangle, sample_surface

SPHERE = sphere(4).mesh
BALL = (SPHERE.vertices, SPHERE.faces)


@pytest.mark.parametrize("gap", [0.003, 0.1])
def test_concentric_spheres_are_their_gap_apart(gap: float) -> None:
    outer = ((1 + gap) * SPHERE.vertices, SPHERE.faces)
    found = chamfer(BALL, outer, samples=20_000)
    assert found.mean == pytest.approx(gap, rel=0.01)
    assert found.forth == pytest.approx(gap, rel=0.01)
    assert found.back == pytest.approx(gap, rel=0.01)


def test_a_surface_is_not_apart_from_itself() -> None:
    found = chamfer(BALL, BALL, samples=20_000)
    # The spacing of the samples, which would be the floor of a plain tree, is 0.025.
    assert found.mean < 1e-4


def test_a_missing_part_shows_one_way() -> None:
    half = SPHERE.faces[SPHERE.vertices[SPHERE.faces][:, :, 2].mean(axis=1) < 0]
    found = chamfer(BALL, (SPHERE.vertices, half), samples=20_000)
    assert found.back < 1e-4
    # Mean distance from the upper half to the rim: 2 sin(t/2) over cos t dt.
    angle = np.linspace(0, np.pi / 2, 10_001)
    chord = np.trapezoid(2 * np.sin(angle / 2) * np.cos(angle), angle) / 2
    assert found.forth == pytest.approx(chord, rel=0.02)
    assert found.mean == (found.forth + found.back) / 2


def test_samples_follow_area() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 3.0]])
    faces = np.array([[0, 1, 2], [0, 1, 3]])  # areas 1/2 and 3/2
    points, face = sample_surface(vertices, faces, 40_000, np.random.default_rng(0))
    assert (face == 1).mean() == pytest.approx(0.75, abs=0.01)
    np.testing.assert_allclose(
        points[face == 0].mean(axis=0), [1 / 3, 1 / 3, 0], atol=0.01
    )
    np.testing.assert_allclose(points[face == 1].mean(axis=0), [1 / 3, 0, 1], atol=0.02)
    with pytest.raises(InputError, match="no area"):
        sample_surface(vertices, faces[:0], 10, np.random.default_rng(0))


def test_point_triangle_agrees_with_trimesh() -> None:
    rng = np.random.default_rng(0)
    corners, points = rng.normal(size=(5000, 3, 3)), rng.normal(size=(5000, 3))
    corners[:100, 2] = corners[:100, 1]  # collapsed ones too
    closest = trimesh.triangles.closest_point(corners[100:], points[100:])
    expected = np.linalg.norm(points[100:] - closest, axis=1)
    found = point_triangle(points, corners)
    np.testing.assert_allclose(found[100:], expected, atol=1e-9)
    assert np.isfinite(found).all()


def test_torus_against_its_coarse_self() -> None:
    fine, coarse = (torus(ring=n, tube=n // 2).mesh for n in (256, 32))
    found = chamfer(
        (fine.vertices, fine.faces), (coarse.vertices, coarse.faces), samples=10_000
    )
    # Facets of angle t lie r (1 - cos(t/2)) inside at most, two thirds of it on average
    # along each of the two directions.
    tube = 0.35 * (1 - np.cos(np.pi / 16)) * 2 / 3
    ring = 1.0 * (1 - np.cos(np.pi / 32)) * 2 / 3
    assert max(tube, ring) * 0.5 < found.mean < tube + ring
