"""DICOM: one picture, a file of several frames, or a folder with the files of a series.

Values are those after the rescale slope and intercept. A volume is (columns, rows,
slices), as NIfTI has it, with slices in the order of their positions.
"""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Shaped

from ..errors import InputError, one_line
from ..file_gate import check_cost, check_file, decoding, library, open_file, reader

WHAT = "a DICOM file"
SUFFIXES = (".dcm", ".ima", ".dicom")
_PLAIN = {
    "1.2.840.10008.1.2": "implicit", "1.2.840.10008.1.2.1": "little",
    "1.2.840.10008.1.2.2": "big",
}  # fmt: skip
_RLE = "1.2.840.10008.1.2.5"
_MOST_FILES = 20_000
_UNEVEN = 0.05
"""Distances of neighbouring slices may differ by this share."""


@dataclass(frozen=True)
class Frame:
    """Where one slice lies, and what its numbers mean."""

    path: Path
    index: int
    order: tuple[float, ...]
    position: Float[np.ndarray, " 3"] | None
    turn: Float[np.ndarray, " 6"] | None
    """Along a row and along a column."""
    pixel: tuple[float, float] | None
    """Between rows and between columns, in mm."""
    step: float | None
    """Between slices, as the file has it."""
    slope: float
    shift: float


@dataclass(frozen=True)
class Stack:
    """A volume, or one slice as a volume of one, and where it lies."""

    values: Float32[np.ndarray, "x y z"]
    spacing: tuple[float, float, float]
    affine: Float[np.ndarray, "4 4"] | None
    """From indices to mm: right, anterior, superior."""
    notes: tuple[str, ...] = field(default=())


def is_dicom(path: Path) -> bool:
    """By the letters behind its first 128 bytes."""
    with open_file(path) as stream:
        stream.seek(128)
        return stream.read(4) == b"DICM"


@reader(WHAT)
def read_picture(path: Path) -> Shaped[np.ndarray, "h w c"]:
    """One frame, (rows, columns, channels): after the rescale, or uint8 colours."""
    data = _header(path)
    if (count := _frames(data)) > 1:
        raise InputError(
            f"`{path}` has {count} frames; a picture has one. As a volume it goes to "
            "`passband fit mri --simulate`"
        )
    kind = str(data.get("PhotometricInterpretation", ""))
    if kind.startswith("MONOCHROME"):
        pixels = _pixels(path)[0].astype(np.float32)
        one = _frame(path, data, 0)
        return (pixels * one.slope + one.shift).astype(np.float32)[..., None]
    if kind != "RGB" or int(data.get("BitsAllocated", 0)) != 8:
        raise InputError(f"`{path}` is {one_line(kind)}; grey and 8-bit RGB are read")
    return _pixels(path)[0]


@reader(WHAT)
def read_frames(path: Path, *, volume: int | None = None) -> Stack:
    """The volume in one file: its frames, or a single slice."""
    data = _header(path)
    frames = [_frame(path, data, k) for k in range(_frames(data))]
    return _stacked(path, frames, volume)


def series_of(folder: str | os.PathLike[str], *, volume: int | None = None) -> Stack:
    """The volume of all DICOM files in a folder, which must be of one series."""
    folder = Path(folder)
    what = "a folder of one DICOM series"
    with decoding(folder, what):
        found = sorted(p for p in folder.iterdir() if p.is_file())
        if len(found) > _MOST_FILES:
            raise InputError(f"`{folder}` has {len(found)} files; give {what}")
        frames: list[Frame] = []
        series: dict[str, int] = {}
        for path in found:
            if not path.stat().st_size or not is_dicom(path):
                continue
            data = _header(path)
            if "Rows" not in data:  # an index, a report
                continue
            name = str(data.get("SeriesInstanceUID", ""))
            series[name] = series.get(name, 0) + 1
            frames += [_frame(path, data, k) for k in range(_frames(data))]
        if not frames:
            raise InputError(f"`{folder}` has no DICOM picture in it; give {what}")
        if len(series) > 1:
            counts = ", ".join(map(str, series.values()))
            raise InputError(
                f"`{folder}` has {len(series)} series (of {counts} files); give {what}"
            )
        return _stacked(folder, frames, volume)


def _header(path: Path) -> Any:
    """Everything but the pixels, of a file that can be decoded."""
    pydicom = library("pydicom", "DICOM files")
    check_file(path, WHAT)
    if not is_dicom(path):
        raise InputError(f"`{path}` is no DICOM file: `DICM` is not behind 128 bytes")
    meta = pydicom.filereader.read_file_meta_info(path)
    syntax = meta.get("TransferSyntaxUID", "1.2.840.10008.1.2")
    if str(syntax) not in (*_PLAIN, _RLE):
        name = one_line(getattr(syntax, "name", syntax))
        raise InputError(
            f"`{path}` is packed as {name}; unpack it first, by `gdcmconv --raw` or "
            "`dcmdjpeg`"
        )
    data = pydicom.dcmread(path, stop_before_pixels=True)
    rows, columns = int(data.get("Rows", 0)), int(data.get("Columns", 0))
    if "Rows" in data:
        depth = int(data.get("BitsAllocated", 0)) * int(data.get("SamplesPerPixel", 1))
        count = rows * columns * _frames(data)
        size = path.stat().st_size
        claims = f"{_frames(data)} frames of {rows} x {columns}"
        if min(rows, columns, depth) < 1:
            raise InputError(f"`{path}` claims {claims} of {depth} bits")
        if str(syntax) in _PLAIN and count * depth > 8 * size:
            raise InputError(f"`{path}` is cut short: it claims {claims}")
        check_cost(path, count * (depth / 8 + 8), size, claims)
    return data


def _frames(data: Any) -> int:
    count = int(data.get("NumberOfFrames", 1) or 1)
    if not 1 <= count <= 2**20:
        raise ValueError(f"it claims {count} frames")
    return count


def _pixels(path: Path) -> Shaped[np.ndarray, "n h w *c"]:
    """The frames of a file, (frames, rows, columns, channels if any)."""
    pydicom = library("pydicom", "DICOM files")
    data = pydicom.dcmread(path)
    if "PixelData" not in data:
        raise InputError(f"`{path}` has no pixels")
    pixels = np.asarray(data.pixel_array)
    return pixels if _frames(data) > 1 else pixels[None]


def _frame(path: Path, data: Any, index: int) -> Frame:
    groups = [data]
    for name in ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence"):
        listed = data.get(name)
        if listed:
            one = 0 if name.startswith("Shared") else index
            if one >= len(listed):
                raise ValueError(f"`{name}` has {len(listed)} items, not {one + 1}")
            groups = [*_parts(listed[one]), *groups]

    def found(name: str, count: int) -> np.ndarray | None:
        for group in groups:
            value = group.get(name)
            if value is None or value == "":
                continue
            numbers = np.asarray(value, np.float64).reshape(-1)
            if numbers.shape != (count,) or not np.isfinite(numbers).all():
                raise InputError(
                    f"`{path}`: `{name}` is `{one_line(value)}`; {count} numbers are "
                    "meant"
                )
            return numbers
        return None

    def number(name: str, default: float) -> float:
        value = found(name, 1)
        return default if value is None else float(value[0])

    pixel = found("PixelSpacing", 2)
    if pixel is not None and not (pixel.min() > 0 and pixel.max() < 1e4):
        raise InputError(f"`{path}`: `PixelSpacing` is {pixel.tolist()}, in mm")
    step = number("SpacingBetweenSlices", 0) or number("SliceThickness", 0)
    slope = number("RescaleSlope", 1.0)
    if slope == 0:
        raise InputError(f"`{path}`: `RescaleSlope` is 0; no number is left")
    order = (number("TemporalPositionIdentifier", 0), number("AcquisitionNumber", 0),
             number("InstanceNumber", 0), index)  # fmt: skip
    return Frame(
        path, index, order, found("ImagePositionPatient", 3),
        found("ImageOrientationPatient", 6),
        None if pixel is None else (float(pixel[0]), float(pixel[1])),
        abs(step) or None, slope, number("RescaleIntercept", 0.0),
    )  # fmt: skip


def _parts(group: Any) -> list[Any]:
    """The data sets inside the sequences of a functional group."""
    return [item.value[0] for item in group if item.VR == "SQ" and item.value]


def _stacked(path: Path, frames: list[Frame], volume: int | None) -> Stack:
    frames, step, notes = _in_order(path, frames, volume)
    first = frames[0]
    content: dict[Path, np.ndarray] = {}
    slices = []
    for frame in frames:
        if frame.path not in content:
            content = {frame.path: _pixels(frame.path)}
        pixels = content[frame.path][frame.index]
        if pixels.ndim != 2:
            raise InputError(
                f"`{frame.path}` is in colour; a volume has one number each"
            )
        if slices and pixels.T.shape != slices[0].shape:
            raise InputError(
                f"`{frame.path}` has {pixels.shape[0]} x {pixels.shape[1]} pixels and "
                f"`{first.path}` {slices[0].shape[1]} x {slices[0].shape[0]}"
            )
        if not slices:
            size = sum(p.stat().st_size for p in {f.path for f in frames})
            check_cost(path, 10 * len(frames) * pixels.size, size, "so many slices")
        values = pixels.T.astype(np.float32) * frame.slope + frame.shift
        slices.append(values.astype(np.float32))
    values = np.stack(slices, axis=2)
    rows, columns = first.pixel or (1.0, 1.0)
    if first.pixel is None:
        notes.append("it says nothing of the size of a pixel: 1 mm is taken")
    affine = None
    turn, position = first.turn, first.position
    if turn is not None and position is not None:
        affine = np.eye(4)
        affine[:3, 0], affine[:3, 1] = turn[:3] * columns, turn[3:] * rows
        affine[:3, 2] = step
        affine[:3, 3] = position
        affine = np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine
    spacing = columns, rows, float(np.linalg.norm(step))
    return Stack(values, spacing, affine, tuple(notes))


def _in_order(
    path: Path, frames: list[Frame], volume: int | None
) -> tuple[list[Frame], np.ndarray, list[str]]:
    """The frames of one volume by their place, and the step from one to the next."""
    frames = sorted(frames, key=lambda f: f.order)
    first, notes = frames[0], []
    turn = first.turn
    plain = np.array([0.0, 0.0, first.step or 1.0])
    if turn is None or any(f.position is None or f.turn is None for f in frames):
        _one_volume(path, 1, volume)
        if len(frames) > 1:
            notes.append("its frames have no positions: taken in the file's order")
        return frames, plain, notes
    if not all(
        np.allclose(f.turn, turn, atol=1e-3) for f in frames if f.turn is not None
    ):
        raise InputError(f"`{path}` has slices that are turned differently")
    normal = np.cross(turn[:3], turn[3:])
    if not math.isclose(float(np.linalg.norm(normal)), 1.0, abs_tol=1e-3):
        raise InputError(f"`{path}`: `ImageOrientationPatient` is {turn.tolist()}")
    places: dict[float, list[Frame]] = {}
    for frame in frames:
        assert frame.position is not None
        places.setdefault(round(float(frame.position @ normal), 3), []).append(frame)
    counts = {len(there) for there in places.values()}
    if len(counts) > 1:
        raise InputError(
            f"`{path}` has {min(counts)} to {max(counts)} slices at one place: some "
            "are missing, or it is several series"
        )
    (times,) = counts
    at = _one_volume(path, times, volume)
    if times > 1:
        notes.append(f"volume {at} of {times} (`volume` takes another)")
    chosen = [places[where][at] for where in sorted(places)]
    if len(chosen) == 1:
        return chosen, normal * (first.step or 1.0), notes
    gaps = np.diff(sorted(places))
    if gaps.max() - gaps.min() > _UNEVEN * gaps.mean():
        raise InputError(
            f"`{path}` has slices {gaps.min():.4g} to {gaps.max():.4g} mm apart; is "
            "one missing?"
        )
    ends = chosen[-1].position, chosen[0].position
    assert ends[0] is not None and ends[1] is not None
    return chosen, (ends[0] - ends[1]) / (len(chosen) - 1), notes


def _one_volume(path: Path, count: int, asked: int | None) -> int:
    if asked is None:
        return 0
    if not 0 <= asked < count:
        raise InputError(f"`volume` (={asked}): `{path}` has {count}, counted from 0")
    return asked
