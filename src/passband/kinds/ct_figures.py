"""What is drawn of a CT scan: a picture, or the middle one of several slices."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data.sinograms import Sinogram
from ..field import Field
from ..plot.reconstructions import reconstructions
from ..plot.sinogram import sinogram_figure
from ..plot.spectrum import spectrum_figure
from ..tasks.ct import CTTask
from ..tasks.ct_rows import RowsTask
from .ct_volume import middle, volume_figure


def ct_figures(
    data: Sinogram,
    task: CTTask,
    pictures: Mapping[str, np.ndarray],
    seen: np.ndarray,
    notes: Mapping[str, str],
    *,
    field: Field,
    high: float,
    truth: np.ndarray | None,
    scored: list[int] | None,
    spectrum: Mapping[str, Any],
) -> dict[str, Any]:
    """Reconstructions, the sinogram, and of several rows the whole volume cut open.

    Args:
        task: of what was evaluated.
        pictures: in the user's units, by name.
        seen: what the instrument sees of the field, in the user's units.
        truth: of all slices.
        scored: the rows that were evaluated; None of a picture.
        spectrum: further arguments of its figure, where the truth is known.
    """
    known = None if task.train_mask is None else np.asarray(task.train_mask)
    true, measured = truth, data.values
    if scored is not None:
        at = len(scored) // 2
        seen, known = seen[:, at], None if known is None else known[:, at]
        measured = data.values[:, scored[at]]
        true = None if truth is None else truth[scored[at]]
    found: dict[str, Any] = {}
    if true is not None and data.geometry is not None:
        geometry, first = data.geometry, next(iter(pictures.values()))
        length = geometry.side, f"cycles/{geometry.unit}"
        if geometry.unit == "pixel":
            length = 1.0, ""
        found["spectrum"] = spectrum_figure(
            true, middle(first), length=length, **spectrum
        )
    found |= {
        "Reconstructions": reconstructions(
            {name: middle(x) for name, x in pictures.items()}, true, notes=dict(notes)
        ),
        "Sinogram": sinogram_figure(
            measured, seen, data.angles, None if known is None else ~known
        ),
    }
    if isinstance(task, RowsTask):
        rows = data.values.shape[1]
        found["Slices"] = volume_figure(
            field, rows, task.side, task.extent, high, truth
        )
    return found
