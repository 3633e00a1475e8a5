"""The XML header of ISMRMRD files, which fastMRI files have too."""

import math
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ..errors import InputError

_FINEST, _COARSEST = 0.01, 100.0  # mm of a voxel that can be meant


@dataclass(frozen=True)
class Space:
    """A grid and the box that it fills."""

    matrix: tuple[int, int, int]
    fov: tuple[float, float, float]
    """In mm."""


@dataclass(frozen=True)
class Header:
    """What a reconstruction needs of it: of the first encoding."""

    encoded: Space
    recon: Space
    trajectory: str
    centres: dict[str, int]
    """The step that frequency 0 has, by the name of the limit."""

    def spacing(self, path: Path) -> tuple[float, float, float]:
        """Size of a voxel in mm, refusing what is no length in mm."""
        (a, b, c), (i, j, k) = self.encoded.fov, self.encoded.matrix
        found = a / i, b / j, c / k
        if not all(_FINEST <= s <= _COARSEST for s in found[:2]):
            raise InputError(
                f"`{path}` says that a voxel is {found[0]:.3g} x {found[1]:.3g} mm "
                "large: `fieldOfView_mm` is in mm; `spacing=A,B` overrides it"
            )
        return found

    @property
    def oversampling(self) -> int:
        """How many times more samples a readout has than the image needs."""
        (n, *_), (side, *_) = self.encoded.matrix, self.recon.matrix
        wide, narrow = self.encoded.fov[0], self.recon.fov[0]
        times = n // side if side and n % side == 0 else 1
        return times if math.isclose(wide, times * narrow, rel_tol=0.01) else 1


def parse_header(path: Path, text: str) -> Header:
    """The header of a file."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"`{path}` has a header that defines entities; none are read")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"`{path}` has a header that is no XML: {error}") from None
    for item in root.iter():  # without their namespace
        item.tag = item.tag.rpartition("}")[2]
    encoding = root.find("encoding")
    if encoding is None:
        raise InputError(f"`{path}` has a header without `encoding`")
    encoded = _space(path, encoding, "encodedSpace")
    recon = encoded
    if encoding.find("reconSpace") is not None:
        recon = _space(path, encoding, "reconSpace")
    limits = encoding.find("encodingLimits")
    centres = {}
    for item in () if limits is None else limits:
        number = item.findtext("center")
        if number is not None:
            centres[item.tag] = int(_number(path, number, f"{item.tag}/center", 0))
    trajectory = (encoding.findtext("trajectory") or "cartesian").strip().lower()
    return Header(encoded, recon, trajectory, centres)


def _space(path: Path, encoding: ElementTree.Element, name: str) -> Space:
    def three(part: str, least: float) -> list[float]:
        return [
            _number(path, encoding.findtext(f"{name}/{part}/{axis}"),
                    f"{name}/{part}/{axis}", least)
            for axis in "xyz"
        ]  # fmt: skip

    x, y, z = (int(n) for n in three("matrixSize", 1))
    wide, high, deep = three("fieldOfView_mm", 0)
    if not min(wide, high) > 0:
        raise InputError(f"`{path}` has a header whose field of view is empty")
    return Space((x, y, z), (wide, high, deep))


def _number(path: Path, text: str | None, name: str, least: float) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not least <= value < 2**31:
        raise InputError(
            f"`{path}` has a header whose `{name}` is `{(text or 'missing')[:40]}`"
        )
    return value
