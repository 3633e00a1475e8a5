"""From a scan's files and options to a sinogram whose geometry is settled."""

import dataclasses
import hashlib
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arrays import finite
from ..data.counts import line_integrals, without_rings
from ..data.ct_geometry import Geometry, read_geometry, settle
from ..data.images import read_image
from ..data.scans import Scan, read_scan, read_stack, read_tiff_folder
from ..data.sinograms import (
    Sinogram,
    checked_sinogram,
    object_reach,
    parse_angles,
)
from ..errors import InputError
from ..reconstruct.axis import (
    HeldOut,
    by_held_out_views,
    by_moments,
    by_opposite_views,
)
from ..tasks.ct import projector, simulated
from ..tasks.ct_rows import simulated_rows
from .ct_options import CTOptions
from .ct_rows import chosen_rows, cone_notes, read_slices
from .kind import SILENT, Kind, Listener

NEAR = 0.3
"""Columns that an axis which is found may be off the middle by, and still be that."""
BETTER = 0.98
"""Of the middle's error: what views must predict each other with to be believed."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """A sinogram, and what to say of how it came about."""

    data: Sinogram
    notes: tuple[str, ...] = ()
    truth: np.ndarray | None = None
    """Of a simulated one."""
    truth_range: float = 1.0


def asked_geometry(options: CTOptions) -> dict[str, Any]:
    """What the geometry file says, and before it what single options say."""
    found = {} if options.geometry is None else read_geometry(options.geometry)
    single = {
        "type": options.beam, "detector": options.detector, "unit": options.unit,
        "source_origin": options.source_origin, "pitch": options.pitch,
        "source_detector": options.source_detector, "pixel": options.pixel,
        "size": options.size, "axis": options.axis, "row_pitch": options.row_pitch,
    }  # fmt: skip
    given = {k: v for k, v in single.items() if v is not None}
    if options.axis is not None and options.offset is not None:
        raise InputError("`axis` and `offset` say the same; give one")
    if options.axis is not None or options.offset is not None:
        found.pop("axis", None)
        found.pop("offset", None)
    if isinstance(found.get("angles"), str) and options.geometry is not None:
        beside = Path(options.geometry).parent / found["angles"]
        if os.path.isfile(beside):  # a file beside the geometry
            found["angles"] = str(beside)
    return found | given


def scan_of(options: CTOptions, path: Path) -> Scan:
    """What the scanner wrote, with flats and darks of their own files."""
    if os.path.isdir(path):  # of TIFF files, one a view
        scan = Scan(read_tiff_folder(path), path.name)
    else:
        scan = read_scan(path, options.array)
    files = {"flats": options.flats, "darks": options.darks}
    read = {k: read_stack(file) for k, file in files.items() if file is not None}
    return dataclasses.replace(scan, **read)


def each_row(
    read: Callable[..., Kind], options: CTOptions, listener: Listener
) -> dict[str, Callable[[Any], Kind]]:
    """How each of several rows is read by itself, by name. The scan is read once, and
    all have the axis that is found from all together.

    Args:
        read: makes a kind of options and a scan.
    """
    path = Path(str(options.file))
    scan = scan_of(options, path)
    count = scan.values.shape[1]
    chosen = chosen_rows("all" if options.rows is None else options.rows, count, "it")
    rows = [chosen] if isinstance(chosen, int) else list(chosen)
    together = dataclasses.replace(
        options, rows="all" if options.rows is None else options.rows, each_row=False
    )
    found = measure(together, path, listener, scan)
    for note in (*found.notes, *found.data.warnings):
        listener.say(f"passband: {note}")
    assert found.data.geometry is not None
    axis = found.data.geometry.axis

    def reader(row: int) -> Callable[[Any], Kind]:
        def load(asked: CTOptions) -> Kind:
            own = dataclasses.replace(
                asked, file=str(path), rows=row, each_row=False, axis=axis, offset=None
            )
            content = np.ascontiguousarray(scan.values[:, row]).tobytes()
            digest = hashlib.sha256(content).hexdigest()
            return dataclasses.replace(read(own, scan=scan), sha256=digest)

        return load

    digits = len(str(count - 1))
    return {f"row-{row:0{digits}d}": reader(row) for row in rows}


def measure(
    options: CTOptions,
    path: Path,
    listener: Listener = SILENT,
    scan: Scan | None = None,
) -> Measured:
    """The sinogram of the options' file, or of the picture to simulate.

    Args:
        scan: what is in the file, if it was read.
    """
    asked = asked_geometry(options)
    if options.simulate is not None:
        return _simulated(options, path, asked)
    scan = scan or scan_of(options, path)
    angles = _angles(options, asked, scan)
    rows = chosen_rows(options.rows, scan.values.shape[1], f"`{path}`")
    if isinstance(rows, int):
        sinogram, notes = _one_row(options, scan, angles, path, rows)
    else:
        sinogram, notes = _several_rows(options, scan, angles, path, rows)
    bins = sinogram.bins
    asked = scan.geometry | asked
    if options.offset is not None:
        if not abs(options.offset) < bins / 2:
            raise InputError(
                f"`offset` (={options.offset}) must be less than half of the {bins} "
                "bins"
            )
        asked["axis"] = bins // 2 + options.offset
    geometry = settle(asked, bins)
    listener.progress("the axis of rotation", often=False)
    sinogram = dataclasses.replace(sinogram, geometry=geometry)
    geometry, said, warned = with_axis(sinogram.over_rows(), geometry)
    if isinstance(rows, range):
        more = cone_notes(geometry, rows, scan.values.shape[1])
        said, warned = said + more[0], warned + more[1]
    data = dataclasses.replace(
        sinogram,
        geometry=geometry,
        weights=sinogram.weights if options.weights == "counts" else None,
        warnings=(*sinogram.warnings, *warned),
        row_spacing=geometry.row_spacing
        * (abs(rows.step) if isinstance(rows, range) else 1),
    )
    if "size" not in asked:
        said += _smaller(data, geometry)
    return Measured(data, (*scan.notes, *notes, *said))


def _smaller(data: Sinogram, geometry: Geometry) -> tuple[str, ...]:
    """A hint at the picture that the object fills, where it is much smaller."""
    rows = [data.values] if data.rows is None else list(data.values.swapaxes(0, 1))
    reach = max(object_reach(row, geometry.axis) for row in rows) * geometry.pitch
    if geometry.source_origin and geometry.source_detector:
        reach *= geometry.source_origin / geometry.source_detector
    size = 10 * math.ceil(2.2 * reach / geometry.pixel / 10)
    if not 64 <= size < 0.7 * geometry.size:
        return ()
    return (
        f"the object fills less of the picture's {geometry.size} x {geometry.size} "
        f"pixels: `size={size}` holds it, and spends the grid on it",
    )


def _simulated(options: CTOptions, path: Path, asked: dict[str, Any]) -> Measured:
    turn = 360 if "source_origin" in asked else 180
    if options.angles is not None or "angles" in asked:
        angles = _angles(options, asked, None)
    else:
        angles = turn / options.views * np.arange(options.views)
    for name in ("axis", "offset", "size"):
        if name in asked or getattr(options, name, None):
            raise InputError(f"`{name}` is a measured scan's; `simulate` has its own")
    if options.rows is not None:
        slices = read_slices(path)
        rows = chosen_rows(options.rows, len(slices), f"`{path}`")
        rows = range(rows, rows + 1) if isinstance(rows, int) else rows
        data, truth = simulated_rows(
            slices[list(rows)], angles, name=path.name.split(".")[0],
            noise=options.noise, seed=options.seed, stride=abs(rows.step), asked=asked,
        )  # fmt: skip
        span = float(truth.max() - truth.min())
        if len(rows) > 1:
            notes, warned = cone_notes(
                data.geometry or settle({}, 2), rows, len(slices)
            )
            data = dataclasses.replace(data, warnings=warned)
            return Measured(data, notes, truth, span)
        return Measured(data.row(0), (), truth[0], span)
    image = read_image(path)
    data, truth = simulated(
        image, angles, noise=options.noise, seed=options.seed, asked=asked
    )
    return Measured(data, (), truth, image.high - image.low)


def _angles(options: CTOptions, asked: dict[str, Any], scan: Scan | None) -> np.ndarray:
    said = asked.get("angles") if options.angles is None else options.angles
    if isinstance(said, str):
        return parse_angles(said)
    if said is not None:
        return np.asarray(said, np.float64)
    if scan is None or scan.angles is None:
        raise InputError(
            "`angles` is missing; such as 0:180:20 for 20 views from 0 to 180 degrees, "
            "stop excluded, or a file with one number a view"
        )
    return scan.angles


def _several_rows(
    options: CTOptions, scan: Scan, angles: np.ndarray, path: Path, rows: range
) -> tuple[Sinogram, tuple[str, ...]]:
    """Rows of the scan as (views, rows, bins), and what to say of all of them."""
    found, notes, warned = [], (), {}
    for row in rows:
        one, notes = _one_row(options, scan, angles, path, row)
        found.append(one)
        for text in one.warnings:
            warned.setdefault(text, []).append(row)
    said = tuple(f"{text} ({_listed(at)})" for text, at in warned.items())
    weights = None
    if all(one.weights is not None for one in found):
        weights = np.stack([np.asarray(one.weights) for one in found], axis=1)
    values = np.stack([one.values for one in found], axis=1)
    first = dataclasses.replace(found[0], values=values, weights=weights, warnings=said)
    return first, notes


def _listed(rows: list[int]) -> str:
    some = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
    return f"row {some}" if len(rows) == 1 else f"rows {some}"


def _one_row(
    options: CTOptions, scan: Scan, angles: np.ndarray, path: Path, row: int
) -> tuple[Sinogram, tuple[str, ...]]:
    """A row of the scan as line integrals with their weights, and what to say of it."""
    rows = scan.values.shape[1]
    notes = ()
    if rows > 1 and options.rows is None:
        notes = (f"row {row} of {rows} is taken; `rows` names another",)
    values, counted, warned = scan.values[:, row], None, ()
    flats, darks = _blanks(scan, row)
    if flats is not None or options.blank is not None:
        good = finite(values, f"`{path}`")
        if flats is not None and flats.shape[1] != good.shape[1]:
            raise InputError(
                f"`flats` have {flats.shape[1]} columns and `{path}` {good.shape[1]}"
            )
        values, counted, warned = line_integrals(
            good, flats, darks, blank=options.blank, name=f"`{path}`"
        )
        notes += ("counts became line integrals, -log((I - D) / (F - D))",)
    elif options.weights == "counts":
        raise InputError("`weights=counts` goes with raw counts: give `flats`")
    kept = np.ascontiguousarray(finite(values, f"`{path}`"))
    found = checked_sinogram(kept, angles, path, options.angles)
    if counted is not None and found.values.shape != counted.shape:
        raise InputError(f"`{path}`: raw counts are (views, bins), one row a view")
    if options.rings is not None:
        ringless = without_rings(found.values, options.rings)
        found = dataclasses.replace(found, values=ringless)
    said = (*found.warnings, *warned)
    return dataclasses.replace(found, warnings=said, weights=counted), notes


def _blanks(scan: Scan, row: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Flats and darks of a row."""
    found = []
    for pictures in (scan.flats, scan.darks):
        if pictures is not None and pictures.shape[1] == 1 < row + 1:
            raise InputError("`flats` and `darks` have one row and the scan several")
        found.append(None if pictures is None else pictures[:, row])
    return found[0], found[1]


def with_axis(
    data: Sinogram, geometry: Geometry
) -> tuple[Geometry, tuple[str, ...], tuple[str, ...]]:
    """The geometry with its axis found where nobody said it, what to say of that, and
    what to warn of an axis that is wrong."""
    bins = data.values.shape[1]
    fan = geometry.type == "fan"

    def make(angles: np.ndarray, few: int, axis: float, wide: float):
        coarse = dataclasses.replace(
            geometry, pitch=geometry.pitch * wide, pixel=geometry.side / few, size=few,
            axis=axis, centre=(few - 1) / 2,
        )  # fmt: skip
        return projector(coarse, angles, few)

    by = "opposite views"
    found = None if fan else by_opposite_views(data.values, data.angles)
    if found is None and not fan:
        found, by = by_moments(data.values, data.angles), "centres of mass"
    if geometry.axis_known:
        wrong = _noticed(data, geometry, make, found)
        return geometry, (), wrong
    if found is None and not _can_tell(data):
        said = f"the axis of rotation is taken to be at column {geometry.axis:g}, the "
        return geometry, (f"{said}middle: these views cannot tell",), ()
    if found is None:
        by = "views held out"
        found = by_held_out_views(data.values, data.angles, make)
        judge = HeldOut(data.values, data.angles, make, 96)
        if judge.error(found) > BETTER * judge.error(geometry.axis):
            found = geometry.axis
    if abs(found - geometry.axis) < (2 * NEAR if by == "views held out" else NEAR):
        return geometry, (), ()
    said = f"the axis of rotation is at column {found:.2f} of {bins}, found by {by}"
    found = float(round(found, 3))
    return dataclasses.replace(geometry, axis=found), (f"{said}; `axis` sets it",), ()


def _can_tell(data: Sinogram) -> bool:
    """Whether half of the views can be held against the other half."""
    views, bins = data.values.shape
    fan = data.geometry is not None and data.geometry.type == "fan"
    order = np.sort(data.angles % 360)
    turned = 360 - np.diff(order, append=order[0] + 360).max()
    return views >= 12 and bins >= 64 and bool(turned >= (180 if fan else 120))


def _noticed(
    data: Sinogram, geometry: Geometry, make: Any, found: float | None
) -> tuple[str, ...]:
    """A warning where the views say that the axis is not where it was said to be."""
    if not _can_tell(data):
        return ()
    if found is not None and abs(found - geometry.axis) < 1:
        return ()
    judge = HeldOut(data.values, data.angles, make, 96)
    there = judge.error(geometry.axis)
    if found is None:
        near = geometry.axis + judge.wide * np.arange(-8, 9)
        found = judge.best(near)
        if abs(found - geometry.axis) < max(1.0, judge.wide):
            return ()
    better = judge.error(found)
    if better > 0.9 * there:
        return ()
    return (
        f"`axis` (={geometry.axis:.5g}) looks wrong: with {found:.5g} half of the "
        f"views predict the others with an error of {better:.2g}, not {there:.2g}",
    )
