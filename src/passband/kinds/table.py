"""The one table of kinds: a new kind of data is a file of its own and a row here."""

import dataclasses
import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import unknown_word
from . import options as of
from .ct_options import CTOptions
from .mri_options import MriOptions
from .video_options import VideoOptions
from .volume_options import VolumeOptions

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
    suffixes: tuple[str, ...] = ()
    """Of the files that are fitted from a folder; without any, a folder is one input
    of the kind, unless a pattern is given."""

    def asked(self, options: Any, **changes: Any) -> Any:
        """What a command's options ask of the kind alone."""
        names = [f.name for f in dataclasses.fields(self.options)]
        return self.options(**{n: getattr(options, n) for n in names} | changes)

    def is_many(self, files: Sequence[str], options: Any) -> bool:
        """Whether a command is about several inputs: files, a list, a pattern, a folder
        where the kind reads files, each row of a scan, or what such a one left."""
        folder = len(files) == 1 and os.path.isdir(files[0])
        if not files and options.resume and options.out is not None:
            return os.path.exists(os.path.join(options.out, "part-000"))
        named = options.list is not None or options.pattern is not None
        each = getattr(options, "each_row", False)
        return len(files) > 1 or named or each or (folder and bool(self.suffixes))

    def load(self) -> "type[Kind]":
        """The class; JAX is imported now."""
        if not isinstance(self.kind, str):
            return self.kind
        module, name = self.kind.split(":")
        return getattr(importlib.import_module(module), name)


KINDS: dict[str, Row] = {
    "image": Row(
        "passband.kinds.image:ImageKind", of.ImageOptions,
        "fit a picture: PNG, JPEG, TIFF, DICOM, NPY", "a picture",
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".npy", ".dcm"),
    ),
    "signal": Row(
        "passband.kinds.signal:SignalKind", of.SignalOptions,
        "fit a 1D signal: NPY, CSV, WAV", "a 1D signal", (".npy", ".csv", ".wav"),
    ),
    "shape": Row(
        "passband.kinds.shape:ShapeKind", of.ShapeOptions,
        "fit a solid: PLY, OBJ, STL, NPZ", "a solid", (".ply", ".obj", ".stl", ".npz"),
    ),
    "ct": Row(
        "passband.kinds.ct:CTKind", CTOptions,
        "fit densities to a CT scan: HDF5, MATLAB, NPZ, TIFF, NPY", "a CT scan",
    ),
    "mri": Row(
        "passband.kinds.mri:MriKind", MriOptions,
        "fit an image or volume to k-space: HDF5, BART, MATLAB, NPY", "k-space",
    ),
    "nerf": Row(
        "passband.kinds.nerf:NerfKind", of.NerfOptions,
        "fit a scene to photographs of it: COLMAP, LLFF, transforms.json", "a scene",
    ),
    "video": Row(
        "passband.kinds.video:VideoKind", VideoOptions,
        "fit a video: GIF, a folder of frames, NPZ, MP4", "a video",
    ),
    "volume": Row(
        "passband.kinds.volume:VolumeKind", VolumeOptions,
        "fit a volume: NIfTI, NPY, TIFF stack, DICOM", "a volume",
    ),
}  # fmt: skip

IN_PYTHON: dict[str, Row] = {
    "points": Row(
        "passband.kinds.points:PointsKind", of.PointsOptions,
        "fit values at points", "values at points",
    ),
    "measured": Row(
        "passband.kinds.measured:MeasuredKind", of.MeasuredOptions,
        "fit measurements through an operator of one's own", "measurements",
    ),
}  # fmt: skip
"""Kinds whose data are in memory: the command cannot read them, but renders their
models."""


def row_of(name: str) -> Row:
    """The row of a kind; an unknown word is told the nearest."""
    if name in IN_PYTHON:
        return IN_PYTHON[name]
    if name not in KINDS:
        raise unknown_word("kind", name, KINDS)
    return KINDS[name]
