"""An MRI model as a volume of any resolution, or its slices as a picture."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..data.volumes import rescaled, suffix_of, write_volume
from ..errors import InputError
from ..field import Field
from ..plot.style import png_bytes
from ..plot.volume_slices import volume_slices
from ..tasks.mri import extent_of
from ..tasks.mri import render as evaluate
from .model_facts import check_room, range_of, shape_of
from .render import Options

KINDS = (".nii", ".nii.gz", ".npy", ".png")


def render(
    field: Field, about: dict[str, Any], options: Options, out: Path
) -> dict[str, Any]:
    """Write the volume."""
    suffix = suffix_of(out)
    if suffix not in KINDS:
        raise InputError(f"`--out` (={out}) must end in {', '.join(KINDS)}")
    for name in ("size", "crop", "bits"):
        if getattr(options, name) is not None:
            raise InputError(f"`--{name}` is for pictures; a volume has `--resolution`")
    dims = field.encoding.dims
    if dims not in (2, 3):
        raise InputError(f"the model has {dims} coordinates; an MRI model has 2 or 3")
    *sides, channels = shape_of(field, about, dims)
    if suffix in (".nii", ".nii.gz") and dims != 3:
        raise InputError(f"`--out` (={out}): an image of 2 axes goes to .npy or .png")
    _, high = range_of(about)
    spacing, affine = _place(about, dims)
    extent = extent_of(tuple(sides), spacing)
    new = _sides(tuple(sides), options.resolution)
    check_room(math.prod(new) * channels)
    values = high * evaluate(field, new, extent)
    image = values[..., 0] if channels == 1 else values[..., 0] + 1j * values[..., 1]
    if suffix == ".png":
        steps = tuple(e / n for e, n in zip(extent, new, strict=True))
        figure = volume_slices({"Field": np.abs(image)}, spacing=steps)
        write_bytes(out, png_bytes(figure))
    else:
        moved = None if affine is None else rescaled(affine, tuple(sides), new)
        write_volume(out, image, moved)
    return {"shape": list(image.shape)}


def _sides(sides: tuple[int, ...], resolution: int | None) -> tuple[int, ...]:
    if resolution is None:
        return sides
    scale = resolution / max(sides)
    return tuple(max(1, round(n * scale)) for n in sides)


def _place(
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
