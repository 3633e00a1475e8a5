"""A grid over a closed surface that knows most points' side without a ray.

A cell that no triangle reaches lies wholly inside or wholly outside, and so does every
connected group of such cells. One label per group decides all but the few per cent of
points that share a cell with the surface.
"""

import itertools
from collections.abc import Callable

import numpy as np

OUTSIDE, INSIDE, UNKNOWN = 0, 1, 2
DISSENT = 0.01  # of a group's votes: more, and the group is torn
MARGIN = 1e-3  # in cells: far more than the float32 rounding of a point's cell


class Cells:
    """Cells over the box of a mesh, `resolution` along its longest side.

    A hole no wider than a cell is stopped up by the cells around its rim. Through a
    wider one inside and outside are one group, and its cells do not vote alike: they
    stay unknown, and `torn` is their share. `by_cell` then labels each for itself.
    """

    def __init__(
        self,
        vertices: np.ndarray,
        faces: np.ndarray,
        inside: Callable[[np.ndarray], np.ndarray],
        *,
        resolution: int,
        by_cell: bool = False,
    ):
        vertices = np.asarray(vertices, np.float64)
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        side = float((high - low).max()) / resolution
        # A rim of free cells all around joins everything outside into one group.
        self.low = (low - 1.5 * side).astype(np.float32)
        self.inverse = np.float32(1 / side)
        self.shape = tuple(int(n) + 3 for n in np.ceil((high - low) / side))
        corners = (vertices - self.low.astype(np.float64)) * float(self.inverse)
        near = _touched(corners, faces, self.shape)
        self.table = self._label(near, inside, by_cell).ravel()
        unknown = np.count_nonzero(self.table == UNKNOWN)
        self.torn = (unknown - np.count_nonzero(near)) / near.size

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """OUTSIDE, INSIDE or UNKNOWN for each of points (n, 3) float32."""
        index = np.floor((points - self.low) * self.inverse)
        within = ((index >= 0) & (index < np.array(self.shape, np.float32))).all(axis=1)
        if not within.all():
            index[~within] = 0  # a rim cell: outside
        cell = index.astype(np.int32)
        _, ny, nz = self.shape
        return self.table[(cell[:, 0] * ny + cell[:, 1]) * nz + cell[:, 2]]

    def _label(
        self,
        near: np.ndarray,
        inside: Callable[[np.ndarray], np.ndarray],
        by_cell: bool,
    ) -> np.ndarray:
        from scipy import ndimage

        group = np.zeros(near.shape, np.int32)
        if by_cell:
            group[~near] = np.arange(1, near.size + 1 - np.count_nonzero(near))
        else:
            ndimage.label(~near, output=group)
        flat, groups = group.ravel(), int(group.max())
        # Some cell of each group, and every 61st of all, vote for their groups.
        some = np.zeros(groups + 1, np.int64)
        some[flat] = np.arange(flat.size)
        asked = np.concatenate([some[1:], np.flatnonzero(flat[::61]) * 61])
        cells = np.stack(np.unravel_index(asked, near.shape), axis=-1)
        centres = self.low + (cells + 0.5).astype(np.float32) / self.inverse
        voters = np.bincount(flat[asked], minlength=groups + 1)[1:]
        votes = np.bincount(flat[asked], inside(centres), groups + 1)[1:]
        torn = np.minimum(votes, voters - votes) > DISSENT * voters
        side = np.where(torn, UNKNOWN, votes * 2 > voters)
        return np.concatenate([[UNKNOWN], side]).astype(np.uint8)[group]


def _touched(
    corners: np.ndarray, faces: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Cells that a triangle reaches, its vertices given in units of cells.

    Triangles are cut in four until a piece spans less than a cell; a piece marks the
    cells of its own box, `MARGIN` wider.
    """
    near = np.zeros(shape, bool)
    _, ny, nz = shape
    for part in np.array_split(faces, max(1, len(faces) // 200_000)):
        pieces = corners[part]
        while len(pieces):
            low = np.floor(pieces.min(axis=1) - MARGIN).astype(np.int32)
            high = np.floor(pieces.max(axis=1) + MARGIN).astype(np.int32)
            small = (high - low <= 1).all(axis=1)
            for step in itertools.product((0, 1), repeat=3):
                i, j, k = np.minimum(low[small] + np.array(step), high[small]).T
                near.reshape(-1)[(i * ny + j) * nz + k] = True
            pieces = _split(pieces[~small])
    return near


def _split(pieces: np.ndarray) -> np.ndarray:
    """Each of (n, 3, 3) triangles as four, joined at the middles of its edges."""
    a, b, c = np.moveaxis(pieces, 1, 0)
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    four = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    return np.concatenate([np.stack(triangle, axis=1) for triangle in four])
