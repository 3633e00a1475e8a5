"""k-space as an instrument's file has it: one image or volume, of one coil or many."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Complex64, Float, Float32, Shaped

from ..errors import InputError


@dataclass(frozen=True)
class RawKSpace:
    """Samples, and what the file says of them; frequency 0 is where the file has it."""

    samples: Shaped[np.ndarray, "..."]
    """(coils, ...) where `coils`, else one axis for every side."""
    coils: bool
    mask: Bool[np.ndarray, "..."] | None = None
    """Which frequencies were measured; None where zeros tell."""
    calibration: Complex64[np.ndarray, "..."] | None = None
    """The samples with lines that were measured for the coils alone."""
    truth: Float32[np.ndarray, "..."] | None = None
    """The image of all of k-space, where the file has it."""
    spacing: tuple[float, ...] | None = None
    """Size of a voxel in mm."""
    affine: Float[np.ndarray, "4 4"] | None = None
    """From indices to mm: right, anterior, superior."""
    centred: bool = False
    """Whether the format itself says that frequency 0 is in the middle."""
    notes: tuple[str, ...] = ()
    """What was chosen or left out on the way."""
    warnings: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[int, ...]:
        shape = self.samples.shape
        return shape[1:] if self.coils else shape


def which(name: str, asked: int | None, count: int, default: int, what: str) -> int:
    """The one of several that was asked for, counted from 0."""
    if asked is None:
        return default
    if not 0 <= asked < count:
        raise InputError(
            f"`{name}` (={asked}): the file has {count} {what}, counted from 0"
        )
    return asked


def without_oversampling(raw: RawKSpace, side: int, axis: int = 0) -> RawKSpace:
    """The middle of the image along the readout, which is sampled more densely than
    the image needs: n / side times as many samples for the same picture.

    Exact where whole lines were measured; else nothing is done.
    """
    n = raw.sides[axis]
    at = axis - len(raw.sides)
    seen = raw.mask
    if seen is None:
        seen = raw.samples != 0
        seen = seen.any(axis=0) if raw.coils else seen
    if side >= n or side < 2 or n % side:
        return raw
    lines = seen.any(axis=at)
    if not np.array_equal(seen.sum(axis=at), n * lines):
        note = f"readout oversampled {n / side:g} times, kept: lines are not whole"
        return replace(raw, notes=(*raw.notes, note))
    cut = slice(n // 2 - side // 2, n // 2 - side // 2 + side)

    def crop(samples: np.ndarray) -> np.ndarray:
        shifted = np.fft.ifftshift(samples, at)
        image = np.fft.fftshift(np.fft.ifft(shifted, axis=at, norm="ortho"), at)
        part = image[(..., cut, *(slice(None),) * (-at - 1))]
        back = np.fft.fft(np.fft.ifftshift(part, at), axis=at, norm="ortho")
        return np.fft.fftshift(back, at).astype(np.complex64)

    mask = np.repeat(np.expand_dims(lines, at), side, axis=at)
    affine = raw.affine
    if affine is not None:
        affine = affine.copy()
        affine[:, 3] += affine[:, axis] * cut.start
    return replace(
        raw,
        samples=crop(raw.samples),
        calibration=None if raw.calibration is None else crop(raw.calibration),
        mask=mask,
        affine=affine,
        notes=(*raw.notes, f"readout oversampling of {n / side:g} taken off"),
    )
