"""`passband fit shape MESH`."""

import dataclasses

from .fit_options import FitOptions
from .options import argument, option


@dataclasses.dataclass
class Options(FitOptions):
    """Fit a solid (PLY, OBJ, STL, NPZ): a field from (x, y, z) to inside or outside.

    The mesh is moved into the unit cube, so a scale is in cycles per side of it; a
    rendered mesh comes back where it stood. Labels of points are made once for a mesh
    and kept in the cache.
    """

    file: str | None = argument("the mesh to fit", metavar="MESH", default=None)
    mapping: str | None = option(
        "gaussian:12,norm=1",
        "one word: none:scale=2,shift=-1, basic:norm=1, positional:6,norm=1, ...",
        metavar="WORD",
    )
    steps: int | None = option(
        None,
        "training steps (default: the paper's 10000, on a CPU 2000)",
        least=1,
        most=2**31 - 1,
    )
    batch: int | None = option(
        None, "points a step (default: the paper's 32768, on a CPU 2048)", least=1
    )
    layers: int = option(
        8, "dense layers, the output layer counted", least=1, most=1000
    )
    labels: str | None = option(
        None, "labels of this mesh made elsewhere", metavar="FILE"
    )
    allow_open: bool = option(False, "take a mesh with holes, however large")


def run(options: Options, given: set[str]) -> int:
    """Fit a mesh."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .fit import fit
    from .shape_job import ShapeJob

    return fit(ShapeJob(), options, given)
