"""Signed distances: analytic spheres and boxes, and surfaces at a distance."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

import passband as pb
from passband.data.meshes import normalise, read_mesh
from passband.errors import InputError
from passband.labels.distance import Distances, distance_points
from passband.labels.occupancy import Labeller


def written(folder: Path, mesh: trimesh.Trimesh) -> Path:
    path = folder / "solid.ply"
    mesh.export(path)
    return path


def to_box(points: np.ndarray, half: np.ndarray) -> np.ndarray:
    """The signed distance to a box about the origin, in closed form."""
    away = np.abs(points) - half
    outside = np.linalg.norm(np.maximum(away, 0), axis=1)
    return outside + np.minimum(away.max(axis=1), 0)


def test_distances_to_a_box_are_those_of_the_formula(tmp_path: Path):
    sides = np.array([2.0, 3.0, 5.0])
    mesh, place = normalise(read_mesh(written(tmp_path, trimesh.creation.box(sides))))
    labeller = Labeller(mesh, cells=False, workers=1)
    found = distance_points(mesh, labeller, 4000, seed=1)
    world = place.to_original(found.points)
    truth = to_box(world, sides / 2) * 0.5 / place.scale
    np.testing.assert_allclose(found.distances, truth, atol=2e-4)
    assert 0.2 < (found.distances < 0).mean() < 0.6
    assert np.abs(found.distances[found.near]).mean() < 0.03


def test_distances_to_a_sphere_are_those_of_the_formula(tmp_path: Path):
    ball = trimesh.creation.icosphere(subdivisions=4, radius=3.0)
    mesh, place = normalise(read_mesh(written(tmp_path, ball)))
    labeller = Labeller(mesh, cells=False, workers=1)
    points = np.random.default_rng(0).uniform(0, 1, (2000, 3))
    found = Distances(mesh, labeller, samples=20_000).signed(points)
    radius = np.linalg.norm(place.to_original(points), axis=1)
    # A ball of 5,120 faces lies up to r (1 - cos(edge / 2)) inside the sphere.
    np.testing.assert_allclose(found * 2 * place.scale, radius - 3.0, atol=3.0 * 1.5e-3)


def test_a_surface_at_a_distance_has_the_radius_in_the_meshs_units(
    tmp_path: Path, monkeypatch
):
    for name, value in (("shape.CPU_DISTANCES", 2**13), ("shape.CPU_GRID", 16),
                        ("shape.TEST_DISTANCES", 2**10), ("shape.CPU_SAMPLES", 500),
                        ("shape_labels.SMALL_POOL", 2**15),
                        ("shape_labels.TEST_POINTS", 2**10)):  # fmt: skip
        monkeypatch.setattr(f"passband.kinds.{name}", value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ball = trimesh.creation.icosphere(subdivisions=3, radius=40.0)
    ball.apply_translation([100.0, 0.0, 0.0])
    kind = pb.read(written(tmp_path, ball), kind="shape", target="sdf")
    model = pb.fit(kind, mapping="gaussian:0.5,norm=1,m=32", steps=400, batch=512,
                   layers=3, width=32, progress=False)  # fmt: skip
    assert model.metrics["distance_error"] < 0.8  # 2 % of the radius
    assert model.metrics["iou_uniform"] > 0.93
    for level in (-6.0, 0.0, 6.0):
        surface = model.render(resolution=24, level=level)
        radius = np.linalg.norm(surface.vertices - [100, 0, 0], axis=1)
        assert radius.mean() == pytest.approx(40 + level, abs=1.0)
    with pytest.raises(InputError, match="no distances beyond"):
        model.render(resolution=24, level=30.0)
    # The model itself gives distances in the mesh's units.
    there = model(np.array([[120.0, 0, 0], [143.0, 0, 0]]))
    assert there == pytest.approx(np.array([[-20.0], [3.0]]), abs=1.5)
