"""Closed shapes made from formulas, each a mesh with its own test of inside.

They stand in for scanned meshes where no data set is at hand, and the formula is the
reference that labels are checked against.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from passband.data.meshes import Mesh, make_mesh
from passband.errors import InputError


class Primitive(NamedTuple):
    """A mesh, and whether points (n, 3) are inside the smooth shape it follows."""

    mesh: Mesh
    inside: Callable[[np.ndarray], np.ndarray]


def sphere(subdivisions: int = 4, radius: float = 1.0) -> Primitive:
    """An icosahedron split `subdivisions` times: 20 * 4^subdivisions faces."""
    directions, faces = _icosphere(subdivisions)
    mesh = make_mesh(radius * directions, faces, name="sphere")
    return Primitive(mesh, lambda p: np.linalg.norm(p, axis=-1) < radius)


def torus(
    major: float = 1.0, minor: float = 0.35, ring: int = 128, tube: int = 64
) -> Primitive:
    """The points at distance `minor` from a circle of radius `major` about z."""
    u = 2 * np.pi * np.arange(ring)[:, None] / ring
    v = 2 * np.pi * np.arange(tube)[None, :] / tube
    reach = major + minor * np.cos(v)
    grid = np.stack([reach * np.cos(u), reach * np.sin(u), minor * np.sin(v) + 0 * u])
    mesh = make_mesh(grid.reshape(3, -1).T, _torus_faces(ring, tube), name="torus")

    def inside(points: np.ndarray) -> np.ndarray:
        from_circle = np.hypot(points[..., 0], points[..., 1]) - major
        return np.hypot(from_circle, points[..., 2]) < minor

    return Primitive(mesh, inside)


def wrinkled(
    subdivisions: int = 6, depth: float = 0.06, frequency: float = 14.0
) -> Primitive:
    """A sphere with bumps of two sizes: detail that a smooth field misses.

    r(u) = 1 + depth (g(f u) + g(2.3 f u) / 3), g(x) = sin x1 sin x2 + sin x2 sin x3
    + sin x3 sin x1, on directions u.
    """

    def bumps(x: np.ndarray) -> np.ndarray:
        s1, s2, s3 = np.moveaxis(np.sin(x), -1, 0)
        return s1 * s2 + s2 * s3 + s3 * s1

    def radius(directions: np.ndarray) -> np.ndarray:
        x = frequency * directions
        return 1 + depth * (bumps(x) + bumps(2.3 * x) / 3)

    directions, faces = _icosphere(subdivisions)
    mesh = make_mesh(directions * radius(directions)[:, None], faces, name="wrinkled")

    def inside(points: np.ndarray) -> np.ndarray:
        length = np.linalg.norm(points, axis=-1)
        return length < radius(points / np.maximum(length, 1e-12)[..., None])

    return Primitive(mesh, inside)


def knot(thickness: float = 0.28, ring: int = 512, tube: int = 48) -> Primitive:
    """The points within `thickness` of a trefoil: parts near each other, one surface.

    c(t) = (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t) / 2
    """

    def curve(t: np.ndarray) -> np.ndarray:
        return 0.5 * np.stack(
            [
                np.sin(t) + 2 * np.sin(2 * t),
                np.cos(t) - 2 * np.cos(2 * t),
                -np.sin(3 * t),
            ],
            axis=-1,
        )

    t = 2 * np.pi * np.arange(ring) / ring
    step = 1e-4
    tangent = _unit(curve(t + step) - curve(t - step))
    # The trefoil bends everywhere, so that its principal normal closes up smoothly.
    bend = curve(t + step) - 2 * curve(t) + curve(t - step)
    normal = _unit(bend - (bend * tangent).sum(-1, keepdims=True) * tangent)
    across = np.cross(normal, tangent)
    v = 2 * np.pi * np.arange(tube)[None, :, None] / tube
    offset = np.cos(v) * normal[:, None] + np.sin(v) * across[:, None]
    grid = curve(t)[:, None] + thickness * offset
    mesh = make_mesh(grid.reshape(-1, 3), _torus_faces(ring, tube), name="knot")

    def inside(points: np.ndarray) -> np.ndarray:
        from scipy.spatial import KDTree

        fine = KDTree(curve(2 * np.pi * np.arange(8192) / 8192))
        return fine.query(points, distance_upper_bound=thickness)[0] < thickness

    return Primitive(mesh, inside)


PRIMITIVES: dict[str, Callable[[], Primitive]] = {
    "sphere": sphere,
    "torus": torus,
    "wrinkled": wrinkled,
    "knot": knot,
}


def primitive(name: str) -> Primitive:
    """The shape of that name at its usual fineness."""
    if name not in PRIMITIVES:
        raise InputError(
            f"`{name}` is no built-in shape; there are {', '.join(PRIMITIVES)}"
        )
    return PRIMITIVES[name]()


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _torus_faces(ring: int, tube: int) -> np.ndarray:
    """Two triangles for each cell of a (ring, tube) grid that wraps both ways."""
    i, j = np.meshgrid(np.arange(ring), np.arange(tube), indexing="ij")
    a, b = i * tube + j, (i + 1) % ring * tube + j
    c, d = (i + 1) % ring * tube + (j + 1) % tube, i * tube + (j + 1) % tube
    return np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3)


def _icosphere(subdivisions: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit directions and faces, each triangle cut in four as often as asked."""
    golden = (1 + 5**0.5) / 2
    short = [(0, i, j * golden) for i in (-1, 1) for j in (-1, 1)]
    vertices = np.array([np.roll(v, k) for k in range(3) for v in short], float)
    gaps = np.linalg.norm(vertices[:, None] - vertices, axis=-1)
    near = np.isclose(gaps, 2.0)
    triples = np.argwhere(near[:, :, None] & near[:, None, :] & near[None])
    faces = triples[(triples[:, 0] < triples[:, 1]) & (triples[:, 1] < triples[:, 2])]
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    inward = np.einsum("ij,ij->i", a, np.cross(b, c)) < 0
    faces[inward] = faces[inward][:, ::-1]
    vertices = _unit(vertices)
    for _ in range(subdivisions):
        pairs = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], -1), axis=-1)
        edges, index = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
        middle = len(vertices) + index.reshape(-1, 3)
        vertices = np.concatenate([vertices, _unit(vertices[edges].sum(axis=1))])
        (a, b, c), (ab, bc, ca) = faces.T, middle.T
        four = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = np.concatenate([np.stack(triangle, axis=-1) for triangle in four])
    return vertices, faces
