"""A field's surface as a triangle mesh: marching cubes, slab by slab, and the files."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from passband.atomic_write import atomic_write
from passband.data.meshes import Placement
from passband.errors import InputError

SLAB = 1 << 23  # values held at a time: 32 MB, and a few times that inside the march
BatchField = Callable[[np.ndarray], np.ndarray]
"""Points (n, 3) float32 to n values, larger inside."""


class Extracted(NamedTuple):
    """A surface: corners, triangles wound outwards, unit normals at the corners."""

    vertices: np.ndarray
    """(v, 3) float64."""
    faces: np.ndarray
    """(f, 3) int32."""
    normals: np.ndarray
    """(v, 3) float32."""


def extract(
    field: BatchField,
    box: tuple[np.ndarray, np.ndarray],
    *,
    resolution: int = 256,
    level: float = 0.0,
    chunk: int = 1 << 18,
    placement: Placement | None = None,
    on_slab: Callable[[float], None] | None = None,
) -> Extracted:
    """The surface where the field equals `level`, closed also where it meets the box.

    The grid has `resolution` cells along the longest side of the box. Slabs of it share
    their end planes, so that the corners on a plane come out the same twice and are
    merged: no more than one slab of values is ever held.

    Args:
        field: points (n, 3) to n values, such as logits; inside where above `level`.
        chunk: points given to the field at a time.
        placement: moves the result back to where the mesh that was fitted stood.
        on_slab: called with the share done, for progress.
    """
    low, high = (np.asarray(corner, np.float64) for corner in box)
    if resolution < 2:
        raise InputError(f"`resolution` (={resolution}) must be at least 2")
    step = float((high - low).max()) / resolution
    # One more plane on every side, where the field counts as outside.
    cells = np.ceil((high - low) / step - 1e-9).astype(int) + 2
    origin = (low + high) / 2 - cells * step / 2
    axes = [origin[k] + step * np.arange(cells[k] + 1) for k in range(3)]
    inner = [np.clip(axes[k], low[k], high[k]) for k in range(3)]
    thick = int(np.clip(SLAB // int(np.prod(cells[1:] + 1)), 2, 64))
    starts = range(0, int(cells[0]), thick)
    parts = []
    plane = None
    for start in starts:
        stop = min(start + thick, int(cells[0]))
        rows = range(start + (start > 0), stop + 1)
        fresh = _planes(field, inner, rows, level, chunk)
        values = fresh if plane is None else np.concatenate([plane, fresh])
        plane = values[-1:]
        parts.append(_march(values, start))
        if on_slab is not None:
            on_slab(stop / int(cells[0]))
    vertices, faces = _stitch(parts, starts)
    if not len(faces):
        raise InputError(
            f"the field never crosses `level` (={level}) in its box: there is no "
            "surface to extract; was it trained?"
        )
    corners = origin + vertices * step
    normals = -_gradient(field, corners, step / 2, chunk)
    if placement is not None:
        corners = placement.to_original(corners)
    return Extracted(corners, faces, normals)


def _planes(
    field: BatchField, axes: list[np.ndarray], rows: range, level: float, chunk: int
) -> np.ndarray:
    """Values minus level on some planes of the grid, below 0 on its rim."""
    x, y, z = axes
    shape = (len(y), len(z))
    values = np.empty((len(rows), *shape), np.float32)
    points = np.empty((shape[0] * shape[1], 3), np.float32)
    points[:, 1:] = np.stack(np.meshgrid(y, z, indexing="ij"), -1).reshape(-1, 2)
    for plane, row in enumerate(rows):
        points[:, 0] = x[row]
        values[plane] = _evaluate(field, points, chunk).reshape(shape) - level
    size = float(np.abs(values).max())
    if not np.isfinite(size):
        raise InputError("the field is not finite everywhere in its box; train it anew")
    # The rim has the value of the box's side, turned: a cap lies 0.1 cells beyond it.
    rim = np.zeros(values.shape, bool)
    rim[[row in (0, len(x) - 1) for row in rows]] = True
    rim[:, [0, -1]] = rim[:, :, [0, -1]] = True
    values[rim] = -9 * np.abs(values[rim])
    # A value of 0 would put several corners on one grid point, a hair apart or equal.
    hair = np.float32(1e-5 * size)
    close = np.abs(values) < hair
    values[close] = np.copysign(hair, values[close])
    return values


def _evaluate(field: BatchField, points: np.ndarray, chunk: int) -> np.ndarray:
    parts = [
        np.asarray(field(points[start : start + chunk]), np.float32).reshape(-1)
        for start in range(0, len(points), chunk)
    ]
    return np.concatenate(parts)


def _march(values: np.ndarray, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners in grid units and faces of one slab whose first plane is `start`."""
    from skimage.measure import marching_cubes

    if values.min() > 0 or values.max() < 0:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    vertices, faces, _, _ = marching_cubes(values, 0.0, gradient_direction="ascent")
    return vertices + np.array([start, 0.0, 0.0]), faces.astype(np.int64)


def _stitch(
    parts: list[tuple[np.ndarray, np.ndarray]], starts: range
) -> tuple[np.ndarray, np.ndarray]:
    """One mesh of all slabs, the corners on shared planes merged."""
    shifts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    vertices = np.concatenate([vertices for vertices, _ in parts])
    pairs = zip(parts, shifts, strict=False)
    faces = np.concatenate([faces + shift for (_, faces), shift in pairs])
    target = np.arange(len(vertices))
    shared = np.flatnonzero(np.isin(vertices[:, 0], list(starts)[1:]))
    _, first, inverse = np.unique(
        vertices[shared], axis=0, return_index=True, return_inverse=True
    )
    target[shared] = shared[first][inverse.reshape(-1)]
    faces = target[faces]
    collapsed = (faces == np.roll(faces, 1, axis=1)).any(axis=1)
    used, faces = np.unique(faces[~collapsed], return_inverse=True)
    return vertices[used], faces.reshape(-1, 3).astype(np.int32)


def _gradient(
    field: BatchField, points: np.ndarray, half: float, chunk: int
) -> np.ndarray:
    """Unit gradient by central differences over `half` a step either way."""
    slope = np.empty((len(points), 3), np.float32)
    for axis in range(3):
        shift = half * np.eye(3)[axis]
        above, below = (
            _evaluate(field, (points + way * shift).astype(np.float32), chunk)
            for way in (1, -1)
        )
        slope[:, axis] = above - below
    length = np.linalg.norm(slope, axis=1, keepdims=True)
    return slope / np.maximum(length, np.finfo(np.float32).tiny)


def write_mesh(
    path: str | Path,
    vertices: np.ndarray,
    faces: np.ndarray,
    normals: np.ndarray | None = None,
) -> None:
    """Write PLY (binary), OBJ or STL (binary), whole or not at all."""
    path = Path(path)
    writers = {".ply": _ply, ".obj": _obj, ".stl": _stl}
    if path.suffix.lower() not in writers:
        raise InputError(
            f"`{path}` ends in `{path.suffix}`; a mesh is written as "
            f"{', '.join(writers)}"
        )
    data = writers[path.suffix.lower()](vertices, faces, normals)
    with atomic_write(path) as part:
        part.write_bytes(data)


def _ply(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray | None) -> bytes:
    # Double: a corner at 4,000,000 metres moves by half a metre in float32.
    fields = [(name, "<f8") for name in "xyz"]
    columns = list(np.asarray(vertices, np.float64).T)
    if normals is not None:
        fields += [(name, "<f4") for name in ("nx", "ny", "nz")]
        columns += list(np.asarray(normals, np.float32).T)
    points = np.rec.fromarrays(columns, dtype=fields)
    triangles = np.empty(len(faces), [("count", "u1"), ("index", "<i4", 3)])
    triangles["count"], triangles["index"] = 3, faces
    kinds = {"<f8": "double", "<f4": "float"}
    header = ["ply", "format binary_little_endian 1.0"]
    header += [f"element vertex {len(vertices)}"]
    header += [f"property {kinds[kind]} {name}" for name, kind in fields]
    header += [f"element face {len(faces)}"]
    header += ["property list uchar int vertex_indices", "end_header", ""]
    return "\n".join(header).encode() + points.tobytes() + triangles.tobytes()


def _obj(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray | None) -> bytes:
    lines = ["v {:.9g} {:.9g} {:.9g}".format(*row) for row in vertices.tolist()]
    corner = "{0}"
    if normals is not None:
        lines += ["vn {:.4g} {:.4g} {:.4g}".format(*row) for row in normals.tolist()]
        corner = "{0}//{0}"
    names = [corner.format(k + 1) for k in range(len(vertices))]
    lines += [f"f {names[a]} {names[b]} {names[c]}" for a, b, c in faces.tolist()]
    return "\n".join([*lines, ""]).encode()


def _stl(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray | None) -> bytes:
    corners = np.asarray(vertices, np.float64)[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(across, axis=1, keepdims=True)
    record = np.zeros(len(faces), [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    record["n"] = across / np.maximum(length, np.finfo(np.float64).tiny)
    record["v"] = corners
    count = np.array([len(faces)], "<u4").tobytes()
    return b"passband".ljust(80) + count + record.tobytes()
