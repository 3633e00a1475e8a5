"""`passband render MODEL --out FILE`."""

import dataclasses
import os
from pathlib import Path
from typing import Any

from ..atomic_write import make_folder, refuse_existing
from ..errors import InputError
from ..kinds.render_options import RenderOptions
from ..options import argument, option
from .options import Output, joined


@dataclasses.dataclass(frozen=True)
class ModelOptions(Output):
    """Which model, to which file."""

    model: str = argument(
        "a model.safetensors, its run folder, or the folder of a set", metavar="MODEL"
    )
    out: str | None = option(
        None, "the file to write; of --all, with {name} in it", metavar="FILE"
    )
    one: str | None = option(None, "one field of a set, by its name", metavar="NAME")
    all: bool = option(False, "every field of a set")
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
    if options.all or options.one is not None:
        return _of_set(options)
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


def _of_set(options: Any) -> int:
    """Render one field of a set, or all of them."""
    from .device import prepare

    if options.all and "{name}" not in options.out:
        raise InputError("`all` writes many files: `out=folder/{name}.png`, say")
    prepare(options.device, quiet=options.quiet)
    from ..kinds.render import render_field
    from ..model_set import load_many
    from .console import Console

    console, models = Console.of(options), load_many(options.model)
    names = models.names if options.all else [options.one]
    places = [_place(options.out, name) for name in names]
    refuse_existing(places, options.overwrite)
    for k, (name, out) in enumerate(zip(names, places, strict=True)):
        console.progress(f"rendering {k + 1}/{len(names)}")
        model = models[name]
        make_folder(out.parent)
        render_field(model.field, model.about, options, out, name=name)
    content = {"out": options.out, "count": len(names)}
    console.result(content, f"{options.out}: {len(names)} rendered")
    return 0


def _place(out: str, name: str) -> Path:
    """The file of a field; its name must not lead out of the folder."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    return Path(out.replace("{name}", "/".join(parts)))
