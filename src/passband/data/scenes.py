"""Scenes: photographs with their cameras, from a folder or one camera file."""

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from ..errors import InputError
from ..file_gate import check_cost
from .camera_file import CameraFile
from .cameras import focus, turned
from .images import Image, read_image
from .scene_folder import cameras_in, pictures_of
from .scene_space import RAYS, Space, settle
from .seen_depths import Depths, seen_depths

BACKGROUNDS = ("black", "white", "none")
EVERY = 8
"""One view in so many is held out where a scene names no test views."""


@dataclass(frozen=True, eq=False)
class Photographs:
    """Pictures of one size, on a background, and their cameras."""

    pixels: UInt8[np.ndarray, "n h w 3"]
    poses: Float[np.ndarray, "n 3 4"]
    lens: Float[np.ndarray, "n k"]
    """fx, fy, cx, cy, and k1, k2, p1, p2 where lenses are bent; the centre of the first
    pixel is at (0, 0)."""
    names: tuple[str, ...]

    @property
    def size(self) -> tuple[int, int]:
        return self.pixels.shape[1], self.pixels.shape[2]

    def part(self, index: np.ndarray) -> "Photographs":
        """Some of the photographs."""
        names = tuple(self.names[i] for i in index)
        return Photographs(
            self.pixels[index], self.poses[index], self.lens[index], names
        )


@dataclass(frozen=True, eq=False)
class Scene:
    """Training, validation and test views, and where along their rays the scene is."""

    name: str
    train: Photographs
    val: Photographs | None
    test: Photographs | None
    space: Space
    background: str
    notes: tuple[str, ...]
    """What had to be left out or estimated, a line each."""
    files: tuple[Path, ...]
    """Every file that was read."""


def read_scene(
    path: str | Path,
    *,
    background: str = "black",
    most: int | None = None,
    near: float | None = None,
    far: float | None = None,
    box: tuple[float, float, float, float] | None = None,
    offset: float = 0.5,
    allow_outside: bool = False,
    rays: str = "auto",
) -> Scene:
    """A scene from a folder with cameras and pictures, or from one camera file.

    A folder has `transforms_train.json` (and `_val`, `_test`) as Blender's scenes have,
    or one `transforms.json`, a model of COLMAP in `sparse/0`, or LLFF's
    `poses_bounds.npy`, of which every 8th view is held out unless the file names its
    `test_filenames`.

    Args:
        background: what RGBA pictures are laid on; `none` takes their colours as they
            are stored (the paper's Lego).
        most: reduce pictures by a whole factor until no side is longer than this.
        near: ray parameters between which the scene lies, as are `far`; read from the
            file (`near`, `far`), else estimated from what the cameras look at.
        box: centre and side of the cube that is one unit long for the frequencies; from
            the file's `aabb`, else estimated.
        offset: where in its pixel a ray goes through; the paper's notebook used 0.
        allow_outside: read pictures too that the camera file names outside its folder.
        rays: `box` lays the field into the world; `ndc` into what a camera in the midst
            of the others sees, its depth as disparity; `auto` takes `ndc` for cameras
            of COLMAP or LLFF that all look one way.
    """
    path = Path(path)
    if background not in BACKGROUNDS:
        raise InputError(
            f"`background` (={background}) must be one of {', '.join(BACKGROUNDS)}"
        )
    if rays not in RAYS:
        raise InputError(f"`rays` (={rays}) must be one of {', '.join(RAYS)}")
    files = cameras_in(path, most)
    notes: list[str] = []
    splits: dict[str, Photographs] = {}
    sources: list[Path] = []
    first = next(iter(files.values()))
    content = next((c.content for c in files.values() if c.content), {})
    for split, cameras in files.items():
        notes += cameras.notes
        found = pictures_of(cameras, notes, allow_outside)
        sources += _sources(cameras, found)
        splits[split] = _load(cameras, found, background, most, offset)
    if "all" in splits:
        splits = _split(splits["all"], first.path, content, notes)
    sizes = {split: views.size for split, views in splits.items()}
    if len(set(sizes.values())) > 1:
        text = ", ".join(f"{s} {h} x {w}" for s, (h, w) in sizes.items())
        raise InputError(
            f"`{path}`: the splits have pictures of different size: {text}"
        )
    train = splits["train"]
    space = settle(
        f"`{path}`", content, focus(train.poses, train.lens, train.size),
        near=near, far=far, box=box, notes=notes, depths=_depths(first, train),
        train=(train.poses, train.lens, train.size), rays=rays,
    )  # fmt: skip
    return Scene(
        name=path.stem
        if os.path.isfile(path)
        else os.path.basename(os.path.realpath(path)),
        train=train,
        val=splits.get("val"),
        test=splits.get("test"),
        space=space,
        background=background,
        notes=tuple(notes),
        files=tuple(sources),
    )


def scene_files(
    path: str | Path, *, allow_outside: bool = False, most: int | None = None
) -> list[Path]:
    """Every file that `read_scene` reads."""
    sources: list[Path] = []
    for cameras in cameras_in(Path(path), most).values():
        sources += _sources(cameras, pictures_of(cameras, [], allow_outside))
    return sources


def _sources(cameras: CameraFile, found: list[Path | None]) -> list[Path]:
    return [cameras.path, *cameras.files, *(p for p in found if p is not None)]


def _depths(cameras: CameraFile, train: Photographs) -> Depths | None:
    """How near and far the scene is, where points or bounds came with the cameras."""
    if cameras.points is not None:
        return seen_depths(cameras.points, train.poses, train.lens, train.size)
    if cameras.bounds is not None:
        low, high = cameras.bounds[:, 0].min(), cameras.bounds[:, 1].max()
        return Depths(float(low), float(high), "poses_bounds.npy")
    return None


def subset(views: Photographs, names: list[str]) -> Photographs:
    """The views of those names (`train/r_0`), in that order."""
    place = {Path(name).with_suffix("").as_posix(): k
             for k, name in enumerate(views.names)}  # fmt: skip
    missing = [name for name in names if name not in place]
    if missing:
        raise InputError(f"`{missing[0]}` is no view of the scene")
    return views.part(np.array([place[name] for name in names]))


def _load(
    cameras: CameraFile,
    found: list[Path | None],
    background: str,
    most: int | None,
    offset: float,
) -> Photographs:
    kept = [k for k, p in enumerate(found) if p is not None]
    paths = [p for p in found if p is not None]
    first: tuple[int, int] | None = None
    pixels, factor = [], 1
    packed = sum(p.stat().st_size for p in set(paths))
    for p in paths:
        image = read_image(p)
        size = image.values.shape[0], image.values.shape[1]
        if first is None:
            first = size
            factor = 1 if most is None else max(1, -(-max(first) // most))
            check_cost(
                cameras.path, 3 * len(paths) * size[0] * size[1] / factor**2, packed,
                f"{len(paths)} pictures of {size[0]} x {size[1]} pixels",
            )  # fmt: skip
        elif size != first:
            raise InputError(
                f"`{p}` has {size[0]} x {size[1]} pixels and "
                f"`{paths[0]}` {first[0]} x {first[1]}; the pictures of a scene have "
                "one size"
            )
        pixels.append(_small(image, background, factor))
    assert first is not None
    lens = cameras.lens_for(first)[kept]
    lens[:, :4] /= factor
    lens[:, 2:4] -= offset
    names = tuple(cameras.names[k].removeprefix("./") for k in kept)
    return Photographs(np.stack(pixels), cameras.poses[kept], lens, names)


def _small(image: Image, background: str, factor: int) -> np.ndarray:
    """A picture as the scene keeps it, by bands of rows: floats take four times the
    memory of bytes."""
    height = factor * max(1, 256 // factor)
    rows = image.values.shape[0] // factor * factor
    parts = []
    for top in range(0, rows, height):
        band = image.values[top : min(top + height, rows)].astype(np.float32)
        values = (band - image.low) / (image.high - image.low)
        parts.append(_reduced(_on(values, background), factor))
    return np.concatenate(parts)


def _on(values: np.ndarray, background: str) -> np.ndarray:
    """RGB of a picture of 1 to 4 channels, its transparent parts on the background."""
    channels = values.shape[2]
    colour = values[..., : 1 if channels < 3 else 3]
    if channels in (2, 4) and background != "none":
        alpha = values[..., -1:]
        colour = colour * alpha + (1.0 if background == "white" else 0.0) * (1 - alpha)
    return np.broadcast_to(colour, (*values.shape[:2], 3))


def _reduced(values: np.ndarray, factor: int) -> np.ndarray:
    """Means of factor x factor pixels, as uint8; rows and columns over are cut."""
    rows, columns = values.shape[0] // factor, values.shape[1] // factor
    whole = values[: rows * factor, : columns * factor]
    mean = whole.reshape(rows, factor, columns, factor, 3).mean(axis=(1, 3))
    return np.rint(255 * mean).astype(np.uint8)


def _split(
    views: Photographs, file: Path, content: dict[str, Any], notes: list[str]
) -> dict[str, Photographs]:
    """The views of one file: by the names it lists, or every 8th for the test."""
    listed = {}
    for split in ("train", "val", "test"):
        names = content.get(f"{split}_filenames")
        if isinstance(names, list):
            wanted = {str(n).removeprefix("./") for n in names}
            listed[split] = [k for k, n in enumerate(views.names) if n in wanted]
    if listed.get("train"):
        if not listed.get("test") and listed.get("val"):
            listed["test"] = listed["val"]
        return {s: views.part(np.array(k)) for s, k in listed.items() if k}
    count = len(views.names)
    if count < 2:
        raise InputError(
            f"`{file}` has {count} view; a scene needs 2 or more to be seen "
            "from several sides"
        )
    held = np.arange(0, count, EVERY)
    rest = np.setdiff1d(np.arange(count), held)
    notes.append(
        f"`{file.name}` names no test views; every {EVERY}th of its {count} is "
        f"held out, {len(held)} in all"
    )
    return {"train": views.part(rest), "test": views.part(held)}


def turned_scene(scene: Scene, turn: np.ndarray) -> Scene:
    """The scene and its cameras, turned about the origin of the world."""

    def one(views: Photographs) -> Photographs:
        return dataclasses.replace(views, poses=turned(views.poses, turn))

    return dataclasses.replace(
        scene,
        train=one(scene.train),
        val=None if scene.val is None else one(scene.val),
        test=None if scene.test is None else one(scene.test),
    )
