"""Measured k-space, sampling masks and coil sensitivities in NPY files."""

from pathlib import Path

import numpy as np
from jaxtyping import Bool, Complex64

from ..errors import InputError
from ..file_gate import reader
from .volumes import finite_numbers, read_array


@reader("an NPY file")
def read_kspace(path: Path, *, coils: bool = False) -> Complex64[np.ndarray, "..."]:
    """Complex samples: two or three axes of frequencies, after one of coils if any."""
    samples = read_array(path)
    if not np.iscomplexobj(samples):
        raise InputError(
            f"`{path}` holds {samples.dtype} and k-space is complex; an image goes to "
            "`simulate`"
        )
    allowed = (3, 4) if coils else (2, 3)
    if samples.ndim not in allowed or min(samples.shape) < 1:
        hint = (
            "with `sens` an axis of coils comes before two or three of frequencies"
            if coils
            else "one coil has two or three axes, and several need `sens=MAPS.npy`"
        )
        raise InputError(f"`{path}` has shape {samples.shape}; {hint}")
    samples = finite_numbers(samples, f"`{path}`")
    if not np.any(samples):
        raise InputError(f"`{path}` holds nothing but zeros; there is nothing to fit")
    return samples


@reader("an NPY file")
def read_maps(
    path: Path, like: tuple[int, ...]
) -> Complex64[np.ndarray, "coils *sides"]:
    """Coil sensitivities, (coils, ...) like the k-space."""
    maps = read_array(path)
    if maps.shape != like:
        raise InputError(
            f"`{path}` has shape {maps.shape} and the k-space {like}; both are "
            "(coils, ...) with the coils in one order"
        )
    maps = finite_numbers(maps, f"`{path}`").astype(np.complex64)
    if not np.any(maps):
        raise InputError(f"`{path}` is zero everywhere; no coil would hear anything")
    return maps


@reader("an NPY file")
def read_mask(path: Path, sides: tuple[int, ...]) -> Bool[np.ndarray, "*sides"]:
    """Booleans, or numbers that are 0 or 1, one for every frequency."""
    mask = read_array(path)
    if mask.shape != sides:
        raise InputError(
            f"`{path}` has shape {mask.shape} and the k-space {sides}; a mask has one "
            "entry for every frequency, and coils share it"
        )
    if np.iscomplexobj(mask) or not np.isin(mask, (0, 1)).all():
        raise InputError(f"`{path}` must hold 0 and 1 (not measured, measured) only")
    mask = mask.astype(bool)
    if not mask.any():
        raise InputError(f"`{path}` is 0 everywhere: no frequency was measured")
    return mask
