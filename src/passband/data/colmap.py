"""COLMAP's sparse models: cameras, images and points3D, binary or text."""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InputError, one_line
from ..file_gate import check_cost, read_bytes, read_text, reader

MODELS = {
    0: ("SIMPLE_PINHOLE", 3), 1: ("PINHOLE", 4), 2: ("SIMPLE_RADIAL", 4),
    3: ("RADIAL", 5), 4: ("OPENCV", 8), 5: ("OPENCV_FISHEYE", 8),
    6: ("FULL_OPENCV", 12), 7: ("FOV", 5), 8: ("SIMPLE_RADIAL_FISHEYE", 4),
    9: ("RADIAL_FISHEYE", 5), 10: ("THIN_PRISM_FISHEYE", 12),
}  # fmt: skip
"""COLMAP's numbers of its camera models, their names, and how many parameters each
has."""
TAKEN = ("SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL", "RADIAL", "OPENCV")
MODEL_FILES = ("cameras", "images", "points3D")
LONGEST = 2**30  # bytes of one file of a model
A_CAMERA = "a COLMAP cameras file"
AN_IMAGE = "a COLMAP images file"
A_POINT = "a COLMAP points3D file"


class Camera(NamedTuple):
    """A lens, for pictures of `size`; the first pixel's centre is at (0.5, 0.5)."""

    size: tuple[int, int]
    """(rows, columns)."""
    lens: tuple[float, ...]
    """fx, fy, cx, cy."""
    distortion: tuple[float, ...]
    """k1, k2, p1, p2 as OpenCV has them."""


class Registered(NamedTuple):
    """A picture whose camera COLMAP has found."""

    name: str
    camera: int
    pose: np.ndarray
    """(3, 4), camera to world; the camera looks along -z, y is up."""


@dataclass(frozen=True, eq=False)
class Model:
    """All that a sparse model says of its scene."""

    cameras: dict[int, Camera]
    images: list[Registered]
    """In the order of their names."""
    points: np.ndarray
    """(n, 3) of the world; none where the model has no points3D file."""
    files: tuple[Path, ...]


def model_suffix(folder: Path) -> str | None:
    """`.bin` or `.txt`, by what a folder has of a model; None where it has none."""
    for suffix in (".bin", ".txt"):
        if all((folder / f"{name}{suffix}").is_file() for name in MODEL_FILES[:2]):
            return suffix
    return None


def read_model(folder: Path) -> Model:
    """The model in a folder with cameras, images and, where there are any, points3D."""
    suffix = model_suffix(folder)
    if suffix is None:
        raise InputError(
            f"`{folder}` has no COLMAP model: cameras.bin and images.bin, or both "
            "as .txt"
        )
    paths = [folder / f"{name}{suffix}" for name in MODEL_FILES]
    binary = suffix == ".bin"
    cameras = (read_cameras_bin if binary else read_cameras_txt)(paths[0])
    images = (read_images_bin if binary else read_images_txt)(paths[1])
    points, files = np.empty((0, 3)), paths[:2]
    if paths[2].is_file():
        points = (read_points_bin if binary else read_points_txt)(paths[2])
        files = paths
    if not images:
        raise InputError(f"`{paths[1]}` has no image; COLMAP has placed no camera")
    for image in images:
        if image.camera not in cameras:
            raise InputError(
                f"`{paths[1]}`: `{image.name}` was taken by camera {image.camera}, "
                f"which `{paths[0].name}` does not have"
            )
    order = sorted(images, key=lambda image: image.name)
    return Model(cameras, order, points, tuple(files))


class _Bytes:
    """A binary file, read from front to back and never beyond its end."""

    def __init__(self, path: Path, what: str):
        self.data = read_bytes(path, what, LONGEST)
        self.path, self.at = path, 0

    def take(self, form: struct.Struct) -> tuple:
        self.check(form.size)
        found = form.unpack_from(self.data, self.at)
        self.at += form.size
        return found

    def check(self, size: int) -> None:
        if self.at + size > len(self.data):
            raise InputError(
                f"`{self.path}` is cut short: it has {len(self.data):,} bytes and goes "
                f"on to {self.at + size:,} or more"
            )

    def skip(self, size: int) -> None:
        self.check(size)
        self.at += size

    def count(self, least: int, things: str) -> int:
        """A count of things that take `least` bytes each, held against the file."""
        (found,) = self.take(_COUNT)
        if found * least > len(self.data) - self.at:
            raise InputError(
                f"`{self.path}` claims {found:,} {things} and has room for "
                f"{(len(self.data) - self.at) // least:,}: cut short, or no COLMAP file"
            )
        return found

    def name(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise InputError(f"`{self.path}` is cut short: a name does not end")
        found = self.data[self.at : end].decode("utf-8")
        self.at = end + 1
        return found

    def end(self) -> None:
        if self.at != len(self.data):
            raise InputError(
                f"`{self.path}` has {len(self.data) - self.at:,} bytes after its end; "
                "is it of another kind, or another version of COLMAP?"
            )


_COUNT = struct.Struct("<Q")
_CAMERA = struct.Struct("<IiQQ")
_IMAGE = struct.Struct("<I7dI")
_POINT = struct.Struct("<Q3d3BdQ")


@reader(A_CAMERA)
def read_cameras_bin(path: Path) -> dict[int, Camera]:
    file = _Bytes(path, A_CAMERA)
    cameras = {}
    for _ in range(file.count(_CAMERA.size + 24, "cameras")):
        number, model, columns, rows = file.take(_CAMERA)
        if model not in MODELS:
            raise InputError(
                f"`{path}`: camera {number} has model {model}, which is none of "
                f"COLMAP's 0 to {max(MODELS)}"
            )
        name, count = MODELS[model]
        values = file.take(struct.Struct(f"<{count}d"))
        cameras[number] = _camera(path, number, name, rows, columns, values)
    file.end()
    return cameras


@reader(A_CAMERA)
def read_cameras_txt(path: Path) -> dict[int, Camera]:
    counts = dict(MODELS.values())
    cameras = {}
    for where, words in _lines(path, A_CAMERA):
        if len(words) < 5:
            raise InputError(
                f"{where} has {len(words)} words; a camera is `ID MODEL WIDTH HEIGHT "
                "PARAMS...`"
            )
        number, columns, rows = (_whole(where, words[k]) for k in (0, 2, 3))
        name, values = words[1], _floats(where, words[4:])
        if len(values) != counts.get(name, len(values)):
            raise InputError(
                f"{where}: {name} has {len(values)} parameters; it takes {counts[name]}"
            )
        cameras[number] = _camera(path, number, name, rows, columns, values)
    return cameras


@reader(AN_IMAGE)
def read_images_bin(path: Path) -> list[Registered]:
    file = _Bytes(path, AN_IMAGE)
    images = []
    for _ in range(file.count(_IMAGE.size + 9, "images")):
        _, *placed, camera = file.take(_IMAGE)
        name = file.name()
        images.append(_registered(path, name, camera, placed))
        file.skip(24 * file.count(24, f"points in `{one_line(name)}`"))
    file.end()
    return images


@reader(AN_IMAGE)
def read_images_txt(path: Path) -> list[Registered]:
    """Two lines an image; the second has its points and may be empty."""
    images, second = [], False
    for number, line in enumerate(read_text(path, AN_IMAGE).splitlines(), 1):
        if second:
            second = False
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        where, words = f"`{path}`, line {number},", line.split(maxsplit=9)
        if len(words) < 10:
            raise InputError(
                f"{where} has {len(words)} words; an image is `ID QW QX QY QZ TX TY TZ "
                "CAMERA NAME`"
            )
        camera = _whole(where, words[8])
        placed = _floats(where, words[1:8])
        images.append(_registered(path, words[9].strip(), camera, placed))
        second = True
    return images


@reader(A_POINT)
def read_points_bin(path: Path) -> np.ndarray:
    file = _Bytes(path, A_POINT)
    count = file.count(_POINT.size, "points")
    check_cost(path, 24 * count, len(file.data), f"{count:,} points")
    points = np.empty((count, 3))
    for k in range(count):
        _, *points[k], _, _, _, _, track = file.take(_POINT)
        file.skip(8 * track)
    file.end()
    return _finite(path, points)


@reader(A_POINT)
def read_points_txt(path: Path) -> np.ndarray:
    points = []
    for where, words in _lines(path, A_POINT):
        if len(words) < 8:
            raise InputError(
                f"{where} has {len(words)} words; a point is `ID X Y Z R G B ERROR "
                "TRACK...`"
            )
        points.append(_floats(where, words[1:4]))
    return _finite(path, np.array(points).reshape(-1, 3))


def _camera(
    path: Path, number: int, model: str, rows: int, columns: int, values: tuple
) -> Camera:
    if model not in TAKEN:
        raise InputError(
            f"`{path}`: camera {number} is {model}; {', '.join(TAKEN)} are taken, so "
            "undistort the pictures first: `colmap image_undistorter` does it"
        )
    if not (1 <= rows < 2**31 and 1 <= columns < 2**31):
        raise InputError(f"`{path}`: camera {number} has {columns} x {rows} pixels")
    if not all(map(math.isfinite, values)):
        raise InputError(f"`{path}`: camera {number} has parameters that are no number")
    if model in ("PINHOLE", "OPENCV"):
        lens, bent = values[:4], values[4:]
    else:
        lens, bent = (values[0], *values[:3]), values[3:]
    if not min(lens[:2]) > 0:
        raise InputError(
            f"`{path}`: camera {number} has a focal length of {min(lens[:2]):g}"
        )
    return Camera((rows, columns), lens, (*bent, 0.0, 0.0, 0.0, 0.0)[:4])


def _registered(path: Path, name: str, camera: int, placed) -> Registered:
    """The inverse of COLMAP's world to camera, its y and z turned round."""
    turn, shift = np.array(placed[:4]), np.array(placed[4:])
    size = np.linalg.norm(turn)
    if not (np.isfinite(placed).all() and 0.5 < size < 2):
        raise InputError(
            f"`{path}`: the pose of `{one_line(name)}` is no rotation: its quaternion "
            f"has length {size:.3g}"
        )
    w, x, y, z = turn / size
    to_camera = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    turn = to_camera.T * [1, -1, -1]
    return Registered(name, camera, np.column_stack([turn, -to_camera.T @ shift]))


def _lines(path: Path, what: str) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(read_text(path, what).splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield f"`{path}`, line {number},", line.split()


def _whole(where: str, word: str) -> int:
    try:
        return int(word)
    except ValueError:
        raise InputError(f"{where} has `{one_line(word)}` for a whole number") from None


def _floats(where: str, words: list[str]) -> tuple[float, ...]:
    try:
        return tuple(map(float, words))
    except ValueError as error:
        raise InputError(f"{where} has no number: {one_line(error)}") from None


def _finite(path: Path, points: np.ndarray) -> np.ndarray:
    if not np.isfinite(points).all():
        raise InputError(f"`{path}` has points that are NaN or infinite")
    return points
