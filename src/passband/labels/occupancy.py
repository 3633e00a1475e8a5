"""Which points are inside a mesh: the labels that a shape is learned from."""

import importlib.util
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, runtime_checkable

import numpy as np

from passband.errors import InputError
from passband.labels.cells import UNKNOWN, Cells
from passband.labels.columns import Columns

CHUNK = 1 << 16  # points a thread takes at a time
PROBES = 1 << 15  # points that measure how far a test can be trusted
MOST_UNDECIDED = 0.01
# Three rays that are parallel to no face of a drawn or machined part.
DIRECTIONS = np.array(
    [[0.4395, 0.6176, 0.6522], [-0.7311, 0.2847, 0.6201], [0.1903, -0.8807, -0.4337]],
    np.float32,
)

Test = Callable[[np.ndarray], np.ndarray]


@runtime_checkable
class EdgeCounts(Protocol):
    @property
    def boundary(self) -> int: ...
    @property
    def odd(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def consistent(self) -> bool: ...


@runtime_checkable
class Surface(Protocol):
    """What a labeller asks of a mesh; `passband.data.meshes.Mesh` is one."""

    @property
    def vertices(self) -> np.ndarray: ...
    @property
    def faces(self) -> np.ndarray: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def edges(self) -> EdgeCounts: ...
    @property
    def volumes(self) -> np.ndarray: ...


class Labeller:
    """Inside or outside, for points in the coordinates of a normalised mesh.

    Where the winding is consistent, one ray: a point is inside if the first face it
    meets is seen from behind. Where that is ambiguous (parts that overlap) or Embree is
    missing, the winding number counted along an axis: inside where it is not 0. Where
    the winding is inconsistent or the mesh open, the parity along the three axes and
    their majority. A grid of cells answers first for points far from the surface.

    Attributes:
        method: the test in use, in words.
        undecided: the share of points in the box whose three rays do not agree.
    """

    def __init__(
        self,
        mesh: Surface,
        *,
        allow_open: bool = False,
        embree: bool = True,
        cells: bool = True,
        workers: int | None = None,
    ):
        self.name = mesh.name
        self.workers = workers or os.cpu_count() or 1
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        if np.abs([low, high]).max() > 1e3 * float((high - low).max()):
            raise ValueError("`mesh` is far from the origin: normalise it first")
        probes = np.random.default_rng(0).uniform(low, high, (PROBES, 3))
        probes = probes.astype(np.float32)
        self._test, self.method, self.undecided = _choose(mesh, probes, embree)
        if not mesh.edges.closed:
            judge_open(mesh.name, mesh.edges.odd, self.undecided, allow_open)
        self._cells = None
        if cells:
            test = self._threaded(self._test)
            # Few triangles make quick rays, and are not worth a fine grid.
            size = int(np.clip(np.sqrt(len(mesh.faces)), 32, 192))
            self._cells = Cells(mesh.vertices, mesh.faces, test, resolution=size)
            if self._cells.torn > 0.02:
                # Each cell is asked: fewer of them, or it takes a minute.
                size = min(size, 64)
                self._cells = Cells(
                    mesh.vertices, mesh.faces, test, resolution=size, by_cell=True
                )

    def inside(self, points: np.ndarray) -> np.ndarray:
        """Whether each of points (n, 3) is inside, in float32, on all cores."""
        return self._threaded(self.inside_chunk)(np.asarray(points))

    def inside_chunk(self, points: np.ndarray) -> np.ndarray:
        """The same for a few float32 points, on this thread."""
        if self._cells is None:
            return self._test(points)
        side = self._cells(points)
        near = np.flatnonzero(side == UNKNOWN)
        side[near] = self._test(points[near])
        return side.astype(bool)

    def _threaded(self, test: Test) -> Test:
        def run(points: np.ndarray) -> np.ndarray:
            result = np.empty(len(points), bool)

            def work(start: int) -> None:
                # Embree and NumPy let go of the interpreter, so threads are enough.
                chunk = np.ascontiguousarray(points[start : start + CHUNK], np.float32)
                result[start : start + CHUNK] = test(chunk)

            with ThreadPoolExecutor(self.workers) as pool:
                list(pool.map(work, range(0, len(points), CHUNK)))
            return result

        return run


def judge_open(name: str, odd: int, undecided: float, allow_open: bool) -> None:
    """Warn that a mesh has holes; refuse it where too many points have no side."""
    found = (
        f"`{name}` is open: {odd} edges bound a hole or a stray face, and "
        f"{undecided:.2%} of the points in its box have no clear side"
    )
    if undecided > MOST_UNDECIDED and not allow_open:
        raise InputError(
            f"{found} (at most {MOST_UNDECIDED:.0%} is taken); close the holes, or "
            "allow an open mesh with `allow_open`"
        )
    warnings.warn(f"{found}; the majority of three rays labels them", stacklevel=3)


class EmbreeRays:
    """The first face that each ray meets, by Embree in float32."""

    def __init__(self, vertices: np.ndarray, faces: np.ndarray):
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        # Without `robust`, 1 ray in 400,000 slipped between two faces of the Dragon.
        self._scene = EmbreeScene(robust=True)
        TriangleMesh(self._scene, vertices.astype(np.float32), faces.astype(np.int32))
        a, b, c = np.moveaxis(vertices[faces], 1, 0)
        self.normals = np.cross(b - a, c - a).astype(np.float32)
        # The first run builds the tree: before threads share the scene.
        self.first(np.zeros((1, 3), np.float32), DIRECTIONS[:1])

    def first(self, origins: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Index of the face, -1 for none; `directions` is (n, 3), or (1, 3) for all."""
        return self._scene.run(
            np.ascontiguousarray(origins, np.float32),
            np.ascontiguousarray(directions, np.float32),
        )


def embree_missing() -> bool:
    return importlib.util.find_spec("embreex") is None


def _choose(mesh: Surface, probes: np.ndarray, embree: bool) -> tuple[Test, str, float]:
    """The test for this mesh, its name, and the share of probes without a clear side.

    Overlapping parts, or parts wound oppositely, make first hits disagree often; the
    folds of a scanned surface do for 1 point in 100,000.
    """
    if not mesh.edges.consistent:
        return _parity(mesh, probes)
    if embree and not embree_missing():
        rays = EmbreeRays(mesh.vertices, mesh.faces)
        outward = 1 if mesh.volumes.sum() > 0 else -1
        tests = [_from_behind(rays, outward * way) for way in DIRECTIONS]
        votes = np.stack([test(probes) for test in tests])
        undecided = float((votes != votes[0]).any(axis=0).mean())
        if undecided < 1e-3:
            return tests[0], "first hit (Embree)", undecided
    column = Columns(mesh.vertices, mesh.faces, axis=0)

    def winds(points: np.ndarray) -> np.ndarray:
        return column.crossings(points)[1] != 0

    return winds, "winding number (NumPy)", 0.0


def _from_behind(rays: EmbreeRays, direction: np.ndarray) -> Test:
    leaving = rays.normals @ direction > 0

    def test(points: np.ndarray) -> np.ndarray:
        face = rays.first(points, direction[None])
        return (face >= 0) & leaving[face]

    return test


def _parity(mesh: Surface, probes: np.ndarray) -> tuple[Test, str, float]:
    columns = [Columns(mesh.vertices, mesh.faces, axis) for axis in range(3)]

    def votes(points: np.ndarray) -> np.ndarray:
        return np.sum([column.crossings(points)[0] % 2 for column in columns], axis=0)

    def majority(points: np.ndarray) -> np.ndarray:
        one, two = (columns[axis].crossings(points)[0] % 2 for axis in (0, 1))
        split = np.flatnonzero(one != two)
        one[split] = columns[2].crossings(points[split])[0] % 2
        return one.astype(bool)

    undecided = float(np.isin(votes(probes), (1, 2)).mean())
    return majority, "parity, 3 axes (NumPy)", undecided
