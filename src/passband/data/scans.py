"""What scanners write: projections as counts or line integrals, and what belongs to
them, of Data Exchange (HDF5), MATLAB, NPZ, TIFF stacks, NPY.

A file's arrays are told by their names (`NAMES`), which cover Data Exchange, the
structs of the Helsinki challenge, and words of ASTRA and TIGRE; `array` names the
projections otherwise.
"""

import dataclasses
import itertools
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from jaxtyping import Shaped

from ..errors import InputError, one_line
from ..file_gate import (
    check_cost,
    check_file,
    open_file,
    read_npz,
    reader,
)
from ..quiet import any_size, without_stderr
from . import hdf5
from .arrays import read_npy
from .ct_geometry import UNITS
from .images import read_image
from .matlab import read_matlab

SUFFIXES = (".npy", ".npz", ".h5", ".hdf5", ".hdf", ".nxs", ".mat", ".tif", ".tiff")
NAMES: dict[str, tuple[str, ...]] = {
    "values": (
        "sinogram", "sino", "projections", "projection", "proj", "projs", "data",
        "sinogramdata", "counts",
    ),
    "angles": ("angles", "angle", "theta", "thetas", "projectionangles"),
    "flats": ("flats", "flat", "datawhite", "white", "flatfield", "whites", "gain"),
    "darks": ("darks", "dark", "datadark", "darkfield", "offsetimage"),
    "source_origin": (
        "sourceorigin", "distancesourceorigin", "dso", "sod", "sourceorigindistance",
        "distanceoriginsource", "sourceobjectdistance", "sourceaxis",
    ),
    "source_detector": (
        "sourcedetector", "distancesourcedetector", "dsd", "sdd",
        "sourcedetectordistance",
    ),
    "origin_detector": ("origindetector", "distanceorigindetector", "odd"),
    "pitch": (
        "pitch", "pixelsizepost", "detectorpixel", "detectorpixelsize",
        "detectorspacing", "detectorpitch", "ddetector", "detspacing",
    ),
    "pixel": (
        "effectivepixelsizepost", "effectivepixel", "effectivepixelsize", "dvoxel",
        "voxelsize",
    ),
    "unit": ("distanceunit", "unit", "lengthunit"),
}  # fmt: skip
_WORDS = {word: name for name, words in NAMES.items() for word in words}


@dataclasses.dataclass(frozen=True)
class Scan:
    """A file's numbers as they are, (views, rows, bins), and what it says of them."""

    values: Shaped[np.ndarray, "views rows bins"]
    name: str
    angles: np.ndarray | None = None
    """In degrees."""
    flats: Shaped[np.ndarray, "flats rows bins"] | None = None
    darks: Shaped[np.ndarray, "darks rows bins"] | None = None
    geometry: dict[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    flat: bool = False
    """Whether the file has no rows: its values are a sinogram, or its transpose."""


@reader("a scan")
def read_scan(path: Path, array: str | None = None) -> Scan:
    """The scan in a file.

    Args:
        array: the name of the projections, where a file has arrays of several.
    """
    suffix = path.suffix.lower()
    if suffix in (".tif", ".tiff"):
        return _plain(read_tiff_stack(path), path)
    if suffix == ".npy":
        return _plain(read_npy(path), path)
    if suffix == ".npz":
        return _named(path, read_npz(path), array)
    if suffix == ".mat":
        return _named(path, read_matlab(path, texts=True), array, matlab=True)
    if suffix in (".h5", ".hdf5", ".hdf", ".nxs"):
        return _data_exchange(path, array)
    raise InputError(f"`{path}` ends in `{suffix}`; scans are {', '.join(SUFFIXES)}")


def read_stack(path: str | Path) -> Shaped[np.ndarray, "k rows bins"]:
    """Pictures of the detector, such as flats: a TIFF or NPY, or a folder of TIFFs."""
    path = Path(path)
    if os.path.isdir(path):
        return read_tiff_folder(path)
    if path.suffix.lower() == ".npy":
        return _rows(read_npy(path), path)
    return _rows(read_tiff_stack(path), path)


def tiff_files(folder: Path) -> list[Path]:
    """The TIFF files of a folder, in the order of the numbers in their names."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in (".tif", ".tiff")]
    return sorted(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p.stem)])


def read_tiff_folder(folder: Path) -> Shaped[np.ndarray, "k rows bins"]:
    """The TIFF files of a folder, one picture of the detector each."""
    found = tiff_files(folder)
    if not found:
        raise InputError(f"`{folder}` holds no TIFF file; give one a view")
    first = read_tiff_stack(found[0])
    each = check_file(found[0], "a TIFF file")
    room = 3.0 * first.nbytes * len(found)
    check_cost(folder, room, each * len(found), f"{len(found)} views")
    pages = [first, *(read_tiff_stack(p) for p in found[1:])]
    for path, page in zip(found, pages, strict=True):
        if page.shape != first.shape or page.ndim != 2:
            raise InputError(
                f"`{path}` has shape {page.shape} and `{found[0].name}` {first.shape}; "
                "the files of a folder are one picture of the detector each, of one "
                "size"
            )
    return np.stack(pages)


@reader("a TIFF file")
def read_tiff_stack(path: Path) -> Shaped[np.ndarray, "..."]:
    """A TIFF of one page as (rows, columns), of several as (pages, rows, columns)."""
    size = check_file(path, "a TIFF file")
    with (
        without_stderr(), any_size(), open_file(path, "a TIFF file") as stream,
        tifffile.TiffFile(stream) as file,
    ):  # fmt: skip
        count = sum(1 for _ in itertools.islice(file.pages, 100_001))
        if count == 1:
            return read_image(path).values[..., 0]
        first = file.pages[0].aspage()
        if count > 100_000 or len(first.shape) != 2:
            raise ValueError(f"{count} pages of shape {first.shape}")
        needed = 3.0 * count * first.nbytes
        claims = f"{count} pages of {first.imagelength} x {first.imagewidth}"
        check_cost(path, needed, size, claims)
        for index in range(count):
            page = file.pages[index].aspage()
            if page.shape != first.shape or page.dtype != first.dtype:
                raise InputError(
                    f"`{path}`: page {index} is {page.shape} of {page.dtype} and the "
                    f"first {first.shape} of {first.dtype}; all views have one size"
                )
            spans = zip(page.dataoffsets, page.databytecounts, strict=True)
            if max((a + b for a, b in spans), default=0) > size:
                raise ValueError(f"page {index} lies beyond its end")
        return np.stack([page.asarray() for page in file.pages])


def _plain(values: np.ndarray, path: Path) -> Scan:
    return Scan(_rows(values, path), path.stem, flat=values.ndim == 2)


def _rows(values: np.ndarray, path: Path) -> Shaped[np.ndarray, "views rows bins"]:
    """(views, bins) or (views, rows, bins), as the latter."""
    if values.dtype.kind not in "buif":
        raise InputError(f"`{path}` holds {values.dtype}; a scan has real numbers")
    if values.ndim == 2:
        return values[:, None]
    if values.ndim != 3:
        raise InputError(
            f"`{path}` has shape {values.shape}; a scan is (views, bins) or (views, "
            "rows, bins)"
        )
    return values


def _key(name: str) -> tuple[str, str | None]:
    """A name without its group, capitals, marks and unit, and the unit."""
    last = re.split(r"[./]", name)[-1]
    words = [w for w in re.split(r"[^a-zA-Z0-9]+", last.lower()) if w]
    unit = None
    if len(words) > 1 and words[-1] in (*UNITS, "deg", "degrees", "rad", "radians"):
        unit = words.pop()
    return "".join(words), unit


def _named(
    path: Path, arrays: dict[str, Any], array: str | None, *, matlab: bool = False
) -> Scan:
    """A scan of named arrays; the first of each name in `NAMES` counts."""
    found: dict[str, tuple[str, Any, str | None]] = {}
    for name, value in arrays.items():
        key, unit = _key(name)
        what = _WORDS.get(key)
        if what and what not in found:
            found[what] = name, value, unit
    if array is not None:
        if array not in arrays:
            raise InputError(
                f"`array` (={array}): `{path}` has no array of that name; it has "
                f"{_listed(arrays)}"
            )
        found["values"] = array, arrays[array], None
    if "values" not in found:
        wide = {
            k: v for k, v in arrays.items()
            if isinstance(v, np.ndarray) and sum(n > 1 for n in v.shape) >= 2
        }  # fmt: skip
        if len(wide) != 1:
            raise InputError(
                f"`{path}` has {_listed(arrays)}, none by a name of projections; give "
                "one by `array`"
            )
        found["values"] = (*next(iter(wide.items())), None)
    name, values, _ = found["values"]
    values = np.squeeze(values) if np.ndim(values) > 3 else np.asarray(values)
    geometry, unit = {}, None
    for what in (
        "source_origin",
        "source_detector",
        "origin_detector",
        "pitch",
        "pixel",
    ):
        if what in found:
            number = np.ravel(found[what][1])
            if number.size < 1 or number.dtype.kind not in "buif":
                continue
            geometry[what] = float(number[0])
            unit = found[what][2] or unit
    behind = geometry.pop("origin_detector", None)
    if behind is not None and "source_origin" in geometry:
        geometry.setdefault("source_detector", geometry["source_origin"] + behind)
    if "unit" in found and isinstance(found["unit"][1], str):
        unit = found["unit"][1]
    if geometry and unit in UNITS:
        geometry["unit"] = unit
    if "source_origin" not in geometry:  # a pixel alone may be of anything
        geometry.pop("pixel", None)
    elif "pixel" in geometry and "pitch" in geometry:
        geometry.pop("pixel")  # follows from the others
    angles, notes = None, ()
    if "angles" in found:
        angles, notes = _degrees(path, *found["angles"])
    scan = Scan(
        _rows(values, path), path.stem, angles, geometry=geometry, notes=notes,
        flat=values.ndim == 2,
    )  # fmt: skip
    return _with_blanks(path, scan, {k: v[1] for k, v in found.items()})


def _with_blanks(path: Path, scan: Scan, found: dict[str, Any]) -> Scan:
    """With flats and darks, as the values are."""
    _, rows, bins = scan.values.shape
    blanks = {}
    for name in ("flats", "darks"):
        if name in found:
            one = np.asarray(found[name])
            if one.ndim == 2:  # one picture, or one row of several
                one = one[None] if one.shape == (rows, bins) else one[:, None]
            if one.shape[1:] != (rows, bins):
                raise InputError(
                    f"`{path}`: the {name} have shape {one.shape} and the projections "
                    f"{scan.values.shape}; rows and columns must be the same"
                )
            blanks[name] = one
    return dataclasses.replace(scan, **blanks)


def _degrees(
    path: Path, name: str, values: Any, unit: str | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    angles = np.ravel(np.asarray(values))
    if angles.dtype.kind not in "buif" or not np.isfinite(angles).all():
        raise InputError(f"`{path}`: `{one_line(name)}` are not finite numbers")
    angles = angles.astype(np.float64)
    if unit in ("rad", "radians", "radian"):
        return np.rad2deg(angles), (f"`{path}`: angles are in radians, and converted",)
    return angles, ()


def _listed(arrays: dict[str, Any]) -> str:
    names = [f"`{one_line(k)}` {np.shape(v)}" for k, v in arrays.items()]
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if names[8:] else "")


def _data_exchange(path: Path, array: str | None) -> Scan:
    """`/exchange/data`, `data_white`, `data_dark`, `theta`; any HDF5 with `array`."""
    with hdf5.open_hdf5(path) as file:
        name = array or "exchange/data"
        if hdf5.entry(file, name) is None:
            there = ", ".join(f"`{one_line(n)}`" for n in hdf5.names(file)[:8])
            raise InputError(
                f"`{path}` has no `{name}`, where Data Exchange keeps projections; it "
                f"has {there or 'no arrays'}; give one by `array`"
            )
        group = name.rsplit("/", 1)[0] if "/" in name else ""
        found: dict[str, Any] = {}
        unit = None
        for key, word in (
            ("values", name), ("flats", f"{group}/data_white"),
            ("darks", f"{group}/data_dark"), ("angles", f"{group}/theta"),
        ):  # fmt: skip
            data = hdf5.entry(file, word)
            if data is not None:
                found[key] = hdf5.numbers(hdf5.checked(path, data, word)[()])
                if key == "angles":
                    unit = data.attrs.get("units")
    if isinstance(unit, bytes):
        unit = unit.decode("utf-8", "replace")
    angles, notes = None, ()
    if "angles" in found:
        word = unit.lower() if isinstance(unit, str) else None
        angles, notes = _degrees(path, "theta", found["angles"], word)
    values = found["values"]
    scan = Scan(
        _rows(values, path), path.stem, angles, notes=notes, flat=values.ndim == 2
    )
    return _with_blanks(path, scan, found)
