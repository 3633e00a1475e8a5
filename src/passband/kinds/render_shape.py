"""A shape model as a mesh, or as a picture of its normals."""

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
from ..file_gate import read_json
from ..labels.distance import OUTSIDE
from ..tasks.distance import offset_surface
from ..tasks.shape import surface_of
from .kind import Listener, Rendered, share_told
from .model_facts import check_room, numbers_of, refuse, suffix_of

SAMPLES = 200_000
MESHES = (".ply", ".obj", ".stl")
ROUGH = 48  # points a side that tell where the shape is
Box = tuple[np.ndarray, np.ndarray]


def render_shape(
    field: Field, about: dict[str, Any], options: Any, listener: Listener
) -> Rendered:
    """The surface of a shape; of a signed distance, that at any distance from it."""
    refuse(options, ("size", "crop", "bits"), "is for pictures, this is a shape")
    placement = placement_of(about)
    surface, box = surface_at(field, about, options.level)
    check_room(8 * (options.resolution or 256) ** 2)
    progress = share_told(listener)

    def mesh() -> Extracted:
        return extract(
            surface,
            box,
            resolution=options.resolution or 256,
            placement=placement,
            on_slab=progress,
        )

    def write(out: Path) -> dict[str, Any]:
        if suffix_of(out, (*MESHES, ".png")) == ".png":
            camera = _camera(surface, box, options)
            normals = field_normals(surface, box, camera=camera, on_rows=progress)
            write_image(out, on_white(normals) / 255)
            return {"shape": list(normals.shape)}
        reference, found = _reference(about, options), mesh()
        write_mesh(out, found.vertices, found.faces, found.normals)
        content: dict[str, Any] = {
            "shape": [len(found.faces), 3],
            "vertices": len(found.vertices),
            "bytes": out.stat().st_size,
            "text": f"triangles over {len(found.vertices)} vertices",
        }
        if reference is not None:
            listener.progress("measuring the distance to the mesh", often=False)
            content |= _apart(found, reference, placement)
            content["text"] += (
                f"; Chamfer distance to {reference.name} "
                f"{content['chamfer']:.4g}, {content['chamfer_relative']:.3%} of "
                "its size"
            )
        return content

    return Rendered(mesh, write)


def surface_at(
    field: Field, about: dict[str, Any], level: float | None
) -> tuple[BatchField, Box]:
    """What is positive within the surface, and a box that holds it.

    Args:
        level: signed distance from the mesh, in its own units; above 0 is outside.
    """
    low, high = box_of(field, about)
    if about.get("target") != "sdf":
        if level is not None:
            raise InputError(
                "`level` is for a signed distance: fit the shape with `target=sdf`"
            )
        return surface_of(field), (low, high)
    unit = 0.5 / placement_of(about).scale
    offset = (level or 0.0) * unit
    if abs(offset) > OUTSIDE:
        raise InputError(
            f"`level` (={level:g}) must lie between -{OUTSIDE / unit:.3g} and "
            f"{OUTSIDE / unit:.3g}: the field has learned no distances beyond"
        )
    return offset_surface(field, offset), (
        low - max(0.0, offset),
        high + max(0.0, offset),
    )


def _camera(field: BatchField, box: Box, options: Any) -> Camera:
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


def _reference(about: dict[str, Any], options: Any) -> Mesh | None:
    """The mesh to measure against: the one given, or the fitted one if still there."""
    if options.reference is not None:
        return read_mesh(options.reference)
    try:
        config = read_json(Path(about["folder"]) / "config.json")
        mesh = read_mesh(Path(config["file"]))
    except (LookupError, TypeError, InputError):
        return None  # a model that was sent somewhere else
    return mesh if mesh.digest == about.get("digest") else None


def box_of(field: Field, about: dict[str, Any]) -> Box:
    """The corners of the fitted mesh in the unit cube, a little further out."""
    box = np.asarray(numbers_of(about, "box", (2, 3)))
    if field.encoding.dims != 3 or field.mlp.biases[-1].shape[-1] != 1:
        raise InputError(
            f"the model has {field.encoding.dims} coordinates and "
            f"{field.mlp.biases[-1].shape[-1]} outputs; a shape has 3 and 1"
        )
    if not (box[0] < box[1]).all() or np.abs(box).max() > 2:
        raise InputError(f"the model's `box` (={about['box']}) makes no sense")
    return box[0], box[1]


def placement_of(about: dict[str, Any]) -> Placement:
    """Where the fitted mesh stood."""
    center = np.asarray(numbers_of(about, "center", (3,)))
    scale = float(numbers_of(about, "scale", ()))
    if not scale > 0:
        raise InputError(f"the model's `scale` (={scale}) makes no sense")
    return Placement(center, scale)
