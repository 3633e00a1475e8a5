"""What may be asked of a fit to line integrals."""

import dataclasses

from ..errors import InputError
from ..options import argument, option
from .options import STEPS_MOST, InstrumentOptions


@dataclasses.dataclass(frozen=True)
class CTOptions(InstrumentOptions):
    """Fit a field of densities to a CT scan: line integrals or raw counts (HDF5 of Data
    Exchange, MATLAB, NPZ, TIFF, NPY), parallel or fan beam. Or simulate one from a
    picture. docs/ct.md draws the geometry."""

    file: str | None = argument(
        "the scan: (views, bins), or (views, rows, bins)", metavar="SCAN", default=None
    )
    angles: str | None = option(
        None,
        "of the views, in degrees: START:STOP:COUNT, stop excluded, numbers with "
        "commas, or a file (default: the scan's own)",
        metavar="ANGLES",
        path=True,
    )
    geometry: str | None = option(
        None, "where the rays go, as JSON; single options go before it",
        metavar="FILE", path=True,
    )  # fmt: skip
    beam: str | None = option(
        None, "parallel (default) or fan, which source distances tell",
        choices=("parallel", "fan"),
    )  # fmt: skip
    detector: str | None = option(
        None, "of a fan beam: flat (default), or arc about the source",
        choices=("flat", "arc"),
    )  # fmt: skip
    source_origin: float | None = option(
        None, "from the source to the axis of rotation", above=0
    )
    source_detector: float | None = option(
        None, "from the source to the detector", above=0
    )
    pitch: float | None = option(
        None, "distance of two bins on the detector (default: `pixel`)", above=0
    )
    pixel: float | None = option(
        None, "size of the picture's pixels; densities are per unit of this length "
        "(default: a bin as seen at the axis)", above=0,
    )  # fmt: skip
    size: int | None = option(
        None, "rows and columns of the picture (default: what the detector sees)",
        least=2, most=2**15,
    )  # fmt: skip
    unit: str | None = option(
        None, "of these lengths: m, cm, mm, um (default: mm for a fan beam)",
        choices=("m", "cm", "mm", "um", "pixel"),
    )  # fmt: skip
    axis: float | None = option(
        None, "column, from 0, that the axis of rotation is seen at (default: found)"
    )
    offset: float | None = option(None, "the same, as bins from column bins // 2")
    array: str | None = option(
        None, "name of the projections, if the file has them by another than usual",
        metavar="NAME",
    )  # fmt: skip
    rows: str | int | slice | None = option(  # noqa: RUF009
        None, "the row of the detector, from 0 (default: the middle one); several as "
        "one volume: 2:10, 2:10:2, all", metavar="ROWS", least=0,
    )  # fmt: skip
    each_row: bool = option(
        False, "fit several rows one by one, each a picture, as a set of fields"
    )
    row_pitch: float | None = option(
        None, "distance of two rows on the detector (default: `pitch`)", above=0
    )
    flats: str | None = option(
        None, "pictures without the object, which make SCAN raw counts: TIFF, NPY, a "
        "folder", metavar="FILE", path=True,
    )  # fmt: skip
    darks: str | None = option(None, "pictures without rays", metavar="FILE", path=True)
    blank: float | None = option(
        None, "what a free ray counts, instead of flats; 1 for transmissions", above=0
    )
    weights: str = option(
        "none", "of rays: all alike, or by their counts, which tell the noise",
        choices=("none", "counts"),
    )  # fmt: skip
    rings: int | None = option(
        None, "reduce rings narrower than half of so many bins, such as 15", least=3
    )
    simulate: str | None = option(
        None, "take the sinogram of this picture instead", metavar="IMAGE", path=True
    )
    views: int = option(
        20, "angles from 0 to 180 degrees (fan: 360) of a simulated one", least=2,
        most=100_000,
    )  # fmt: skip
    noise: float = option(
        0.0, "added to a simulated one, as a share of its largest value", least=0
    )
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
        "points a step: fewer than the picture has are drawn from all of it, or, where "
        "steps are direct, are a coarser grid (default: all, on a CPU as many "
        "as there is time for)",
        least=64,
    )
    holdout: float = option(
        0.05, "share of the rays kept for testing; of the views, if 40 or more",
        least=0, most=0.9,
    )  # fmt: skip

    def __post_init__(self) -> None:
        """Rows are a number, or a word that a run folder can keep."""
        rows = self.rows
        if isinstance(rows, slice):
            parts = (rows.start, rows.stop, 1 if rows.step is None else rows.step)
            rows = ":".join("" if p is None else str(p) for p in parts)
        elif isinstance(rows, str) and rows.isdecimal():
            rows = int(rows)
        object.__setattr__(self, "rows", rows)
        if self.each_row and self.simulate is not None:
            raise InputError(
                "`each_row` takes a scan apart and `simulate` makes one; `rows` are "
                "those of a simulated volume"
            )
