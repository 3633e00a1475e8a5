"""A field of a volume at any resolution, slice by slice: NPY, NIfTI, a TIFF stack, or
three planes as a picture."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..data.images import to_user
from ..data.large_volume import write_slices
from ..domain import extent_of, scaled_sides, xy
from ..errors import InputError
from ..export.web.model_page import View
from ..field import Field
from ..plot.style import png_bytes
from ..plot.volume_slices import Plane, draw_planes
from ..tasks.slices import each_slice, places_along, render_slices
from .kind import Listener, Rendered, Units
from .model_facts import check_room, range_of, refuse, shape_of, suffix_of
from .render_volume import place_of
from .views import sampled_view

FORMATS = (".nii", ".nii.gz", ".npy", ".tif", ".tiff", ".png")
BITS = (8, 16, 32)
ORDERS = {
    "xyz": "indices x, y, z along the three axes of the array",
    "zyx": "x, y, z: indices along the last axis of the array, the second, the first",
}
"""How a file calls its axes, and what that makes of the coordinates."""


def render_voxels(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """The volume or a box of it, in the units of the file it was fitted to."""
    refuse(options, ("size",), "is for pictures; a volume has `resolution`")
    *sides, channels = shape_of(field, about, 3)
    low, high = range_of(about)
    spacing, affine = place_of(about, 3)
    order = order_of(about)
    first, lengths = _box(options.crop, sides)
    new = scaled_sides(lengths, options.resolution)
    zoom = np.divide(lengths, new)
    rows, columns, slices = (
        first[k] + np.arange(n) * zoom[k] for k, n in enumerate(new)
    )
    extent = extent_of(sides, spacing)
    axes = places_along((rows, columns, slices), sides, extent)
    shape = (new[2], new[0], new[1], channels)
    place = _moved(affine, spacing, first, zoom)

    def parts() -> Iterator[np.ndarray]:
        for k, found in enumerate(each_slice(field, axes)):
            yield found
            listener.progress(f"evaluating the field  {(k + 1) / new[2]:.0%}")

    def values() -> np.ndarray:
        check_room(math.prod(shape))
        found = to_user(np.stack(list(parts())), low, high)
        found = found[..., 0] if channels == 1 else found
        return found.transpose(2, 1, 0) if order == "xyz" and channels == 1 else found

    def write(out: Path) -> dict[str, Any]:
        suffix = suffix_of(out, FORMATS)
        tiff = suffix in (".tif", ".tiff")
        if options.bits is not None and (not tiff or options.bits not in BITS):
            raise InputError(
                f"`bits` (={options.bits}) is 8, 16 or 32 of a TIFF stack; other files "
                "have float32"
            )
        if suffix == ".png":
            at = [float(places[len(places) // 2]) for places in (columns, rows, slices)]
            shown = {"Field": labelled(middle_planes(field, axes, low, high), at)}
            steps = xy([k * s for k, s in zip(zoom, spacing, strict=True)])
            figure = draw_planes(shown, steps, (low, high))
            write_bytes(out, png_bytes(figure))
        else:
            own = about.get("bits") if about.get("bits") in BITS else 32
            write_slices(
                out, parts(), shape, low=low, high=high, order=order, affine=place,
                bits=options.bits or own or 32,
            )  # fmt: skip
        x, y, z = new[1], new[0], new[2]
        told = [x, y, z] if order == "xyz" else [z, y, x]
        return {"shape": told if channels == 1 else [*told, channels]}

    return Rendered(values, write)


def middle_planes(
    field: Field, axes: tuple[np.ndarray, ...], low: float, high: float
) -> list[Plane]:
    """Three planes through the middle of a grid, of which nothing else is evaluated, as
    `volume_slices.planes` turns them."""
    x, y, z = axes
    at = [len(axis) // 2 for axis in axes]
    found = []
    for axis, (name, down, across) in enumerate(("x21", "y20", "z10")):
        cut = [a[at[axis], None] if k == axis else a for k, a in enumerate((x, y, z))]
        seen = to_user(render_slices(field, cut), low, high)[..., 0].transpose(2, 1, 0)
        plane = np.take(seen, 0, axis=axis).T[::-1]
        found.append((plane, (int(down), int(across)), f"{name} = {at[axis]}"))
    return found


def labelled(found: Sequence[Plane], at: Sequence[float]) -> list[Plane]:
    """Planes across x, y and z, called by where they lie in voxels of the file."""
    each = zip(found, "xyz", at, strict=True)
    return [
        (part, axes, f"{name} = {place:.4g}") for (part, axes, _), name, place in each
    ]


def order_of(about: dict[str, Any]) -> str:
    """How the fitted file calls its axes."""
    order = about.get("order")
    if order not in ORDERS:
        raise InputError(f"the model's `order` (={order}) is none of {list(ORDERS)}")
    return order


def units_of(field: Field, about: dict[str, Any]) -> Units:
    """Those of the coordinates: indices of the voxels."""
    *sides, _ = shape_of(field, about, 3)
    extent = extent_of(sides, place_of(about, 3)[0])
    scale = np.divide(xy(extent), xy(sides))
    return Units(np.zeros(3), scale, np.zeros(3), ORDERS[order_of(about)])


def voxels_view(field: Field, about: dict[str, Any]) -> View:
    """A page's view: three planes, x, y and z."""
    *sides, channels = shape_of(field, about, 3)
    spacing, _ = place_of(about, 3)
    found = sampled_view(xy(sides), channels, range_of(about), xy(spacing))
    axes = np.diag(found.geometry["lengths"]).tolist()
    return View(found.type, {**found.geometry, "axes": axes}, found.how)


def _moved(
    affine: np.ndarray | None, spacing: Any, first: Any, zoom: np.ndarray
) -> np.ndarray:
    """The affine of the rendered grid, of indices (x, y, z)."""
    place = np.diag([*xy(spacing), 1.0]) if affine is None else np.array(affine)
    out = np.array(place, np.float64)
    out[:3, 3] += place[:3, :3] @ np.asarray(xy(first), np.float64)
    out[:3, :3] *= np.asarray(xy(list(zoom)))
    return out


def _box(crop: str | None, sides: list[int]) -> tuple[list[float], list[float]]:
    """Where a box begins, and how long its sides are: rows, columns, slices."""
    if crop is None:
        return [0.0] * 3, [float(n) for n in sides]
    x, y, z = xy(sides)
    try:
        numbers = [float(part) for part in crop.split(",")]
        first, last = numbers[:3], numbers[3:]
        good = len(last) == 3
    except ValueError:
        first, last, good = [], [], False
    ends = zip(first, last, (x, y, z), strict=False)
    if not good or not all(0 <= a < b <= n for a, b, n in ends):
        raise InputError(
            f"`crop` (={crop}) must be X,Y,Z,X,Y,Z in voxels, a corner of a box and "
            f"the opposite one, inside the volume of {x} x {y} x {z}"
        )
    lengths = [b - a for a, b in zip(first, last, strict=True)]
    return list(xy(first)), list(xy(lengths))
