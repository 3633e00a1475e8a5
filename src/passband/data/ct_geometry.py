"""Where the rays of a scan go: parallel or fan, in the user's unit of length.

docs/ct.md draws it and says what each entry of a geometry file means.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError, unknown_word
from ..file_gate import read_json, reader

TYPES, DETECTORS = ("parallel", "fan"), ("flat", "arc")
UNITS = ("m", "cm", "mm", "um", "pixel")
LENGTHS = ("source_origin", "source_detector", "pitch", "pixel", "row_pitch")
ENTRIES = ("type", "detector", *LENGTHS, "offset", "axis", "size", "unit", "angles")
"""What a geometry file may say."""
EXAMPLE = '{"type": "fan", "source_origin": 410.66, "source_detector": 553.74, ...}'


@dataclasses.dataclass(frozen=True)
class Geometry:
    """A scanner with everything settled but the angles; lengths in one unit."""

    type: str
    detector: str
    source_origin: float | None
    """From the source to the axis of rotation; None for parallel rays."""
    source_detector: float | None
    pitch: float
    """From one bin to the next, on the detector."""
    pixel: float
    """Of the picture."""
    size: int
    """Rows and columns of the picture."""
    axis: float
    """The column of the detector, from 0, that the axis of rotation is seen at."""
    centre: float
    """The row and column of the picture, from 0, of the axis of rotation."""
    unit: str
    """Of all lengths; `pixel` where none is known."""
    axis_known: bool = True
    """Whether somebody said where the axis is."""
    row_pitch: float | None = None
    """From one row of the detector to the next; None where it is the columns'."""

    @property
    def side(self) -> float:
        """Of the picture, in the unit."""
        return self.size * self.pixel

    @property
    def row_spacing(self) -> float:
        """From one row of the detector to the next, as it is seen at the axis."""
        on_detector = self.pitch if self.row_pitch is None else self.row_pitch
        if self.source_origin is None or self.source_detector is None:
            return on_detector
        return on_detector * self.source_origin / self.source_detector

    def about(self) -> dict[str, Any]:
        """What a model file says of it; `from_about` takes it back."""
        return dataclasses.asdict(self)


def from_about(found: Any) -> Geometry:
    """The geometry in a model file."""
    names = {f.name for f in dataclasses.fields(Geometry)}
    # Models of earlier versions have no rows.
    if not isinstance(found, Mapping) or {*found, "row_pitch"} != names:
        raise InputError("the model's `geometry` makes no sense")
    return Geometry(**found)


@reader("a geometry as JSON")
def read_geometry(path: Path) -> dict[str, Any]:
    """The entries of a geometry file, each checked by itself."""
    found = read_json(path, "a geometry as JSON")
    if not isinstance(found, dict):
        raise InputError(f"`{path}` holds no JSON object; such as {EXAMPLE}")
    for name in found:
        if name not in ENTRIES:
            raise InputError(f"`{path}`: {unknown_word('entry', str(name), ENTRIES)}")
    for name, value in found.items():
        if (must := _must_be(name, value)) is not None:
            shown = json.dumps(value)[:60]
            raise InputError(f"`{path}`: `{name}` (={shown}) must be {must}")
    return found


def _must_be(name: str, value: Any) -> str | None:
    """What an entry fails to be."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if name in ("type", "detector", "unit"):
        words = {"type": TYPES, "detector": DETECTORS, "unit": UNITS}[name]
        return None if value in words else f"one of {', '.join(words)}"
    if name in LENGTHS:
        good = number and math.isfinite(value) and value > 0
        return None if good else "a length, positive and finite"
    if name in ("offset", "axis"):
        return None if number and math.isfinite(value) else "a finite number"
    if name == "size":
        good = isinstance(value, int) and number and 2 <= value <= 2**15
        return None if good else "a whole number of pixels, 2 or more"
    good = isinstance(value, str)
    if isinstance(value, list) and value:
        good = all(isinstance(v, int | float) and math.isfinite(v) for v in value)
    return None if good else "a list of degrees, START:STOP:COUNT, or a file"


def settle(asked: Mapping[str, Any], bins: int) -> Geometry:
    """What was said, checked as a whole, and the usual for the rest.

    Args:
        asked: entries of a geometry file; `offset` is a length from the middle of the
            detector, column (bins - 1) / 2, `axis` a column; None is left out.
        bins: of the detector.
    """
    said = {k: v for k, v in asked.items() if v is not None and k != "angles"}
    type = said.get("type", "fan" if "source_origin" in said else "parallel")
    fan = type == "fan"
    for name in ("source_origin", "source_detector", "detector"):
        if not fan and name in said and said[name] != "flat":
            raise InputError(f"`{name}` (={said[name]}) means nothing to parallel rays")
    needed = ("source_origin", "source_detector", "pitch") if fan else ()
    for name in needed:
        if name not in said:
            raise InputError(f"`{name}` is missing; a fan beam needs {_listed(needed)}")
    known = any(name in said for name in LENGTHS)
    pitch = float(said.get("pitch", said.get("pixel", 1.0)))
    zoom = said["source_detector"] / said["source_origin"] if fan else 1.0
    pixel = float(said.get("pixel", pitch / zoom))
    detector = said.get("detector", "flat")
    if "axis" in said and "offset" in said:
        raise InputError("`axis` and `offset` say the same; give one")
    middle = (bins - 1) / 2
    if "offset" in said:
        axis = middle + said["offset"] / pitch
    else:
        axis = float(said.get("axis", middle if fan else bins // 2))
    if not -0.5 <= axis <= bins - 0.5:
        raise InputError(
            f"the axis of rotation is at column {axis:g}, beside the {bins} columns of "
            "the detector; is `offset` in the unit of `pitch`?"
        )
    if fan:
        R, D = float(said["source_origin"]), float(said["source_detector"])
        if R >= D:
            raise InputError(
                f"`source_origin` (={R:g}) must be less than `source_detector` "
                f"(={D:g}): the object is between source and detector"
            )
        reach = max(axis + 0.5, bins - 0.5 - axis) * pitch / D
        outer = reach if detector == "arc" else math.atan(reach)
        seen = 2 * R * math.sin(min(1.5, outer))
        most = math.floor(1.35 * R / pixel)  # the source stays outside its corners
        size = said.get("size", max(2, min(math.ceil(seen / pixel), most)))
    else:
        size = said.get("size", max(2, round(bins * pitch / pixel)))
    # Parallel rays without a size of their own have scikit-image's middle.
    plain = not fan and "size" not in said and pixel == pitch
    return Geometry(
        type=type,
        detector=detector,
        source_origin=said.get("source_origin"),
        source_detector=said.get("source_detector"),
        pitch=pitch,
        pixel=pixel,
        size=int(size),
        axis=float(axis),
        centre=float(bins // 2 if plain else (int(size) - 1) / 2),
        unit=said.get("unit", "mm" if fan else "pixel") if known else "pixel",
        axis_known="axis" in said or "offset" in said,
        row_pitch=said.get("row_pitch"),
    )


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)
