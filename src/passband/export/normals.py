"""Normal maps as in the paper's fig. 16: of a field, and of the mesh it learned."""

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from passband.errors import InputError
from passband.labels.columns import Columns

BatchField = Callable[[np.ndarray], np.ndarray]
COARSE, FINE = 256, 256
REFINED = 0.01  # either way of the first sample inside, or as far as the next sample


class Camera(NamedTuple):
    """A pinhole that looks at the centre of the unit cube (protocol 8).

    It lives in the cube's doubled coordinates x = 2 v - 1, as the paper's code does.
    """

    azimuth: float = 145.0
    elevation: float = -30.0
    radius: float = 2.0
    size: int = 512
    focal: float = 0.9
    """In picture heights."""
    reach: float = 1.0
    """How far either way of the centre surfaces are looked for."""

    @classmethod
    def seeing(cls, points: np.ndarray, **options: Any) -> "Camera":
        """The nearest camera that sees all of points (n, 3) of the unit cube.

        A point right, up and backwards of the centre by (x, y, z) is in the picture
        where z + 2 focal max(|x|, |y|) <= radius. A little more is for what stands out.
        """
        camera = cls(**options)
        x, y, z = ((2 * np.asarray(points) - 1) @ camera.axes()).T
        aside = 2 * camera.focal * np.maximum(np.abs(x), np.abs(y))
        radius = options.get("radius", 1.06 * float(np.max(z + aside)))
        return camera._replace(radius=radius, reach=1.06 * float(np.abs(z).max()))

    def axes(self) -> np.ndarray:
        """Columns: right, up and backwards, in the coordinates of the cube."""
        turn, tilt = np.deg2rad([self.azimuth, self.elevation])
        lift = np.array(
            [
                [1, 0, 0],
                [0, np.cos(tilt), -np.sin(tilt)],
                [0, np.sin(tilt), np.cos(tilt)],
            ]
        )
        spin = np.array(
            [
                [np.cos(turn), 0, -np.sin(turn)],
                [0, 1, 0],
                [np.sin(turn), 0, np.cos(turn)],
            ]
        )
        return spin @ lift

    @property
    def position(self) -> np.ndarray:
        return self.radius * self.axes()[:, 2]

    def screen(self) -> np.ndarray:
        """(size, size, 2): right and up of each pixel's ray for one step forward."""
        across = (np.arange(self.size) - 0.5 * self.size) / (self.focal * self.size)
        right, down = np.meshgrid(across, across, indexing="xy")
        return np.stack([right, -down], axis=-1)

    def directions(self) -> np.ndarray:
        """(size, size, 3), one step forward long, so that depth is along the axis."""
        screen = self.screen()
        forward = -np.ones((*screen.shape[:2], 1))
        return np.concatenate([screen, forward], axis=-1) @ self.axes().T


def field_normals(
    field: BatchField,
    box: tuple[np.ndarray, np.ndarray],
    *,
    camera: Camera | None = None,
    level: float = 0.0,
    chunk: int = 1 << 18,
    on_rows: Callable[[float], None] | None = None,
) -> np.ndarray:
    """(size, size, 3) unit normals of the surface where a field equals `level`, else 0.

    Along each ray the first of 256 samples above the level, then the first of 256 in a
    hundredth either way of it; normals are cross products of differences between the
    points hit by neighbouring rays, as in the paper.

    Args:
        field: points (n, 3) of the unit cube to n values, inside where above `level`.
        box: corners beyond which everything is outside.
        chunk: points given to the field at a time.
        on_rows: called with the share of the picture done.
    """
    camera = camera or Camera()
    directions = camera.directions()
    depth = np.zeros(directions.shape[:2])
    rows = max(1, chunk // (camera.size * COARSE))
    for start in range(0, camera.size, rows):
        part = directions[start : start + rows].reshape(-1, 3)
        found = _march(field, box, camera, part, level, chunk)
        depth[start : start + rows] = found.reshape(-1, camera.size)
        if on_rows is not None:
            on_rows(min(1.0, (start + rows) / camera.size))
    points = camera.position + directions * depth[..., None]
    return normals_from_points(points, depth > 0)


def _march(
    field: BatchField,
    box: tuple[np.ndarray, np.ndarray],
    camera: Camera,
    directions: np.ndarray,
    level: float,
    chunk: int,
) -> np.ndarray:
    """Depth of the first crossing on each ray, 0 where there is none."""
    origin, reach = camera.position, camera.reach
    steps = camera.radius + np.linspace(-reach, reach, COARSE)
    steps = steps[steps > 0]
    steps = np.broadcast_to(steps, (len(directions), len(steps)))
    depth = _first(field, box, origin, directions, steps, level, chunk)
    hit = np.flatnonzero(depth)
    ahead = max(REFINED, 2 * reach / (COARSE - 1))
    fine = depth[hit, None] + np.linspace(-ahead, ahead, FINE)
    depth[hit] = _first(field, box, origin, directions[hit], fine, level, chunk)
    return depth


def _first(
    field: BatchField,
    box: tuple[np.ndarray, np.ndarray],
    origin: np.ndarray,
    directions: np.ndarray,
    steps: np.ndarray,
    level: float,
    chunk: int,
) -> np.ndarray:
    points = origin + directions[:, None] * steps[..., None]
    points = (0.5 * (points + 1)).reshape(-1, 3).astype(np.float32)
    # Most samples of most rays pass by the box, and are not worth a look.
    low, high = (np.asarray(corner, np.float32) for corner in box)
    within = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
    inside = np.zeros(len(points), bool)
    for start in range(0, len(within), chunk):
        index = within[start : start + chunk]
        values = np.asarray(field(points[index])).reshape(-1)
        inside[index] = values > level
    inside = inside.reshape(steps.shape)
    first = inside.argmax(axis=1)
    depth = np.take_along_axis(steps, first[:, None], axis=1)[:, 0]
    return np.where(inside.any(axis=1), depth, 0.0)


def normals_from_points(points: np.ndarray, hit: np.ndarray) -> np.ndarray:
    """Unit cross products of differences down and across a picture of points hit.

    A difference is taken with the next pixel, or with the one before where that is
    beside the shape.
    """
    slopes = []
    for axis in (0, 1):
        ahead = points - np.roll(points, -1, axis=axis)
        behind = np.roll(points, 1, axis=axis) - points
        slopes.append(np.where(np.roll(hit, -1, axis=axis)[..., None], ahead, behind))
    normals = np.cross(*slopes)
    length = np.linalg.norm(normals, axis=-1, keepdims=True)
    normals = normals / np.maximum(length, 1e-12)
    return np.where(hit[..., None], normals, 0.0).astype(np.float32)


def mesh_normals(
    vertices: np.ndarray, faces: np.ndarray, *, camera: Camera | None = None
) -> np.ndarray:
    """(size, size, 3) unit face normals of a normalised mesh, 0 beside it."""
    camera = camera or Camera()
    seen = (2 * np.asarray(vertices) - 1 - camera.position) @ camera.axes()
    forward = -seen[:, 2]
    if forward.min() <= 0:
        raise InputError(
            f"the camera at `radius` (={camera.radius}) is within the mesh; move it out"
        )
    # (x/z, y/z, 1/z) makes the rays of the pinhole parallel, and planes stay planes.
    seen = np.stack([seen[:, 0], seen[:, 1], np.ones(len(seen))], -1) / forward[:, None]
    screen = camera.screen().reshape(-1, 2)
    face = Columns(seen, faces, axis=2).topmost(screen)
    a, b, c = np.moveaxis(np.asarray(vertices)[faces], 1, 0)
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.concatenate([normals / np.maximum(length, 1e-30), np.zeros((1, 3))])
    picture = normals[face].reshape(camera.size, camera.size, 3)
    return picture.astype(np.float32)


def normal_picture(normals: np.ndarray) -> np.ndarray:
    """(rows, cols, 3) uint8: (n + 1) / 2 as red, green and blue."""
    return np.round(255 * (0.5 * normals + 0.5)).astype(np.uint8)


def on_white(normals: np.ndarray) -> np.ndarray:
    """The same picture, white where there is no surface."""
    hit = (normals != 0).any(axis=-1, keepdims=True)
    return np.where(hit, normal_picture(normals), np.uint8(255))


def png_of(picture: np.ndarray) -> bytes:
    """A picture of bytes as a PNG file."""
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    return stream.getvalue()
