"""How far points are from a mesh, and on which side: a signed distance."""

from dataclasses import dataclass

import numpy as np

from .occupancy import Labeller, Surface

SAMPLES = 200_000
"""Of the surface, that tell which faces are near."""
NEIGHBOURS = 8
CHUNK = 1 << 14
NEAR_SPREADS = (0.005, 0.03)
"""Of half of the points, from the surface, in sides of the unit cube."""
OUTSIDE = 0.1
"""How far beyond the mesh's box points are taken, in sides of the unit cube: the
largest offset of the surface that a field can be asked for."""


@dataclass(frozen=True, eq=False)
class DistancePoints:
    """Points of the unit cube and their signed distances, negative inside."""

    points: np.ndarray
    """(n, 3) float32."""
    distances: np.ndarray
    """(n,) float32, in sides of the unit cube."""
    near: np.ndarray
    """(n,) bool: drawn near the surface, and not uniformly."""


class Distances:
    """Signed distance to a normalised mesh.

    The faces of the nearest samples of the surface are candidates, and the distance to
    each of those is exact: an error is left only where a nearer face has none of them.
    """

    def __init__(self, mesh: Surface, labeller: Labeller, *, samples: int = SAMPLES):
        from scipy.spatial import KDTree  # takes 0.2 s to import

        self._triangles = mesh.vertices[mesh.faces].astype(np.float64)
        self._labeller = labeller
        rng = np.random.default_rng(0)
        self._face, places = surface_samples(self._triangles, samples, rng)
        # Small faces may have no sample: their middles stand for them.
        self._face = np.concatenate([self._face, np.arange(len(mesh.faces))])
        middles = self._triangles.mean(axis=1)
        self._tree = KDTree(np.concatenate([places, middles]))

    def signed(self, points: np.ndarray) -> np.ndarray:
        """(n,) float32, negative inside."""
        from trimesh.triangles import closest_point

        found = np.empty(len(points))
        for start in range(0, len(points), CHUNK):
            part = np.asarray(points[start : start + CHUNK], np.float64)
            _, near = self._tree.query(part, k=NEIGHBOURS)
            faces = self._face[near]
            again = np.repeat(part, NEIGHBOURS, axis=0)
            there = closest_point(self._triangles[faces.ravel()], again)
            apart = np.linalg.norm(there - again, axis=1).reshape(faces.shape)
            found[start : start + CHUNK] = apart.min(axis=1)
        inside = self._labeller.inside(np.asarray(points, np.float32))
        return np.where(inside, -found, found).astype(np.float32)


def surface_samples(
    triangles: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Faces and points, uniform over the area of (n, 3, 3) triangles."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    face = rng.choice(len(triangles), size=count, p=area / area.sum())
    root, along = np.sqrt(rng.random((count, 1))), rng.random((count, 1))
    a, b, c = a[face], b[face], c[face]
    return face, (1 - root) * a + root * (1 - along) * b + root * along * c


def distance_points(
    mesh: Surface, labeller: Labeller, count: int, *, seed: int = 0
) -> DistancePoints:
    """Half uniform in a box about the mesh, half near its surface."""
    rng = np.random.default_rng([seed, 4])
    low, high = mesh.vertices.min(axis=0) - OUTSIDE, mesh.vertices.max(axis=0) + OUTSIDE
    triangles = mesh.vertices[mesh.faces].astype(np.float64)
    close = count // 2
    _, places = surface_samples(triangles, close, rng)
    spread = rng.choice(NEAR_SPREADS, size=(close, 1))
    places = places + spread * rng.normal(size=(close, 3))
    points = np.concatenate([rng.uniform(low, high, (count - close, 3)), places])
    near = np.arange(count) >= count - close
    mixed = rng.permutation(count)
    points = points[mixed].astype(np.float32)
    return DistancePoints(points, Distances(mesh, labeller).signed(points), near[mixed])
