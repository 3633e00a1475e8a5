"""Counting how often an axis-parallel ray crosses a mesh, in plain NumPy.

A ray leaves the point along one axis, so that seen along it a triangle is crossed where
its projection holds the point. Every edge is evaluated by one expression, whichever
triangle asks, so that a ray slips neither through an edge nor through both sides.
"""

from collections.abc import Iterator

import numpy as np

PAIRS = 1 << 20  # point-triangle pairs held at a time: 300 MB at 12 numbers each


class Columns:
    """The triangles over each cell of a grid across `axis` (0, 1 or 2)."""

    def __init__(self, vertices: np.ndarray, faces: np.ndarray, axis: int):
        self.axis = axis
        self._across = [(axis + 1) % 3, (axis + 2) % 3]
        vertices = np.asarray(vertices, np.float64)
        flat = vertices[:, self._across]
        self._low, high = flat.min(axis=0), flat.max(axis=0)
        self._table = _edge_table(flat, vertices[:, axis], faces)
        low, high = flat[faces].min(axis=1), flat[faces].max(axis=1)
        size = float(np.max(flat.max(axis=0) - self._low))
        side = int(np.clip(np.sqrt(len(faces)), 8, 1024))
        while True:
            self._inverse = side / (size * (1 + 1e-9))
            first, last = self._cell(low), self._cell(high)
            spans = last - first + 1
            entries = int(spans.prod(axis=1).sum())
            # Triangles much larger than a cell would fill the memory with entries.
            if side <= 8 or entries <= 12 * len(faces) + 100_000:
                break
            side = max(8, side // 2)
        self._side = side
        self._fill(first, spans)

    def _cell(self, flat: np.ndarray) -> np.ndarray:
        return ((flat - self._low) * self._inverse).astype(np.int64)

    def _fill(self, first: np.ndarray, spans: np.ndarray) -> None:
        """Lists of triangles by cell, one after the other: `_lists[_start[cell]:]`."""
        counts = spans.prod(axis=1)
        triangle = np.repeat(np.arange(len(first), dtype=np.int32), counts)
        nth = np.arange(len(triangle)) - np.repeat(np.cumsum(counts) - counts, counts)
        row, column = np.divmod(nth, np.repeat(spans[:, 1], counts))
        row += np.repeat(first[:, 0], counts)
        column += np.repeat(first[:, 1], counts)
        cell = row * self._side + column
        self._lists = triangle[np.argsort(cell, kind="stable")]
        uses = np.bincount(cell, minlength=self._side**2)
        self._start = np.concatenate([[0], np.cumsum(uses)])

    def crossings(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Number of crossings, and their sum with +1 where the ray leaves the solid."""
        number = np.zeros(len(points), np.int64)
        signed = np.zeros(len(points), np.int64)
        for which, _, sign, height in self._hits(points[:, self._across]):
            ahead = points[which, self.axis] < height
            which, sign = which[ahead], sign[ahead]
            number += np.bincount(which, minlength=len(points))
            total = np.bincount(which, sign, minlength=len(points))
            signed += total.astype(np.int64)
        return number, signed

    def topmost(self, points: np.ndarray) -> np.ndarray:
        """The face furthest along the axis over each of points (n, 2), -1 for none."""
        face = np.full(len(points), -1)
        for which, triangle, _, height in self._hits(points):
            order = np.lexsort((height, which))
            face[which[order]] = triangle[order]  # the last one stays
        return face

    def _hits(self, flat: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Points by index, triangles over or under them, their way up and height.

        Points come in ascending order, and all hits of one in the same part.
        """
        flat = flat.astype(np.float64)
        cell = self._cell(flat)
        within = np.flatnonzero(((cell >= 0) & (cell < self._side)).all(axis=1))
        cell = cell[within, 0] * self._side + cell[within, 1]
        start = self._start[cell]
        count = self._start[cell + 1] - start
        part = np.cumsum(count) // PAIRS
        cuts = np.searchsorted(part, np.arange(1, part[-1] + 1 if len(part) else 1))
        for index in np.split(np.arange(len(within)), cuts):
            begin, length = start[index], count[index]
            which = np.repeat(within[index], length)
            skip = np.cumsum(length) - length
            entry = np.arange(len(which)) + np.repeat(begin - skip, length)
            triangle = self._lists[entry]
            x, y = flat[which].T
            hit, sign, height = self._test(x, y, self._table[triangle])
            yield which[hit], triangle[hit], sign, height

    def _test(
        self, x: np.ndarray, y: np.ndarray, row: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which of the pairs hit, from which side, and how far up."""
        edges = [
            row[:, 3 * k] * x + row[:, 3 * k + 1] * y + row[:, 3 * k + 2]
            for k in range(3)
        ]
        left = [_left(edges[k], row[:, 3 * k], row[:, 3 * k + 1]) for k in range(3)]
        front = left[0] & left[1] & left[2]
        hit = np.flatnonzero(front | ~(left[0] | left[1] | left[2]))
        # Height at the point, a weighted mean of the corners: steep triangles too.
        weights = np.stack([edge[hit] for edge in edges])
        total = weights.sum(axis=0)
        total[total == 0] = 1
        height = (weights * row[hit, 9:].T).sum(axis=0) / total
        return hit, np.where(front[hit], 1, -1), height


def _left(edge: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """On the left of an edge; a point exactly on it as if moved a little."""
    left = edge > 0
    tie = np.flatnonzero(edge == 0)
    left[tie] = (a[tie] > 0) | ((a[tie] == 0) & (b[tie] > 0))
    return left


def _edge_table(flat: np.ndarray, depth: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """For each face its three edge functions a x + b y + c and three depths (f, 12).

    Edge k is opposite corner k, so that the functions are barycentric weights.
    """
    table = np.empty((len(faces), 12))
    for k in range(3):
        start, end = faces[:, (k + 1) % 3], faces[:, (k + 2) % 3]
        turn = np.where(start < end, 1.0, -1.0)
        p, q = flat[np.minimum(start, end)], flat[np.maximum(start, end)]
        a, b = p[:, 1] - q[:, 1], q[:, 0] - p[:, 0]
        table[:, 3 * k] = turn * a
        table[:, 3 * k + 1] = turn * b
        table[:, 3 * k + 2] = turn * -(a * p[:, 0] + b * p[:, 1])
        table[:, 9 + k] = depth[faces[:, k]]
    return table
