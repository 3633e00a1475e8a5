"""What coils hear: read, estimated from the centre of k-space, or learned."""

import dataclasses
from collections.abc import Callable

import numpy as np

from ..data.kspace_files import read_maps
from ..reconstruct.coil_maps import CoilMaps, calibration_box, espirit, in_box
from ..reconstruct.learned_maps import learned_maps
from .mri_options import MriOptions


@dataclasses.dataclass(frozen=True, eq=False)
class Coils:
    """Sensitivities of coils, and what they came from."""

    maps: np.ndarray
    spare: np.ndarray | None = None
    """Frequencies that must not be held out, since the maps were made of them."""
    notes: tuple[str, ...] = ()


def coils_of(
    options: MriOptions,
    samples: np.ndarray,
    mask: np.ndarray,
    calibration: np.ndarray | None,
) -> Coils:
    """The maps that were asked for; ESPIRiT's by default.

    Args:
        samples: (coils, ...), 0 where they were not measured; frequency 0 at index 0.
        calibration: the same with lines that were measured for the coils alone.
    """
    if options.sens not in (None, "estimate", "learn"):
        return Coils(read_maps(str(options.sens), samples.shape))
    found, known = samples, mask
    if calibration is not None:
        found, known = calibration, (calibration != 0).any(axis=0)
    many = f"{len(samples)} coils"
    make: Callable[..., CoilMaps]
    if options.sens == "learn":
        make, box = learned_maps, None
        word = "learned with an image"
    else:
        make, box = espirit, calibration_box(np.fft.fftshift(known))
        word = f"estimated from the centre, {' x '.join(map(str, box))} samples"
    maps = make(found, known).maps
    # A learned map has seen all samples a little; its centre decides it.
    widths = box or calibration_box(np.fft.fftshift(known))
    spare = np.fft.ifftshift(in_box(mask.shape, widths)) & mask
    return Coils(maps, spare, (f"maps of {many} {word}",))
