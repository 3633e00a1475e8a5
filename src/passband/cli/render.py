"""`passband render MODEL --out FILE`."""

import dataclasses
import importlib
import os
from pathlib import Path

from ..errors import InputError
from .options import Output, argument, option

# task -> the module that renders its models
WAYS = {
    "image": "render_image",
    "signal": "render_signal",
    "shape": "render_shape",
    "ct": "render_image",
    "mri": "render_mri",
    "nerf": "render_nerf",
}


@dataclasses.dataclass
class Options(Output):
    """Evaluate a model at any resolution, in the units of the file it was fitted to: a
    picture (PNG, TIFF, NPY), a signal (NPY, CSV, WAV), a shape as a mesh (PLY, OBJ,
    STL) or as its normals (PNG), a volume (NIfTI, NPY), a scene's views and orbits
    (PNG, GIF, MP4). Any model goes to ONNX."""

    model: str = argument("a model.safetensors", metavar="MODEL")
    out: str | None = option(None, "the file to write", metavar="FILE")
    size: str | None = option(
        None, "rows x columns of a picture (default: its own)", metavar="ROWSxCOLS"
    )
    resolution: int | None = option(
        None, "samples along the longest side, or of a signal", least=1
    )
    crop: str | None = option(
        None, "part of a picture, in its pixels", metavar="TOP,LEFT,BOTTOM,RIGHT"
    )
    bits: int | None = option(
        None, "8, 16 or 32 of a picture (default: those of the fitted file)"
    )
    reference: str | None = option(
        None, "mesh to measure a mesh against (default: the fitted)", metavar="MESH"
    )
    azimuth: float | None = option(None, "of the view of a shape, in degrees (145)")
    elevation: float | None = option(None, "of the view of a shape, in degrees (-30)")
    radius: float | None = option(
        None, "distance of that view, in half sides of the cube (all is seen)", above=0
    )
    orbit: int | None = option(
        None, "frames of a flight around a scene, to a GIF or MP4", least=1, most=10_000
    )
    camera: str | None = option(
        None, "a transforms.json: views of a scene from its cameras", metavar="FILE"
    )
    views: str | None = option(
        None, "a scene's own views", choices=("test",), metavar="test"
    )
    depth: bool = option(False, "the depth of a scene instead of its colours")
    overwrite: bool = option(False, "replace FILE if it exists")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Render a model."""
    from .device import prepare

    if options.out is None:
        raise InputError("`--out FILE` is missing; such as `--out picture.png`")
    out = Path(options.out)
    if os.path.lexists(out) and not options.overwrite:
        raise InputError(f"`{out}` exists; `--overwrite` replaces it")
    if not out.parent.is_dir():
        raise InputError(f"`{out}` cannot be written: `{out.parent}` is not a folder")
    prepare(options.device)
    from ..model_file import load_with_info
    from .console import Console

    field, about = load_with_info(options.model)
    task = about.get("task")
    if out.suffix.lower() == ".onnx":
        module = importlib.import_module("passband.cli.render_onnx")
    elif task in tuple(WAYS):
        module = importlib.import_module(f"passband.cli.{WAYS[task]}")
    else:
        raise InputError(
            f"`{options.model}` is of task `{task}`; only a model made by "
            f"`passband fit {'|'.join(WAYS)}` says how it is to be rendered"
        )
    content = {"out": str(out), **module.render(field, about, options, out)}
    line = content.pop("text", None)
    text = f"{out}: {' x '.join(map(str, content['shape']))}"
    Console(json=options.json, quiet=options.quiet).result(
        content, text if line is None else f"{text}; {line}"
    )
    return 0
