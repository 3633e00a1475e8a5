"""What a model file says of an image behind k-space, and what is made of it: units, the
volume at any resolution, and k-space as the scanner would have it."""

import math
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..data.volumes import write_volume
from ..domain import extent_of, xy
from ..errors import InputError
from ..field import Field
from ..forward.kspace import KSpace, to_centred
from ..members import mean_and_spread
from ..tasks.mri import render
from .kind import Listener, Rendered, Units, share_told
from .model_facts import check_room, numbers_of, range_of, shape_of, suffix_of
from .mri_measurement import Measurement
from .mri_options import MriOptions
from .render_volume import place_of


def about_of(data: Measurement, options: MriOptions) -> dict[str, Any]:
    """What is needed to use the field in the user's units, and to measure it again."""
    about = {
        "shape": [*data.sides, 2 if data.pair else 1],
        "low": 0.0,
        "high": data.high,
        "spacing": list(data.spacing),
        "affine": None if data.affine is None else data.affine.tolist(),
        "origin": options.origin,
        "norm": options.norm,
    }
    if data.maps is not None:
        about["maps"] = np.stack([np.real(data.maps), np.imag(data.maps)], axis=-1)
    return about


def units_of(field: Field, about: dict[str, Any]) -> Units:
    """Those of the coordinates: indices of the array."""
    d = field.encoding.dims
    *sides, _ = shape_of(field, about, d)
    extent = extent_of(sides, place_of(about, d)[0])
    scale = np.divide(xy(extent), xy(sides))
    return Units(
        np.zeros(d), scale, np.zeros(d),
        "indices along the second axis of the array, the first, and the third",
    )  # fmt: skip


def measured_again(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """All of k-space, for every coil, as the file that was fitted would have it."""
    if options.angles is not None:
        raise InputError("`angles` are those of a CT scan; k-space is measured whole")
    d = field.encoding.dims
    *sides, channels = shape_of(field, about, d)
    sides = tuple(sides)
    _, high = range_of(about)
    extent = extent_of(sides, place_of(about, d)[0])
    maps = maps_of(about, sides)
    check_room(2 * math.prod(sides) * (1 if maps is None else len(maps)))
    forward = KSpace(
        jnp.ones(sides, bool), None if maps is None else jnp.asarray(maps), channels > 1
    )

    def samples() -> np.ndarray:
        image, _ = mean_and_spread(
            field, lambda f: render(f, sides, extent, on_part=share_told(listener))
        )
        image = jnp.asarray(high * image).reshape(forward.input_shape)
        found = np.asarray(forward.transform(image))
        if about.get("norm") == "none":
            found = found * np.float32(math.sqrt(math.prod(sides)))
        corner = about.get("origin") == "corner"
        return (found if corner else to_centred(found, sides)).astype(np.complex64)

    def write(out: Path) -> dict[str, Any]:
        suffix_of(out, (".npy",))
        found = samples()
        write_volume(out, found)
        return {"shape": list(found.shape)}

    return Rendered(samples, write)


def maps_of(about: dict[str, Any], sides: tuple[int, ...]) -> np.ndarray | None:
    """The coils' maps that the model file has, (coils, ...)."""
    if "maps" not in about:
        return None
    shape = np.shape(about["maps"])
    found = numbers_of(about, "maps", (*shape[:1], *sides, 2)).astype(np.float32)
    return found[..., 0] + 1j * found[..., 1]
