"""The options of k-space."""

import dataclasses

from ..options import argument, option
from .options import STEPS_MOST, InstrumentOptions


@dataclasses.dataclass(frozen=True)
class MriOptions(InstrumentOptions):
    """Fit an image or volume to measured k-space (fastMRI, ISMRMRD, BART, MATLAB, NPY),
    or to k-space simulated from a volume (NIfTI, DICOM, NPY): a field from position to
    intensity."""

    file: str | None = argument(
        "complex k-space: .h5, .cfl, .mat, .npy", metavar="KSPACE", default=None
    )
    axes: str | None = option(
        None, "of an NPY or MATLAB array, a letter each: c coils, x y z frequencies, s "
        "slices, t repetitions; such as cxy", metavar="WORD",
    )  # fmt: skip
    array: str | None = option(
        None, "name of the array, if a file has several", metavar="NAME"
    )
    slice: int | None = option(
        None, "which of several slices, from 0 (default: the middle)", least=0
    )
    frame: int | None = option(
        None, "which of several repetitions, from 0 (default: 0)", least=0
    )
    simulate: str | None = option(
        None,
        "measure this volume or image (NIfTI, DICOM, NPY) instead of reading KSPACE",
        metavar="VOLUME",
        path=True,
    )
    volume: int | None = option(
        None, "which of several in a 4D file of `simulate` or `truth`, from 0", least=0
    )
    fraction: float = option(
        0.13, "share of k-space that is simulated", above=0, most=1
    )
    noise: float = option(
        0.0, "noise of the simulation, as a share of the brightest voxel", least=0
    )
    mask: str | None = option(
        None,
        "NPY of what was measured (default: where KSPACE is not 0), or gaussian or "
        "uniform, which measure `fraction` of it",
        metavar="FILE",
        path=True,
        words=("gaussian", "uniform"),
    )
    sens: str | None = option(
        None, "coil sensitivities, (coils, ...) as KSPACE, or estimate (ESPIRiT, the "
        "default for several coils), or learn", metavar="FILE", path=True,
        words=("estimate", "learn"),
    )  # fmt: skip
    image: str | None = option(
        None,
        "what is fitted: a real image that is not negative, or a complex one (default: "
        "complex for several coils)",
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
        None, "the image, if known: scores are against it; rss takes that of all of "
        "KSPACE", metavar="FILE", path=True, words=("rss",),
    )  # fmt: skip
    holdout: float = option(
        0.05, "share of the measured k-space kept for testing", least=0, most=0.9
    )
    patience: int | None = option(
        None, "stop when so many looks in a row did not lower the held-out error",
        least=1,
    )  # fmt: skip
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:4, ... (default: gaussian:auto, with m=128 "
        "where a CPU's steps are direct)",
        metavar="WORD",
    )
    width: int = option(
        0,
        "channels of a hidden layer; 0 is 256, where a CPU's steps are direct 128",
        least=0,
    )
    steps: int | None = option(
        None,
        "training steps (default: 1000, on a CPU 300 to 4000)",
        least=1,
        most=STEPS_MOST,
    )
    batch: int | None = option(
        None,
        "voxels a step; fewer than there are come from all of the volume, or, where "
        "steps are direct, from the centre of k-space (default: all, on a CPU what 3 "
        "minutes allow)",
        least=1,
    )
