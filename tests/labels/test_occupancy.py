"""Inside and outside: every test of it against the solid angle, on hard meshes too."""

import warnings

import numpy as np
import pytest

from passband.data.meshes import Mesh, make_mesh, normalise
from passband.data.primitives import PRIMITIVES, knot, primitive, sphere, torus
from passband.errors import InputError
from passband.labels import occupancy
from passband.labels.cells import INSIDE, OUTSIDE, UNKNOWN, Cells
from passband.labels.columns import Columns
from passband.labels.occupancy import Labeller

_SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4]]
_SIDES = np.array([*_SIDES, [1, 5, 7, 3]])
CUBE = make_mesh(
    np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * 0.5 + 0.25,
    np.concatenate([_SIDES[:, [0, 1, 2]], _SIDES[:, [0, 2, 3]]]),
    name="cube",
)


def in_cube(points: np.ndarray) -> np.ndarray:
    return np.max(np.abs(points - 0.5), axis=1) < 0.25


def winding_number(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """Sum of signed solid angles over 4 pi (Van Oosterom and Strackee 1983)."""
    total = np.zeros(len(points))
    for corners in np.array_split(mesh.vertices[mesh.faces], len(mesh.faces) // 50 + 1):
        a, b, c = np.moveaxis(corners[None] - points[:, None, None], 2, 0)
        la, lb, lc = (np.linalg.norm(x, axis=-1) for x in (a, b, c))
        triple = np.einsum("ijk,ijk->ij", a, np.cross(b, c))
        ab, bc, ca = ((p * q).sum(-1) for p, q in ((a, b), (b, c), (c, a)))
        below = la * lb * lc + ab * lc + bc * la + ca * lb
        total += np.arctan2(triple, below).sum(axis=1)
    return total / (2 * np.pi)


def points_around(mesh: Mesh, n: int, seed: int = 0) -> np.ndarray:
    """Half of them in the box, half near the surface."""
    rng = np.random.default_rng(seed)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    near = mesh.vertices[rng.integers(len(mesh.vertices), size=n // 2)]
    near = near + rng.normal(scale=0.01, size=near.shape)
    box = rng.uniform(low - 0.05, high + 0.05, (n - n // 2, 3))
    return np.concatenate([box, near]).astype(np.float32)


def join(*meshes: Mesh) -> Mesh:
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + shift for mesh, shift in zip(meshes, offsets, strict=False)]
    vertices = np.concatenate([mesh.vertices for mesh in meshes])
    return make_mesh(vertices, np.concatenate(faces), name="joined")


def moved(mesh: Mesh, shift: float, scale: float = 1.0, turn: bool = False) -> Mesh:
    faces = mesh.faces[:, ::-1] if turn else mesh.faces
    return make_mesh(mesh.vertices * scale + [shift, 0, 0], faces)


SMALL = {
    "sphere": sphere(2).mesh,
    "torus": torus(ring=24, tube=12).mesh,
    "knot": knot(ring=80, tube=8).mesh,
}


@pytest.mark.parametrize("embree", [True, False])
@pytest.mark.parametrize("cells", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_labels_are_the_winding_number(name: str, cells: bool, embree: bool) -> None:
    mesh, _ = normalise(SMALL[name])
    points = points_around(mesh, 1200)
    labeller = Labeller(mesh, cells=cells, embree=embree)
    truth = winding_number(mesh, points.astype(np.float64)) > 0.5
    np.testing.assert_array_equal(labeller.inside(points), truth)
    assert ("Embree" in labeller.method) == embree
    assert labeller.undecided == 0


@pytest.mark.parametrize("name", PRIMITIVES)
def test_labels_follow_the_formula_away_from_the_facets(name: str) -> None:
    shape = primitive(name)
    mesh, placement = normalise(shape.mesh)
    points = points_around(mesh, 40_000, seed=1)
    labels = Labeller(mesh).inside(points)
    truth = shape.inside(placement.to_original(points))
    wrong = labels != truth
    assert wrong.mean() < 0.01
    # A facet lies less than 0.002 off the formula: there alone the two may differ.
    jitter = np.random.default_rng(2).normal(scale=0.002, size=(64, 1, 3))
    around = placement.to_original(points[wrong] + jitter)
    seen = shape.inside(around.reshape(-1, 3)).reshape(64, -1)
    assert (seen != seen[0]).any(axis=0).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_columns_count_edges_and_corners_once(axis: int) -> None:
    # Rays through edges, diagonals and corners of the cube, exactly.
    steps = np.array([0.1, 0.25, 0.375, 0.5, 0.625, 0.75, 0.9])
    points = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    strictly = ((points > 0.25) & (points < 0.75)).all(axis=1)
    outside = ((points < 0.25) | (points > 0.75)).any(axis=1)
    number, signed = Columns(CUBE.vertices, CUBE.faces, axis).crossings(points)
    assert (number[strictly] == 1).all()
    assert (signed[strictly] == 1).all()
    assert (number[outside] % 2 == 0).all()
    assert (signed[outside] == 0).all()


def test_large_triangles_mark_only_what_they_reach() -> None:
    cells = Cells(CUBE.vertices, CUBE.faces, in_cube, resolution=32)
    # The cube fills 32^3 cells of 35^3, and its faces two layers of them at most.
    unknown = np.count_nonzero(cells.table == UNKNOWN)
    assert unknown <= 34**3 - 30**3
    assert cells.torn == 0
    points = np.random.default_rng(0).uniform(0, 1, (20_000, 3)).astype(np.float32)
    side = cells(points)
    sure = side != UNKNOWN
    np.testing.assert_array_equal(side[sure] == INSIDE, in_cube(points)[sure])
    assert cells(np.array([[-9, 9, 0.5]], np.float32))[0] == OUTSIDE


def test_parts_that_overlap_are_joined() -> None:
    mesh, _ = normalise(join(SMALL["sphere"], moved(SMALL["sphere"], 0.8)))
    labeller = Labeller(mesh)
    assert labeller.method == "winding number (NumPy)"
    points = points_around(mesh, 1200)
    truth = winding_number(mesh, points.astype(np.float64)) > 0.5
    np.testing.assert_array_equal(labeller.inside(points), truth)


def test_cavity_is_outside_and_turned_parts_are_solid() -> None:
    ball = SMALL["sphere"]
    hollow, _ = normalise(join(ball, moved(ball, 0, 0.5, turn=True)))
    centre = np.full((1, 3), 0.5, np.float32)
    assert not Labeller(hollow).inside(centre)
    turned, _ = normalise(moved(ball, 0, turn=True))
    assert Labeller(turned).inside(centre)
    pair, _ = normalise(join(ball, moved(ball, 5, turn=True)))
    points = points_around(pair, 1200)
    truth = np.abs(winding_number(pair, points.astype(np.float64))) > 0.5
    np.testing.assert_array_equal(Labeller(pair).inside(points), truth)


def test_turned_faces_are_told_by_parity() -> None:
    mesh, _ = normalise(SMALL["knot"])
    faces = mesh.faces.copy()
    turn = np.random.default_rng(0).random(len(faces)) < 0.3
    faces[turn] = faces[turn][:, ::-1]
    labeller = Labeller(make_mesh(mesh.vertices, faces))
    points = points_around(mesh, 1200)
    truth = winding_number(mesh, points.astype(np.float64)) > 0.5
    np.testing.assert_array_equal(labeller.inside(points), truth)
    assert labeller.method == "parity, 3 axes (NumPy)"
    assert labeller.undecided == 0


def _with_hole(mesh: Mesh, height: float) -> Mesh:
    top = mesh.vertices[mesh.faces][:, :, 2].min(axis=1)
    return make_mesh(mesh.vertices, mesh.faces[top < height], name="holed")


def test_small_hole_warns_and_labels_stay() -> None:
    mesh, _ = normalise(sphere(4).mesh)
    # A hole 5 degrees wide at the top: only a ray that leaves through it is wrong.
    holed = _with_hole(mesh, 0.998)
    assert holed.edges.boundary > 0
    with pytest.warns(UserWarning, match=r"`holed` is open: \d+ edges .* 0\.\d\d%"):
        labeller = Labeller(holed)
    assert 0 < labeller.undecided < 0.01
    points = points_around(mesh, 20_000)
    wrong = labeller.inside(points) != Labeller(mesh).inside(points)
    assert wrong.mean() < 0.001


def test_large_hole_is_refused_unless_allowed() -> None:
    holed = _with_hole(normalise(sphere(4).mesh)[0], 0.75)
    with pytest.raises(InputError, match=r"have no clear side .*allow_open"):
        Labeller(holed)
    with pytest.warns(UserWarning, match="is open"):
        labeller = Labeller(holed, allow_open=True)
    assert labeller.undecided > 0.01


def test_without_embree_a_slower_path_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occupancy, "embree_missing", lambda: True)
    mesh, _ = normalise(SMALL["torus"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labeller = Labeller(mesh)
    assert labeller.method == "winding number (NumPy)"


def test_threads_give_the_same_labels() -> None:
    mesh, _ = normalise(primitive("wrinkled").mesh)
    points = points_around(mesh, 3 * occupancy.CHUNK + 17)
    one, four = (Labeller(mesh, workers=n).inside(points) for n in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_far_from_the_origin_is_refused() -> None:
    with pytest.raises(ValueError, match="normalise it first"):
        Labeller(moved(SMALL["sphere"], 1e5))
