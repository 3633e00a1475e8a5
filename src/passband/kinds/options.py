"""The options of every kind of data: what is read, and what is asked of the training.

They import neither JAX nor matplotlib, so that help answers at once.
"""

import dataclasses

from ..options import argument, option

STEPS_MOST = 2**31 - 1


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    """What may be asked of a training; None leaves it to the kind and the device."""

    file: str | None = argument("the file to fit", metavar="FILE", default=None)
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:6, gaussian:10, gaussian:10/3, ... "
        "(default: gaussian:auto, whose scale is chosen from the data)",
        metavar="WORD",
    )
    steps: int | None = option(
        None, "training steps (default: 2000)", least=1, most=STEPS_MOST
    )
    recipe: str = option(
        "modern",
        "how it trains where nothing else is asked: modern (Muon, a rate that falls to "
        "0) or paper (2020: Adam)",
        choices=("modern", "paper"),
    )
    lr: float | None = option(
        None, "learning rate (default: the recipe's)", above=0, most=1e30
    )
    optimiser: str | tuple | None = option(
        None, "what moves the weights: muon, muon4, adam, sgd, adamw (recipe's)",
        metavar="NAME",
    )  # fmt: skip
    schedule: str | None = option(
        None, "how the rate goes on: constant, cosine, decay (default: the recipe's)",
        metavar="NAME",
    )  # fmt: skip
    activation: str = option(
        "relu",
        "of the hidden layers: relu, sine, finer, gauss, wire; a scale behind a colon: "
        "sine:60, wire:20,10",
        metavar="WORD",
    )
    batch: int | None = option(
        None, "points a step (default: what the device does in time)", least=1
    )
    layers: int = option(
        4, "dense layers, the output layer counted", least=1, most=1000
    )
    width: int = option(256, "channels of a hidden layer", least=1)
    members: int = option(
        1, "networks trained side by side: the model is their mean, their spread a map "
        "of its errors", least=1, most=64,
    )  # fmt: skip
    seed: int = option(0, "of B, the weights and the batches", least=0, most=2**32 - 1)
    precision: str = option(
        "auto",
        "of matrix products; auto is float32 on a CPU and bfloat16 on a GPU",
        choices=("auto", "float32", "tf32", "bfloat16"),
    )
    max_memory: str | None = option(
        None, "what training may take, such as 1GiB", metavar="SIZE"
    )
    max_input: str | None = option(
        None, "memory that reading a file may take, such as 4GiB (default: 64 times "
        "its size, 640MiB if that is more)", metavar="SIZE",
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class PointsOptions(TrainOptions):
    """Fit values at points: a field from the user's coordinates to the values."""


@dataclasses.dataclass(frozen=True)
class ImageOptions(TrainOptions):
    """Fit a picture (PNG, JPEG, TIFF, DICOM, NPY): a field from (x, y) to colour."""

    holdout: str = option(
        "none",
        "pixels kept for testing: none, quarter (the paper's split), or a share",
        metavar="WHICH",
    )


@dataclasses.dataclass(frozen=True)
class SignalOptions(TrainOptions):
    """Fit a 1D signal (NPY, CSV, WAV): a field from position to value.

    The whole signal is one unit long, so a scale is in cycles per signal; for a WAV
    file the sample rate gives the seconds.
    """


@dataclasses.dataclass(frozen=True)
class ShapeOptions(TrainOptions):
    """Fit a solid (PLY, OBJ, STL, NPZ): a field from (x, y, z) to inside or outside, or
    to the signed distance.

    The mesh is moved into the unit cube, so a scale is in cycles per side of it; a
    rendered mesh comes back where it stood. Labels of points are made once for a mesh
    and kept in the cache, those near the surface too.
    """

    file: str | None = argument("the mesh to fit", metavar="MESH", default=None)
    mapping: str | None = option(
        None,
        "one word: none:scale=2,shift=-1, basic:norm=1, positional:6,norm=1, ... "
        "(default: gaussian:auto,norm=1)",
        metavar="WORD",
    )
    steps: int | None = option(
        None,
        "training steps (default: the paper's 10000, on a CPU fewer)",
        least=1,
        most=STEPS_MOST,
    )
    batch: int | None = option(
        None, "points a step (default: the paper's 32768, on a CPU fewer)", least=1
    )
    layers: int = option(
        0, "dense layers, the output layer counted; 0 is 8, on a CPU 5", least=0,
        most=1000,
    )  # fmt: skip
    width: int = option(
        0, "channels of a hidden layer; 0 is 256, on a CPU 128", least=0
    )
    target: str = option(
        "occupancy",
        "what is learned: occupancy (the paper's) or sdf, the signed distance in the "
        "mesh's units, negative inside",
        choices=("occupancy", "sdf"),
    )
    near_surface: float | None = option(
        None,
        "share of the points that lie near the surface, half of them within 0.003 of "
        "it and half within 0.1; the others are uniform (default: 0.4; 0 by the "
        "paper's recipe, with --labels, and for sdf)",
        least=0,
        most=0.9,
    )
    labels: str | None = option(
        None, "labels of this mesh made elsewhere", metavar="FILE", path=True
    )
    allow_open: bool = option(False, "take a mesh with holes, however large")


@dataclasses.dataclass(frozen=True)
class InstrumentOptions(TrainOptions):
    """What may be asked of a fit to measurements of an instrument."""

    prior: str | None = option(
        None,
        "what is added to the loss: none, tv (total variation, its weight chosen on "
        "held-out measurements), or tv:WEIGHT (default: of CT and MRI tv, but for the "
        "paper's recipe; else none)",
        metavar="WORD",
    )
    descent: str | None = option(
        None,
        "how a step meets the instrument: direct (by all of its grid) or split (by "
        "points of a picture that is fitted to the measurements in between; default: "
        "split where a step of CT or MRI has fewer points than the grid, but for the "
        "paper's recipe)",
        choices=("direct", "split"),
    )
    holdout: float = option(
        0.05, "share of the measurements kept for testing", least=0, most=0.9
    )
    patience: int | None = option(
        None, "stop once the held-out error has not fallen for so many entries", least=1
    )


@dataclasses.dataclass(frozen=True)
class MeasuredOptions(InstrumentOptions):
    """Fit a field to what a linear operator of one's own measured of it."""

    mapping: str | None = option(
        None, "one word: none, basic, gaussian:5, ... (default: gaussian:auto)",
        metavar="WORD",
    )  # fmt: skip
    steps: int | None = option(
        None, "training steps (default: 1000)", least=1, most=STEPS_MOST
    )
    batch: int | None = option(
        None,
        "points a step; fewer than the operator's grid has are a coarser one "
        "(default: all, on a CPU as many as there is time for)",
        least=1,
    )


@dataclasses.dataclass(frozen=True)
class NerfOptions(TrainOptions):
    """Fit a scene to photographs of it: a field from (x, y, z) to colour and density.

    SCENE is a folder with transforms_train.json or transforms.json (Blender, nerfstudio
    and instant-ngp write them), COLMAP's sparse/0 (bin or txt) or LLFF's
    poses_bounds.npy, with pictures in images or images_4; or such a file. Frequencies
    are in cycles per side of the scene's box, or of a picture's longer side (ndc).
    """

    file: str | None = argument(
        "folder with cameras and pictures, or a camera file",
        metavar="SCENE",
        default=None,
    )
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:6, ... (default: gaussian:auto)",
        metavar="WORD",
    )
    steps: int | None = option(
        None,
        "training steps (default: 20000, by the paper's recipe 50000, on a CPU fewer)",
        least=1,
        most=STEPS_MOST,
    )
    batch: int | None = option(
        None, "rays a step (default: the paper's 1024, fewer on a CPU)", least=1
    )
    samples: int | None = option(
        None,
        "points along a ray (default: the paper's 128, on a CPU 96, by the paper's "
        "recipe 48)",
        least=2,
    )
    width: int = option(0, "channels of a hidden layer; 0 is 256, on a CPU 96", least=0)
    longest: int | None = option(
        None,
        "reduce pictures until no side is longer (default: 800, on a CPU 100)",
        least=8,
        metavar="PIXELS",
    )
    background: str = option(
        "black",
        "behind transparent pixels; none takes colours as they are stored",
        choices=("black", "white", "none"),
    )
    near: float | None = option(
        None, "depth where the scene begins (default: read or estimated)", above=0
    )
    far: float | None = option(
        None, "depth where it ends (default: read or estimated)", above=0
    )
    box: str | None = option(
        None,
        "centre and side of the scene's cube (default: read or estimated)",
        metavar="X,Y,Z,SIDE",
    )
    rays: str = option(
        "auto",
        "what the field is laid into: box (the world), ndc (one camera's view, far "
        "things small), auto: ndc where COLMAP's or LLFF's cameras all look one way",
        choices=("auto", "box", "ndc"),
    )
    skip_empty: bool | None = option(
        None,
        "leave empty space out of the steps after the first 1000: up to four times the "
        "rays for as many points; not of forward-facing scenes, nor of members "
        "(default: but for the paper's recipe)",
    )
    allow_outside: bool = option(
        False, "read pictures that the camera file names outside its folder"
    )
