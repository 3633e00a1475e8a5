"""Sinograms from the user's files, and the angles they were taken at.

A sinogram is (views, bins), angles are in degrees, and both are checked against each
other: a transposed sinogram, or angles in radians, make a picture of nothing. Where the
number of angles tells that a sinogram is (bins, views), it is turned.
"""

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Float32

from ..errors import InputError
from ..file_gate import read_text, reader
from .arrays import finite, read_npy
from .ct_geometry import Geometry
from .images import read_image

MOST_VIEWS = 1_000_000
_LONGEST_LIST = 2**25  # bytes of a text file of angles


@dataclass(frozen=True)
class Sinogram:
    """Line integrals in the user's units, and where they were taken."""

    values: Float32[np.ndarray, "views *rows bins"]
    """(views, bins), or (views, rows, bins) of several rows of the detector."""
    angles: Float[np.ndarray, " views"]
    """Of the views, in degrees."""
    name: str
    warnings: tuple[str, ...] = ()
    """What looks wrong but could be meant."""
    geometry: Geometry | None = None
    """Where the rays go; None for parallel ones."""
    weights: Float32[np.ndarray, "views *rows bins"] | None = None
    """How much each ray counts."""
    row_spacing: float = 1.0
    """From one of several rows to the next, at the axis, in the geometry's unit."""

    @property
    def bins(self) -> int:
        return self.values.shape[-1]

    @property
    def rows(self) -> int | None:
        """How many; None of a sinogram without an axis for them."""
        return self.values.shape[1] if self.values.ndim == 3 else None

    def over_rows(self) -> "Sinogram":
        """The sinogram of the mean of all slices: the mean of all rows."""
        if self.rows is None:
            return self
        return replace(self, values=self.values.mean(axis=1), weights=None)

    def row(self, index: int) -> "Sinogram":
        """One of the rows, counted from 0."""
        weights = None if self.weights is None else self.weights[:, index]
        return replace(
            self, values=np.ascontiguousarray(self.values[:, index]), weights=weights
        )


@reader("a sinogram as NPY or TIFF")
def read_sinogram(path: Path, angles: str) -> Sinogram:
    """The sinogram in an NPY or TIFF file, taken at `0:180:20` or at a file's angles.

    `start:stop:count` is in degrees, stop excluded. A file of (bins, views) is turned,
    with a warning, where the number of angles tells.
    """
    return checked_sinogram(_read(path), parse_angles(angles), path, angles)


def checked_sinogram(
    values: Float32[np.ndarray, "_ _"],
    degrees: Float[np.ndarray, " views"],
    path: Path,
    angles: str | None = None,
) -> Sinogram:
    """Values and angles that go together, turned where their number tells."""
    views, bins = values.shape
    turned = ()
    if len(degrees) == bins != views:
        turned = (
            f"`{path}` has shape {values.shape} and there are {bins} angles: it is "
            "taken as (bins, views), as scikit-image's radon has it",
        )
        values, views, bins = np.ascontiguousarray(values.T), bins, views
    if len(degrees) != views:
        said = "`angles`" if angles is None else f"`angles` (={angles})"
        raise InputError(
            f"`{path}` has shape {values.shape}, so {views} views of {bins} bins, and "
            f"{said} gives {len(degrees)}"
        )
    if views < 2 or bins < 4:
        raise InputError(
            f"`{path}` has {views} views of {bins} bins; at least 2 views of 4 are "
            "needed"
        )
    if not values.any():
        raise InputError(f"`{path}` is 0 everywhere; there is nothing to reconstruct")
    said = (*turned, *_doubts(path, values, degrees))
    return Sinogram(values, degrees, path.stem, said)


def object_reach(values: Float32[np.ndarray, "views bins"], axis: float) -> float:
    """Columns from the axis of rotation to the furthest that the object is seen at: a
    twelfth of the highest line integrals, in a hundredth of the views."""
    seen = np.quantile(values, 0.99, axis=0) > np.quantile(values, 0.999) / 12
    at = np.flatnonzero(seen)
    return float(np.abs(at - axis).max()) if len(at) else 0.0


def parse_angles(word: str) -> Float[np.ndarray, " views"]:
    """`start:stop:count`, stop excluded, numbers with commas, or those in an NPY, text
    or CSV file."""
    if "," in word and not os.path.exists(word):
        try:
            listed = np.array([float(part) for part in word.split(",")])
        except ValueError:
            listed = np.array([math.nan])
        if not np.isfinite(listed).all():
            raise InputError(f"`angles` (={word[:60]}) are not finite numbers")
        return listed
    if ":" in word and not os.path.exists(word):
        parts = word.split(":")
        try:
            start, stop, count = float(parts[0]), float(parts[1]), int(parts[2])
        except (ValueError, IndexError):
            start, stop, count = math.nan, math.nan, 0
        if len(parts) != 3 or count < 1 or not math.isfinite(start + stop):
            raise InputError(
                f"`angles` (={word}) must be START:STOP:COUNT in degrees, stop "
                "excluded, such as 0:180:20, or a file of angles"
            )
        if count > MOST_VIEWS:
            raise InputError(
                f"`angles` (={word}) are more than {MOST_VIEWS:,}, the most views"
            )
        return start + (stop - start) * np.arange(count) / count
    if not os.path.isfile(word):
        raise InputError(
            f"`angles` (={word}) is no file; give one, or START:STOP:COUNT in "
            "degrees such as 0:180:20"
        )
    return read_angles(word)


@reader("a file of angles, one number a view, in degrees")
def read_angles(path: Path) -> Float[np.ndarray, " views"]:
    """The numbers in an NPY, text or CSV file."""
    if path.suffix.lower() == ".npy":
        found = read_npy(path)
    else:
        text = read_text(path, "a list of angles", _LONGEST_LIST).replace(",", " ")
        found = np.fromiter(map(float, text.split()), np.float64)
    found = np.squeeze(found).astype(np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError(
            f"`{path}` has shape {found.shape}; angles are one finite number a view, "
            "in degrees"
        )
    return found


def _read(path: Path) -> Float32[np.ndarray, "views bins"]:
    suffix = path.suffix.lower()
    if suffix not in (".npy", ".tif", ".tiff"):
        raise InputError(f"`{path}` ends in `{suffix}`; sinograms are .npy or .tif")
    values = read_npy(path) if suffix == ".npy" else read_image(path).values[..., 0]
    if values.ndim != 2:
        raise InputError(
            f"`{path}` has shape {values.shape}; a sinogram is (views, bins), one "
            "slice of the object"
        )
    return finite(values, f"`{path}`")


def _doubts(path: Path, values: np.ndarray, degrees: np.ndarray):
    if len(degrees) > 3 and np.ptp(degrees) < 2 * math.pi + 0.01:
        yield (
            f"the angles span {np.ptp(degrees):.4g} degrees; if they are radians, "
            f"multiply them by 180 / pi"
        )
    # Whatever the angle, a view adds up to all of the object.
    by_view, by_bin = (_spread(values.sum(axis=axis)) for axis in (1, 0))
    if by_view > 0.15 and by_bin < by_view / 3:
        yield (
            f"`{path}` looks transposed: its rows add up to values that differ by "
            f"{by_view:.0%} and its columns by {by_bin:.0%}; a view's sum is the same "
            "at every angle"
        )
    if values.min() < -0.1 * values.max():
        yield (
            f"`{path}` goes down to {values.min():.3g}, and densities are taken to be "
            "0 or more: are these line integrals, -log(I / I0)?"
        )
    if np.median(values) > 0.8 * values.max():
        yield (
            f"`{path}` is near its largest value almost everywhere: if it holds "
            "intensities, take -log(I / I0)"
        )


def _spread(sums: np.ndarray) -> float:
    return float(np.std(sums) / max(abs(float(np.mean(sums))), 1e-30))
