"""How a model of each kind is looked at in a page: its samples, its cameras."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..domain import extent_of, xy
from ..errors import InputError
from ..export.web.model_page import View
from ..field import Field
from .model_facts import range_of, shape_of
from .render_volume import place_of

ZOOM = "Drag to move, scroll, pinch or press + to look closer, 0 to see all"


def picture_view(field: Field, about: dict[str, Any]) -> View:
    """A picture, which goes on between its pixels."""
    h, w, channels = shape_of(field, about, 2)
    return _plane((h, w), channels, range_of(about))


def video_view(field: Field, about: dict[str, Any]) -> View:
    """A picture with a time, which goes on between its frames."""
    h, w, t, channels = shape_of(field, about, 3)
    plane = _plane((h, w), channels, range_of(about), longest=max(h, w, t))
    along = {"frames": t, "along": [0.0, 0.0, 1 / max(h, w, t)]}
    wide = {name: [*plane.geometry[name], 0.0] for name in ("origin", "across", "down")}
    how = f"{ZOOM}; frames are learned between frames, and the slider stops anywhere."
    return View("plane", {**plane.geometry, **wide, **along}, how)


def signal_view(field: Field, about: dict[str, Any]) -> View:
    """A curve, and its sound where it has a rate."""
    n, channels = shape_of(field, about, 1)
    rate = about.get("rate")
    if not isinstance(rate, int | float) or not 3000 <= rate <= 768_000:
        rate = None  # what no loudspeaker of a browser takes
    return _series(n, 1 / n, channels, range_of(about), rate)


def volume_view(field: Field, about: dict[str, Any]) -> View:
    """Three planes of a volume, or one picture; complex values by their magnitude."""
    dims = field.encoding.dims
    if dims not in (2, 3):
        raise InputError(f"the model has {dims} coordinates; an MRI model: 2 or 3")
    *sides, channels = shape_of(field, about, dims)
    spacing, _ = place_of(about, dims)
    ends = range_of(about)
    return sampled_view(sides, channels, ends, spacing, magnitude=True)


def measured_view(field: Field, about: dict[str, Any]) -> View:
    """What an operator of one's own has measured: a curve, a picture or a volume."""
    dims = field.encoding.dims
    *sides, channels = shape_of(field, about, dims)
    if dims == 1:
        return _series(sides[0], 1 / sides[0], channels, range_of(about), None)
    return sampled_view(sides, channels, range_of(about), None)


def shape_view(field: Field, about: dict[str, Any]) -> View:
    """A surface to turn."""
    from ..labels.distance import OUTSIDE
    from .render_shape import box_of  # pictures need none of them

    low, high = box_of(field, about)
    distance = about.get("target") == "sdf"
    return View(
        "surface",
        {
            "low": low.tolist(),
            "high": high.tolist(),
            "distance": distance,
            "longest": OUTSIDE,
        },
        "Drag or use the arrow keys to turn it, scroll, pinch or press + to come "
        "closer. It is coarse while it moves.",
    )


def scene_view(field: Field, about: dict[str, Any]) -> View:
    """A scene to fly around, or to look at from side to side."""
    from .render_scene import scene_facts

    space, size, lens = scene_facts(field, about)
    poses = np.array(about["test"], float)[:16]
    if space.frustum is not None:
        poses = space.frustum.place(poses)
    return View(
        "scene",
        {
            "poses": poses.tolist(),
            "size": list(size),
            "lens": lens.tolist(),
            "ends": list(space.ends),
            "samples": int(about["samples"]),
            "background": float(about.get("background") == "white"),
            "orbit": about["orbit"],
            "low": space.low.tolist(),
            "side": space.side,
            "stretch": space.stretch,
            "ndc": None if space.ndc is None else space.ndc.tolist(),
        },
        "Drag or use the arrow keys to move, scroll, pinch or press + to come closer. "
        "It is coarse while it moves.",
    )


def sampled_view(
    sides: Sequence[int],
    channels: int,
    ends: tuple[float, float],
    spacing: Sequence[float] | None,
    *,
    magnitude: bool = False,
) -> View:
    """An array of two or three axes."""
    extent = extent_of(sides, spacing)
    steps = [e / n for e, n in zip(extent, sides, strict=True)]
    where = np.eye(len(sides))[list(xy(range(len(sides))))].T  # (axis, coordinate)
    axes = (np.asarray(steps)[:, None] * where).tolist()
    magnitude = magnitude or channels not in (1, 2, 3, 4)
    if len(sides) == 2:
        found = _plane(tuple(sides), channels, ends)
        more = {
            "across": axes[1],
            "down": axes[0],
            "pixel": steps[1] / steps[0],
            "magnitude": magnitude,
        }
        return View("plane", {**found.geometry, **more}, found.how)
    low, high = ends
    return View(
        "volume",
        {
            "sides": list(sides),
            "axes": axes,
            "lengths": steps,
            "channels": channels,
            "magnitude": magnitude,
            "low": low,
            "high": high,
        },
        "Drag in a plane to move the other two through that point; the sliders stop "
        "between slices too. Scroll, pinch or press + to look closer.",
    )


def points_view(field: Field, about: dict[str, Any]) -> View:
    """The unit box of points of one to three coordinates, colours over their range."""
    d, channels = field.encoding.dims, field.mlp.biases[-1].shape[-1]
    if d > 3:
        raise InputError(f"a page shows 1 to 3 coordinates; this model has {d}")
    probe = np.random.default_rng(0).random((4096, d)).astype(np.float32)
    seen = field.predict(probe)
    low, high = float(seen.min()), float(seen.max())
    if not (math.isfinite(low) and low < high):
        high = low + 1.0
    ends = (low, high)
    if d == 1:
        found = _series(1024, 1 / 1024, channels, (0.0, 1.0), None)
    elif d == 2:
        found = sampled_view((512, 512), channels, (0.0, 1.0), None)
    else:
        found = sampled_view((128, 128, 128), channels, (0.0, 1.0), None)
    return View(found.type, {**found.geometry, "window": ends}, found.how)


def _plane(
    sides: tuple[int, ...],
    channels: int,
    ends: tuple[float, float],
    *,
    longest: int | None = None,
) -> View:
    (h, w), (low, high) = sides, ends
    step = 1 / (longest or max(h, w))
    return View(
        "plane",
        {
            "columns": w,
            "rows": h,
            "origin": [0.0, 0.0],
            "across": [step, 0.0],
            "down": [0.0, step],
            "channels": channels,
            "magnitude": False,
            "low": low,
            "high": high,
        },
        f"{ZOOM}. The network has a value everywhere, between the pixels too.",
    )


def _series(
    n: int,
    step: float,
    channels: int,
    ends: tuple[float, float],
    rate: float | None,
) -> View:
    low, high = ends
    return View(
        "series",
        {
            "n": n,
            "step": step,
            "channels": channels,
            "low": low,
            "high": high,
            "rate": rate,
        },
        "Drag to move, scroll, pinch or press + to look closer, 0 to see all. The "
        "network has a value everywhere, between the samples too.",
    )
