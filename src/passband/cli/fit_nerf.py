"""`passband fit nerf SCENE`."""

import dataclasses

from .fit_options import FitOptions
from .options import argument, option


@dataclasses.dataclass
class Options(FitOptions):
    """Fit a scene to photographs of it: a field from (x, y, z) to colour and density.

    SCENE is a folder with transforms_train.json or transforms.json (Blender, nerfstudio
    and instant-ngp write them), or such a file. Frequencies are in cycles per side of
    the scene's box.
    """

    file: str | None = argument(
        "folder with a transforms file, or the file", metavar="SCENE", default=None
    )
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:6, gaussian:17, ... (default: gaussian, its "
        "scale by the pictures' size)",
        metavar="WORD",
    )
    steps: int | None = option(
        None,
        "training steps (default: the paper's 50000, on a CPU 1200)",
        least=1,
        most=2**31 - 1,
    )
    batch: int | None = option(
        None, "rays a step (default: the paper's 1024, fewer on a CPU)", least=1
    )
    samples: int | None = option(
        None, "points along a ray (default: the paper's 128, on a CPU 48)", least=2
    )
    longest: int | None = option(
        None,
        "reduce pictures until no side is longer (default: 800, on a CPU 100)",
        least=8,
        metavar="PIXELS",
    )
    background: str = option(
        "black",
        "behind transparent pixels; none takes colours as they are stored",
        choices=("black", "white", "none"),
    )
    near: float | None = option(
        None, "depth where the scene begins (default: read or estimated)", above=0
    )
    far: float | None = option(
        None, "depth where it ends (default: read or estimated)", above=0
    )
    box: str | None = option(
        None,
        "centre and side of the scene's cube (default: read or estimated)",
        metavar="X,Y,Z,SIDE",
    )


def run(options: Options, given: set[str]) -> int:
    """Fit a scene."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .fit import fit
    from .nerf_job import NerfJob

    return fit(NerfJob(), options, given)
