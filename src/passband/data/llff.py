"""LLFF's `poses_bounds.npy`: cameras and how near and far each of them sees."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..file_gate import read_npy, reader

WHAT = "a poses_bounds.npy of LLFF"


class PosesBounds(NamedTuple):
    """The cameras of a poses_bounds.npy."""

    poses: np.ndarray
    """(n, 3, 4), camera to world; the camera looks along -z, y is up."""
    size: tuple[int, int]
    """(rows, columns) of the pictures that the focal lengths are for."""
    focal: np.ndarray
    """(n,)."""
    bounds: np.ndarray
    """(n, 2): depths between which a camera sees the scene."""


@reader(WHAT)
def read_poses_bounds(path: Path) -> PosesBounds:
    """Rows of 17: a 3 x 5 matrix [down, right, back, place, (rows, columns, focal)],
    row by row, then near and far."""
    values = read_npy(path)
    if values.ndim != 2 or values.shape[1] != 17 or not len(values):
        raise InputError(
            f"`{path}` has shape {values.shape}; {WHAT} has 17 numbers for each picture"
        )
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        raise InputError(f"`{path}` holds NaN, infinite numbers, or none")
    values = values.astype(float)
    both = values[:, :15].reshape(-1, 3, 5)
    down, right, back, place = (both[:, :, k] for k in range(4))
    turn = np.stack([right, -down, back], axis=2)
    off = np.abs(turn @ turn.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
    if (off > 1e-2).any() or (np.linalg.det(turn) < 0).any():
        bad = int(np.argmax((off > 1e-2) | (np.linalg.det(turn) < 0)))
        raise InputError(
            f"`{path}`: picture {bad} has no rotation of axes [down, right, back]"
        )
    rows, columns, focal = (both[:, k, 4] for k in range(3))
    if (rows != rows[0]).any() or (columns != columns[0]).any():
        raise InputError(f"`{path}` has pictures of different size")
    if min(rows[0], columns[0], focal.min()) < 1:
        raise InputError(
            f"`{path}` has pictures of {rows[0]:g} x {columns[0]:g} pixels, focal "
            f"length {focal.min():g}"
        )
    bounds = values[:, 15:]
    if not ((bounds[:, 0] > 0) & (bounds[:, 0] < bounds[:, 1])).all():
        raise InputError(f"`{path}`: near is positive and below far; it is not")
    poses = np.concatenate([turn, place[:, :, None]], axis=2)
    return PosesBounds(poses, (int(rows[0]), int(columns[0])), focal, bounds)
