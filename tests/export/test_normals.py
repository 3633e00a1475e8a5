"""Normal maps: of spheres in closed form, of meshes against Embree."""

import numpy as np
import pytest

from passband.data.meshes import bounding_box, normalise
from passband.data.primitives import knot, primitive, sphere
from passband.errors import InputError
from passband.export.normals import (
    Camera,
    field_normals,
    mesh_normals,
    normal_picture,
)
from passband.labels.occupancy import EmbreeRays

SMALL = Camera(size=96)
UNIT = (np.zeros(3), np.ones(3))


def ball(points: np.ndarray) -> np.ndarray:
    return 0.3 - np.linalg.norm(points - 0.5, axis=1)


def _true_normals(camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """Where rays meet the sphere of radius 0.6 about 0 in doubled coordinates."""
    origin, ways = camera.position, camera.directions()
    a = (ways**2).sum(axis=-1)
    b = (ways @ origin) / a
    root = b**2 - (origin @ origin - 0.36) / a
    depth = -b - np.sqrt(np.maximum(root, 0))
    return (origin + depth[..., None] * ways) / 0.6, root > 0


def test_camera_is_where_the_protocol_says() -> None:
    # Azimuth 145 and elevation -30 at radius 2: above the ground, seen from behind.
    expected = 2 * np.array(
        [
            -np.cos(np.pi / 6) * np.sin(np.deg2rad(145)),
            0.5,
            np.cos(np.pi / 6) * np.cos(np.deg2rad(145)),
        ]
    )
    np.testing.assert_allclose(Camera().position, expected, atol=1e-12)
    np.testing.assert_allclose(
        Camera().axes().T @ Camera().axes(), np.eye(3), atol=1e-12
    )
    ways = Camera().directions()
    assert ways.shape == (512, 512, 3)
    # The middle pixel looks at the centre of the cube, one unit forward.
    np.testing.assert_allclose(ways[256, 256], -Camera().position / 2, atol=1e-12)
    # The corner is half a picture off the axis, at a focal length of 0.9 pictures.
    assert np.linalg.norm(ways[0, 256]) == pytest.approx(np.hypot(1, 0.5 / 0.9))
    assert ways[0, 256, 1] > ways[511, 256, 1]  # up is up


def test_field_of_a_ball_has_radial_normals() -> None:
    normals = field_normals(ball, UNIT, camera=SMALL)
    truth, seen = _true_normals(SMALL)
    hit = np.abs(normals).sum(axis=-1) > 0
    assert (hit != seen).mean() < 0.005
    cosine = (normals * truth).sum(axis=-1)[hit & seen]
    assert np.median(cosine) > 0.999
    assert np.quantile(cosine, 0.05) > 0.98


def test_mesh_of_a_ball_has_radial_normals() -> None:
    mesh = sphere(5).mesh
    normals = mesh_normals(0.3 * mesh.vertices + 0.5, mesh.faces, camera=SMALL)
    truth, seen = _true_normals(SMALL)
    hit = np.abs(normals).sum(axis=-1) > 0
    assert (hit != seen).mean() < 0.005
    cosine = (normals * truth).sum(axis=-1)[hit & seen]
    assert cosine.min() > 0.998
    np.testing.assert_allclose(np.linalg.norm(normals[hit], axis=-1), 1, atol=1e-6)


@pytest.mark.parametrize("name", ["knot", "wrinkled"])
def test_mesh_normals_are_those_embree_sees(name: str) -> None:
    mesh, _ = normalise(primitive(name).mesh)
    normals = mesh_normals(mesh.vertices, mesh.faces, camera=SMALL)
    rays = EmbreeRays(mesh.vertices, mesh.faces)
    ways = SMALL.directions().reshape(-1, 3)
    origins = np.broadcast_to(0.5 * (SMALL.position + 1), ways.shape)
    face = rays.first(origins, ways)
    expected = rays.normals[face]
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    expected[face < 0] = 0
    apart = np.abs(normals.reshape(-1, 3) - expected).max(axis=1) > 1e-4
    assert apart.mean() < 1e-3  # rays along an edge may name either face
    assert (face >= 0).mean() > 0.1


def test_field_and_mesh_agree_on_a_knot() -> None:
    shape = knot()
    mesh, placement = normalise(shape.mesh)

    def inside(points: np.ndarray) -> np.ndarray:
        return shape.inside(placement.to_original(points)).astype(float)

    camera = Camera(size=64)
    box = bounding_box(mesh)
    field = field_normals(inside, box, camera=camera, level=0.5)
    truth = mesh_normals(mesh.vertices, mesh.faces, camera=camera)
    hit, seen = (np.abs(n).sum(axis=-1) > 0 for n in (field, truth))
    assert (hit != seen).mean() < 0.01
    cosine = (field * truth).sum(axis=-1)[hit & seen]
    assert np.median(cosine) > 0.98


def test_outside_the_box_is_nothing() -> None:
    box = (np.zeros(3), np.array([1.0, 0.5, 1.0]))
    half = field_normals(ball, box, camera=SMALL)
    whole = field_normals(ball, UNIT, camera=SMALL)
    count = [np.count_nonzero(np.abs(n).sum(axis=-1)) for n in (half, whole)]
    assert 0.3 * count[1] < count[0] < 0.9 * count[1]


def test_chunks_change_nothing_and_progress_ends_at_one() -> None:
    seen: list[float] = []
    camera = Camera(size=24)
    whole = field_normals(ball, UNIT, camera=camera, on_rows=seen.append)
    parts = field_normals(ball, UNIT, camera=camera, chunk=1000)
    np.testing.assert_array_equal(whole, parts)
    assert seen[-1] == 1


def test_camera_within_the_mesh() -> None:
    mesh = sphere(2).mesh
    with pytest.raises(InputError, match=r"`radius` \(=0.1\) is within the mesh"):
        mesh_normals(0.3 * mesh.vertices + 0.5, mesh.faces, camera=Camera(radius=0.1))


def test_picture_is_half_grey_beside_the_shape() -> None:
    picture = normal_picture(np.array([[[0, 0, 0], [1, 0, -1]]], np.float32))
    np.testing.assert_array_equal(picture, [[[128, 128, 128], [255, 128, 0]]])


def test_a_camera_that_sees_all_points_and_no_more() -> None:
    points = np.random.default_rng(0).random((500, 3))
    camera = Camera.seeing(points, azimuth=30.0, elevation=20.0)
    seen = (2 * points - 1 - camera.position) @ camera.axes()
    across = camera.focal * np.abs(seen[:, :2] / seen[:, 2:])
    assert 0.4 < across.max() < 0.5  # of the picture's side, from its middle
    assert np.abs(-seen[:, 2] - camera.radius).max() < camera.reach
    assert Camera.seeing(points, radius=9.0).radius == 9.0
