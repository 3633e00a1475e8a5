"""Measured k-space, sampling masks and coil sensitivities in the files of scanners and
of their users."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Complex64, Shaped

from ..errors import InputError
from ..file_gate import reader
from . import bart, hdf5
from .fastmri_file import read_fastmri
from .ismrmrd_file import read_ismrmrd
from .matlab import chosen, read_matlab
from .raw_kspace import RawKSpace, which
from .volumes import finite_numbers, read_array

HDF5 = (".h5", ".hdf5", ".mrd")
SUFFIXES = (".npy", ".mat", ".cfl", ".hdr", *HDF5)
WHAT = "k-space: an NPY, MATLAB, BART (.cfl), fastMRI or ISMRMRD (.h5) file"


@reader(WHAT)
def read_kspace(
    path: Path,
    *,
    coils: bool = False,
    axes: str | None = None,
    array: str | None = None,
    slice_: int | None = None,
    frame: int | None = None,
) -> RawKSpace:
    """Complex samples of one image or volume, of one coil or many.

    Args:
        coils: an NPY file has coils first, where `axes` does not say.
        axes: of an NPY or MATLAB array, a letter each: c coils, x, y, z frequencies,
            s slices, t repetitions.
        array: the name of one among several.
        slice_: which of several slices; the middle one by default.
        frame: which of several repetitions; the first one by default.
    """
    raw = _read(path, coils, axes, array, slice_, frame)
    if not np.iscomplexobj(raw.samples):
        raise InputError(
            f"`{path}` holds {raw.samples.dtype} and k-space is complex; an image goes "
            "to `simulate`"
        )
    samples = finite_numbers(raw.samples, f"`{path}`")
    if not np.any(samples):
        raise InputError(f"`{path}` holds nothing but zeros; there is nothing to fit")
    if len(raw.sides) not in (2, 3) or min(raw.sides) < 2:
        raise InputError(
            f"`{path}` has k-space of shape {raw.sides}; an image or a volume has two "
            "or three axes of 2 or more"
        )
    return replace(raw, samples=samples)


def _read(
    path: Path, coils: bool, axes: str | None, array: str | None,
    slice_: int | None, frame: int | None,
) -> RawKSpace:  # fmt: skip
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"`{path}` ends in `{suffix}`; k-space is read from {', '.join(SUFFIXES)}"
        )
    if suffix in (".cfl", ".hdr"):
        _refuse(path, "BART", axes=axes, array=array)
        return _read_bart(path, slice_, frame)
    if suffix in HDF5 and array is None:
        with hdf5.open_hdf5(path) as file:
            fast, listed = "kspace" in file, hdf5.names(file)
        known = fast or any(name.endswith("/xml") for name in listed)
        if not known:
            raise InputError(
                f"`{path}` has neither `kspace` (fastMRI) nor `dataset/xml` (ISMRMRD); "
                f"it has {_listed(listed)}: name one with `array=NAME`"
            )
        _refuse(path, "fastMRI" if fast else "ISMRMRD", axes=axes)
        if not fast:
            return read_ismrmrd(path, slice_=slice_, frame=frame)
        _refuse(path, "fastMRI", frame=frame)
        return read_fastmri(path, slice_=slice_)
    if suffix == ".npy":
        _refuse(path, "NPY", array=array)
        values = read_array(path)
        word = axes or _npy_axes(path, values, coils)
    else:
        values, name = _named(path, suffix, array)
        word = axes or ("xy" if values.ndim == 2 else None)
        if word is None:
            raise InputError(
                f"`{path}`: `{name}` has shape {values.shape}; say what its axes are: "
                "`axes=xyc` has coils last, `axes=xyz` is a volume, s slices, t "
                "repetitions"
            )
    return _ordered(path, values, word, slice_, frame)


def parts_of(path: Path) -> list[Path]:
    """The files that a name stands for: BART has two, a DICOM series a folder."""
    if path.is_dir():
        return sorted(p for p in path.iterdir() if p.is_file())
    return list(bart.pair(path)) if path.suffix.lower() in (".cfl", ".hdr") else [path]


def _refuse(path: Path, what: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"`{name}` (={value}) means nothing to a {what} file")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names[:6]) or "no array at all"


def _named(path: Path, suffix: str, array: str | None) -> tuple[np.ndarray, str]:
    if suffix == ".mat":
        name, values = chosen(path, read_matlab(path), array)
        return values, name
    assert array is not None
    with hdf5.open_hdf5(path) as file:
        data = hdf5.entry(file, array)
        if data is None:
            raise InputError(
                f"`array` (={array}): `{path}` has {_listed(hdf5.names(file))}"
            )
        return hdf5.numbers(hdf5.checked(path, data, array)[()]), array


def _npy_axes(path: Path, values: Shaped[np.ndarray, "..."], coils: bool) -> str:
    words = {3: "cxy", 4: "cxyz"} if coils else {2: "xy", 3: "xyz"}
    if values.ndim not in words:
        hint = (
            "an axis of coils comes before two or three of frequencies"
            if coils
            else "one coil has two or three axes, and several need `axes=cxy`, or "
            "`sens=MAPS.npy`"
        )
        raise InputError(f"`{path}` has shape {values.shape}; {hint}")
    return words[values.ndim]


def _ordered(
    path: Path, values: np.ndarray, axes: str, slice_: int | None, frame: int | None
) -> RawKSpace:
    """One slice and frame of an array, coils first."""
    sides = [a for a in axes if a in "xyz"]
    if (
        len(set(axes)) != len(axes)
        or set(axes) - set("cxyzst")
        or sorted(sides) not in (["x", "y"], ["x", "y", "z"])
    ):
        raise InputError(
            f"`axes` (={axes}) must be letters for the axes: x, y and perhaps z, c for "
            "coils, s for slices, t for repetitions; such as cxy or xyzc"
        )
    if len(axes) != values.ndim:
        raise InputError(
            f"`axes` (={axes}) names {len(axes)} axes, and `{path}` has shape "
            f"{values.shape}"
        )
    notes, left = [], axes
    several = (
        ("s", "slice", slice_, "slices", "middle"),
        ("t", "frame", frame, "repetitions", "first"),
    )
    for letter, name, asked, what, default in several:
        if letter not in left:
            if asked is not None:
                raise InputError(
                    f"`{name}` (={asked}): `{path}` has one; `axes` has no `{letter}`"
                )
            continue
        at, n = left.index(letter), values.shape[left.index(letter)]
        k = which(name, asked, n, n // 2 if default == "middle" else 0, what)
        values, left = np.take(values, k, axis=at), left.replace(letter, "")
        if n > 1:
            notes.append(f"{name} {k} of {n} (`{name}` takes another)")
    many = "c" in left
    if many:
        values = np.moveaxis(values, left.index("c"), 0)
        left = left.replace("c", "")
    # In the order x, y, z, whatever the file has.
    first = int(many)
    order = [first + left.index(a) for a in sorted(left)]
    values = np.transpose(values, [0, *order] if many else order)
    if many and len(values) == 1:
        values, many = values[0], False
    return RawKSpace(values, coils=many, notes=tuple(notes))


def _read_bart(path: Path, slice_: int | None, frame: int | None) -> RawKSpace:
    """(coils, x, y[, z]) of BART's axes; sides of length 1 are dropped."""
    values = bart.read_cfl(path)
    notes = []
    n = values.shape[bart.SLICE]
    at = which("slice", slice_, n, n // 2, "slices")
    if n > 1:
        notes.append(f"slice {at} of {n} (`slice` takes another)")
    values = np.take(values, at, axis=bart.SLICE)
    # (x, y, z, coils, everything else), the first of it fastest.
    rest = values.reshape(*values.shape[:4], -1, order="F")
    m = rest.shape[-1]
    now = which("frame", frame, m, 0, "images beside slices")
    if m > 1:
        notes.append(f"image {now} of {m} (`frame` takes another)")
    samples = np.moveaxis(rest[..., now], bart.COIL, 0)
    sides = tuple(side for side in samples.shape[1:] if side > 1)
    samples = samples.reshape(len(samples), *sides)
    if len(samples) == 1:
        samples = samples[0]
        return RawKSpace(samples, coils=False, centred=True, notes=tuple(notes))
    return RawKSpace(samples, coils=True, centred=True, notes=tuple(notes))


def looks_like_coils(samples: Complex64[np.ndarray, "..."]) -> bool:
    """Whether a volume's first axis has no middle that stands out, as k-space has."""
    if samples.ndim != 3 or len(samples) > 64 or len(samples) >= min(samples.shape[1:]):
        return False
    power = np.sum(np.abs(samples) ** 2, axis=(1, 2))
    return bool(power.max() < 10 * np.median(power))


@reader("coil maps: an NPY, MATLAB, BART (.cfl) or HDF5 file")
def read_maps(
    path: Path, like: tuple[int, ...]
) -> Complex64[np.ndarray, "coils *sides"]:
    """Coil sensitivities, (coils, ...) like the k-space."""
    suffix = path.suffix.lower()
    if suffix in (".cfl", ".hdr"):
        maps = _read_bart(path, None, None).samples
    elif suffix == ".mat":
        maps = np.moveaxis(chosen(path, read_matlab(path), None)[1], -1, 0)
    else:
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
