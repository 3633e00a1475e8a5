"""Forward-facing scenes in the coordinates of one camera: its picture and disparity.

Normalised device coordinates, as NeRF uses them for scenes that all cameras look at
from one side: what is far off takes little room, and every straight ray stays straight.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

MOST_ANGLE = 75.0
"""Degrees from the middle camera's axis that a ray may have; at 90 it would run along
the near plane."""
MOST_ADVANCE = 0.5
"""Of the way to the near plane that a camera may stand before the middle one."""


@dataclass(frozen=True, eq=False)
class Frustum:
    """The pyramid that a camera in the midst of the others sees.

    A point with x, y, z in that camera's frame (z is negative) is

        v = (1/2 + s x / -z, 1/2 + s y / -z, (1 - near / -z) / (1 - near / far))

    to a field: from 0 to 1 along the longer side of its picture, and in disparity.
    """

    pose: Float[np.ndarray, "3 4"]
    """Of the middle camera, camera to world."""
    scale: float
    """s: focal length over the longer side of the picture."""

    def place(self, poses: Float[np.ndarray, "n 3 4"]) -> Float[np.ndarray, "n 3 4"]:
        """Poses in the frame of the middle camera."""
        turn = self.pose[:, :3]
        away = poses[:, :, 3:] - self.pose[:, 3:]
        return np.einsum(
            "ij,nik->njk", turn, np.concatenate([poses[:, :, :3], away], 2)
        )


def frustum_of(
    poses: np.ndarray, lens: np.ndarray, size: tuple[int, int], near: float
) -> Frustum | None:
    """The frustum of cameras that all look one way; None where they do not."""
    back, up = poses[:, :, 2].mean(axis=0), poses[:, :, 1].mean(axis=0)
    if min(np.linalg.norm(back), np.linalg.norm(up)) < 0.5:
        return None
    back = back / np.linalg.norm(back)
    right = np.cross(up, back)
    right = right / np.linalg.norm(right)
    turn = np.stack([right, np.cross(back, right), back], axis=1)
    pose = np.column_stack([turn, poses[:, :, 3].mean(axis=0)])
    scale = float(np.median(lens[:, 0])) / max(size)
    frustum = Frustum(pose, scale)
    placed = frustum.place(poses)
    rows, columns = size
    corner = np.hypot(columns / 2 / lens[:, 0], rows / 2 / lens[:, 1])
    off_axis = np.degrees(np.arccos(np.clip(placed[:, 2, 2], -1, 1)))
    widest = (off_axis + np.degrees(np.arctan(corner))).max()
    if widest > MOST_ANGLE or -placed[:, 2, 3].min() > MOST_ADVANCE * near:
        return None
    return frustum
