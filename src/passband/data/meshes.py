"""Triangle meshes: files in, checked arrays out, and their place in the unit cube."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from passband.errors import InputError
from passband.file_gate import (
    check_cost,
    decoding,
    npz_shapes,
    open_file,
    read_npz,
    reader,
)

SUFFIXES = (".ply", ".obj", ".stl", ".npz")
FARTHEST = 1e60
"""The largest coordinate: volumes are its cube, and stay far from overflow."""
_ARTICLES = {"ply": "a PLY", "obj": "an OBJ", "stl": "an STL"}
_PER_FACE, _PER_VERTEX = 300, 150  # bytes while a mesh is checked and merged
MARGIN = 1e-3  # of the box around a normalised mesh (protocol 8)


class Edges(NamedTuple):
    """How the triangles of a mesh meet: numbers of undirected edges."""

    total: int
    boundary: int
    """Edges of one face: the rim of a hole."""
    nonmanifold: int
    """Edges of more than two faces."""
    odd: int
    """Edges of an odd number of faces; none means that parity tells inside."""
    unbalanced: int
    """Edges not run through equally often both ways; none means that the winding is
    consistent, so that the winding number is defined."""

    @property
    def closed(self) -> bool:
        return self.odd == 0

    @property
    def consistent(self) -> bool:
        return self.unbalanced == 0


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles over shared vertices; `make_mesh` checks arrays and makes one."""

    vertices: np.ndarray
    """(v, 3) float64, no two equal and every one in use."""
    faces: np.ndarray
    """(f, 3) int32."""
    name: str
    edges: Edges
    volumes: np.ndarray
    """Signed volume of each connected part, positive where normals point outwards."""
    digest: str
    """SHA-256 of the mesh as read, the same before and after `normalise`."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a normalised mesh came from: unit = ((v - center) / scale + 1) / 2."""

    center: np.ndarray
    scale: float

    def to_unit(self, points: np.ndarray) -> np.ndarray:
        shifted = np.asarray(points, np.float64) - self.center
        return 0.5 * (shifted / self.scale + 1)

    def to_original(self, points: np.ndarray) -> np.ndarray:
        centred = 2 * np.asarray(points, np.float64) - 1
        return centred * self.scale + self.center


def normalise(mesh: Mesh) -> tuple[Mesh, Placement]:
    """The mesh moved into [0, 1]^3 as the paper's code does it (protocol 8).

    The *vertex mean* goes to 0.5, and the largest absolute coordinate about it to the
    face of the cube.
    """
    center = mesh.vertices.mean(axis=0)
    scale = float(np.max(np.abs(mesh.vertices - center)))
    placement = Placement(center, scale)
    unit = placement.to_unit(mesh.vertices)
    volumes = mesh.volumes / (2 * scale) ** 3
    return replace(mesh, vertices=unit, volumes=volumes), placement


def bounding_box(mesh: Mesh, margin: float = MARGIN) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner of the vertices, `margin` further out."""
    return mesh.vertices.min(axis=0) - margin, mesh.vertices.max(axis=0) + margin


def count_edges(faces: np.ndarray) -> Edges:
    """Count how often each edge is run through, and which way."""
    start, end = faces.ravel().astype(np.int64), np.roll(faces, -1, axis=1).ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    # The way is the lowest bit of the key, so that one plain sort groups everything.
    key = (low * (int(faces.max()) + 1) + high) * 2 + (start < end)
    key = key[low != high]  # a collapsed triangle's edge to itself
    key.sort()
    edge = key >> 1
    first = np.flatnonzero(np.diff(edge, prepend=-1))
    uses = np.diff(first, append=len(key))
    forward = np.add.reduceat(key & 1, first) if len(first) else uses
    return Edges(
        total=len(first),
        boundary=int(np.count_nonzero(uses == 1)),
        nonmanifold=int(np.count_nonzero(uses > 2)),
        odd=int(np.count_nonzero(uses % 2)),
        unbalanced=int(np.count_nonzero(2 * forward != uses)),
    )


def part_volumes(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Signed volume of each connected part: the sum of a . (b x c) / 6 over its faces.

    Of no meaning for an open part.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    start, end = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    shape = (len(vertices), len(vertices))
    joined = coo_array((np.ones(len(start), bool), (start, end)), shape)
    parts, part = connected_components(joined, directed=False)
    # About the mean, since far from the origin the terms cancel badly.
    a, b, c = np.moveaxis((vertices - vertices.mean(axis=0))[faces], 1, 0)
    terms = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    return np.bincount(part[faces[:, 0]], terms, parts)


@reader("a PLY, OBJ, STL or NPZ file")
def read_mesh(path: Path) -> Mesh:
    """Read PLY, OBJ, STL or NPZ (`vertices`, `faces`); parts become one mesh."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"`{path}` ends in `{suffix}`; a mesh is one of {', '.join(SUFFIXES)}"
        )
    vertices, faces = _read_npz(path) if suffix == ".npz" else _read_trimesh(path)
    return make_mesh(vertices, faces, name=path.stem, origin=str(path))


def make_mesh(
    vertices: np.ndarray, faces: np.ndarray, *, name: str = "mesh", origin: str = "mesh"
) -> Mesh:
    """Check arrays, merge equal vertices, drop unused ones; `origin` names errors.

    Merging is what trimesh did for the paper, and what joins the triangles of an STL.
    """
    vertices, faces = np.asarray(vertices), np.asarray(faces)
    for what, array in (("vertices", vertices), ("faces", faces)):
        if array.ndim != 2 or array.shape[1] != 3:
            hint = "; it holds no faces: is it a point cloud?" if not array.size else ""
            raise InputError(
                f"`{origin}` has `{what}` of shape {array.shape}, not (n, 3){hint}"
            )
    if not len(faces):
        raise InputError(
            f"`{origin}` has {len(vertices)} vertices and no faces; a point cloud has "
            "no inside, give a surface mesh"
        )
    if vertices.dtype.kind not in "fiu" or faces.dtype.kind not in "iu":
        raise InputError(
            f"`{origin}` has vertices of {vertices.dtype} and faces of {faces.dtype}; "
            "they must be real numbers and integers"
        )
    vertices = vertices.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(vertices).all(axis=1))
    if len(bad):
        raise InputError(
            f"`{origin}` has {len(bad)} vertices that are NaN or infinite, the first "
            f"at index {bad[0]}; repair or remove them"
        )
    if np.abs(vertices).max(initial=0) > FARTHEST:
        raise InputError(
            f"`{origin}` has a coordinate of {np.abs(vertices).max():.3g}; up to "
            f"{FARTHEST:g} can be reckoned with, so scale the mesh"
        )
    if int(faces.min()) < 0 or int(faces.max()) >= len(vertices):
        extreme = faces.min() if int(faces.min()) < 0 else faces.max()
        raise InputError(
            f"`{origin}` has a face that uses vertex {extreme}, and {len(vertices)} "
            f"vertices; indices run from 0 to {len(vertices) - 1}"
        )
    vertices, faces = _merge(vertices, faces)
    sha = hashlib.sha256(vertices.astype("<f8").tobytes())
    sha.update(faces.astype("<i4").tobytes())
    edges, volumes = count_edges(faces), part_volumes(vertices, faces)
    mesh = Mesh(vertices, faces, name, edges, volumes, sha.hexdigest())
    _check_solid(mesh, origin)
    return mesh


def _merge(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep each used position once, in the order of first use in `vertices`."""
    used = np.zeros(len(vertices), bool)
    used[faces] = True
    index = np.flatnonzero(used)
    order = index[np.lexsort(vertices[index].T)]
    ordered = vertices[order]
    new = np.ones(len(order), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    # lexsort is stable, so the first of equal vertices is the one with lowest index.
    kept = order[new]
    rank = np.empty(len(kept), np.int64)
    rank[np.argsort(kept)] = np.arange(len(kept))
    target = np.zeros(len(vertices), np.int64)
    target[order] = rank[np.cumsum(new) - 1]
    return vertices[np.sort(kept)], target[faces].astype(np.int32)


def _check_solid(mesh: Mesh, origin: str) -> None:
    extent = np.ptp(mesh.vertices, axis=0)
    if extent.max() == 0:
        raise InputError(
            f"`{origin}` has all its vertices at one point; a shape needs an extent"
        )
    centred = (mesh.vertices - mesh.vertices.mean(axis=0)) / extent.max()
    spread = np.linalg.eigvalsh(centred.T @ centred / len(centred))
    # Part by part, since a part and its mirror image have opposite volumes.
    folded = mesh.edges.consistent and (
        np.abs(mesh.volumes).sum() <= 1e-9 * float(extent.max()) ** 3
    )
    # A flat sheet in general position keeps rounding errors, of about 1e-16 squared.
    if folded or spread[0] <= 1e-13 * spread[2]:
        raise InputError(
            f"`{origin}` is flat or folded on itself (extent {extent.tolist()}): zero "
            "volume has no inside; give a solid"
        )


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    shapes = npz_shapes(path)
    if not {"vertices", "faces"} <= set(shapes):
        raise InputError(
            f"`{path}` holds {sorted(shapes)}; a mesh needs `vertices` and `faces`"
        )
    vertices, faces = (max(shapes[name], default=0) for name in ("vertices", "faces"))
    check_cost(
        path, _PER_FACE * faces + _PER_VERTEX * vertices, path.stat().st_size,
        f"{vertices:,} vertices and {faces:,} faces",
    )  # fmt: skip
    found = read_npz(path, ("vertices", "faces"))
    return found["vertices"], found["faces"]


def _read_trimesh(path: Path) -> tuple[np.ndarray, np.ndarray]:
    import trimesh

    kind = path.suffix.lower()[1:]
    # Without processing: merging and checking are ours, and materials are not read.
    what = f"{_ARTICLES[kind]} file"
    with decoding(path, what), open_file(path, what) as file:
        scene = trimesh.load_scene(
            file, file_type=kind, process=False, skip_materials=True
        )
        parts = scene.dump()
    solids = [part for part in parts if isinstance(part, trimesh.Trimesh)]
    if not solids:
        clouds = [part for part in parts if isinstance(part, trimesh.PointCloud)]
        found = "a point cloud without faces" if clouds else "an empty scene"
        raise InputError(f"`{path}` is {found}; give a surface mesh with faces")
    offsets = np.cumsum([0, *(len(part.vertices) for part in solids[:-1])])
    pairs = zip(solids, offsets, strict=True)
    faces = np.concatenate([part.faces + shift for part, shift in pairs])
    return np.concatenate([part.vertices for part in solids]), faces
