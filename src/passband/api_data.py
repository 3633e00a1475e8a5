"""What `pb.fit` and the others are given: paths, arrays or kinds, and options."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from .errors import InputError
from .file_gate import allowing, npy_header
from .kinds.kind import Kind
from .kinds.options import PointsOptions
from .kinds.points import Box, points_kind
from .kinds.resume import resumed_options
from .kinds.table import KINDS, row_of
from .model import Model
from .options import make_options
from .progress import Progress
from .train.run_folder import RunFolder

SUFFIXES = {
    ".png": "image", ".jpg": "image", ".jpeg": "image", ".tif": "image",
    ".tiff": "image", ".wav": "signal", ".csv": "signal", ".ply": "shape",
    ".obj": "shape", ".stl": "shape", ".npz": "shape", ".dcm": "image",
    ".cfl": "mri", ".mrd": "mri", ".gif": "video", ".mp4": "video", ".mov": "video",
}  # fmt: skip
OTHER_WORDS = {
    "optimizer": "optimiser", "learning_rate": "lr", "rate": "lr", "key": "seed",
    "random_state": "seed", "epochs": "steps", "iterations": "steps",
    "n_steps": "steps", "batch_size": "batch", "sigma": "mapping", "scale": "mapping",
    "verbose": "progress", "callback": "on_log", "on_chunk": "on_log",
    "validation_data": "validation", "hidden": "width", "depth": "layers",
}  # fmt: skip
"""What other libraries call our arguments."""


def read(path: Any, kind: str | None = None, **options: Any) -> Kind:
    """Data of a file, or of several, as `pb.fit` takes them.

    Args:
        path: a picture (PNG, JPEG, TIFF, DICOM, NPY), a signal (WAV, CSV, NPY), a mesh
            (PLY, OBJ, STL, NPZ), a sinogram or k-space in the formats of `passband fit
            ct` and `mri`, the folder of a scene, a video, a volume (NIfTI, NPY, TIFF).
            None where an option names the file (`simulate`).
        kind: image, signal, shape, ct, mri, nerf, video or volume; by the file's
            name where it tells.
        options: those of the kind, as `passband fit KIND --help` lists them:
            `angles="0:180:20"`, `holdout="quarter"`, `simulate="slice.png"`, ...

    Example:
        >>> import numpy as np, passband as pb
        >>> np.save("slope.npy", np.linspace(0, 1, 64).reshape(8, 8))
        >>> pb.read("slope.npy").name
        'image'
    """
    name = kind_of_file(path) if kind is None else kind
    row = row_of(name)
    if name not in KINDS:
        raise InputError(f"`kind` (={name}) has no files; give arrays to `pb.fit`")
    given = {
        k: str(v) if isinstance(v, Path) else v
        for k, v in options.items()
        if v is not None
    }
    if path is not None:
        given["file"] = str(path)
    asked = make_options(row.options, known(given))
    with allowing(asked.max_input):
        return row.load().read(asked)


def data_of(
    data: Any,
    values: Any,
    kind: str | None,
    given: dict[str, Any],
    options: dict[str, Any],
    validation: tuple[Any, Any] | None,
    model: Model | None,
    folder: RunFolder | None,
    listener: Progress,
) -> Kind:
    """What was given, as a kind with its options."""
    everything = known(given | options)
    if values is not None:
        asked = make_options(PointsOptions, everything)
        if folder is not None:
            asked = resumed_options(asked, set(everything), folder.config, "points")
        box = None
        if model is not None and model.kind == "points":
            box = Box(np.asarray(model.about["origin"]), model.about["longest"])
        return points_kind(data, values, asked, validation=validation, box=box)
    if validation is not None:
        raise InputError(
            "`validation` goes with coordinates and values; files have `holdout`"
        )
    if isinstance(data, Kind):
        new = {k: v for k, v in everything.items() if k != "file"}
        make_options(row_of(data.name).options, new)  # checked
        return dataclasses.replace(
            data, options=dataclasses.replace(data.options, **new)
        )
    if not isinstance(data, str | Path | None):
        raise InputError(
            f"`data` is a {type(data).__name__}; give a path, what `pb.read` gave, or "
            "coordinates together with `values`"
        )
    name = kind_of_file(data) if kind is None else kind
    row = row_of(name)
    if data is not None:
        everything["file"] = str(data)
    asked = make_options(row.options, everything)
    if folder is not None:
        asked = resumed_options(asked, set(everything), folder.config, name)
    with allowing(asked.max_input):
        return row.load().read(asked, listener)


def known(given: dict[str, Any]) -> dict[str, Any]:
    """The options, unless one is another library's word for ours."""
    for name in given:
        if name in OTHER_WORDS:
            raise InputError(f"`{name}` is called `{OTHER_WORDS[name]}` here")
    return given


def kind_of_file(path: Any) -> str:
    """The kind that a file's name, or an array's shape, tells."""
    names = ", ".join(KINDS)
    if path is None:
        raise InputError(f"`kind` is missing; there are {names}")
    place = Path(path)
    if os.path.isdir(place) or place.suffix.lower() == ".json":
        return "nerf"
    if place.name.lower().endswith((".nii", ".nii.gz")):
        return "volume"
    if place.suffix.lower() in SUFFIXES:
        return SUFFIXES[place.suffix.lower()]
    if place.suffix.lower() == ".npy" and os.path.isfile(place):
        shape, dtype = npy_header(place)
        if len(shape) == 1 and dtype.kind in "buif":
            return "signal"
        pictures = len(shape) == 2 or (len(shape) == 3 and shape[2] <= 4)
        if pictures and dtype.kind in "buif":
            return "image"
    raise InputError(f"what `{path}` holds cannot be told; say `kind`: {names}")
