"""A field behind k-space as a volume of any resolution, or its slices as a picture."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..data.volumes import rescaled, write_volume
from ..domain import extent_of, scaled_sides
from ..errors import InputError
from ..field import Field
from ..plot.style import png_bytes
from ..plot.volume_slices import volume_slices
from ..tasks.mri import render
from .kind import Listener, Rendered, share_told
from .model_facts import check_room, range_of, refuse, shape_of, suffix_of

VOLUMES = (".nii", ".nii.gz", ".npy", ".png")


def render_volume(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """The image or volume, in the units of the file it was fitted to."""
    why = "is for pictures; a volume has `resolution`"
    refuse(options, ("size", "crop", "bits"), why)
    dims = field.encoding.dims
    if dims not in (2, 3):
        raise InputError(f"the model has {dims} coordinates; an MRI model: 2 or 3")
    *sides, channels = shape_of(field, about, dims)
    _, high = range_of(about)
    spacing, affine = place_of(about, dims)
    extent = extent_of(tuple(sides), spacing)
    new = scaled_sides(sides, options.resolution)
    check_room(math.prod(new) * channels)

    def volume() -> np.ndarray:
        values = high * render(field, new, extent, on_part=share_told(listener))
        if channels == 1:
            return values[..., 0]
        return values[..., 0] + 1j * values[..., 1]

    def write(out: Path) -> dict[str, Any]:
        suffix = suffix_of(out, VOLUMES)
        image = volume()
        if suffix == ".png":
            steps = tuple(e / n for e, n in zip(extent, new, strict=True))
            figure = volume_slices({"Field": np.abs(image)}, spacing=steps)
            write_bytes(out, png_bytes(figure))
        elif suffix == ".npy":
            write_volume(out, image)
        else:
            # What shows NIfTI files shows no complex numbers, and takes three axes.
            flat = (1,) * (3 - dims)
            place = np.diag([*spacing, *flat, 1.0]) if affine is None else affine
            moved = rescaled(place, (*sides, *flat), (*new, *flat))
            values = image if channels == 1 else np.abs(image)
            write_volume(out, values.reshape(*new, *flat), moved)
        return {"shape": list(image.shape)}

    return Rendered(volume, write)


def place_of(
    about: dict[str, Any], dims: int
) -> tuple[tuple[float, ...], np.ndarray | None]:
    """Voxel size and affine, as the model file has them."""
    try:
        spacing = tuple(float(s) for s in about["spacing"])
        affine = about.get("affine")
        place = None if affine is None else np.asarray(affine, np.float64)
        good = len(spacing) == dims and all(0 < s < math.inf for s in spacing)
        good &= place is None or (place.shape == (4, 4) and np.isfinite(place).all())
    except (KeyError, TypeError, ValueError):
        good, spacing, place = False, (), None
    if not good:
        raise InputError("the model's `spacing` and `affine` make no sense")
    return spacing, place
