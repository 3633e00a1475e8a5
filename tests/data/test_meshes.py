"""Meshes: what is read, what is refused, and where the unit cube puts them."""

from pathlib import Path

import numpy as np
import pytest
import trimesh

from passband.data.meshes import (
    bounding_box,
    count_edges,
    make_mesh,
    normalise,
    read_mesh,
)
from passband.data.primitives import PRIMITIVES, knot, primitive, sphere, torus
from passband.errors import InputError

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.mark.parametrize("suffix", ["ply", "obj", "stl", "npz"])
def test_every_format_gives_the_same_solid(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"torus.{suffix}"
    mesh = torus(ring=24, tube=12).mesh
    if suffix == "npz":
        np.savez(path, vertices=mesh.vertices, faces=mesh.faces)
    else:
        trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).export(path)
    read = read_mesh(path)
    assert read.name == "torus"
    assert read.vertices.shape == mesh.vertices.shape
    assert read.faces.shape == mesh.faces.shape
    assert read.edges.closed
    assert read.edges.consistent
    assert np.sum(read.volumes) == pytest.approx(np.sum(mesh.volumes), rel=1e-5)


def test_parts_of_an_obj_become_one_mesh(tmp_path: Path) -> None:
    text = ""
    for part, shift in enumerate((0.0, 5.0)):
        text += f"o part{part}\n"
        text += "".join(f"v {x + shift} {y} {z}\n" for x, y, z in CORNERS)
        faces = TETRAHEDRON + 4 * part + 1
        text += "".join(f"f {a} {b} {c}\n" for a, b, c in faces)
    (tmp_path / "two.obj").write_text(text)
    mesh = read_mesh(tmp_path / "two.obj")
    assert (len(mesh.vertices), len(mesh.faces)) == (8, 8)
    np.testing.assert_allclose(mesh.volumes, [1 / 6, 1 / 6])


def test_equal_vertices_merge_and_unused_ones_go() -> None:
    soup = CORNERS[TETRAHEDRON].reshape(-1, 3)
    vertices = np.concatenate([soup, [[9, 9, 9]]])
    mesh = make_mesh(vertices, np.arange(12).reshape(4, 3))
    assert len(mesh.vertices) == 4
    np.testing.assert_array_equal(mesh.vertices[mesh.faces], CORNERS[TETRAHEDRON])
    assert mesh.edges.closed


def _write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


PLY_CLOUD = """ply
format ascii 1.0
element vertex 2
property float x
property float y
property float z
end_header
0 0 0
1 1 1
"""

BAD_FILES = {
    "empty.ply": ("", "is empty"),
    "garbage.ply": ("hello", "not a PLY"),
    "cut.ply": (PLY_CLOUD.replace("ascii", "binary_little_endian"), "not a PLY"),
    "cloud.ply": (PLY_CLOUD, "point cloud without faces"),
    "cloud.obj": ("v 0 0 0\nv 1 0 0\n", "point cloud without faces"),
    "scene.obj": ("# nothing here\n", "is an empty scene"),
    "solid.stl": ("solid a\nendsolid a\n", "is an empty scene"),
    "nan.obj": ("v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "1 vertices that are NaN"),
    "beyond.obj": ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "not an? OBJ"),
    "flat.obj": ("v 0 0 0\nv 1 2 3\nv 4 1 2\nf 1 2 3\nf 1 3 2\n", "zero volume"),
    "point.obj": ("v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n", "at one point"),
    "shape.glb": ("glTF", "ends in `.glb`"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_named_in_one_line(tmp_path: Path, name: str) -> None:
    text, says = BAD_FILES[name]
    path = _write(tmp_path / name, text)
    with pytest.raises(InputError, match=says) as caught:
        read_mesh(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_file() -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_mesh("no/such/mesh.ply")


BAD_ARRAYS = {
    "no faces": (CORNERS, np.zeros((0, 3), int), "no faces"),
    "flat list": (CORNERS.ravel(), TETRAHEDRON, "shape"),
    "quads": (CORNERS, np.zeros((2, 4), int), "shape"),
    "NaN": (np.where(CORNERS == 1, np.nan, CORNERS), TETRAHEDRON, "NaN or infinite"),
    "beyond": (CORNERS, TETRAHEDRON + 1, "uses vertex 4, and 4 vertices"),
    "negative": (CORNERS, TETRAHEDRON - 1, "uses vertex -1"),
    "real faces": (CORNERS, TETRAHEDRON * 0.5, "integers"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays_in_npz(tmp_path: Path, case: str) -> None:
    vertices, faces, says = BAD_ARRAYS[case]
    np.savez(tmp_path / "bad.npz", vertices=vertices, faces=faces)
    with pytest.raises(InputError, match=says):
        read_mesh(tmp_path / "bad.npz")


def test_npz_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mesh.npz"
    np.savez(path, points=CORNERS)
    with pytest.raises(InputError, match="holds \\['points'\\]"):
        read_mesh(path)
    pickled = np.array([{"a": 1}], dtype=object)
    np.savez(path, vertices=pickled, faces=TETRAHEDRON)
    with pytest.raises(InputError, match="not an NPZ"):
        read_mesh(path)
    np.savez(path, vertices=CORNERS, faces=TETRAHEDRON)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(InputError, match="not an NPZ"):
        read_mesh(path)


def test_doubled_sheet_has_no_volume() -> None:
    dome = sphere(2).mesh
    upper = dome.faces[dome.vertices[dome.faces][:, :, 2].min(axis=1) > -0.1]
    with pytest.raises(InputError, match="zero volume"):
        make_mesh(dome.vertices, np.concatenate([upper, upper[:, ::-1]]))


def test_a_part_and_its_mirror_image_are_solid() -> None:
    vertices = np.concatenate([CORNERS, CORNERS * [-1, 1, 1] - [3, 0, 0]])
    mesh = make_mesh(vertices, np.concatenate([TETRAHEDRON, TETRAHEDRON + 4]))
    np.testing.assert_allclose(sorted(mesh.volumes), [-1 / 6, 1 / 6])


def test_normalise_follows_the_protocol() -> None:
    mesh = make_mesh(CORNERS * [3, 2, 1] + [4e6, -7e5, 12], TETRAHEDRON)
    unit, placement = normalise(mesh)
    centred = mesh.vertices - mesh.vertices.mean(axis=0)
    expected = 0.5 * (centred / np.abs(centred).max() + 1)
    np.testing.assert_array_equal(unit.vertices, expected)
    np.testing.assert_allclose(unit.vertices.mean(axis=0), 0.5, atol=1e-9)
    assert max(unit.vertices.max(), 1 - unit.vertices.min()) == 1
    # Metre coordinates of a map, good to a nanometre after the round trip.
    back = placement.to_original(unit.vertices)
    np.testing.assert_allclose(back, mesh.vertices, rtol=0, atol=2e-9)
    assert unit.digest == mesh.digest
    low, high = bounding_box(unit)
    np.testing.assert_allclose(high - low, np.ptp(unit.vertices, axis=0) + 2e-3)


def test_edges_count_holes_and_turned_faces() -> None:
    assert count_edges(TETRAHEDRON) == (6, 0, 0, 0, 0)
    assert count_edges(TETRAHEDRON[1:]) == (6, 3, 0, 3, 3)
    turned = TETRAHEDRON.copy()
    turned[0] = turned[0, ::-1]
    edges = count_edges(turned)
    assert edges.closed
    assert edges.unbalanced == 3
    # Two tetrahedra along one edge: four faces meet there, and still nothing is open.
    shared = np.concatenate([TETRAHEDRON, np.array([0, 1, 4, 5])[TETRAHEDRON]])
    assert count_edges(shared) == (11, 0, 1, 0, 0)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_are_closed_and_wound_outwards(name: str) -> None:
    mesh = primitive(name).mesh
    assert mesh.edges.closed
    assert mesh.edges.consistent
    assert mesh.edges.nonmanifold == 0
    assert len(mesh.volumes) == 1
    assert mesh.volumes[0] > 0


def test_volumes_of_primitives() -> None:
    assert sphere(5).mesh.volumes[0] == pytest.approx(4 / 3 * np.pi, rel=1e-3)
    assert torus().mesh.volumes[0] == pytest.approx(2 * np.pi**2 * 0.35**2, rel=3e-3)
    # Pappus: a tube that nowhere meets itself has the volume of a straight one.
    t = np.linspace(0, 2 * np.pi, 20_001)
    x, y = np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t)
    steps = np.diff(np.stack([x, y, -np.sin(3 * t)]) / 2, axis=1)
    length = np.linalg.norm(steps, axis=0).sum()
    volume = knot().mesh.volumes[0]
    assert volume == pytest.approx(np.pi * 0.28**2 * length, rel=4e-3)


def test_unknown_primitive() -> None:
    with pytest.raises(InputError, match="`cube` is no built-in shape"):
        primitive("cube")
