"""`passband fit mri KSPACE.npy`."""

import dataclasses

from .fit_options import FitOptions
from .options import argument, option


@dataclasses.dataclass
class Options(FitOptions):
    """Fit an image or volume to measured k-space (NPY), or to k-space simulated from a
    volume (NIfTI, NPY): a field from position to intensity."""

    file: str | None = argument(
        "complex k-space: (x, y[, z]), or (coils, x, y[, z]) with --sens",
        metavar="KSPACE",
        default=None,
    )
    simulate: str | None = option(
        None, "measure this volume or image instead of reading KSPACE", metavar="VOLUME"
    )
    fraction: float = option(
        0.13, "share of k-space that is simulated", above=0, most=1
    )
    noise: float = option(
        0.0, "noise of the simulation, as a share of the brightest voxel", least=0
    )
    mask: str | None = option(
        None,
        "NPY of what was measured (default: where KSPACE is not 0); to simulate also "
        "gaussian (default) or uniform",
        metavar="FILE",
    )
    sens: str | None = option(
        None, "NPY of coil sensitivities, shaped like KSPACE", metavar="FILE"
    )
    image: str = option(
        "magnitude",
        "what is fitted: a real image that is not negative, or a complex one",
        choices=("magnitude", "complex"),
    )
    origin: str = option(
        "middle",
        "where files have frequency 0 and the image its centre",
        choices=("middle", "corner"),
    )
    norm: str = option(
        "ortho", "the factor 1/sqrt(N) of the transform", choices=("ortho", "none")
    )
    spacing: str | None = option(
        None, "size of a voxel along each axis, such as 1,1,2.5", metavar="A,B,C"
    )
    truth: str | None = option(
        None, "the image, if known: scores are against it", metavar="FILE"
    )
    holdout: float = option(
        0.05, "share of the measured k-space kept for testing", least=0, most=0.9
    )
    patience: int | None = option(
        None, "stop when so many looks in a row did not lower the held-out error",
        least=1,
    )  # fmt: skip
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:4, gaussian:5, ... (default: gaussian:5, on "
        "a CPU with m=128)",
        metavar="WORD",
    )
    width: int = option(
        0, "channels of a hidden layer; 0 is 256, on a CPU 128", least=0
    )
    steps: int | None = option(
        None, "training steps (default: 1000, fewer on a CPU)", least=1, most=2**31 - 1
    )
    batch: int | None = option(
        None,
        "voxels a step; fewer than there are train on the centre of k-space, on a "
        "coarser grid (default: all, on a CPU what 3 minutes allow)",
        least=1,
    )


def run(options: Options, given: set[str]) -> int:
    """Fit an image or volume to k-space."""
    from .device import prepare

    prepare(options.device, options.deterministic)
    from .fit import fit
    from .mri_job import MriJob

    return fit(MriJob(), options, given)
