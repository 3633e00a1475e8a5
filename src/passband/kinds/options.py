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
    """Fit a picture (PNG, JPEG, TIFF, NPY): a field from (x, y) to colour."""

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
    """Fit a solid (PLY, OBJ, STL, NPZ): a field from (x, y, z) to inside or outside.

    The mesh is moved into the unit cube, so a scale is in cycles per side of it; a
    rendered mesh comes back where it stood. Labels of points are made once for a mesh
    and kept in the cache.
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
        "training steps (default: the paper's 10000, on a CPU 2000)",
        least=1,
        most=STEPS_MOST,
    )
    batch: int | None = option(
        None, "points a step (default: the paper's 32768, on a CPU 2048)", least=1
    )
    layers: int = option(
        8, "dense layers, the output layer counted", least=1, most=1000
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
        "held-out measurements), or tv:WEIGHT (default: none)",
        metavar="WORD",
    )
    holdout: float = option(
        0.05, "share of the measurements kept for testing", least=0, most=0.9
    )
    patience: int | None = option(
        None, "stop once the held-out error has not fallen for so many entries", least=1
    )


@dataclasses.dataclass(frozen=True)
class CTOptions(InstrumentOptions):
    """Fit a field of densities to a sinogram (NPY, TIFF): line integrals of parallel
    rays, (views, bins), at angles as scikit-image's radon has them. Or simulate one
    from a picture."""

    file: str | None = argument(
        "the sinogram: one row a view, one column a bin", metavar="SINOGRAM",
        default=None,
    )  # fmt: skip
    angles: str | None = option(
        None,
        "of the views, in degrees: START:STOP:COUNT, stop excluded, or a file",
        metavar="ANGLES",
        path=True,
    )
    simulate: str | None = option(
        None, "take the sinogram of this picture instead", metavar="IMAGE", path=True
    )
    views: int = option(
        20, "angles from 0 to 180 degrees of a simulated one", least=2, most=100_000
    )
    noise: float = option(
        0.0, "added to a simulated one, as a share of its largest value", least=0
    )
    pixel: float = option(
        1.0, "distance of two bins; densities are per unit of this length", above=0
    )
    offset: float = option(0.0, "bins by which the axis of rotation is off the middle")
    high: float | None = option(
        None, "the largest density (default: from a back-projection)", above=0
    )
    truth: str | None = option(
        None,
        "a picture of the true densities, to compare with",
        metavar="IMAGE",
        path=True,
    )
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:3, ... (default: gaussian:auto)",
        metavar="WORD",
    )
    steps: int | None = option(
        None, "training steps (default: 1000)", least=1, most=STEPS_MOST
    )
    batch: int | None = option(
        None,
        "points of the square grid that a step evaluates (default: bins x bins, on a "
        "CPU as many as there is time for)",
        least=64,
    )
    holdout: float = option(
        0.05, "share of the rays kept for testing; of the views, if 40 or more",
        least=0, most=0.9,
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class MriOptions(InstrumentOptions):
    """Fit an image or volume to measured k-space (NPY), or to k-space simulated from a
    volume (NIfTI, NPY): a field from position to intensity."""

    file: str | None = argument(
        "complex k-space: (x, y[, z]), or (coils, x, y[, z]) with --sens",
        metavar="KSPACE",
        default=None,
    )
    simulate: str | None = option(
        None,
        "measure this volume or image instead of reading KSPACE",
        metavar="VOLUME",
        path=True,
    )
    fraction: float = option(
        0.13, "share of k-space that is simulated", above=0, most=1
    )
    noise: float = option(
        0.0, "noise of the simulation, as a share of the brightest voxel", least=0
    )
    mask: str | None = option(
        None,
        "NPY of what was measured (default: where KSPACE is not 0); to simulate also "
        "gaussian (default) or uniform",
        metavar="FILE",
        path=True,
        words=("gaussian", "uniform"),
    )
    sens: str | None = option(
        None, "NPY of coil sensitivities, shaped like KSPACE", metavar="FILE", path=True
    )
    image: str = option(
        "magnitude",
        "what is fitted: a real image that is not negative, or a complex one",
        choices=("magnitude", "complex"),
    )
    origin: str = option(
        "middle",
        "where files have frequency 0 and the image its centre",
        choices=("middle", "corner"),
    )
    norm: str = option(
        "ortho", "the factor 1/sqrt(N) of the transform", choices=("ortho", "none")
    )
    spacing: str | None = option(
        None, "size of a voxel along each axis, such as 1,1,2.5", metavar="A,B,C"
    )
    truth: str | None = option(
        None, "the image, if known: scores are against it", metavar="FILE", path=True
    )
    holdout: float = option(
        0.05, "share of the measured k-space kept for testing", least=0, most=0.9
    )
    patience: int | None = option(
        None, "stop when so many looks in a row did not lower the held-out error",
        least=1,
    )  # fmt: skip
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:4, ... (default: gaussian:auto, on a CPU "
        "with m=128)",
        metavar="WORD",
    )
    width: int = option(
        0, "channels of a hidden layer; 0 is 256, on a CPU 128", least=0
    )
    steps: int | None = option(
        None, "training steps (default: 1000, fewer on a CPU)", least=1, most=STEPS_MOST
    )
    batch: int | None = option(
        None,
        "voxels a step; fewer than there are train on the centre of k-space, on a "
        "coarser grid (default: all, on a CPU what 3 minutes allow)",
        least=1,
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
    and instant-ngp write them), or such a file. Frequencies are in cycles per side of
    the scene's box.
    """

    file: str | None = argument(
        "folder with a transforms file, or the file", metavar="SCENE", default=None
    )
    mapping: str | None = option(
        None,
        "one word: none, basic, positional:6, ... (default: gaussian:auto)",
        metavar="WORD",
    )
    steps: int | None = option(
        None,
        "training steps (default: the paper's 50000, on a CPU 1200)",
        least=1,
        most=STEPS_MOST,
    )
    batch: int | None = option(
        None, "rays a step (default: the paper's 1024, fewer on a CPU)", least=1
    )
    samples: int | None = option(
        None, "points along a ray (default: the paper's 128, on a CPU 48)", least=2
    )
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
    allow_outside: bool = option(
        False, "read pictures that the camera file names outside its folder"
    )


@dataclasses.dataclass(frozen=True)
class RenderOptions:
    """What may be asked of a render; each kind refuses what means nothing to it."""

    size: str | None = option(
        None, "rows x columns of a picture (default: its own)", metavar="ROWSxCOLS"
    )
    resolution: int | None = option(
        None, "samples along the longest side, or of a signal", least=1
    )
    crop: str | None = option(
        None, "part of a picture, in its pixels", metavar="TOP,LEFT,BOTTOM,RIGHT"
    )
    bits: int | None = option(
        None, "8, 16 or 32 of a picture (default: those of the fitted file)"
    )
    reference: str | None = option(
        None, "mesh to measure a mesh against (default: the fitted)", metavar="MESH"
    )
    azimuth: float | None = option(None, "of the view of a shape, in degrees (145)")
    elevation: float | None = option(None, "of the view of a shape, in degrees (-30)")
    radius: float | None = option(
        None, "distance of that view, in half sides of the cube (all is seen)", above=0
    )
    orbit: int | None = option(
        None, "frames of a flight around a scene, to a GIF or MP4", least=1, most=10_000
    )
    camera: str | None = option(
        None, "a transforms.json: views of a scene from its cameras", metavar="FILE"
    )
    views: str | None = option(
        None, "a scene's own views", choices=("test",), metavar="test"
    )
    depth: bool = option(False, "the depth of a scene instead of its colours")
    overwrite: bool = option(False, "replace FILE if it exists")
