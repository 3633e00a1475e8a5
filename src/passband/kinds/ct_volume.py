"""What is made of several rows of a scan: the grid of a step, slices at any resolution
as NPY, NIfTI or a TIFF stack, and what is shown of them."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import atomic_write, write_bytes
from ..data.tiff import MM, write_tiff_stack
from ..data.volumes import write_volume
from ..domain import scaled_sides
from ..errors import InputError
from ..export.web.model_page import View
from ..field import Field
from ..plot.style import png_bytes
from ..plot.volume_slices import volume_slices
from ..tasks.ct_rows import heights, render_slices, spread_over, volume_extent
from .defaults import on_cpu
from .kind import Listener, Rendered, Units, share_told
from .model_facts import check_room, numbers_of, range_of, refuse, shape_of, suffix_of
from .views import picture_view, sampled_view

VOLUMES = (".npy", ".nii", ".nii.gz", ".tif", ".tiff", ".png")
MOST_POINTS = 2**22
"""Of a step on a GPU, however many there are."""
PLANE, CPU_PLANE = 256, 64
"""Rows and columns of a slice that a step has at least, rather than more slices."""
SCORED, CPU_SCORED = 32, 3
"""Rows that are evaluated at full resolution, and that baselines are made of."""
SHOWN = 128
"""Rows and columns of the slices of a whole volume that the report shows."""


def slab_of(batch: int, rows: int, side: int) -> tuple[int, int]:
    """The grid of a slice, and how many rows a step sees, within so many points."""
    plane = min(side, CPU_PLANE if on_cpu() else PLANE)
    at_once = min(rows, max(2, batch // plane**2))
    return min(side, max(2, math.isqrt(batch // at_once))), at_once


def scored_rows(rows: int) -> list[int]:
    """Those that are evaluated, from all over the detector."""
    return spread_over(rows, CPU_SCORED if on_cpu() else SCORED)


def extent_from(about: dict[str, Any], sides: list[int]) -> tuple[float, float, float]:
    """Lengths along x, y and z, as the model file has them."""
    rows, side, again = sides
    spacing = numbers_of(about, "spacing", (3,))
    if side != again or not (spacing > 0).all() or spacing[1] != spacing[2]:
        raise InputError("the model's `shape` and `spacing` make no sense")
    return volume_extent(side, float(spacing[1]), rows, float(spacing[0]))


def units_of(field: Field, about: dict[str, Any], values: str) -> Units:
    """Those of the coordinates: indices of the voxels."""
    rows, side, again, _ = shape_of(field, about, 3)
    across, down, high = extent_from(about, [rows, side, again])
    return Units(
        np.zeros(3), np.asarray([across / side, down / side, high / rows]), np.zeros(3),
        "column and row of a slice, and slice", values,
    )  # fmt: skip


def ct_view(field: Field, about: dict[str, Any]) -> View:
    """A page's view: a picture, or slices and planes across them."""
    if "spacing" not in about:
        return picture_view(field, about)
    *sides, channels = shape_of(field, about, 3)
    lengths = extent_from(about, sides)[::-1]
    found = sampled_view(sides, channels, range_of(about), None)
    steps = [length / n for length, n in zip(lengths, sides, strict=True)]
    axes = (np.asarray(steps)[:, None] * np.eye(3)[::-1]).tolist()  # x is the last
    return View(
        found.type, {**found.geometry, "axes": axes, "lengths": steps}, found.how
    )


def render_slices_of(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """The volume, (rows, y, x), in the units of the scan that it was fitted to."""
    why = "is for pictures; a volume has `resolution`"
    refuse(options, ("size", "crop", "bits"), why)
    rows, side, again, _ = shape_of(field, about, 3)
    _, high = range_of(about)
    extent = extent_from(about, [rows, side, again])
    new, plane, _ = scaled_sides((rows, side, side), options.resolution)
    old = numbers_of(about, "spacing", (3,))
    spacing = old * [rows / new, side / plane, side / plane]
    check_room(new * plane**2)

    def volume() -> np.ndarray:
        told = share_told(listener)
        at = heights(new, extent)
        return high * render_slices(field, at, plane, extent, on_slice=told)

    def write(out: Path) -> dict[str, Any]:
        suffix = suffix_of(out, VOLUMES)
        values = volume()
        unit = str(about.get("unit", "pixel"))
        if suffix == ".npy":
            write_volume(out, values)
        elif suffix == ".png":
            write_bytes(out, png_bytes(slices_figure({"Field": values}, spacing)))
        elif suffix in (".tif", ".tiff"):
            with atomic_write(out) as part:
                write_tiff_stack(
                    part, values, values.shape, np.float32, spacing=tuple(spacing),
                    unit=unit,
                )  # fmt: skip
        else:
            step = spacing[::-1] * MM.get(unit, 1.0)
            affine = np.diag([*step, 1.0])
            middle = [(plane - 1) / 2, (plane - 1) / 2, 0]  # at the axis of rotation
            affine[:3, 3] = -step * middle
            write_volume(out, xyz(values), affine)
        return {"shape": list(values.shape), "spacing": spacing.tolist(), "unit": unit}

    return Rendered(volume, write)


def xyz(values: np.ndarray) -> np.ndarray:
    """Slices (z, y down, x) as the volume (x, y up, z) of a viewer."""
    return values[:, ::-1].transpose(2, 1, 0)


def slices_figure(volumes: dict[str, np.ndarray], spacing: Any) -> Any:
    """Planes through the middle along each axis."""
    across = tuple(float(s) for s in np.asarray(spacing)[::-1])
    return volume_slices({k: xyz(v) for k, v in volumes.items()}, spacing=across)


def volume_figure(
    field: Field, rows: int, side: int, extent: Any, high: float, truth: Any
) -> Any:
    """The whole volume cut open, on a grid that takes little time."""
    few, plane = min(rows, SHOWN), min(side, SHOWN)
    values = high * render_slices(field, heights(few, extent), plane, extent)
    steps = (extent[2] / few, extent[1] / plane, extent[0] / plane)
    shown = {"Field": values}
    if truth is not None:
        at = np.arange(plane) * side // plane
        some = truth[np.arange(few) * rows // few][:, at][:, :, at]
        shown = {"Truth": some, **shown}
    return slices_figure(shown, steps)


def middle(values: np.ndarray) -> np.ndarray:
    """The picture in the middle of slices; a picture is its own."""
    return values if values.ndim == 2 else values[len(values) // 2]
