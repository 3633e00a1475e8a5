"""A model of densities back as line integrals, at any angles of the scanner."""

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..atomic_write import atomic_write
from ..data.arrays import write_npy
from ..data.ct_geometry import from_about
from ..data.sinograms import parse_angles
from ..errors import InputError
from ..field import Field
from ..tasks.ct import projector
from ..tasks.ct_rows import heights, render_slices
from ..tasks.image import render
from .ct_volume import extent_from
from .kind import Rendered
from .model_facts import range_of, shape_of, suffix_of


def measured_again(field: Field, about: dict[str, Any], options: Any) -> Rendered:
    """Line integrals of a model, (views, bins) or (views, rows, bins), in the units of
    what it was fitted to.

    The field is sampled on the picture's own pixels.
    """
    *sides, _ = shape_of(field, about, field.encoding.dims if "spacing" in about else 2)
    side = sides[-1]
    _, high = range_of(about)
    if "geometry" not in about:
        raise InputError(
            "this model does not say how it was measured; one fitted by an earlier "
            "version has to be fitted again"
        )
    geometry, bins = from_about(about["geometry"]), about.get("bins")
    if options.angles is None:
        angles = np.asarray(about.get("angles"), np.float64)
    else:
        angles = parse_angles(options.angles)
    if not isinstance(bins, int) or angles.ndim != 1 or geometry.size != side:
        raise InputError("the model's `bins`, `angles` and `geometry` make no sense")

    forward = projector(geometry, angles, bins)

    def picture() -> np.ndarray:
        density = high * render(field, (side, side), (side, side))[..., 0]
        return geometry.side * np.asarray(forward(jnp.asarray(density)))

    def slices() -> np.ndarray:
        extent, seen = extent_from(about, sides), []
        for z in heights(sides[0], extent):  # one by one, however many there are
            density = high * render_slices(field, z[None], side, extent)[0]
            seen.append(np.asarray(forward(jnp.asarray(density))))
        return geometry.side * np.stack(seen, axis=1)

    values = picture if len(sides) == 2 else slices

    def write(out: Path) -> dict[str, Any]:
        suffix_of(out, (".npy",))
        seen = values()
        with atomic_write(out) as part:
            write_npy(part, seen)
        return {"shape": list(seen.shape), "angles": angles.tolist(),
                "text": "line integrals, " + " x ".join(
                    ("views", "bins") if len(sides) == 2 else ("views", "rows", "bins")
                )}  # fmt: skip

    return Rendered(values, write)
