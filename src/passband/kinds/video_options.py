"""What may be asked of a fit to a video."""

import dataclasses

from ..options import argument, option
from .options import TrainOptions


@dataclasses.dataclass(frozen=True)
class VideoOptions(TrainOptions):
    """Fit a video: a field from (x, y, t) to colour, so that frames between frames can
    be rendered.

    FILE is a GIF, an NPZ or NPY of (frames, rows, columns, channels), a folder of
    numbered pictures, or an MP4 where passband[video] is installed. A pixel and a frame
    are as long as each other; `gaussian:auto` chooses a scale for each axis.
    """

    file: str | None = argument(
        "the video, or a folder of frames", metavar="FILE", default=None
    )
    holdout: str = option(
        "none",
        "frames kept for testing: none, or odd (1, 3, 5 ..., between those trained on)",
        choices=("none", "odd"),
    )
    frames: str | None = option(
        None, "the frames to take, STOP not among them (all)", metavar="FIRST:STOP"
    )
    longest: int | None = option(
        None, "reduce frames until no side is longer", least=8, metavar="PIXELS"
    )
