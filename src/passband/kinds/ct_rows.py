"""Which rows of a detector are fitted, and what volumes of their slices are read from.

Several rows are one volume, (rows, y, x): a slice each, whose first row is its top.
"""

import math
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from ..data.arrays import finite
from ..data.ct_geometry import Geometry
from ..data.scans import read_tiff_stack
from ..data.volumes import NIFTI, read_volume, suffix_of
from ..errors import InputError

FLAT = 1.0
"""Rows that a cone beam's rays may leave their slice by, before it is warned of."""


def chosen_rows(word: str | int | slice | None, count: int, what: str) -> int | range:
    """The row that is meant, or several of them.

    Args:
        word: a number from 0; START:STOP or START:STOP:STEP, as Python slices, stop
            excluded; `all`; None is the middle one.
        count: rows that there are.
        what: has them, for messages.
    """
    if word is None:
        return count // 2
    if isinstance(word, int):
        if not 0 <= word < count:
            raise InputError(f"`rows` (={word}): {what} has {count}, the first is 0")
        return word
    assert isinstance(word, str)  # which the options make of a slice
    parts = word.split(":")
    try:
        ends = [int(part) if part.strip() else None for part in parts]
    except ValueError:
        ends = []
    if word == "all":
        ends = [None, None]
    if not 2 <= len(ends) <= 3 or 0 in ends[2:]:
        raise InputError(
            f"`rows` (={word}) must be a row from 0, START:STOP or START:STOP:STEP, or "
            "all"
        )
    if any(end is not None and abs(end) > count for end in ends[:2]):
        raise InputError(
            f"`rows` (={word}): {what} has {count}, the last is {count - 1}"
        )
    found = range(count)[slice(*ends)]
    if len(found) == 0:
        raise InputError(f"`rows` (={word}) are none of the {count} that {what} has")
    return found[0] if len(found) == 1 else found


def cone_notes(
    geometry: Geometry, rows: range, count: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What to say, and what to warn of, where rays of outer rows leave their slices.

    A ray that crosses the axis h above the plane of the source is h (1 + t / R) above
    it at t from there.

    Args:
        count: rows of the detector, the source being opposite its middle.
    """
    if geometry.source_origin is None or geometry.source_detector is None:
        return (), ()
    middle = (count - 1) / 2
    outer = max(abs(rows[0] - middle), abs(rows[-1] - middle))
    reach = geometry.side / 2
    off = outer * reach / geometry.source_origin
    height = outer * geometry.row_spacing
    angle = math.degrees(math.atan(height / geometry.source_origin))
    said = (
        f"every row is taken as a fan in its own slice; the cone's outer rays, "
        f"{angle:.2g} degrees off it, leave theirs by up to {off:.2g} rows"
    )
    if off > FLAT:
        return (), (f"{said}: take rows nearer to the middle one",)
    return (said,), ()


def read_slices(path: str | Path) -> Float32[np.ndarray, "rows h w"]:
    """A volume as slices: NPY and TIFF stacks (rows, y, x); NIfTI, whose axes are x, y
    (up) and z."""
    suffix = suffix_of(path)
    if suffix in (".tif", ".tiff"):
        values = finite(np.asarray(read_tiff_stack(Path(path))), f"`{path}`")
    else:
        values = read_volume(path).values
    if values.ndim != 3:
        raise InputError(
            f"`{path}` has shape {values.shape}; several `rows` need a volume, one "
            "slice a row"
        )
    if suffix in NIFTI:
        values = values.transpose(2, 1, 0)[:, ::-1]
    return np.ascontiguousarray(values.astype(np.float32))
