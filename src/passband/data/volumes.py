"""Volumes (and images) in NIfTI, DICOM and NPY files, with the affine that places
them."""

import gzip
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from jaxtyping import Float, Float32, Shaped

from .. import file_gate
from ..atomic_write import atomic_write
from ..errors import InputError
from ..file_gate import AnyPath, check_cost, map_part, open_file, reader
from . import dicom
from .arrays import finite

NIFTI = (".nii", ".nii.gz")
_PACKED = 1032  # times that deflate can make zeros smaller: no file unpacks to more


@dataclass(frozen=True)
class Volume:
    """Numbers on a grid of two or three axes, and where the grid lies."""

    values: Shaped[np.ndarray, "..."]
    """float32, or complex64."""
    spacing: tuple[float, ...]
    """Between neighbours along each axis, in the file's unit (mm in NIfTI)."""
    affine: Float[np.ndarray, "4 4"] | None
    """From indices to the scanner's coordinates, in NIfTI and DICOM files."""
    name: str
    notes: tuple[str, ...] = ()
    """What was chosen on the way."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    """`.nii.gz` or the last suffix, in small letters."""
    name = Path(path).name.lower()
    return ".nii.gz" if name.endswith(".nii.gz") else Path(name).suffix


def volume_of(
    path: AnyPath, *, allow_complex: bool = False, volume: int | None = None
) -> Volume:
    """The volume in a file (`read_volume`), or of a DICOM series in a folder."""
    if not os.path.isdir(path):
        return read_volume(path, allow_complex=allow_complex, volume=volume)
    return _of_dicom(Path(path), dicom.series_of(path, volume=volume))


@reader("a NIfTI, DICOM or NPY file")
def read_volume(
    path: Path, *, allow_complex: bool = False, volume: int | None = None
) -> Volume:
    """The volume in a NIfTI or DICOM file, or the volume or image in an NPY file.

    Args:
        volume: which of several, counted from 0: of a NIfTI file's last axis, or of
            a DICOM file's times.
    """
    suffix = suffix_of(path)
    if suffix in dicom.SUFFIXES or (not suffix and dicom.is_dicom(path)):
        return _of_dicom(path, dicom.read_frames(path, volume=volume))
    if suffix not in (*NIFTI, ".npy"):
        raise InputError(
            f"`{path}` ends in `{suffix}`; volumes are read from .nii, .nii.gz, .dcm "
            "and .npy"
        )
    if suffix == ".npy":
        values, affine = read_array(path), None
    else:
        values, affine = read_nifti(path)
    values = _one_of(values, volume, path)
    if values.ndim not in (2, 3) or (affine is not None and values.ndim != 3):
        raise InputError(
            f"`{path}` has {values.ndim} axes, {values.shape}; one volume has 3, and "
            "`volume=0` takes the first of several"
        )
    if min(values.shape) < 2:
        raise InputError(
            f"`{path}` has shape {values.shape}; every side needs 2 or more"
        )
    if np.iscomplexobj(values) and not allow_complex:
        raise InputError(
            f"`{path}` holds {values.dtype}, and a real volume is meant; take its "
            "magnitude, or fit it with `image=complex`"
        )
    spacing = (1.0,) * values.ndim if affine is None else spacing_of(affine, path)
    name = path.name[: -len(suffix)]
    return Volume(finite_numbers(values, f"`{path}`"), spacing, affine, name)


def _one_of(values: np.ndarray, volume: int | None, path: Path) -> np.ndarray:
    """The volume of that number along the fourth axis, where there is one."""
    count = values.shape[3] if values.ndim == 4 else 1
    if volume is not None and not 0 <= volume < count:
        raise InputError(f"`volume` (={volume}): `{path}` has {count}, counted from 0")
    if values.ndim == 4 and (count == 1 or volume is not None):
        values = values[..., volume or 0]
    return values


def spacing_of(affine: Float[np.ndarray, "4 4"], path: Path) -> tuple[float, ...]:
    """Millimetres between neighbours along each axis."""
    spacing = tuple(float(s) for s in np.linalg.norm(affine[:3, :3], axis=0))
    if not min(spacing) > 0:
        raise InputError(f"`{path}` has an affine that is flat: {affine.tolist()}")
    return spacing


def _of_dicom(path: Path, found: dicom.Stack) -> Volume:
    """Three axes, or two of a single slice."""
    values, name = found.values, path.stem or path.resolve().name
    values = finite_numbers(values, f"`{path}`")
    if values.shape[2] == 1:
        return Volume(
            values[..., 0], found.spacing[:2], found.affine, name, found.notes
        )
    return Volume(values, found.spacing, found.affine, name, found.notes)


def write_volume(
    path: str | os.PathLike[str],
    values: Shaped[np.ndarray, "..."],
    affine: Float[np.ndarray, "4 4"] | None = None,
) -> None:
    """Write a volume to a NIfTI or NPY file, all or nothing."""
    path = Path(path)
    suffix = suffix_of(path)
    kept = values.astype(np.complex64 if np.iscomplexobj(values) else np.float32)
    if suffix == ".npy":
        with atomic_write(path) as part, part.open("wb") as stream:
            np.save(stream, kept, allow_pickle=False)
        return
    if suffix not in NIFTI:
        raise InputError(
            f"`{path}` ends in `{suffix}`; volumes are written to .nii, .nii.gz, .npy"
        )
    from nibabel.nifti1 import Nifti1Image

    image = Nifti1Image(kept, np.eye(4) if affine is None else affine)
    image.header.set_xyzt_units("mm")
    content = image.to_bytes()
    with atomic_write(path) as part:
        # Without a time in it, the same volume gives the same bytes.
        packed = gzip.compress(content, 6, mtime=0) if suffix == ".nii.gz" else content
        part.write_bytes(packed)


def rescaled(
    affine: Float[np.ndarray, "4 4"], old: tuple[int, ...], new: tuple[int, ...]
) -> Float[np.ndarray, "4 4"]:
    """The affine of the same box on another grid; index 0 stays where it is."""
    out = np.array(affine, np.float64)
    out[:3, :3] *= np.asarray(old) / np.asarray(new)
    return out


def read_array(path: AnyPath) -> Shaped[np.ndarray, "..."]:
    """The numbers, real or complex, in an NPY file."""
    values = file_gate.read_npy(path)
    if values.dtype.kind not in "buifc":
        raise InputError(f"`{path}` holds {values.dtype}; only numbers can be read")
    return values


def finite_numbers(values: np.ndarray, where: str) -> Shaped[np.ndarray, "..."]:
    """float32 or complex64 (half precision is widened), refusing NaN and infinity."""
    if not np.iscomplexobj(values):
        return finite(values, where)
    # Not finite where either part is not, and its index is one of the file.
    finite(np.maximum(np.abs(np.real(values)), np.abs(np.imag(values))), where)
    return values.astype(np.complex64)


def head_phantom(
    side: int, *, seed: int = 0, dims: int = 3
) -> Float32[np.ndarray, "..."]:
    """A head of ellipsoids in [0, 1], another one for every seed.

    The table is the Shepp-Logan phantom's with a third axis, its contrasts raised and
    its skull thickened so that a coarse grid shows them. Edges are a voxel wide.
    """
    rng = np.random.default_rng(seed)
    axis = (np.arange(side) + 0.5) / side * 2 - 1
    grid = np.meshgrid(*[axis] * dims, indexing="ij")
    head = rng.uniform(0.92, 1.05, 3)
    out = np.zeros((side,) * dims)
    for density, axes, centre, turn in _ELLIPSOIDS:
        sizes = head * axes
        middle = head * centre
        angle = np.deg2rad(turn)
        if max(axes) < 0.5:  # what is inside the skull varies on its own
            density *= rng.uniform(0.7, 1.3)
            sizes = sizes * rng.uniform(0.8, 1.2, 3)
            middle = middle + rng.normal(0, 0.03, 3)
            angle += rng.normal(0, 0.2)
        x, y = grid[0] - middle[0], grid[1] - middle[1]
        c, s = np.cos(angle), np.sin(angle)
        parts = [(c * x + s * y) / sizes[0], (c * y - s * x) / sizes[1]]
        if dims == 3:
            parts.append((grid[2] - middle[2]) / sizes[2])
        radius = np.sqrt(np.sum(np.square(parts), axis=0))
        edge = (1 - radius) * float(np.min(sizes[:dims])) * side / 2
        out += density * np.clip(edge + 0.5, 0, 1)
    return np.clip(out, 0, 1).astype(np.float32)


# Density, semi-axes, centre, turn about the last axis in degrees.
_ELLIPSOIDS = (
    (0.85, (0.69, 0.9, 0.81), (0.0, 0.0, 0.0), 0.0),
    (-0.5, (0.62, 0.82, 0.73), (0.0, -0.01, 0.0), 0.0),
    (-0.25, (0.11, 0.31, 0.22), (0.22, 0.0, 0.0), -18.0),
    (-0.25, (0.16, 0.41, 0.28), (-0.22, 0.0, 0.0), 18.0),
    (0.25, (0.21, 0.25, 0.41), (0.0, 0.35, -0.15), 0.0),
    (0.3, (0.06, 0.06, 0.08), (0.0, 0.1, 0.2), 0.0),
    (0.3, (0.06, 0.06, 0.08), (0.0, -0.15, 0.2), 0.0),
    (0.35, (0.06, 0.04, 0.06), (-0.14, -0.55, 0.0), 0.0),
    (0.35, (0.04, 0.04, 0.04), (0.0, -0.58, 0.0), 0.0),
    (0.35, (0.04, 0.08, 0.05), (0.14, -0.55, 0.0), 0.0),
)


@reader("a NIfTI file")
def map_nifti(
    path: Path, volume: int | None = None
) -> tuple[np.ndarray, Float[np.ndarray, "4 4"]] | None:
    """The numbers of an unpacked NIfTI file as a read-only map of it, and its affine;
    None where they are scaled, and so not those of the file."""
    if suffix_of(path) == ".nii.gz":
        return None
    cls = _version(path)
    with open_file(path, "a NIfTI file") as stream:
        header = cls.header_class.from_fileobj(stream, check=False)
        shape, dtype = header.get_data_shape(), header.get_data_dtype()
        if header.get_slope_inter() not in ((None, None), (1.0, 0.0)):
            return None
        at, size = header.get_data_offset(), path.stat().st_size
        affine = np.asarray(header.get_best_affine(), np.float64)
        if not np.isfinite(affine).all():
            raise InputError(f"`{path}` has an affine that is not finite")
        # The first axis is the fastest in the file.
        values = map_part(path, stream, at, shape[::-1], dtype, size).T
    return _one_of(values, volume, path), affine


def _version(path: Path) -> Any:
    """NIfTI 1 or 2, by the length of the header."""
    from nibabel.nifti1 import Nifti1Image
    from nibabel.nifti2 import Nifti2Image

    with _plain(path) as stream:
        two = stream.read(4) in (b"\x1c\x02\0\0", b"\0\0\x02\x1c")  # 540
    return Nifti2Image if two else Nifti1Image


@reader("a NIfTI file")
def read_nifti(
    path: Path, volume: int | None = None
) -> tuple[np.ndarray, Float[np.ndarray, "4 4"]]:
    """The numbers in a NIfTI file, scaled as it says, and the affine that places them.

    Args:
        volume: which of several along the fourth axis; all by default.
    """
    cls = _version(path)
    with _plain(path) as stream:
        _check_header(path, cls.header_class.from_fileobj(stream, check=False))
    with _plain(path) as stream:
        packed = isinstance(stream, gzip.GzipFile)
        image: Any = cls.from_stream(stream) if packed else cls.from_filename(path)
        affine = np.asarray(image.affine, np.float64)
        values = np.asanyarray(image.dataobj)
        if packed:
            stream.read(2**20)  # to its end, where its checksum is
    if values.dtype.kind not in "buifc":
        raise InputError(f"`{path}` holds {values.dtype}; only numbers can be read")
    if not np.isfinite(affine).all():
        raise InputError(f"`{path}` has an affine that is not finite")
    values = values if volume is None else _one_of(values, volume, path)
    return values, affine


def _plain(path: Path) -> gzip.GzipFile | BinaryIO:
    """The bytes of a NIfTI file, unpacked as they are asked for."""
    stream = open_file(path, "a NIfTI file")
    if suffix_of(path) != ".nii.gz":
        return stream
    return _Unpacked(stream)


class _Unpacked(gzip.GzipFile):
    """A gzip file that closes the one it reads."""

    def __init__(self, stream: BinaryIO):
        super().__init__(fileobj=stream)
        self._stream = stream

    def close(self) -> None:
        super().close()
        self._stream.close()


def _check_header(path: Path, header: Any) -> None:
    """Refuse what the file cannot hold, and what would take too much memory."""
    shape, dtype = header.get_data_shape(), header.get_data_dtype()
    if any(side < 0 for side in shape):
        raise ValueError(f"it claims a shape of {shape}")
    count, size = math.prod(shape), path.stat().st_size
    most = size * (_PACKED if suffix_of(path) == ".nii.gz" else 1)
    claims = f"{' x '.join(map(str, shape))} of {dtype}"
    if count * dtype.itemsize > most:
        raise ValueError(f"it claims {claims}, and has {size:,} bytes: cut short")
    slope, offset = header.get_slope_inter()
    scaled = slope not in (None, 1.0) or offset not in (None, 0.0)
    # The numbers as stored, scaled to float64, as float32, and which are finite.
    each = dtype.itemsize + (8 if scaled else 0) + 4 + 2
    check_cost(path, size + count * each, size, claims)
