"""A CT scan: line integrals or raw counts of a file, or simulated from a picture."""

import dataclasses
import functools
import math
import os
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..data.ct_geometry import Geometry, from_about
from ..data.images import read_image
from ..data.scans import tiff_files
from ..data.sinograms import Sinogram
from ..domain import check_count
from ..errors import InputError
from ..field import Field
from ..members import mean_and_spread
from ..plot.reconstructions import reconstructions
from ..plot.sinogram import sinogram_figure
from ..plot.spectrum import spectrum_figure
from ..reconstruct.backprojection import largest_density
from ..reconstruct.baselines import baselines, recipes
from ..tasks.ct import (
    CTTask,
    against_truth,
    ct_task,
    projector,
    squared,
)
from ..tuning.instruments import ct_problem
from ..tuning.problem import Problem
from .ct_measurements import measured_again
from .ct_options import CTOptions
from .ct_scan import measure
from .defaults import (
    CPU_POINTS,
    network_share,
    on_cpu,
    out_of_patience,
    paper_lr,
    resolve,
    score_line,
    start_at,
    stuck,
)
from .kind import (
    SILENT,
    Evaluation,
    Health,
    History,
    Kind,
    Listener,
    Network,
    Rendered,
    Training,
    TrialSize,
    Units,
    spread_of,
)
from .model_facts import shape_of
from .options import TrainOptions
from .prior import with_prior
from .render_picture import render_picture
from .shown import Make, Reconstruction, Shown, judged_by
from .truth import Truth, in_units_of
from .views import picture_view

STEPS = 1000
CHECKED_VIEWS = 32  # by which the units of a truth are told
# Samples of rays in one projection, for baselines that take 2 CPU cores half a minute.
CPU_SAMPLES = 8_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class CTKind(Kind):
    """Line integrals of parallel rays or of fans, and the density if it is known."""

    name = "ct"
    view = staticmethod(picture_view)
    cpu_trials, gpu_trials = TrialSize(400, 64**2), TrialSize(640, 160**2)
    usual_tv = 2e-5  # phantoms did best with 1e-5, heads with 3e-5
    trials_by_default = False  # beside training and baselines they pass three minutes

    options: CTOptions
    data: Sinogram
    geometry: Geometry
    truth: np.ndarray | None
    truth_range: float
    high: float
    """The density at the field's 1."""

    @classmethod
    def source(cls, options: CTOptions) -> Path:
        if options.simulate is None:
            if options.file is None:
                raise InputError("`file` is missing; give a sinogram, or `simulate`")
            return Path(options.file)
        if options.file is not None:
            raise InputError("`file` and `simulate` exclude each other")
        return Path(options.simulate)

    @classmethod
    def inputs(cls, options: CTOptions) -> list[Path]:
        more = ("angles", "truth", "geometry", "flats", "darks")
        words = [getattr(options, name) for name in more]
        files = []
        for path in (cls.source(options), *(Path(w) for w in words if w is not None)):
            if os.path.isdir(path):
                files += tiff_files(path)
            elif not files or os.path.isfile(path):  # angles may be 0:180:20
                files.append(path)
        return files

    @classmethod
    def read(cls, options: CTOptions, listener: Listener = SILENT) -> "CTKind":
        path = cls.source(options)
        found = measure(options, path, listener)
        data, truth, truth_range, said = found.data, found.truth, found.truth_range, ()
        geometry = data.geometry
        assert geometry is not None
        if options.truth is not None:
            image = read_image(options.truth)
            density = image.values[..., : min(3, image.values.shape[2])]
            density = density.astype(np.float32).mean(axis=2)
            truth = squared(density, geometry.size)
            checked = _in_units(truth, data)
            truth, said = checked.values, checked.warnings
            truth_range = (image.high - image.low) / checked.factor
        check_count(data.values.size, f"`{path}`")
        check_count(geometry.size**2, f"the picture behind `{path}`")
        grid = min(geometry.size, 256)
        forward = projector(geometry, data.angles, data.values.shape[1], grid)
        high = options.high or largest_density(data, forward=forward) / geometry.side
        return cls(
            options, data.name, data, geometry, truth, truth_range, high,
            warnings=(*data.warnings, *said), notes=found.notes,
        )  # fmt: skip

    @property
    def side(self) -> int:
        """Rows and columns of the picture."""
        return self.geometry.size

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        # Many steps on a coarse grid serve better than few on a fine one.
        points = self.side**2
        batch, lr = points, paper_lr(mapping)
        if on_cpu():
            # Of the default steps, so that fewer take less time on the same grid.
            batch = min(points, max(4096, int((CPU_POINTS - 0.4 * points) / STEPS)))
            # Fewer steps are larger: a head from 20 views ends 1.4 dB higher.
            lr = 3e-3
        return resolve(asked, mapping, steps=STEPS, batch=batch, lr=lr)

    def network(self, training: Training | None = None) -> Network:
        # A view's rays add up to all of the density, so that their mean is its mean.
        wide = self.data.values.shape[1] * self._bin / self.geometry.side
        mean = self.data.values.mean() * wide / (self.high * self.geometry.side)
        return Network(2, 1, "sigmoid", start_at(mean))

    @property
    def _bin(self) -> float:
        """A bin as it is seen at the axis."""
        far, near = self.geometry.source_detector, self.geometry.source_origin
        return self.geometry.pitch * (near / far if near and far else 1.0)

    def task(self, training: Training) -> CTTask:
        task = self._task(min(self.side, math.isqrt(training.batch)))
        return with_prior(task, training)

    @functools.lru_cache(maxsize=4)  # noqa: B019  a projector is built once for a fit
    def _task(self, grid: int) -> CTTask:
        options = self.options
        return ct_task(
            self.data,
            high=self.high,
            grid=grid,
            holdout=options.holdout,
            seed=options.seed,
        )

    def remarks(self, task: CTTask) -> tuple[str, ...]:
        grid, side = task.forward.input_shape[0], self.side
        if grid >= side:
            return ()
        return (
            f"trains on a grid of {grid} x {grid} for {side} x {side} pixels; `batch="
            f"{side * side}` takes them all",
        )

    def nyquist(self) -> float:
        return self.side / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        task = self._task(min(self.side, math.isqrt(size.points)))
        start, share = self.network().start, network_share()
        return ct_problem(task, start=start, share=share, seed=asked.seed)

    def health(
        self, task: CTTask, field: Field, entry: Any, history: History
    ) -> Health:
        collapse = stuck(entry, history, lambda: task.empty_loss)
        if task.train_mask is None or collapse:
            return Health(collapse=collapse)
        found = task.metrics(field)
        errors = [*history.get("error_test", []), found["error_test"]]
        return Health(found, out_of_patience(self.options.patience, errors))

    def evaluate(
        self,
        task: CTTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        side, word = self.side, str(training.mapping)
        whole = self._task(side)
        ours, apart = mean_and_spread(field, task.predict)
        seen = whole.forward(jnp.asarray(ours))
        metrics = self._scores(ours) | whole.errors(seen)
        listener.progress("the baselines", often=False)
        late: list[str] = []
        others = {} if not self.beside else baselines(
            self._coarse(), steps=free_steps(), seconds=seconds, on_skip=late.append
        )  # fmt: skip
        scores = {
            name: self._scores(x) | whole.errors(whole.forward(jnp.asarray(x)))
            for name, x in others.items()
        }

        def figures() -> dict[str, Any]:
            pictures = {word: ours, **others}
            scale = self.high * self.geometry.side
            known = whole.train_mask
            spectrum = {}
            if self.truth is not None:
                unit = self.geometry.unit
                length = self.geometry.side, f"cycles/{unit}"
                length = (1.0, "") if unit == "pixel" else length
                spectrum["spectrum"] = spectrum_figure(
                    self.truth, self.high * ours, self.nyquist(), training.sigma,
                    mapping=word, length=length,
                )  # fmt: skip
            return spectrum | {
                "Reconstructions": reconstructions(
                    {name: self.high * x for name, x in pictures.items()},
                    self.truth,
                    notes={
                        k: score_line(v) for k, v in {word: metrics, **scores}.items()
                    },
                ),
                "Sinogram": sinogram_figure(
                    self.data.values,
                    scale * np.asarray(seen),
                    self.data.angles,
                    None if known is None else ~np.asarray(known),
                ),
            }

        more: dict[str, Any] = {"left_out": late} if late else {}
        if task.step_points < side * side:
            more["grid"] = list(task.forward.input_shape)
        return Evaluation(
            metrics=metrics,
            about={
                "shape": [side, side, 1],
                "low": 0.0,
                "high": self.high,
                "pixel": self.geometry.pixel,
                "geometry": self.geometry.about(),
                "bins": self.data.values.shape[1],
                "angles": self.data.angles.tolist(),
            },
            preview=lambda: ours[..., None],
            figures=figures,
            baselines=scores,
            more=more,
            spread=spread_of(apart, self.high, self.high * ours, self.truth),
            shown=lambda: dataclasses.replace(
                self._shown(ours), others={k: self.high * x for k, x in others.items()}
            ),
        )

    def _coarse(self) -> CTTask:
        """The task of the baselines, on a grid that a CPU has time for."""
        (views, bins) = self.data.values.shape
        few = min(self.side, max(64, CPU_SAMPLES // (views * bins)))
        return self._task(few if on_cpu() else self.side)

    def classical(self, room: int) -> dict[str, Make]:
        del room
        whole = self._task(self.side)

        def judge(x: np.ndarray) -> Reconstruction:
            errors = whole.errors(whole.forward(jnp.asarray(x)))
            return Reconstruction(self._scores(x) | errors, self._shown(x))

        return judged_by(judge, recipes(self._coarse(), steps=free_steps()))

    def _shown(self, values: np.ndarray) -> Shown:
        return Shown(self.high * values, self.truth)

    def _scores(self, values: np.ndarray) -> dict[str, float]:
        if self.truth is None:
            return {}
        return against_truth(self.high * values, self.truth, self.truth_range)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        side, _, _ = shape_of(field, about, 2)
        unit = from_about(about["geometry"]).unit if "geometry" in about else "pixel"
        return Units(
            np.zeros(2), np.full(2, 1 / side), np.zeros(2),
            "column and row of the picture of densities", f"attenuation per {unit}",
        )  # fmt: skip

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_picture(field, about, options, listener)

    @classmethod
    def measure(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return measured_again(field, about, options)


def free_steps() -> int:
    """Of gradient descent on a free grid."""
    return 300 if on_cpu() else 1000


def _in_units(truth: np.ndarray, data: Sinogram) -> Truth:
    """The truth in the units of the sinogram, by what a few views would see of it."""
    views, bins = data.values.shape
    some = np.linspace(0, views - 1, min(views, CHECKED_VIEWS)).astype(int)
    assert data.geometry is not None
    forward = projector(data.geometry, data.angles[some], bins)
    seen = data.geometry.side * np.asarray(forward(jnp.asarray(truth)))

    def smooth(rays: np.ndarray) -> np.ndarray:
        """Noise is not smooth, and pixels of other sizes differ in the finest parts."""
        wide = max(1, bins // 16)
        from scipy.ndimage import uniform_filter1d

        return uniform_filter1d(rays.astype(np.float64), wide, mode="constant")

    return in_units_of(
        truth, smooth(seen), smooth(data.values[some]), measures="the sinogram"
    )
