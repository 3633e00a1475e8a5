"""`passband info MODEL`, of one model or of a set of them."""

import dataclasses
from typing import Any

from ..errors import InputError, one_line
from ..options import argument, option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Say what a model file holds, or a set of fields."""

    model: str = argument(
        "a model.safetensors, its run folder, or the folder of a set", metavar="MODEL"
    )
    one: str | None = option(None, "one field of a set, by its name", metavar="NAME")


def run(options: Options, given: set[str]) -> int:
    """Print the header of a model and the shapes of its layers."""
    from .device import prepare

    prepare("cpu", keep=False)
    from ..model_file import load_with_info, model_path
    from ..train.set_folder import is_set
    from .console import Console

    console = Console(json=options.json, quiet=options.quiet)
    if is_set(options.model):
        content = _of_set(options)
        lines = [f"{_text(k):12s} {_text(v)}" for k, v in content.items()]
        console.result(content, "\n".join(lines))
        return 0
    if options.one is not None:
        raise InputError(f"`one` goes with a set of fields; `{options.model}` is none")
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
    console.result(content, "\n".join(lines))
    return 0


def _of_set(options: Options) -> dict[str, Any]:
    """What a set holds, or one field of it."""
    from ..model_set import load_many

    models = load_many(options.model)
    if options.one is not None:
        about = models[options.one].about
        return {k: v for k, v in about.items() if not hasattr(v, "shape")}
    scores = {
        name: {"mean": float(values.mean()), "least": float(values.min())}
        for name, values in models.metrics.items()
    }
    first = models[0].about if len(models) else {}
    return {
        "fields": len(models),
        "failed": len(models.failures),
        **{name: first.get(name) for name in ("task", "mapping", "steps")},
        "metrics": scores,
        "shards": len({row["shard"] for row in models.rows}),
        "names": ", ".join(models.names[:5]) + (", ..." if len(models) > 5 else ""),
        "failures": ", ".join(list(models.failures)[:5]),
    }


def _text(value: Any) -> str:
    """A value for people; what a file says must not steer their terminal."""
    if isinstance(value, dict):
        return ", ".join(f"{_text(k)} {_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        return " x ".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return one_line("-" if value is None or value == "" else str(value))
