"""What coils hear: read, estimated from the centre of k-space, or learned."""

import numpy as np

from ..data.kspace_files import read_maps
from ..reconstruct.coil_maps import calibration_box, espirit, in_box
from ..reconstruct.learned_maps import learned_maps
from .mri_options import MriOptions


def spared(
    options: MriOptions, mask: np.ndarray, calibration: np.ndarray | None
) -> np.ndarray | None:
    """Frequencies that must not be held out, since the maps are made of them.

    Args:
        mask: which were measured; frequency 0 at index 0.
        calibration: the samples, with lines that were measured for the coils alone.
    """
    if options.sens not in (None, "estimate", "learn"):
        return None
    known = mask if calibration is None else (calibration != 0).any(axis=0)
    widths = calibration_box(np.fft.fftshift(known))
    return np.fft.ifftshift(in_box(mask.shape, widths)) & mask


def coils_of(
    options: MriOptions,
    samples: np.ndarray,
    train_mask: np.ndarray,
    test_mask: np.ndarray | None,
    calibration: np.ndarray | None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The maps that were asked for, ESPIRiT's by default, and what to tell of them.

    Args:
        samples: (coils, ...), 0 where they were not measured.
        test_mask: what is held out, and no map may be made of.
    """
    if options.sens not in (None, "estimate", "learn"):
        return read_maps(str(options.sens), samples.shape), ()
    known = train_mask
    if calibration is not None:
        samples, known = calibration, (calibration != 0).any(axis=0)
        known = known if test_mask is None else known & ~test_mask
    samples = np.where(known, samples, 0)
    many = f"maps of {len(samples)} coils"
    if options.sens == "learn":
        return learned_maps(samples, known).maps, (f"{many} learned with an image",)
    widths = " x ".join(map(str, calibration_box(np.fft.fftshift(known))))
    note = f"{many} estimated from the centre, {widths} samples"
    return espirit(samples, known).maps, (note,)
