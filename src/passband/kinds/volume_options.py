"""What may be asked of a fit to a volume."""

import dataclasses

from ..options import argument, option
from .options import TrainOptions


@dataclasses.dataclass(frozen=True)
class VolumeOptions(TrainOptions):
    """Fit a volume: a field from (x, y, z) to its values.

    FILE is a NIfTI file, an NPY of (z, y, x) or (z, y, x, channels), a TIFF stack, or a
    folder of DICOM files. The longest side is one unit long, in millimetres where the
    file has the size of its voxels. Files of 256 MiB or more that are not packed stay
    on the disk.
    """

    file: str | None = argument(
        "the volume: .nii, .nii.gz, .npy, .tif, or a folder of DICOM files",
        metavar="FILE",
        default=None,
    )
    holdout: str = option(
        "none",
        "voxels kept for testing: none, odd (slices 1, 3, 5 ... along z), or a share",
        metavar="WHICH",
    )
    volume: int | None = option(
        None, "which of several in a 4D NIfTI file, from 0", least=0
    )
