"""What may be asked of a render of any kind of data."""

import dataclasses

from ..options import option


@dataclasses.dataclass(frozen=True)
class RenderOptions:
    """What may be asked of a render; each kind refuses what means nothing to it."""

    size: str | None = option(
        None, "rows x columns of a picture (default: its own)", metavar="ROWSxCOLS"
    )
    resolution: int | None = option(
        None, "samples along the longest side, or of a signal", least=1
    )
    crop: str | None = option(
        None, "part of a picture, in its pixels: TOP,LEFT,BOTTOM,RIGHT; of a volume, "
        "in voxels: X,Y,Z,X,Y,Z", metavar="NUMBERS",
    )  # fmt: skip
    what: str | None = option(
        None, "what to write: field (default), or measurements: what the instrument "
        "would see of it, as NPY", choices=("field", "measurements"),
    )  # fmt: skip
    angles: str | None = option(
        None, "of a CT scan's measurements (default: those of the fit): "
        "START:STOP:COUNT in degrees, numbers with commas, or a file",
        metavar="ANGLES",
    )  # fmt: skip
    bits: int | None = option(
        None, "8, 16 or 32 of a picture (default: those of the fitted file)"
    )
    level: float | None = option(
        None, "signed distance of the surface of a shape fitted with --target sdf, in "
        "the mesh's units: above 0 outside, below inside (0)",
    )  # fmt: skip
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
    time: float | None = option(
        None, "the picture of a video at this time, in frames: 3.5", least=0
    )
    frames: int | None = option(
        None, "so many frames of a video from first to last, to a GIF, MP4 or PNGs "
        "(default: its own)", least=1, most=100_000,
    )  # fmt: skip
    views: str | None = option(
        None, "a scene's own views", choices=("test",), metavar="test"
    )
    depth: bool = option(False, "the depth of a scene instead of its colours")
    overwrite: bool = option(False, "replace FILE if it exists")


ONLY_OF = {
    "shape": ("level", "reference", "azimuth", "elevation", "radius"),
    "nerf": ("orbit", "camera", "views", "depth"),
    "video": ("time", "frames"),
}
"""Options that mean nothing to other kinds, by the one that they are for."""
