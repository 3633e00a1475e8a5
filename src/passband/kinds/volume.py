"""A volume: NIfTI, NPY, a TIFF stack, DICOM; one larger than the memory too."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.images import to_user
from ..data.kspace_files import parts_of
from ..data.voxels import Voxels, read_voxels
from ..domain import check_count, extent_of, xy
from ..errors import InputError
from ..field import Field
from ..file_gate import give_back
from ..members import mean_and_spread
from ..plot.triptych import triptych
from ..plot.volume_slices import draw_planes
from ..tasks.image import split_share
from ..tasks.slices import (
    HOLDOUTS,
    SlicesTask,
    mean_of_neighbours,
    places_along,
    render_slices,
    slice_scores,
    slices_task,
    train_slices,
)
from ..tasks.streamed import StreamedTask, streamed_task
from ..train.memory import budget
from ..tuning.grid import grid_problem
from ..tuning.problem import Problem
from .defaults import cut_to_size, on_cpu, paper_lr, points_in_time, resolve, start_at
from .image_stacks import colours
from .kind import (
    SILENT,
    Evaluation,
    Kind,
    Listener,
    Network,
    Rendered,
    Training,
    TrialSize,
    Units,
    spread_of,
)
from .options import TrainOptions
from .pace import points_in
from .render_slices import (
    labelled,
    middle_planes,
    render_voxels,
    units_of,
    voxels_view,
)
from .shown import Make, Reconstruction, Shown
from .volume_options import VolumeOptions

STEPS = 2000
MOST_POINTS, CPU_MOST_POINTS = 2**25, 2_000_000
"""Voxels that are evaluated at the end."""
LEAST = 8
"""Of them along each axis, where there are as many."""
MIDDLE = 160
"""Voxels along each axis, at most, of the middle that tells the scale."""
SPARSE = 31
"""Of a volume on the disk, every so manieth voxel along each axis tells its mean."""
SHOWN = 256
"""Along each axis, at most, of the planes that the report shows."""
SLAB = 64
"""Slices of a file that are looked at together."""
NEIGHBOURS = "mean of neighbours"


@dataclasses.dataclass(frozen=True, eq=False)
class VolumeKind(Kind):
    """A volume; voxel (x, y, z) sits at its place in units of the longest side."""

    name = "volume"
    view = staticmethod(voxels_view)
    cpu_trials, gpu_trials = TrialSize(1280, 1024), TrialSize(1536, 2**12)
    render_example = "--out volume.nii.gz"

    options: VolumeOptions
    volume: Voxels

    @classmethod
    def inputs(cls, options: VolumeOptions) -> list[Path]:
        return parts_of(cls.source(options))

    @classmethod
    def read(cls, options: VolumeOptions, listener: Listener = SILENT) -> "VolumeKind":
        path = cls.source(options)
        listener.progress(f"reading {path.name}", often=False)
        found = read_voxels(path, volume=options.volume)
        kind = cls(options, found.name, found, notes=found.notes)
        check_count(math.prod(found.values.shape[:3]), f"`{path}`")
        if found.mapped and options.holdout not in HOLDOUTS:
            raise InputError(
                f"`holdout` (={options.holdout}): of a volume that stays on the disk "
                "slices can be held out, `odd`, or nothing, `none`"
            )
        _ = kind._slices, kind._points  # what is wrong with `holdout` is said here
        return kind

    @property
    def _sides(self) -> tuple[int, int, int]:
        y, x, z, _ = self.volume.values.shape
        return y, x, z

    @property
    def _extent(self) -> tuple[float, ...]:
        return extent_of(self._sides, self.volume.spacing)

    @property
    def _slices(self) -> np.ndarray:
        """Those that are trained on."""
        odd = self.options.holdout == "odd"
        return train_slices(self._sides[2], "odd" if odd else "none")

    @functools.cached_property
    def _points(self) -> np.ndarray | None:
        """Flat numbers of the voxels that are trained on, if some are held out by
        themselves."""
        if self.options.holdout in HOLDOUTS:
            return None
        size, share = math.prod(self._sides), self.options.holdout
        found = split_share(size, share, self.options.seed)
        if found is None:
            raise InputError(
                f"`holdout` (={share}) must be `none`, `odd` or a share below 1"
            )
        return found[0]

    def _known(self, cut: tuple[slice, ...]) -> np.ndarray | None:
        """Which voxels of a part are trained on; None for all."""
        if self.options.holdout == "none":
            return None
        there = np.isin(np.arange(self._sides[2]), self._slices)
        known = np.broadcast_to(there, self._sides)
        if self._points is not None:
            known = np.zeros(self._sides, bool)
            known.flat[self._points] = True
        return np.array(known[cut])

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        y, x, _ = self._sides
        train = y * x * len(self._slices) if self._points is None else len(self._points)
        thin = [
            -(-n // k) for n, k in zip(self._sides, self._strides(None), strict=True)
        ]
        batch = points_in_time(train, math.prod(thin), STEPS)
        return resolve(
            asked, mapping, steps=STEPS, batch=batch, lr=paper_lr(mapping), muon_lr=2e-3
        )

    def network(self, training: Training | None = None) -> Network:
        values = self.volume.values
        if self.volume.mapped:
            values = values[::SPARSE, ::SPARSE, ::SPARSE]
        low, high = self.volume.low, self.volume.high
        start = start_at((values.mean(dtype=np.float64) - low) / (high - low))
        give_back(values)
        return Network(3, values.shape[3], "sigmoid", start)

    def task(self, training: Training) -> SlicesTask | StreamedTask:
        volume, holdout = self.volume, self.options.holdout
        # A GPU has the voxels beside it, where they fit.
        if volume.mapped and (on_cpu() or 4 * volume.values.nbytes > budget()):
            train = None if holdout == "none" else self._slices
            return streamed_task(
                volume, training.batch, train=train, extent=self._extent
            )
        return slices_task(
            volume, holdout="odd" if holdout == "odd" else "none",
            points=self._points, batch=training.batch, extent=self._extent,
        )  # fmt: skip

    def nyquist(self) -> float:
        return max(n / (2 * e) for n, e in zip(self._sides, self._extent, strict=True))

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        cut = tuple(
            slice((n - min(n, MIDDLE)) // 2, (n + min(n, MIDDLE)) // 2)
            for n in self._sides
        )
        values, known = self._unit(self.volume.values, cut), self._known(cut)
        steps = [e / n for e, n in zip(self._extent, self._sides, strict=True)]
        even = max(steps) - min(steps) < 1e-6 * min(steps)
        count = values[..., 0].size if known is None else int(known.sum())
        most, batch = cut_to_size(count, size)
        return grid_problem(
            values, step=steps[0] if even else steps, known=known, most=most,
            batch=batch, seed=asked.seed, start=self.network().start, name="voxels",
        )  # fmt: skip

    def _unit(self, values: np.ndarray, cut: Sequence[slice]) -> np.ndarray:
        """A part of numbers (y, x, z, c) in [0, 1], in memory; of a file a few slices
        at a time, since each may touch all of its pages."""
        low, high = self.volume.low, self.volume.high
        # Floats may span more than float32 can subtract.
        wide = np.float64 if values.dtype == np.float32 else np.float32
        rows, columns, along = cut
        places = range(values.shape[2])[along]
        parts = []
        for start in range(0, len(places), SLAB):
            few = places[start : start + SLAB]
            part = values[rows, columns, few.start : few.stop : few.step]
            found = np.subtract(part, low, dtype=wide) / (high - low)
            parts.append(found.astype(np.float32))
            give_back(part)
        return np.concatenate(parts, axis=2)

    def _strides(self, most: int | None) -> tuple[int, ...]:
        """Along each axis 1, or the odd step at which a large volume is evaluated: an
        odd one meets trained and held-out slices alike."""
        room = CPU_MOST_POINTS if on_cpu() else MOST_POINTS
        room, k = room if most is None else min(room, most), 1
        while math.prod(-(-n // k) for n in self._sides) > room and k < max(
            self._sides
        ):
            k += 2

        def few(n: int) -> int:
            own = k
            while own > 1 and -(-n // own) < min(LEAST, n):
                own -= 2
            return own

        return tuple(few(n) for n in self._sides)

    def evaluate(
        self,
        task: SlicesTask | StreamedTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        part = self._part(None if seconds is None else points_in(seconds / 2, field))
        more = {} if part.note is None else {"evaluated": part.note}
        axes = places_along(part.places, self._sides, self._extent)
        seen, apart = mean_and_spread(field, lambda one: render_slices(one, axes))
        metrics = slice_scores(seen, part.truth, part.known)
        baselines, others = {}, {}
        if self.options.holdout == "odd":
            between = self._between(part)
            level = slice_scores(between, part.truth, part.known)["psnr_test"]
            baselines[NEIGHBOURS] = {"psnr_test": level}
            others[NEIGHBOURS] = colours(between[part.middle])
        mid, truth = part.middle, part.truth
        unit = self.volume.high - self.volume.low
        return Evaluation(
            metrics=metrics,
            about=self.facts(),
            preview=lambda: self._figure(field, beside=False),
            figures=lambda: {
                "triptych": triptych(truth[mid], seen[mid]),
                "Slices": self._figure(field),
            },
            baselines=baselines,
            more=more,
            spread=spread_of(
                None if apart is None else apart[mid], unit,
                unit * seen[mid], unit * truth[mid], channels=True,
            ),
            shown=lambda: Shown(colours(seen[mid]), colours(truth[mid]), others),
        )  # fmt: skip

    def _figure(self, field: Field, *, beside: bool = True) -> Any:
        """Three planes through the middle, below those of the truth."""
        k, volume = -(-max(self._sides) // SHOWN), self.volume
        places = [np.arange(0, n, k) for n in self._sides]
        at = [int(along[len(along) // 2]) for along in xy(places)]
        axes = places_along(places, self._sides, self._extent)
        truth = []
        for axis, place in enumerate(at):
            cut = [slice(None, None, k)] * 3
            cut[axis] = slice(place, place + 1)
            found = self._unit(volume.values, xy(cut))[..., 0].swapaxes(0, 1)
            truth.append(
                to_user(np.take(found, 0, axis).T[::-1], volume.low, volume.high)
            )
        ours = middle_planes(field, axes, volume.low, volume.high)
        rows = {"Field": labelled(ours, at)}
        if beside:
            pairs = zip(truth, ours, strict=True)
            turned = [(seen, axes, name) for seen, (_, axes, name) in pairs]
            rows = {"Truth": labelled(turned, at), **rows}
        black, white = (float(f([f(p) for p in truth])) for f in (np.min, np.max))
        white = white if white > black else volume.high
        return draw_planes(rows, xy(volume.spacing), (black, white))

    def facts(self) -> dict[str, Any]:
        """What a model file says of it."""
        volume = self.volume
        whole = volume.values.dtype in (np.uint8, np.uint16) and volume.high > 1
        affine = None if volume.affine is None else volume.affine.tolist()
        return {
            "shape": list(volume.values.shape), "low": volume.low, "high": volume.high,
            "bits": 8 * volume.values.dtype.itemsize if whole else 32,
            "spacing": list(volume.spacing), "affine": affine, "order": volume.order,
        }  # fmt: skip

    def _part(self, most: int | None) -> "Part":
        strides = self._strides(most)
        cut = tuple(slice(None, None, k) for k in strides)
        truth = np.moveaxis(self._unit(self.volume.values, cut), 2, 0)
        places = tuple(
            np.arange(0, n, k) for n, k in zip(self._sides, strides, strict=True)
        )
        known = self._known(cut)
        known = np.ones(places[2].size, bool) if known is None else known
        known = known if known.ndim == 1 else np.moveaxis(known, 2, 0)
        whole = max(strides) == 1
        x, y, z = xy(strides)
        note = f"one voxel in {x} along x, {y} along y, {z} along z"
        return Part(places, truth, known, strides, None if whole else note)

    def _between(self, part: "Part") -> np.ndarray:
        rows, columns, at = part.strides[0], part.strides[1], part.places[2]
        values = np.moveaxis(self.volume.values[::rows, ::columns], 2, 0)
        between = mean_of_neighbours(values, self._slices, at)
        whole = (slice(None),) * 3
        return np.moveaxis(self._unit(np.moveaxis(between, 0, 2), whole), 2, 0)

    def classical(self, room: int) -> dict[str, Make]:
        """The slices held out as the mean of those beside them."""
        del room
        if self.options.holdout != "odd":
            return {}

        def neighbours() -> Reconstruction:
            part = self._part(None)
            seen, k = self._between(part), part.middle
            shown = Shown(colours(seen[k]), colours(part.truth[k]))
            return Reconstruction(slice_scores(seen, part.truth, part.known), shown)

        return {NEIGHBOURS: neighbours}

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_voxels(field, about, options, listener)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        return units_of(field, about)


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """What is evaluated of a volume."""

    places: tuple[np.ndarray, ...]
    """Rows, columns and slices."""
    truth: np.ndarray
    """(slices, rows, columns, channels) in [0, 1]."""
    known: np.ndarray
    """Which of the slices, or of the voxels, were trained on."""
    strides: tuple[int, ...]
    note: str | None

    @property
    def middle(self) -> int:
        """A slice in the middle, one that was held out where there are such."""
        held = np.flatnonzero(~self.known.reshape(len(self.known), -1).all(axis=1))
        return int(held[len(held) // 2]) if len(held) else len(self.known) // 2
