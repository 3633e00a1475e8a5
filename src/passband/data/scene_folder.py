"""What a scene's folder has: camera files, COLMAP's model or LLFF's, and pictures."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError, one_line
from .camera_file import CameraFile, read_cameras
from .colmap import Model, model_suffix, read_model
from .llff import read_poses_bounds

SUFFIXES = ("", ".png", ".jpg", ".jpeg", ".PNG", ".JPG", ".JPEG")
MODELS = ("sparse/0", "sparse", "colmap/sparse/0", ".")
"""Where under a scene's folder COLMAP's model may be."""
POSES = "poses_bounds.npy"


def cameras_in(path: Path, most: int | None = None) -> dict[str, CameraFile]:
    """The cameras of a scene by split; `all` where nothing says which are for testing.

    Args:
        path: a folder, a transforms.json, or a poses_bounds.npy.
        most: the longest side that pictures are to have; of `images`, `images_4` and
            `images_8` the smallest that has it is taken.
    """
    if os.path.isfile(path):
        is_poses = path.suffix.lower() == ".npy"
        return {"all": _llff(path, most) if is_poses else read_cameras(path)}
    if not os.path.isdir(path):
        raise InputError(
            f"`{path}` does not exist; give a folder with transforms_train.json, "
            "transforms.json, sparse/0 of COLMAP or poses_bounds.npy, or such a file"
        )
    files = {s: path / f"transforms_{s}.json" for s in ("train", "val", "test")}
    if os.path.isfile(files["train"]):
        return {s: read_cameras(f) for s, f in files.items() if os.path.isfile(f)}
    if os.path.isfile(path / "transforms.json"):
        return {"all": read_cameras(path / "transforms.json")}
    for model in MODELS:
        if model_suffix(path / model) is not None:
            return {"all": _colmap(path, path / model, most)}
    if os.path.isfile(path / POSES):
        return {"all": _llff(path / POSES, most)}
    raise InputError(
        f"`{path}` has neither transforms_train.json, transforms.json, a COLMAP model "
        f"(sparse/0) nor {POSES}: no cameras"
    )


def pictures_of(
    cameras: CameraFile, notes: list[str], allow_outside: bool
) -> list[Path | None]:
    """The picture of each frame, None where there is none."""
    found = list(cameras.pictures or ())
    if cameras.pictures is None:
        check_inside(cameras.path, cameras.names, allow_outside)
        found = [_picture(cameras.path.parent, name) for name in cameras.names]
    have = sum(p is not None for p in found)
    if have < len(found):
        missing = next(n for n, p in zip(cameras.names, found, strict=True) if not p)
        what = (
            f"`{cameras.path.name}` names {len(found)} pictures and {have} of them are "
            f"there; the first missing is `{one_line(missing)}`"
        )
        if not have:
            raise InputError(what)
        notes.append(what)
    return found


def check_inside(path: Path, names: Sequence[str], allow_outside: bool) -> None:
    """Refuse names that lead out of the folder of their camera file."""
    for name in names:
        outside = os.path.isabs(name) or os.path.normpath(name).startswith("..")
        if outside and not allow_outside:
            raise InputError(
                f"`{path}` names a picture outside its folder, "
                f"`{one_line(name)}`; if that is meant, `allow_outside` reads it"
            )


def _picture(folder: Path, name: str, stems: bool = False) -> Path | None:
    """The file of that name, with or without a suffix; with another if `stems`."""
    names = [name + suffix for suffix in SUFFIXES] if name else []
    if stems and name:
        names += [str(Path(name).with_suffix(suffix)) for suffix in SUFFIXES[1:]]
    return next((folder / n for n in names if os.path.isfile(folder / n)), None)


def _colmap(root: Path, folder: Path, most: int | None) -> CameraFile:
    model = read_model(folder)
    used = [model.cameras[image.camera] for image in model.images]
    size = used[0].size
    other = next((camera for camera in used if camera.size != size), None)
    if other is not None:
        raise InputError(
            f"`{folder}` has pictures of {size[0]} x {size[1]} and of "
            f"{other.size[0]} x {other.size[1]} pixels; the pictures of a scene have "
            "one size"
        )
    names = [image.name for image in model.images]
    path = model.files[1]
    check_inside(path, names, allow_outside=False)
    # A model may be given by itself, two folders below its pictures.
    roots = [root] if folder != root else [root, *list(root.resolve().parents)[:2]]
    notes = []
    pictures = _named_pictures(roots, names, max(size), most, notes)
    bent = np.array([camera.distortion for camera in used])
    return CameraFile(
        path,
        names,
        np.stack([image.pose for image in model.images]),
        np.array([camera.lens for camera in used]),
        np.full((len(names), 2), np.nan),
        size,
        {},
        [*_said(model, folder, bent), *notes],
        bent if bent.any() else None,
        pictures,
        tuple(f for f in model.files if f != path),
        model.points if len(model.points) else None,
    )


def _said(model: Model, folder: Path, bent: np.ndarray) -> list[str]:
    lens = (
        "bent lenses, by whose distortion rays are turned" if bent.any() else "lenses"
    )
    return [
        f"COLMAP's model in `{folder.name}`: {len(model.images)} pictures, "
        f"{len(model.points):,} points, {lens}"
    ]


def _llff(path: Path, most: int | None) -> CameraFile:
    found = read_poses_bounds(path)
    count = len(found.poses)
    folder = _sized(path.parent, max(found.size), most)
    pictures = [] if folder is None else _all_pictures(folder)
    if len(pictures) != count:
        where = "no folder `images`" if folder is None else f"`{folder.name}`"
        raise InputError(
            f"`{path}` has {count} cameras and {where} beside it {len(pictures)} "
            "pictures; LLFF goes by their order, so the two must agree"
        )
    names = [p.name for p in pictures]
    lens = np.full((count, 4), np.nan)
    lens[:, :2] = found.focal[:, None]
    return CameraFile(
        path, names, found.poses, lens, np.full((count, 2), np.nan), found.size, {},
        [], None, tuple(pictures), bounds=found.bounds,
    )  # fmt: skip


def _named_pictures(
    roots: list[Path], names: list[str], longest: int, most: int | None,
    notes: list[str],
) -> tuple[Path | None, ...]:  # fmt: skip
    """Pictures by their names, else by their order where there are as many."""
    for root in roots:
        folder = _sized(root, longest, most)
        if folder is None:
            continue
        found = [_picture(folder, name, stems=True) for name in names]
        if any(found):
            return tuple(found)
        listed = _all_pictures(folder)
        if len(listed) == len(names):
            notes.append(
                f"`{folder.name}` has other names than the model; its {len(names)} "
                f"pictures are taken in order, `{listed[0].name}` for "
                f"`{one_line(names[0])}`"
            )
            return tuple(listed)
    for root in roots:
        found = [_picture(root, name) for name in names]
        if any(found):
            return tuple(found)
    return (None,) * len(names)


def _sized(root: Path, longest: int, most: int | None) -> Path | None:
    """Of `images`, `images_2`, ... the smallest that reaches `most`, else the largest.

    Args:
        longest: side of the pictures in `images`.
    """
    sizes = {}
    for folder in root.iterdir() if root.is_dir() else ():
        match = re.fullmatch(r"images(?:_(\d+))?", folder.name)
        if match and folder.is_dir() and int(match[1] or 1) > 0 and _any(folder):
            sizes[longest / int(match[1] or 1)] = folder
    if not sizes:
        return None
    enough = [side for side in sizes if most is not None and side >= most]
    return sizes[min(enough)] if enough else sizes[max(sizes)]


def _any(folder: Path) -> bool:
    return any(p.is_file() for p in folder.iterdir())


def _all_pictures(folder: Path) -> list[Path]:
    ends = tuple(s for s in SUFFIXES if s)
    return sorted(p for p in folder.iterdir() if p.suffix in ends and p.is_file())
