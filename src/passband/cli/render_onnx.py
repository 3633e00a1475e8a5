"""A model as an ONNX file, so that it runs without JAX."""

from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..errors import InputError
from ..export.onnx import onnx_bytes
from ..field import Field
from ..mappings import FourierFeatures, Identity
from .model_facts import range_of, shape_of
from .render import Options
from .render_shape import placement_of


def render(
    field: Field, about: dict[str, Any], options: Options, out: Path
) -> dict[str, Any]:
    """Write the model; it has no resolution of its own."""
    for name in ("size", "resolution", "crop", "bits"):
        if getattr(options, name) is not None:
            raise InputError(f"`--{name}` means nothing to an ONNX model; leave it out")
    return write_onnx(field, about, out)


def write_onnx(field: Field, about: dict[str, Any], out: Path) -> dict[str, Any]:
    """Write `coords` (n, d) -> `values` (n, c), both in the units of the fitted file.

    What the units are is said in the file's own metadata, and in `coords` and `values`
    of what is returned. A task that has no file's units keeps those of the field.
    """
    d, c = field.encoding.dims, field.mlp.biases[-1].size
    center, scale, shift = np.zeros(d), np.ones(d), np.zeros(d)
    low, high = 0.0, 1.0
    coords, values = "the field's own coordinates", "the field's own values"
    task = about.get("task")
    if task == "image":
        h, w, _ = shape_of(field, about, 2)
        scale = np.full(d, 1 / max(h, w))
        coords = "column and row of the fitted picture, in pixels"
    elif task == "signal":
        n, _ = shape_of(field, about, 1)
        scale = np.full(d, 1 / n)
        coords = "number of the sample"
    elif task == "shape":
        placement = placement_of(about)
        # What float32 drops of a centre in the millions goes into the shift.
        center = placement.center.astype(np.float32).astype(np.float64)
        scale = np.full(d, 0.5 / placement.scale)
        shift = 0.5 + (center - placement.center) * scale
        coords, values = "x, y and z of the fitted mesh", "probability of inside"
    if "low" in about or "high" in about:
        low, high = range_of(about)
        values = "those of the fitted file"
    weights, biases = field.mlp.effective()
    encoding = field.encoding
    waves: dict[str, Any] = {}
    if isinstance(encoding, FourierFeatures):
        waves = {
            "frequencies": np.asarray(encoding.frequencies),
            "amplitudes": np.asarray(encoding.amplitudes),
        }
    elif isinstance(encoding, Identity):
        factor = np.asarray(encoding.scale, np.float64)
        scale = scale * factor
        shift = shift * factor + np.asarray(encoding.shift, np.float64)
    units = {"coords": coords, "values": values}
    data = onnx_bytes(
        weights=[np.asarray(w) for w in weights],
        biases=[np.asarray(b) for b in biases],
        **waves,
        input_center=center,
        input_scale=scale,
        input_shift=shift,
        output=field.output,
        output_scale=high - low,
        output_shift=low,
        metadata={"task": str(task), "mapping": str(about.get("mapping")), **units},
    )
    write_bytes(out, data)
    return {
        "shape": [d, c],
        **units,
        "bytes": len(data),
        "text": f"coords ({coords}) to values ({values})",
    }
