"""Camera files: what any of them says, and `transforms.json` as Blender's NeRF scenes,
nerfstudio and instant-ngp write it."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, one_line
from ..file_gate import read_json, reader

DISTORTION = ("k1", "k2", "p1", "p2")
MORE_DISTORTION = ("k3", "k4")


@dataclass(frozen=True, eq=False)
class CameraFile:
    """The frames of one file, in its own coordinates."""

    path: Path
    names: list[str]
    """What each frame calls its picture; empty where it names none."""
    poses: np.ndarray
    """(n, 3, 4), camera to world."""
    lens: np.ndarray
    """(n, 4): fx, fy, cx, cy for pictures of `size`, with the centre of the first pixel
    at (0.5, 0.5); NaN where they follow from an angle and the pictures' size."""
    angles: np.ndarray
    """(n, 2): fields of view in radians, NaN where the file has focal lengths."""
    size: tuple[int, int] | None
    """(rows, columns), where the file says."""
    content: dict[str, Any]
    notes: list[str]
    distortion: np.ndarray | None = None
    """(n, 4): k1, k2, p1, p2 as OpenCV has them; None where no lens is bent."""
    pictures: tuple[Path | None, ...] | None = None
    """The picture of each frame, where whoever read the cameras has found them."""
    files: tuple[Path, ...] = ()
    """What was read, `path` aside."""
    points: np.ndarray | None = None
    """(k, 3) of the world on surfaces of the scene, where the cameras came with any."""
    bounds: np.ndarray | None = None
    """(n, 2): depths between which each camera sees the scene, where they are told."""

    def lens_for(self, size: tuple[int, int]) -> np.ndarray:
        """Lenses for pictures of (rows, columns), which may differ from the file's:
        fx, fy, cx, cy and, where lenses are bent, k1, k2, p1, p2."""
        rows, columns = size
        given = self.size or size
        zoom = np.array([columns / given[1], rows / given[0]])
        lens = self.lens * np.tile(zoom, 2)
        with np.errstate(invalid="ignore"):
            wide = columns / 2 / np.tan(self.angles[:, 0] / 2)
            tall = rows / 2 / np.tan(self.angles[:, 1] / 2)
        fx = np.where(np.isnan(lens[:, 0]), wide, lens[:, 0])
        fy = np.where(np.isnan(lens[:, 1]), np.where(np.isnan(tall), fx, tall),
                      lens[:, 1])  # fmt: skip
        middle = np.array([columns / 2, rows / 2])
        centre = np.where(np.isnan(lens[:, 2:]), middle, lens[:, 2:])
        bent = [] if self.distortion is None else [self.distortion]
        return np.column_stack([fx, fy, centre, *bent])


@reader("a transforms.json")
def read_cameras(path: Path) -> CameraFile:
    """The cameras of a transforms file."""
    content = read_json(path, "a transforms.json")
    frames = content.get("frames") if isinstance(content, dict) else None
    if not isinstance(frames, list) or not frames:
        raise InputError(f"`{path}` has no list of `frames`; is it a transforms.json?")
    model = content.get("camera_model", "OPENCV")
    if "FISHEYE" in str(model).upper() or model == "EQUIRECTANGULAR":
        raise InputError(
            f"`{path}` has `camera_model` {model}; only pinhole cameras can be "
            "rendered, so undistort the pictures first"
        )
    notes = []
    more = [k for k in MORE_DISTORTION if abs(_number(path, content, k) or 0.0) > 1e-3]
    if more:
        notes.append(
            f"`{path.name}` states lens distortion ({', '.join(more)}) beyond k1, k2, "
            "p1 and p2, which is ignored; undistorted pictures give sharper scenes"
        )
    poses, lens, angles, names, bent = [], [], [], [], []
    for k, frame in enumerate(frames):
        if not isinstance(frame, dict):
            raise InputError(f"`{path}`: frame {k} is no object but {frame!r:.40}")
        name = str(frame.get("file_path", ""))
        where = f"`{path}`: frame {k}" + (f" (`{one_line(name)}`)" if name else "")
        names.append(name)
        poses.append(_pose(frame.get("transform_matrix"), where))
        both = content | frame
        numbers = [_number(path, both, key) for key in ("fl_x", "fl_y", "cx", "cy")]
        lens.append([math.nan if x is None else x for x in numbers])
        bent.append([_number(path, both, key) or 0.0 for key in DISTORTION])
        turns = [_number(path, both, f"camera_angle_{axis}") for axis in "xy"]
        angles.append([math.nan if x is None else x for x in turns])
        if numbers[0] is None and turns[0] is None:
            raise InputError(
                f"{where} has neither `fl_x` nor `camera_angle_x`: no focal length"
            )
        if not (numbers[0] or 1) > 0 or not 0 < (turns[0] or 1) < math.pi:
            raise InputError(
                f"{where} has `fl_x` {numbers[0]} and `camera_angle_x` {turns[0]}; a "
                "focal length is positive, an angle between 0 and pi"
            )
    rows, columns = _number(path, content, "h"), _number(path, content, "w")
    size = None
    if rows is not None and columns is not None:
        if not (1 <= rows < 2**31 and 1 <= columns < 2**31):
            raise InputError(f"`{path}` has `w` {columns:g} and `h` {rows:g} pixels")
        size = int(rows), int(columns)
    return CameraFile(
        path, names, np.stack(poses), np.array(lens), np.array(angles), size,
        content, notes, np.array(bent) if np.any(bent) else None,
    )  # fmt: skip


def _pose(matrix: Any, where: str) -> np.ndarray:
    """[R, origin] of a frame's 4 x 4 matrix, R scaled to a rotation."""
    try:
        pose = np.array(matrix, dtype=float)
    except (TypeError, ValueError, OverflowError):
        pose = np.empty(0)
    if pose.shape not in ((4, 4), (3, 4)):
        raise InputError(f"{where} has no 4 x 4 `transform_matrix`")
    if not np.isfinite(pose).all():
        raise InputError(f"{where}: `transform_matrix` holds NaN or infinite numbers")
    turn = pose[:3, :3]
    scale = np.cbrt(np.linalg.det(turn))
    if abs(scale) < 1e-6:
        raise InputError(
            f"{where}: `transform_matrix` cannot be inverted (determinant "
            f"{np.linalg.det(turn):.3g}); a pose is a rotation and a place"
        )
    turn = turn / scale
    if scale < 0 or np.abs(turn @ turn.T - np.eye(3)).max() > 1e-2:
        what = "mirrors the world" if scale < 0 else "is no rotation"
        raise InputError(f"{where}: the 3 x 3 part of `transform_matrix` {what}")
    return np.column_stack([turn, pose[:3, 3]])


def _number(path: Path, content: dict[str, Any], key: str) -> float | None:
    value = content.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"`{path}`: `{key}` is {value!r:.40}, not a number")
    if not math.isfinite(value):
        raise InputError(f"`{path}`: `{key}` is {value}, not a finite number")
    return float(value)
