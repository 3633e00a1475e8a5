"""Surfaces of fields: closed, true to the formula, the same in one slab or in many."""

from pathlib import Path

import numpy as np
import pytest
from skimage.measure import marching_cubes

from passband.data.meshes import (
    Placement,
    count_edges,
    make_mesh,
    part_volumes,
    read_mesh,
)
from passband.errors import InputError
from passband.export import mesh as export
from passband.export.mesh import extract, write_mesh

UNIT = (np.zeros(3), np.ones(3))


def ball(points: np.ndarray) -> np.ndarray:
    """A sphere of radius 0.35; a real network's logits have such slopes."""
    return 50 * (0.35 - np.linalg.norm(points - 0.5, axis=1))


def waves(points: np.ndarray) -> np.ndarray:
    """A gyroid: one surface with many handles that runs into the box on all sides."""
    x, y, z = 15 * points.astype(np.float64).T
    value = np.sin(x) * np.cos(y) + np.sin(y) * np.cos(z) + np.sin(z) * np.cos(x)
    return value + 0.3


def test_ball_is_a_ball() -> None:
    surface = extract(ball, UNIT, resolution=64)
    radius = np.linalg.norm(surface.vertices - 0.5, axis=1)
    np.testing.assert_allclose(radius, 0.35, atol=3e-4)
    volume = part_volumes(surface.vertices, surface.faces)
    np.testing.assert_allclose(volume, [4 / 3 * np.pi * 0.35**3], rtol=2e-3)
    outward = (surface.vertices - 0.5) / radius[:, None]
    np.testing.assert_allclose(surface.normals, outward, atol=1e-3)


def test_error_falls_with_the_square_of_the_step() -> None:
    errors = []
    for resolution in (16, 32, 64):
        surface = extract(ball, UNIT, resolution=resolution)
        volume = part_volumes(surface.vertices, surface.faces).sum()
        errors.append(abs(volume / (4 / 3 * np.pi * 0.35**3) - 1))
    order = np.log2(errors[0] / errors[2]) / 2
    assert order == pytest.approx(2, abs=0.2)


@pytest.mark.parametrize("field", [ball, waves])
def test_surface_is_closed_in_slabs(field, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = extract(field, UNIT, resolution=40)
    monkeypatch.setattr(export, "SLAB", 5000)  # two or three planes at a time
    slabs = extract(field, UNIT, resolution=40)
    for surface in (whole, slabs):
        edges = count_edges(surface.faces)
        assert edges.closed
        assert edges.consistent
        assert len(np.unique(surface.faces)) == len(surface.vertices)
    assert len(slabs.vertices) == len(whole.vertices)
    assert len(slabs.faces) == len(whole.faces)
    np.testing.assert_allclose(
        part_volumes(slabs.vertices, slabs.faces).sum(),
        part_volumes(whole.vertices, whole.faces).sum(),
        rtol=1e-6,
    )


def test_slabs_give_scikit_image_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "SLAB", 5000)
    ours = extract(ball, UNIT, resolution=30)
    axis = (np.arange(33) - 1) / 30
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    values = ball(grid.astype(np.float32)).reshape(33, 33, 33)
    vertices, faces, _, _ = marching_cubes(values, 0.0)
    theirs = (vertices - 1) / 30
    assert len(ours.faces) == len(faces)
    order = [np.lexsort(np.round(v, 5).T) for v in (ours.vertices, theirs)]
    np.testing.assert_allclose(ours.vertices[order[0]], theirs[order[1]], atol=2e-5)


def test_field_that_fills_the_box_is_capped_at_it() -> None:
    box = (np.array([0.3, 0.4, 0.2]), np.array([0.9, 0.7, 0.8]))
    surface = extract(lambda p: np.ones(len(p)), box, resolution=30)
    assert count_edges(surface.faces).closed
    step = 0.6 / 30
    np.testing.assert_allclose(surface.vertices.min(axis=0), box[0], atol=0.6 * step)
    np.testing.assert_allclose(surface.vertices.max(axis=0), box[1], atol=0.6 * step)


def test_values_on_the_grid_make_no_double_corners() -> None:
    # A cube whose faces pass through grid points exactly: 0 at every corner of it.
    def cube(points: np.ndarray) -> np.ndarray:
        return 0.25 - np.abs(points - 0.5).max(axis=1)

    surface = extract(cube, UNIT, resolution=16)
    merged = make_mesh(surface.vertices, surface.faces)
    assert len(merged.vertices) == len(surface.vertices)
    assert merged.edges.nonmanifold == 0
    np.testing.assert_allclose(merged.volumes, [0.125], rtol=1e-2)


def test_place_and_size_come_back() -> None:
    placement = Placement(np.array([4e6, -7e5, 30.0]), 250.0)
    surface = extract(ball, UNIT, resolution=32, placement=placement)
    np.testing.assert_allclose(
        (surface.vertices.min(axis=0) + surface.vertices.max(axis=0)) / 2,
        placement.center,
        atol=1e-2,
    )
    extent = np.ptp(surface.vertices, axis=0)
    np.testing.assert_allclose(extent, 0.7 * 500, rtol=1e-3)


def test_chunks_change_nothing_and_progress_ends_at_one() -> None:
    seen: list[float] = []
    whole = extract(ball, UNIT, resolution=20, on_slab=seen.append)
    parts = extract(ball, UNIT, resolution=20, chunk=37)
    np.testing.assert_array_equal(whole.vertices, parts.vertices)
    assert seen[-1] == 1


def test_no_surface_is_said() -> None:
    with pytest.raises(InputError, match=r"never crosses `level` \(=0.5\)"):
        extract(lambda p: np.zeros(len(p)), UNIT, resolution=8, level=0.5)
    with pytest.raises(InputError, match="not finite"):
        extract(lambda p: np.full(len(p), np.nan), UNIT, resolution=8)
    with pytest.raises(InputError, match=r"`resolution` \(=1\)"):
        extract(ball, UNIT, resolution=1)


@pytest.mark.parametrize("suffix", ["ply", "obj", "stl"])
@pytest.mark.parametrize("with_normals", [True, False])
def test_files_read_back(tmp_path: Path, suffix: str, with_normals: bool) -> None:
    surface = extract(ball, UNIT, resolution=16)
    path = tmp_path / f"ball.{suffix}"
    normals = surface.normals if with_normals else None
    write_mesh(path, surface.vertices, surface.faces, normals)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    read = read_mesh(path)
    assert len(read.faces) == len(surface.faces)
    assert read.edges.closed
    assert read.edges.consistent
    np.testing.assert_allclose(
        read.volumes, part_volumes(surface.vertices, surface.faces), rtol=1e-5
    )


def test_normals_are_in_the_file(tmp_path: Path) -> None:
    import trimesh

    surface = extract(ball, UNIT, resolution=16)
    for suffix in ("ply", "obj"):
        path = tmp_path / f"ball.{suffix}"
        write_mesh(path, surface.vertices, surface.faces, surface.normals)
        scene = trimesh.load_scene(path, process=False, maintain_order=True)
        (read,) = scene.geometry.values()
        np.testing.assert_allclose(read.vertices, surface.vertices, atol=1e-7)
        np.testing.assert_allclose(read.vertex_normals, surface.normals, atol=2e-4)


def test_ply_keeps_metres_of_a_map(tmp_path: Path) -> None:
    placement = Placement(np.array([4e6, -7e5, 30.0]), 1.0)
    surface = extract(ball, UNIT, resolution=16, placement=placement)
    write_mesh(tmp_path / "far.ply", surface.vertices, surface.faces)
    read = read_mesh(tmp_path / "far.ply")
    np.testing.assert_array_equal(read.vertices, surface.vertices)


def test_unknown_suffix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in `.gltf`; a mesh is written as .ply"):
        write_mesh(tmp_path / "a.gltf", np.zeros((3, 3)), np.zeros((1, 3), int))
