"""From what a detector counts to line integrals, -log((I - D) / (F - D))."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Shaped
from scipy.ndimage import median_filter

from ..errors import InputError

DEAD = 0.1
"""Of the usual span from dark to flat: a pixel with less sees next to nothing."""
HOT = 10.0
"""Robust deviations above the other pixels' darks, and a tenth of the usual span."""


class Integrals(NamedTuple):
    """Line integrals of one row, and how far each can be trusted."""

    values: Float32[np.ndarray, "views bins"]
    weights: Float32[np.ndarray, "views bins"]
    """Counts without the dark, over their mean: the inverse variance of the values."""
    warnings: tuple[str, ...]


def line_integrals(
    counts: Shaped[np.ndarray, "views bins"],
    flats: Shaped[np.ndarray, "flats bins"] | None,
    darks: Shaped[np.ndarray, "darks bins"] | None,
    *,
    blank: float | None = None,
    name: str = "the scan",
) -> Integrals:
    """The line integrals of counts.

    Args:
        flats: without the object; their mean is the flat.
        darks: without rays; 0 by default.
        blank: what a ray that meets nothing counts, instead of flats; 1 for
            transmissions.
        name: of the file, for messages.

    Pixels that see nothing, count without rays, or say the same in all views are told,
    and filled from their neighbours in the row.
    """
    seen = counts.astype(np.float64)
    bins = seen.shape[1]
    dark = _mean(darks, bins, 0.0)
    flat = _mean(flats, bins, blank)
    span = flat - dark
    usual = float(np.median(span))
    if not usual > 0:
        raise InputError(
            f"{name}: the flats are not brighter than the darks (medians "
            f"{np.median(flat):.4g} and {np.median(dark):.4g}); are they swapped?"
        )
    bad, said = _bad_pixels(seen, dark, span, usual)
    if bad.all():
        raise InputError(f"{name}: no pixel of the detector is usable; {said[0]}")
    bright = seen - dark
    if float(np.median(bright[:, ~bad] / span[~bad])) > 3:
        raise InputError(
            f"{name}: most counts are more than 3 times the flats; are the flats of "
            "another exposure, or are these no counts?"
        )
    # A ray that lost everything counts at least half a quantum, or half a step.
    step = _step(seen) / 2
    lost = (bright < step) & ~bad
    part = np.where(bad, 1.0, np.maximum(bright, step) / np.where(bad, 1, span))
    values = -np.log(part)
    if bad.any():
        good, at = np.flatnonzero(~bad), np.flatnonzero(bad)
        for row in values:
            row[at] = np.interp(at, good, row[good])
        said.append("they are filled from their neighbours")
    warnings = [f"{name}: " + "; ".join(said)] if said else []
    if lost.any():
        warnings.append(
            f"{name}: {int(lost.sum())} rays ({lost.mean():.2g} of all) count no more "
            "than the dark; they are taken as nearly opaque"
        )
    weights = np.where(bad, 0.0, np.maximum(bright, step))
    weights /= weights.mean()
    return Integrals(
        values.astype(np.float32), weights.astype(np.float32), tuple(warnings)
    )


def without_rings(
    values: Float32[np.ndarray, "views bins"], width: int
) -> Float32[np.ndarray, "views bins"]:
    """A sinogram without stripes along its views, which are rings in the picture.

    Every bin's values are sorted, smoothed over `width` bins by a median, and put back
    where they were (Vo, Atwood and Drakopoulos 2018, their algorithm 3).
    """
    if width < 3:
        raise InputError(f"`rings` (={width}) must be 3 or more bins")
    order = np.argsort(values, axis=0, kind="stable")
    smooth = median_filter(np.take_along_axis(values, order, 0), (1, width))
    out = np.empty_like(values)
    np.put_along_axis(out, order, smooth.astype(values.dtype), 0)
    return out


def _mean(
    pictures: np.ndarray | None, bins: int, otherwise: float | None
) -> Float[np.ndarray, " bins"]:
    if pictures is not None:
        return pictures.astype(np.float64).mean(axis=0)
    if otherwise is None:
        raise InputError(
            "`flats` are missing; counts become line integrals by what was counted "
            "without the object, or give `blank`"
        )
    return np.full(bins, float(otherwise))


def _step(seen: np.ndarray) -> float:
    """The smallest difference of counts that are whole numbers; else next to none."""
    if (seen == np.rint(seen)).all():
        return 1.0
    return 1e-4 * float(np.median(np.abs(seen))) + 1e-30


def _bad_pixels(
    seen: np.ndarray, dark: np.ndarray, span: np.ndarray, usual: float
) -> tuple[Bool[np.ndarray, " bins"], list[str]]:
    spread = 1.4826 * float(np.median(np.abs(dark - np.median(dark))))
    hot = dark > np.median(dark) + np.maximum(HOT * spread, 0.1 * usual)
    dead = (span < DEAD * usual) & ~hot
    steady = (np.ptp(seen, axis=0) == 0) & ~hot & ~dead & (len(seen) > 3)
    # Counts without noise are steady beside the object, and wherever it is round.
    stuck = steady & (np.abs(seen[0] - dark - span) > 0.02 * usual)
    if stuck.mean() > 0.1:
        stuck[:] = False
    said = []
    for bad, what in ((dead, "dead"), (hot, "hot"), (stuck, "stuck")):
        if bad.any():
            at = np.flatnonzero(bad)
            where = ", ".join(map(str, at[:5])) + (", ..." if len(at) > 5 else "")
            said.append(f"{len(at)} {what} pixels, at columns {where}")
    return dead | hot | stuck, said
