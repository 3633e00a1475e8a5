"""`passband info MODEL`."""

import dataclasses
from pathlib import Path

from .options import Output, argument


@dataclasses.dataclass
class Options(Output):
    """Say what a model file holds."""

    model: str = argument("a model.safetensors", metavar="MODEL")


def run(options: Options, given: set[str]) -> int:
    """Print the header of a model and the shapes of its layers."""
    from ..model_file import load_with_info
    from .console import Console

    field, about = load_with_info(options.model)
    sizes = [field.encoding.features, *(W.shape[1] for W in field.mlp.weights)]
    content = {
        **about,
        "coordinates": field.encoding.dims,
        "layers": sizes,
        "parameters": sum(W.size for W in (*field.mlp.weights, *field.mlp.biases)),
        "bytes": Path(options.model).stat().st_size,
    }
    lines = []
    for name, value in content.items():
        if isinstance(value, dict):
            value = ", ".join(
                f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}"
                for k, v in value.items()
            )
        elif name == "layers":
            value = "-".join(map(str, sizes))
        lines.append(f"{name:12s} {value}")
    Console(json=options.json, quiet=False).result(content, "\n".join(lines))
    return 0
