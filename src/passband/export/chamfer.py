"""How far two surfaces are apart, both ways."""

from typing import NamedTuple

import numpy as np

from passband.errors import InputError

SAMPLES = 200_000
NEAREST = 8  # entries of the tree whose faces are tried for each point


class Chamfer(NamedTuple):
    """Mean distances, in the units of the vertices."""

    mean: float
    """Half the sum of the two below: the symmetric Chamfer distance, unsquared."""
    forth: float
    """From points of the first surface to the second."""
    back: float
    """From points of the second surface to the first."""


Surface = tuple[np.ndarray, np.ndarray]
"""Vertices (v, 3) and faces (f, 3)."""


def chamfer(
    first: Surface, second: Surface, *, samples: int = SAMPLES, seed: int = 0
) -> Chamfer:
    """Symmetric Chamfer distance, from `samples` points of each spread by area.

    The distance of a point is that to the triangles near it, found by a tree of samples
    of the other surface and of the centre of each of its faces. The distance between
    samples themselves would never fall below half their spacing.
    """
    rng = np.random.default_rng(seed)
    ours = sample_surface(*first, samples, rng)
    theirs = sample_surface(*second, samples, rng)
    forth = float(np.mean(_distance(ours[0], *theirs, second)))
    back = float(np.mean(_distance(theirs[0], *ours, first)))
    return Chamfer((forth + back) / 2, forth, back)


def sample_surface(
    vertices: np.ndarray, faces: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) uniform over the area, and the face of each."""
    a, b, c = np.moveaxis(np.asarray(vertices, np.float64)[faces], 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    total = np.cumsum(area)
    if not len(total) or not total[-1] > 0:
        raise InputError(f"a surface of {len(faces)} faces has no area to sample")
    # Clipped, since a draw just below the total may round up to it.
    face = np.searchsorted(total, rng.random(n) * total[-1], side="right")
    face = np.minimum(face, len(faces) - 1)
    root, along = np.sqrt(rng.random((n, 1))), rng.random((n, 1))
    a, b, c = a[face], b[face], c[face]
    return (1 - root) * a + root * (1 - along) * b + root * along * c, face


def _distance(
    points: np.ndarray, samples: np.ndarray, face: np.ndarray, surface: Surface
) -> np.ndarray:
    from scipy.spatial import KDTree

    vertices, faces = surface
    # Samples stand for large faces, centres for the small ones between samples.
    centres = np.asarray(vertices, np.float64)[faces].mean(axis=1)
    face = np.concatenate([face, np.arange(len(faces))])
    near = min(NEAREST, len(face))
    tree = KDTree(np.concatenate([samples, centres]), balanced_tree=False)
    _, index = tree.query(points, k=near, workers=-1)
    index = index.reshape(len(points), near)
    best = np.full(len(points), np.inf)
    for rank in range(near):
        corners = np.asarray(vertices, np.float64)[faces[face[index[:, rank]]]]
        np.minimum(best, point_triangle(points, corners), out=best)
    return best


def point_triangle(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Distance of each point (n, 3) from its own triangle (n, 3, 3)."""
    a, b, c = np.moveaxis(corners, 1, 0)
    normal = np.cross(b - a, c - a)
    squared = np.einsum("ij,ij->i", normal, normal)
    away = points - a
    # Barycentric weights of the foot on the plane; a sliver's are not used.
    with np.errstate(divide="ignore", invalid="ignore"):
        v = np.einsum("ij,ij->i", np.cross(away, c - a), normal) / squared
        w = np.einsum("ij,ij->i", np.cross(b - a, away), normal) / squared
        above = np.abs(np.einsum("ij,ij->i", away, normal)) / np.sqrt(squared)
    over = (v >= 0) & (w >= 0) & (v + w <= 1) & (squared > 0)
    edges = [_point_segment(points, *pair) for pair in ((a, b), (b, c), (c, a))]
    return np.where(over, above, np.minimum.reduce(edges))


def _point_segment(points: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    along, away = q - p, points - p
    length = np.einsum("ij,ij->i", along, along)
    t = np.einsum("ij,ij->i", away, along) / np.where(length > 0, length, 1)
    return np.linalg.norm(away - np.clip(t, 0, 1)[:, None] * along, axis=1)
