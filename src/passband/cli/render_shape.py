"""A shape model as a mesh where the fitted one stood, or as a map of its normals."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from ..data.images import write_image
from ..data.meshes import Mesh, Placement, read_mesh
from ..errors import InputError
from ..export.chamfer import chamfer
from ..export.mesh import BatchField, Extracted, extract, write_mesh
from ..export.normals import Camera, field_normals, on_white
from ..field import Field
from ..tasks.shape import surface_of
from .console import Console
from .model_facts import suffix_of
from .render import Options

MESHES = (".ply", ".obj", ".stl")
ROUGH = 48  # points a side that tell where the shape is
SAMPLES = 200_000  # points of either surface that measure how far they are apart
Box = tuple[np.ndarray, np.ndarray]


def render(
    field: Field, about: dict[str, Any], options: Options, out: Path
) -> dict[str, Any]:
    """Write the surface as a mesh, or a picture of its normals."""
    for name in ("size", "crop", "bits"):
        if getattr(options, name) is not None:
            raise InputError(f"`--{name}` is for pictures, and this is a shape")
    suffix = suffix_of(out, (*MESHES, ".png"))
    box, placement = box_of(field, about), placement_of(about)
    console = Console(json=options.json, quiet=options.quiet)

    def progress(share: float) -> None:
        console.progress(f"evaluating the field  {share:.0%}")

    if suffix == ".png":
        camera = _camera(surface_of(field), box, options)
        normals = field_normals(surface_of(field), box, camera=camera, on_rows=progress)
        write_image(out, on_white(normals) / 255)
        return {"shape": list(normals.shape)}
    reference = _reference(about, options)
    surface = extract(
        surface_of(field),
        box,
        resolution=options.resolution or 256,
        placement=placement,
        on_slab=progress,
    )
    write_mesh(out, surface.vertices, surface.faces, surface.normals)
    content: dict[str, Any] = {
        "shape": [len(surface.faces), 3],
        "vertices": len(surface.vertices),
        "bytes": out.stat().st_size,
        "text": f"triangles over {len(surface.vertices)} vertices",
    }
    if reference is not None:
        console.progress("measuring the distance to the mesh", often=False)
        content |= _apart(surface, reference, placement)
        content["text"] += (
            f"; Chamfer distance to {reference.name} {content['chamfer']:.4g}, "
            f"{content['chamfer_relative']:.3%} of its size"
        )
    return content


def _camera(field: BatchField, box: Box, options: Options) -> Camera:
    """The paper's view or the one asked for, from where all of the shape is seen."""
    given = {
        "azimuth": options.azimuth,
        "elevation": options.elevation,
        "radius": options.radius,
        "size": options.resolution,
    }
    axes = np.meshgrid(*np.linspace(*box, ROUGH).T, indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, 3)
    inside = grid[field(grid) > 0]
    if not len(inside):
        raise InputError("the field has nothing inside; there is no surface to see")
    return Camera.seeing(inside, **{k: v for k, v in given.items() if v is not None})


def _apart(surface: Extracted, mesh: Mesh, placement: Placement) -> dict[str, float]:
    """Chamfer distance in the mesh's own units, and as a share of its longest side."""
    # In the unit cube, where coordinates in the millions lose no digits.
    first = (placement.to_unit(surface.vertices), surface.faces)
    second = (placement.to_unit(mesh.vertices), mesh.faces)
    apart = chamfer(first, second, samples=SAMPLES).mean
    longest = float(np.ptp(second[0], axis=0).max())
    return {
        "chamfer": apart * 2 * placement.scale,
        "chamfer_relative": apart / longest,
    }


def _reference(about: dict[str, Any], options: Options) -> Mesh | None:
    """The mesh to measure against: the one given, or the fitted one if still there."""
    if options.reference is not None:
        return read_mesh(options.reference)
    try:
        text = (Path(options.model).parent / "config.json").read_text()
        mesh = read_mesh(Path(json.loads(text)["file"]))
    except (OSError, ValueError, LookupError, TypeError, InputError):
        return None  # a model that was sent somewhere else
    return mesh if mesh.digest == about.get("digest") else None


def box_of(field: Field, about: dict[str, Any]) -> Box:
    """The corners of the fitted mesh in the unit cube, a little further out."""
    box = np.asarray(_numbers(about, "box", (2, 3)))
    if field.encoding.dims != 3 or field.mlp.biases[-1].size != 1:
        raise InputError(
            f"the model has {field.encoding.dims} coordinates and "
            f"{field.mlp.biases[-1].size} outputs; a shape has 3 and 1"
        )
    if not (box[0] < box[1]).all() or np.abs(box).max() > 2:
        raise InputError(f"the model's `box` (={about['box']}) makes no sense")
    return box[0], box[1]


def placement_of(about: dict[str, Any]) -> Placement:
    """Where the fitted mesh stood."""
    center = np.asarray(_numbers(about, "center", (3,)))
    scale = float(_numbers(about, "scale", ()))
    if not scale > 0:
        raise InputError(f"the model's `scale` (={scale}) makes no sense")
    return Placement(center, scale)


def _numbers(about: dict[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        values = np.asarray(about[name], np.float64)
    except (KeyError, TypeError, ValueError):
        values = np.full(shape, math.nan)
    if values.shape != shape or not np.isfinite(values).all():
        raise InputError(f"the model's `{name}` (={about.get(name)}) makes no sense")
    return values
