"""`passband export SET --one NAME --out FILE`."""

import dataclasses
from pathlib import Path

from ..atomic_write import refuse_existing
from ..errors import InputError
from ..options import argument, option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Write one field of a set as a file of its own: a model.safetensors that every
    other command takes, or ONNX."""

    set: str = argument("the folder of a set of fields", metavar="SET")
    one: str | None = option(None, "the field, by its name", metavar="NAME")
    out: str | None = option(
        None, "the file to write: .safetensors or .onnx", metavar="FILE"
    )
    overwrite: bool = option(False, "replace FILE if it exists")


def run(options: Options, given: set[str]) -> int:
    """Export a field."""
    from .device import prepare

    if options.one is None or options.out is None:
        missing = "one" if options.one is None else "out"
        raise InputError(f"`{missing}` is missing")
    out = Path(options.out)
    if out.suffix.lower() not in (".safetensors", ".onnx"):
        raise InputError(f"`out` (={out}) must end in .safetensors or .onnx")
    refuse_existing([out], options.overwrite)
    prepare("cpu", keep=False)
    from ..kinds.render import kind_of, write_onnx
    from ..model_set import load_many
    from .console import Console

    model = load_many(options.set)[options.one]
    if out.suffix.lower() == ".onnx":
        write_onnx(kind_of(model.about), model.field, model.about, out)
    else:
        model.save(out)
    content = {"out": str(out), "name": options.one, "metrics": model.metrics}
    Console.of(options).result(content, f"{out}: {model!r}")
    return 0
