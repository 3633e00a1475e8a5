"""NPY files, and what the numbers in an array mean."""

from pathlib import Path

import numpy as np
from jaxtyping import Float32, Shaped

from .. import file_gate
from ..errors import InputError
from ..file_gate import AnyPath, give_back

BLOCK = 1 << 26
"""Bytes of an array on the disk that are looked at together."""
KEPT = (np.uint8, np.uint16, np.int16, np.float32)
"""Types of numbers that stay on the disk."""


def read_npy(path: AnyPath) -> Shaped[np.ndarray, "..."]:
    """The array in an NPY file, refusing objects (pickles) and complex numbers."""
    values = file_gate.read_npy(path)
    if values.dtype.kind not in "buif":
        raise InputError(
            f"`{path}` holds {values.dtype}; only real numbers can be read"
        )
    return values


def write_npy(path: Path, values: Float32[np.ndarray, "..."]) -> None:
    """Write an array under exactly this name."""
    with path.open("wb") as file:
        np.save(file, values, allow_pickle=False)


def stored(
    values: Shaped[np.ndarray, "..."], where: str
) -> tuple[Shaped[np.ndarray, "..."], float, float]:
    """The numbers as they are kept, and the two that stand for 0 and 1.

    uint8 and uint16 stay, and have their type's range. Booleans become uint8, all
    others float32; these have the range [0, 1] if they lie inside it, else their own.
    """
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if values.dtype in (np.uint8, np.uint16):
        return values, 0.0, float(np.iinfo(values.dtype).max)
    if values.dtype == np.bool_:
        return values.astype(np.uint8), 0.0, 1.0
    kept = finite(values, where)
    low, high = float(kept.min()), float(kept.max())
    if low >= 0.0 and high <= 1.0:
        return kept, 0.0, 1.0
    return kept, *widened(low, high)


def stored_map(values: np.ndarray, where: str) -> tuple[np.ndarray, float, float]:
    """What `stored` gives, for an array that stays on the disk: its numbers are looked
    at block by block, as they lie there, and not converted."""
    known = values.dtype in KEPT
    if not (known and values.dtype.isnative):
        raise InputError(
            f"{where} holds {values.dtype}; an array of its size stays on the disk, "
            "and must be uint8, uint16, int16 or float32 in this machine's byte order"
        )
    if values.dtype in (np.uint8, np.uint16):
        return values, 0.0, float(np.iinfo(values.dtype).max)
    low, high = np.inf, -np.inf
    along = values.transpose(np.argsort(np.negative(values.strides), kind="stable"))
    rows = max(1, BLOCK // max(1, along[0].nbytes))
    for start in range(0, len(along), rows):
        part = finite(along[start : start + rows], where)
        low, high = min(low, float(part.min())), max(high, float(part.max()))
        give_back(values)
    if low >= 0.0 and high <= 1.0:
        return values, 0.0, 1.0
    return values, *widened(low, high)


def finite(values: Shaped[np.ndarray, "..."], where: str) -> Float32[np.ndarray, "..."]:
    """The numbers in float32, refusing those that are not finite there."""
    with np.errstate(over="ignore"):
        kept = values.astype(np.float32)
    bad = ~np.isfinite(kept)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{where} holds {int(bad.sum())} NaN or infinite values, the first at "
            f"index {first}; replace them by finite numbers"
        )
    return kept


def widened(low: float, high: float) -> tuple[float, float]:
    """(low, high), or a range above `low` that is not empty when the two are equal."""
    if high > low:
        return low, high
    return low, low + max(1.0, abs(low))
