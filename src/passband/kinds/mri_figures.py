"""What is drawn of an image behind k-space."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..forward.kspace import to_centred
from ..plot.kspace import kspace_figure
from ..plot.spectrum import spectrum_figure
from ..plot.volume_slices import planes, volume_slices
from ..tasks.mri import MriTask
from .mri_measurement import Measurement


def slices(data: Measurement, volume: np.ndarray, truth: np.ndarray | None) -> Any:
    """The middle of a volume along each axis, below that of the truth."""
    rows = {} if truth is None else {"Truth": truth}
    top = None if truth is None else float(truth.max())
    return volume_slices(rows | {"Field": volume}, spacing=data.spacing, top=top)


def middle_slice(volume: np.ndarray) -> np.ndarray:
    """One plane through the middle; a picture is its own."""
    return planes(volume)[-1][0]


def spectrum(
    data: Measurement,
    image: np.ndarray,
    truth: np.ndarray | None,
    sigma: Any,
    mapping: str,
) -> dict[str, Any]:
    """The spectrum of an image of square pixels, where the truth is known."""
    if truth is None or image.ndim != 2 or len(set(data.spacing)) > 1:
        return {}
    longest, [side] = max(data.sides), set(data.spacing)
    length = (longest * side, "cycles/mm") if side != 1.0 else (1.0, "")
    return {
        "spectrum": spectrum_figure(
            truth, image, longest / 2, sigma, mapping=mapping, length=length
        )
    }


def kspace(data: Measurement, task: MriTask, image: np.ndarray) -> Any:
    """What was measured, and what an image leaves of it."""
    residual = np.asarray(task.forward.transform(jnp.asarray(image)))
    residual = residual - data.measured

    def shown(samples: np.ndarray) -> np.ndarray:
        size = np.abs(to_centred(samples, data.sides)) * data.high
        return size if data.maps is None else np.linalg.norm(size, axis=0)

    middle = np.fft.fftshift
    held = None if data.test_mask is None else middle(data.test_mask)
    return kspace_figure(
        shown(data.measured), shown(residual), middle(data.train_mask), held
    )
