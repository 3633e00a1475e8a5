"""What may be asked of a fit to line integrals."""

import dataclasses

from ..options import argument, option
from .options import STEPS_MOST, InstrumentOptions


@dataclasses.dataclass(frozen=True)
class CTOptions(InstrumentOptions):
    """Fit a field of densities to a sinogram (NPY, TIFF): line integrals of parallel
    rays, (views, bins), at angles as scikit-image's radon has them. Or simulate one
    from a picture."""

    file: str | None = argument(
        "the sinogram: one row a view, one column a bin", metavar="SINOGRAM",
        default=None,
    )  # fmt: skip
    angles: str | None = option(
        None,
        "of the views, in degrees: START:STOP:COUNT, stop excluded, or a file",
        metavar="ANGLES",
        path=True,
    )
    simulate: str | None = option(
        None, "take the sinogram of this picture instead", metavar="IMAGE", path=True
    )
    views: int = option(
        20, "angles from 0 to 180 degrees of a simulated one", least=2, most=100_000
    )
    noise: float = option(
        0.0, "added to a simulated one, as a share of its largest value", least=0
    )
    pixel: float = option(
        1.0, "distance of two bins; densities are per unit of this length", above=0
    )
    offset: float = option(0.0, "bins by which the axis of rotation is off the middle")
    high: float | None = option(
        None, "the largest density (default: from a back-projection)", above=0
    )
    truth: str | None = option(
        None,
        "a picture of the true densities, to compare with",
        metavar="IMAGE",
        path=True,
    )
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:3, ... (default: gaussian:auto)",
        metavar="WORD",
    )
    steps: int | None = option(
        None, "training steps (default: 1000)", least=1, most=STEPS_MOST
    )
    batch: int | None = option(
        None,
        "points of the square grid that a step evaluates (default: bins x bins, on a "
        "CPU as many as there is time for)",
        least=64,
    )
    holdout: float = option(
        0.05, "share of the rays kept for testing; of the views, if 40 or more",
        least=0, most=0.9,
    )  # fmt: skip
