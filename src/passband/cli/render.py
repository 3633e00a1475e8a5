"""`passband render MODEL --out FILE`."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from ..atomic_write import refuse_existing
from ..errors import InputError
from ..kinds.render_options import RenderOptions
from ..options import argument, option
from .options import Output, joined


@dataclasses.dataclass(frozen=True)
class ModelOptions(Output):
    """Which model, to which file."""

    model: str = argument("a model.safetensors, or its run folder", metavar="MODEL")
    out: str | None = option(None, "the file to write", metavar="FILE")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


Options = joined(
    """Evaluate a model at any resolution, in the units of the file it was fitted to: a
    picture (PNG, TIFF, NPY), a signal (NPY, CSV, WAV), a shape as a mesh (PLY, OBJ,
    STL) or as its normals (PNG), a volume (NIfTI, NPY), a scene's views and orbits
    (PNG, GIF, MP4). Any model goes to ONNX, or to a page (HTML) that evaluates it.""",
    ModelOptions,
    RenderOptions,
)


def run(options: Any, given: set[str]) -> int:
    """Render a model."""
    from .device import prepare

    if options.out is None:
        raise InputError("`out` is missing; such as `out=picture.png`")
    out = Path(options.out)
    refuse_existing([out], options.overwrite)
    if not os.path.isdir(out.parent):
        raise InputError(f"`{out}` cannot be written: `{out.parent}` is not a folder")
    prepare(options.device, quiet=options.quiet)
    from ..kinds.render import render_file
    from .console import Console

    console = Console.of(options)
    content = {"out": str(out), **render_file(options.model, options, out, console)}
    line = content.pop("text", None)
    text = f"{out}: {' x '.join(map(str, content['shape']))}"
    console.result(content, text if line is None else f"{text}; {line}")
    return 0
