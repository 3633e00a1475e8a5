"""`passband info MODEL`."""

import dataclasses
from typing import Any

from ..errors import one_line
from ..options import argument
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Say what a model file holds."""

    model: str = argument("a model.safetensors, or its run folder", metavar="MODEL")


def run(options: Options, given: set[str]) -> int:
    """Print the header of a model and the shapes of its layers."""
    from .device import prepare

    prepare("cpu", keep=False)
    from ..model_file import load_with_info, model_path
    from .console import Console

    field, about = load_with_info(options.model)
    arrays = {k: list(v.shape) for k, v in about.items() if hasattr(v, "shape")}
    content = {
        **about,
        **arrays,
        "coordinates": field.encoding.dims,
        "layers": [field.encoding.features, *(b.shape[-1] for b in field.mlp.biases)],
        "parameters": field.parameters,
        "bytes": model_path(options.model).stat().st_size,
    }
    shown = content | {"layers": "-".join(map(str, content["layers"]))}
    shown = {k: v for k, v in shown.items() if v is not None and v != ""}
    lines = [f"{_text(name):12s} {_text(value)}" for name, value in shown.items()]
    Console(json=options.json, quiet=options.quiet).result(content, "\n".join(lines))
    return 0


def _text(value: Any) -> str:
    """A value for people; what a file says must not steer their terminal."""
    if isinstance(value, dict):
        return ", ".join(f"{_text(k)} {_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " x ".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return one_line("-" if value is None or value == "" else str(value))
