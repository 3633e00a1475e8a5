"""A scene model from any camera: a picture, pictures, or a flight around it."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..atomic_write import atomic_write
from ..data.camera_file import read_cameras
from ..data.cameras import orbit, orbit_of, sway
from ..data.frustum import Frustum
from ..data.images import quantise, write_image
from ..data.scene_space import Space
from ..errors import InputError
from ..export.video import SUFFIXES as VIDEOS
from ..export.video import check_video, write_video
from ..field import Field
from ..forward.empty_space import Occupied, box_of_views, occupied
from ..tasks.nerf import FieldRadiance, View, see, somewhere
from .kind import Listener, Rendered
from .model_facts import check_room, refuse, size_of, suffix_of

PICTURES = (".png", ".npy")
FRAMES = 60
"""Of an orbit, where `orbit` is not given."""


def render_scene(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """Views from the cameras that the options name, one after the other."""
    refuse(options, ("crop", "bits"), "is for pictures, and this is a scene")
    space, own, lens = scene_facts(field, about)
    near, far = space.ends
    background = jnp.full(3, float(about.get("background") == "white"))

    def views(moving: bool) -> tuple[int, tuple[int, int], Iterator[View]]:
        poses, lenses, size = _cameras(about, options, lens, own, moving)

        def each() -> Iterator[View]:
            placed, samples = space.place(poses), int(about["samples"])
            where = somewhere(
                field, placed, lenses, size, near=near, far=far, samples=samples,
                frustum=space.ndc,
            )  # fmt: skip
            for k, pose in enumerate(placed):
                listener.progress(f"view {k + 1} of {len(poses)}")
                yield see(
                    field, pose, lenses[k], size, near=near, far=far, samples=samples,
                    background=background, frustum=space.ndc, occupied=where,
                )  # fmt: skip

        return len(poses), size, each()

    def values() -> np.ndarray:
        count, size, seen = views(options.orbit is not None)
        check_room(math.prod(size) * 5 * count)
        if options.depth:
            return np.stack([_depth(view, space) for view in seen])
        return np.stack([view.colour for view in seen])

    def write(out: Path) -> dict[str, Any]:
        moving = suffix_of(out, (*PICTURES, *VIDEOS)) in VIDEOS
        if moving:
            check_video(out)
        count, size, seen = views(moving)
        files = [out] if moving or count == 1 else _numbered(out, count)
        if not options.overwrite and (there := next(filter(Path.exists, files), None)):
            raise InputError(f"`{there}` exists; `overwrite` replaces it")
        check_room(math.prod(size) * 5 * (count if moving else 1))
        if moving:
            frames = [_bytes(view, options.depth, space) for view in seen]
            # A turn takes five seconds, or longer where that would be too fast to see.
            write_video(out, frames, rate=min(25, max(5, len(frames) // 5)))
        else:
            for path, view in zip(files, seen, strict=True):
                _write(path, view, options.depth, space)
        return {
            "shape": [count, *size, 3],
            "files": [str(path) for path in files],
            "text": f"{count} view{'s' if count > 1 else ''}",
        }

    return Rendered(values, write)


def _cameras(
    about: dict[str, Any],
    options: Any,
    lens: np.ndarray,
    own: tuple[int, int],
    moving: bool,
) -> tuple[np.ndarray, np.ndarray, tuple[int, int]]:
    """Poses in the world, a lens for each, and the size of the pictures."""
    asked = [name for name in ("orbit", "camera", "views")
             if getattr(options, name) is not None]  # fmt: skip
    if len(asked) > 1:
        raise InputError(f"`{asked[0]}` and `{asked[1]}` exclude each other")
    if options.camera is not None:
        cameras = read_cameras(Path(options.camera))
        size = size_of(options, *(cameras.size or own))
        lenses = cameras.lens_for(size)
        lenses[:, 2:4] -= 0.5
        return cameras.poses, lenses, size
    size = size_of(options, *own)
    # The picture keeps its angle of view; pixel centres are half a pixel in.
    zoom = np.array([size[1] / own[1], size[0] / own[0]])
    centre = (lens[2:4] + 0.5) * zoom - 0.5
    lens = np.concatenate([lens[:2] * zoom, centre, lens[4:]])
    if options.orbit is None and (options.views is not None or not moving):
        poses = np.array(about["test"], float)
        if options.views is None:
            poses = poses[:1]
    else:
        circle = about["orbit"]
        count = options.orbit or FRAMES
        if "radii" in circle:
            pose = np.array(about["frustum"]["pose"])
            poses = sway(pose, circle["radii"], circle["depth"], count)
        else:
            poses = orbit(
                np.array(circle["centre"]), np.array(circle["up"]), circle["radius"],
                circle["elevation"], count,
            )  # fmt: skip
    return poses, np.tile(lens, (len(poses), 1)), size


def occupied_of(field: Field, about: dict[str, Any]) -> Occupied:
    """Where a scene is not empty, of what its own cameras see."""
    space, size, lens = scene_facts(field, about)
    poses = space.place(np.array(about["test"], float))
    lenses = np.tile(lens, (len(poses), 1))
    box = box_of_views(poses, lenses, size, space.ends, space.ndc)
    return occupied(FieldRadiance(field), *box)


def scene_facts(
    field: Field, about: dict[str, Any]
) -> tuple[Space, tuple[int, int], np.ndarray]:
    """What the model says of its scene, checked."""
    try:
        near, far = float(about["near"]), float(about["far"])
        centre, side = np.array(about["centre"], float), float(about["side"])
        lens, circle = np.array(about["lens"], float), about["orbit"]
        numbers = [near, far, side, *centre, *lens]
        frustum = None
        if "frustum" in about:
            frustum = Frustum(
                np.array(about["frustum"]["pose"], float),
                float(about["frustum"]["scale"]),
            )
            radii = [float(radius) for radius in circle["radii"]]
            numbers += [*frustum.pose.ravel(), frustum.scale, circle["depth"], *radii]
            if frustum.pose.shape != (3, 4) or len(radii) != 2 or frustum.scale <= 0:
                raise ValueError
        else:
            numbers += [circle["radius"], circle["elevation"], *circle["centre"],
                        *circle["up"]]  # fmt: skip
        poses = np.array(about["test"], float)
        rows, columns = (int(n) for n in about["size"])
        whole = (
            np.isfinite(numbers).all()
            and np.isfinite(poses).all()
            and 0 < near < far
            and side > 0
            and centre.shape == (3,)
            and lens.shape in ((4,), (8,))
            and poses.ndim == 3
            and poses.shape[1:] == (3, 4)
            and len(poses) > 0
            and 2 <= int(about["samples"]) <= 4096
            and min(rows, columns) > 0
            and max(rows, columns) < 2**16
            and (field.encoding.dims, field.mlp.biases[-1].shape[-1]) == (3, 4)
        )
        if not whole:
            raise ValueError
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(
            "what the model says of its scene and cameras makes no sense"
        ) from None
    return Space(near, far, centre, side, frustum), (rows, columns), lens


def flight_of(
    space: Space, poses: np.ndarray, centre: np.ndarray
) -> dict[str, dict[str, Any]]:
    """The flight that goes with a set of cameras, as `scene_facts` reads it.

    Around the centre; for forward-facing cameras an ellipse as wide as most of them
    stand, about what is halfway in disparity.
    """
    frustum = space.frustum
    if frustum is None:
        return {"orbit": orbit_of(poses, centre)}
    radii = np.quantile(np.abs(frustum.place(poses)[:, :2, 3]), 0.8, axis=0)
    depth = 2 / (1 / space.near + 1 / space.far)
    return {
        "frustum": {"pose": frustum.pose.tolist(), "scale": frustum.scale},
        "orbit": {"radii": radii.tolist(), "depth": depth},
    }


def _bytes(view: View, depth: bool, space: Space) -> np.ndarray:
    if depth:
        return depth_picture(view.depth, view.opacity, space.ends)
    return quantise(view.colour, 8)


def _write(path: Path, view: View, depth: bool, space: Space) -> None:
    """A picture; as NPY, depth is in units of the world and NaN where nothing is."""
    if depth and path.suffix.lower() == ".npy":
        with atomic_write(path) as part:
            np.save(part, _depth(view, space))
    else:
        write_image(path, _bytes(view, depth, space) / np.float32(255))


def _depth(view: View, space: Space) -> np.ndarray:
    """In units of the world, NaN where nothing is."""
    metres = space.depth(view.depth / np.maximum(view.opacity, 0.5))
    return np.where(view.opacity > 0.5, metres, np.nan).astype(np.float32)


def depth_picture(
    depth: np.ndarray, opacity: np.ndarray, ends: tuple[float, float]
) -> np.ndarray:
    """Depth in grey: white at `near`, black at `far` and where nothing is."""
    mean = depth / np.maximum(opacity, 1e-6)
    light = (ends[1] - mean) / (ends[1] - ends[0])
    grey = np.clip(light, 0, 1) * np.clip(opacity, 0, 1)
    return quantise(np.repeat(grey[..., None], 3, axis=2), 8)


def _numbered(out: Path, count: int) -> list[Path]:
    digits = len(str(count - 1))
    return [out.with_stem(f"{out.stem}-{k:0{digits}d}") for k in range(count)]
