"""Cameras: where they stand, what they look at, and paths for new ones.

A pose is [R, origin] from camera to world, (3, 4): the camera looks along -R z, with
R y up and R x to the right. A lens is (fx, fy, cx, cy) in pixels, and the centre of the
first pixel is at (0, 0).
"""

import math
from typing import NamedTuple

import numpy as np

from ..errors import InputError

PARALLEL = 0.005
"""Mean squared sine of the angles between the cameras' axes below which what they look
at cannot be told from them: about 4 degrees."""


class Focus(NamedTuple):
    """What a set of cameras looks at."""

    centre: np.ndarray
    nearest: float
    """Depth of the centre from the camera that is nearest to it."""
    farthest: float
    radius: float
    """How far from the centre the corners of the pictures are."""

    @property
    def near(self) -> float:
        return max(self.nearest - self.radius, 0.05 * self.nearest)

    @property
    def far(self) -> float:
        return self.farthest + self.radius


def focus(poses: np.ndarray, lens: np.ndarray, size: tuple[int, int]) -> Focus | None:
    """Where the cameras' axes meet, in least squares, and how much they see there.

    None where the axes are parallel, or do not meet in front of the cameras.
    """
    axes, origins = -poses[:, :, 2], poses[:, :, 3]
    across = np.eye(3) - axes[:, :, None] * axes[:, None]
    total = across.mean(axis=0)
    if np.linalg.eigvalsh(total)[0] < PARALLEL:
        return None
    centre = np.linalg.solve(total, (across @ origins[:, :, None]).mean(axis=0)[:, 0])
    depth = ((centre - origins) * axes).sum(axis=1)
    ahead = depth > 0
    if ahead.mean() < 0.9:
        return None
    rows, columns = size
    corner = np.hypot(columns / 2 / lens[ahead, 0], rows / 2 / lens[ahead, 1])
    depth = depth[ahead]
    radius = float(np.median(depth * corner))
    return Focus(centre, float(depth.min()), float(depth.max()), radius)


def look_at(eye: np.ndarray, target: np.ndarray, up: np.ndarray) -> np.ndarray:
    """The pose of a camera at `eye` that looks at `target`."""
    back = eye - target
    right = np.cross(up, back)
    if np.linalg.norm(right) < 1e-9 * np.linalg.norm(back):
        raise InputError("`eye` is straight above or below `target`; turn `up`")
    back, right = back / np.linalg.norm(back), right / np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back, eye], axis=1)


def orbit(
    centre: np.ndarray, up: np.ndarray, radius: float, elevation: float, count: int
) -> np.ndarray:
    """Poses on a circle about `centre`, `elevation` degrees above its plane."""
    up = up / np.linalg.norm(up)
    first = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    first = first / np.linalg.norm(first)
    second = np.cross(up, first)
    height = math.sin(math.radians(elevation))
    level = math.cos(math.radians(elevation))
    poses = []
    for angle in 2 * math.pi * np.arange(count) / count:
        way = level * (math.cos(angle) * first + math.sin(angle) * second)
        poses.append(look_at(centre + radius * (way + height * up), centre, up))
    return np.stack(poses)


def orbit_of(poses: np.ndarray, centre: np.ndarray) -> dict[str, object]:
    """The circle that goes with a set of cameras: their mean distance and elevation.

    Up is the mean of what is up for the cameras, or the axis of the world next to it.
    """
    up = poses[:, :, 1].mean(axis=0)
    size = np.linalg.norm(up)
    up = up / size if size > 1e-3 else np.array([0.0, 0.0, 1.0])
    nearest = int(np.argmax(np.abs(up)))
    if abs(up[nearest]) > 0.9:
        up = np.sign(up[nearest]) * np.eye(3)[nearest]
    away = poses[:, :, 3] - centre
    radius = float(np.linalg.norm(away, axis=1).mean())
    sine = np.clip((away @ up).mean() / radius, -1, 1)
    elevation = float(np.clip(math.degrees(math.asin(sine)), -60, 60))
    return {
        "centre": centre.tolist(),
        "up": up.tolist(),
        "radius": radius,
        "elevation": elevation,
    }


def sway(
    pose: np.ndarray, radii: tuple[float, float], depth: float, count: int
) -> np.ndarray:
    """Poses on an ellipse about a camera, across its axis, that look at one point.

    Args:
        radii: to the right and up.
        depth: of the point before the camera.
    """
    right, up, back, eye = pose.T
    angles = 2 * math.pi * np.arange(count) / count
    way = radii[0] * np.cos(angles)[:, None] * right
    way = way + radii[1] * np.sin(angles)[:, None] * up
    return np.stack([look_at(eye + off, eye - depth * back, up) for off in way])


def turned(poses: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The cameras after the whole world, they included, is turned about its origin."""
    return np.einsum("ij,njk->nik", turn, poses)
