"""The one table of kinds: a new kind of data is a file of its own and a row here."""

import dataclasses
import importlib
from typing import TYPE_CHECKING

from ..errors import InputError
from ..options import did_you_mean
from . import options as of

if TYPE_CHECKING:
    from .kind import Kind


@dataclasses.dataclass(frozen=True)
class Row:
    """A kind of data, named without importing JAX."""

    kind: "str | type[Kind]"
    """Its class, or `module:class`."""
    options: type[of.TrainOptions]
    summary: str
    """What `passband fit` does with it."""
    thing: str
    """What a scale is chosen for: `a picture`."""

    def load(self) -> "type[Kind]":
        """The class; JAX is imported now."""
        if not isinstance(self.kind, str):
            return self.kind
        module, name = self.kind.split(":")
        return getattr(importlib.import_module(module), name)


KINDS: dict[str, Row] = {
    "image": Row(
        "passband.kinds.image:ImageKind", of.ImageOptions,
        "fit a picture: PNG, JPEG, TIFF, NPY", "a picture",
    ),
    "signal": Row(
        "passband.kinds.signal:SignalKind", of.SignalOptions,
        "fit a 1D signal: NPY, CSV, WAV", "a 1D signal",
    ),
    "shape": Row(
        "passband.kinds.shape:ShapeKind", of.ShapeOptions,
        "fit a solid: PLY, OBJ, STL, NPZ", "a solid",
    ),
    "ct": Row(
        "passband.kinds.ct:CTKind", of.CTOptions,
        "fit densities to a sinogram: NPY, TIFF", "a sinogram",
    ),
    "mri": Row(
        "passband.kinds.mri:MriKind", of.MriOptions,
        "fit an image or volume to k-space: NPY, NIfTI", "k-space",
    ),
    "nerf": Row(
        "passband.kinds.nerf:NerfKind", of.NerfOptions,
        "fit a scene to photographs of it", "a scene",
    ),
}  # fmt: skip


def row_of(name: str) -> Row:
    """The row of a kind; an unknown word is told the nearest."""
    if name not in KINDS:
        raise InputError(
            f"`kind` (={name}) must be one of {', '.join(KINDS)}; "
            f"{did_you_mean(name, KINDS)}".rstrip("; ")
        )
    return KINDS[name]
