"""Whether a known image is the one that was measured, and in the same units."""

import dataclasses

import numpy as np

from ..errors import InputError

FACTOR_OFF = 1.25
"""Units are another's from this factor on, up or down; noise and pixels that do not
quite meet stay below it."""
SHAPE_OFF = 0.3
"""Share of the measurements that no factor explains: 0.06 for a tenth of noise, 0.2 for
a phantom upside down, 0.4 for one that is transposed, inverted or flat."""


@dataclasses.dataclass(frozen=True, eq=False)
class Truth:
    """An image in the units of the measurements."""

    values: np.ndarray
    factor: float
    """What it was divided by."""
    warnings: tuple[str, ...] = ()


def in_units_of(
    values: np.ndarray, seen: np.ndarray, measured: np.ndarray, *, measures: str
) -> Truth:
    """The image, divided by a factor if it is in other units than the measurements.

    An image in other units gives every method the same meaningless score.

    Args:
        seen: what the instrument would measure of the image.
        measured: what it did measure.
        measures: what that is, in words: `the sinogram`.
    """
    own, shared = float(np.vdot(seen, seen).real), float(np.vdot(seen, measured).real)
    there = float(np.vdot(measured, measured).real)
    # The image is exact and the measurements are noisy, so the factor is taken from it.
    factor = own / shared if shared > 0 else 0.0
    like = shared / np.sqrt(max(own * there, np.finfo(np.float64).tiny))
    apart = float(np.sqrt(max(0.0, 1 - like**2))) if like > 0 else 1.0
    same = 1 / FACTOR_OFF < factor < FACTOR_OFF
    if apart > SHAPE_OFF:
        what = (
            f"`truth` would not measure as {measures}: {apart:.0%} of it differs, "
            "whatever the factor; is it turned, inverted, shifted, or of another slice?"
        )
        if not same:
            raise InputError(what)
        return Truth(values, 1.0, (what,))
    if same:
        return Truth(values, 1.0)
    word = f"/ {factor:.4g}" if factor > 1 else f"x {1 / factor:.4g}"
    return Truth(
        (values / factor).astype(values.dtype),
        factor,
        (
            f"`truth` measures {factor:.4g} times {measures}; scores are against "
            f"the truth {word}",
        ),
    )
