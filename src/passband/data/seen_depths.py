"""How near and far a scene is, from points on its surfaces."""

from typing import NamedTuple

import numpy as np

QUANTILES = (0.001, 0.999)
"""Of the depths of points, nearer and farther than which are taken for mistakes: those
that LLFF takes."""
LEAST_POINTS = 8


class Depths(NamedTuple):
    """Depths between which cameras see what there is."""

    near: float
    far: float
    source: str
    """Where they are from, in words."""
    middle: np.ndarray | None = None
    """Of the points, and the side of a cube that holds nearly all of them."""
    side: float | None = None


def seen_depths(
    points: np.ndarray, poses: np.ndarray, lens: np.ndarray, size: tuple[int, int]
) -> Depths | None:
    """Of the points that each camera has in its picture; None if they are too few."""
    found, inside = [], np.zeros(len(points), bool)
    for pose, one in zip(poses, lens, strict=True):
        pixels, depth = project(points, pose, one)
        seen = (depth > 0) & (pixels > -0.5).all(axis=1)
        seen &= (pixels < np.array([size[1], size[0]]) - 0.5).all(axis=1)
        inside |= seen
        found.append(depth[seen])
    depths = np.concatenate(found)
    if inside.sum() < LEAST_POINTS:
        return None
    near, far = np.quantile(depths, QUANTILES)
    low, high = np.quantile(points[inside], QUANTILES, axis=0)
    source = f"{inside.sum():,} points of the model"
    return Depths(
        float(near), float(far), source, (low + high) / 2, float((high - low).max())
    )


def project(
    points: np.ndarray, pose: np.ndarray, lens: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where points are in a picture, (column, row), and their depths.

    With x = X / Z, y = Y / Z to the right and down, r^2 = x^2 + y^2, a bent lens has
    x' = x (1 + k1 r^2 + k2 r^4) + 2 p1 x y + p2 (r^2 + 2 x^2), and y' likewise with p1
    and p2 exchanged: OpenCV's model.
    """
    away = (points - pose[:, 3]) @ pose[:, :3]
    depth = -away[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = away[:, 0] / depth, -away[:, 1] / depth
    if len(lens) > 4:
        k1, k2, p1, p2 = lens[4:]
        r2 = x * x + y * y
        radial = 1 + r2 * (k1 + r2 * k2)
        x, y = (
            x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
            y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
        )
    return np.column_stack([lens[0] * x + lens[2], lens[1] * y + lens[3]]), depth
