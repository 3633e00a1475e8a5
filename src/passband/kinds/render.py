"""A model file of any kind at any resolution, in the units of what was fitted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..errors import InputError
from ..export.onnx import onnx_bytes
from ..field import Field
from ..mappings import FourierFeatures, Grids, Identity
from ..model_file import load_with_info, model_path
from .kind import SILENT, Kind, Listener, Rendered, own_units
from .model_facts import range_of, refuse
from .page import write_page
from .render_options import ONLY_OF
from .table import IN_PYTHON, KINDS


def render_file(
    model: str | Path, options: Any, out: Path, listener: Listener = SILENT
) -> dict[str, Any]:
    """Write a model file as a picture, a mesh, a volume, a flight, or ONNX."""
    model = model_path(model)
    field, about = load_with_info(model)
    about = about | {"folder": str(model.parent)}
    return render_field(field, about, options, out, listener, str(model), model)


def render_field(
    field: Field,
    about: dict[str, Any],
    options: Any,
    out: Path,
    listener: Listener = SILENT,
    name: str = "the model",
    model: Path | None = None,
) -> dict[str, Any]:
    """Write a field of which this is known, as `render_file` does.

    Args:
        model: the file that it has by itself, if it has one.
    """
    kind = kind_of(about)
    if out.suffix.lower() == ".onnx":
        why = "means nothing to an ONNX model; leave it out"
        refuse(options, ("size", "resolution", "crop", "bits", "time", "frames"), why)
        return write_onnx(kind, field, about, out)
    if out.suffix.lower() == ".html":
        why = "means nothing to a page, which has every size; leave it out"
        refuse(options, ("size", "resolution", "crop", "bits", "time", "frames"), why)
        return write_page(kind, field, about, out, model, name)
    if kind is None:
        raise InputError(
            f"`{name}` is of task `{about.get('task')}`; only a model made by "
            f"`passband fit {'|'.join(KINDS)}` says how it is to be rendered"
        )
    return shown_by(kind, options)(field, about, options, listener).write(out)


def shown_by(kind: type[Kind], options: Any) -> Callable[..., Rendered]:
    """What gives what was asked for: the field itself, or what is measured of it."""
    if options.what == "measurements":
        refuse(options, ("size", "resolution", "crop"), "is of a picture, not measured")
        return kind.measure
    refuse(options, ("angles",), "goes with `what=measurements`")
    for name, own in ONLY_OF.items():
        if kind.name != name:
            refuse(options, own, f"is for a model of `fit {name}`, and this is none")
    return kind.render


def kind_of(about: dict[str, Any]) -> type[Kind] | None:
    """The kind of a model, by what its file says."""
    task = about.get("task")
    row = (KINDS | IN_PYTHON).get(task) if isinstance(task, str) else None
    return None if row is None else row.load()


def render_values(
    field: Field, about: dict[str, Any], options: Any, listener: Listener = SILENT
) -> Any:
    """What a render would write, as Python has it; measurements where asked for."""
    kind = kind_of(about)
    if kind is None:
        raise InputError(f"a model of task `{about.get('task')}` cannot be rendered")
    return shown_by(kind, options)(field, about, options, listener).values()


def write_onnx(
    kind: type[Kind] | None, field: Field, about: dict[str, Any], out: Path
) -> dict[str, Any]:
    """Write `coords` (n, d) -> `values` (n, c), both in the units of the fitted file.

    What the units are is said in the file's own metadata, and in `coords` and `values`
    of what is returned. A kind that has no file's units keeps those of the field.
    """
    d, c = field.encoding.dims, field.mlp.biases[-1].shape[-1]
    found = own_units(d) if kind is None else kind.units(field, about)
    scale, shift = found.scale, found.shift
    low, high, values = 0.0, 1.0, found.values
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
    elif isinstance(encoding, Grids):
        waves = {"levels": [np.asarray(level) for level in encoding.levels]}
    elif isinstance(encoding, Identity):
        factor = np.asarray(encoding.scale, np.float64)
        more = np.asarray(encoding.shift, np.float64)
        if field.members > 1:  # (members, points, coordinates)
            factor, more = factor[:, None], more[:, None]
        scale, shift = scale * factor, shift * factor + more
    units = {"coords": found.coords, "values": values}
    data = onnx_bytes(
        weights=[np.asarray(w) for w in weights],
        biases=[np.asarray(b) for b in biases],
        **waves,
        input_center=found.center,
        input_scale=scale,
        input_shift=shift,
        output=field.output if kind is None else kind.onnx_output(field),
        activation=field.mlp.activation,
        output_scale=high - low,
        output_shift=low,
        metadata={
            "task": str(about.get("task")),
            "mapping": str(about.get("mapping")),
            **units,
        },
    )
    write_bytes(out, data)
    return {
        "shape": [d, c],
        **units,
        "bytes": len(data),
        "text": f"coords ({found.coords}) to values ({values})",
    }
