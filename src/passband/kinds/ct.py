"""A sinogram from a file (NPY, TIFF), or simulated from a picture."""

import dataclasses
import functools
import math
import os
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..data.images import read_image
from ..data.sinograms import Sinogram, parse_angles, read_sinogram
from ..domain import check_count
from ..errors import InputError
from ..field import Field
from ..forward.radon import radon
from ..members import mean_and_spread
from ..plot.reconstructions import reconstructions
from ..plot.sinogram import sinogram_figure
from ..reconstruct.backprojection import largest_density
from ..reconstruct.baselines import baselines, recipes
from ..tasks.ct import (
    CTTask,
    against_truth,
    ct_task,
    simulated,
    squared,
)
from ..tuning.instruments import ct_problem
from ..tuning.problem import Problem
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
from .options import CTOptions, TrainOptions
from .prior import with_prior
from .render_picture import render_picture
from .shown import Make, Reconstruction, Shown, judged_by
from .truth import Truth, in_units_of

STEPS = 1000
CHECKED_VIEWS = 32  # by which the units of a truth are told
# Samples of rays in one projection, for baselines that take 2 CPU cores half a minute.
CPU_SAMPLES = 8_000_000


@dataclasses.dataclass(frozen=True, eq=False)
class CTKind(Kind):
    """Line integrals of parallel rays, and the density if it is known."""

    name = "ct"
    cpu_trials, gpu_trials = TrialSize(400, 64**2), TrialSize(640, 160**2)
    usual_tv = 2e-5  # phantoms did best with 1e-5, heads with 3e-5
    trials_by_default = False  # beside training and baselines they pass three minutes

    options: CTOptions
    data: Sinogram
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
        files = [cls.source(options)]
        for word in (options.angles, options.truth):
            if word is not None and os.path.isfile(word):
                files.append(Path(word))
        return files

    @classmethod
    def read(cls, options: CTOptions, listener: Listener = SILENT) -> "CTKind":
        del listener
        path = cls.source(options)
        truth, truth_range, said = None, 1.0, ()
        if options.simulate is not None:
            if options.angles is None:
                angles = 180 / options.views * np.arange(options.views)
            else:
                angles = parse_angles(options.angles)
            image = read_image(path)
            data, truth = simulated(
                image, angles, noise=options.noise, seed=options.seed
            )
            truth_range = image.high - image.low
            data = Sinogram(options.pixel * data.values, angles, data.name)
        else:
            if options.angles is None:
                raise InputError(
                    "`angles` is missing; such as 0:180:20 for 20 views from 0 to "
                    "180 degrees, stop excluded, or a file with one number a view"
                )
            data = read_sinogram(path, options.angles)
        if options.truth is not None:
            image = read_image(options.truth)
            density = image.values[..., : min(3, image.values.shape[2])]
            density = density.astype(np.float32).mean(axis=2)
            truth = squared(density, data.values.shape[1])
            checked = _in_units(truth, data, options)
            truth, said = checked.values, checked.warnings
            truth_range = (image.high - image.low) / checked.factor
        check_count(data.values.size, f"`{path}`")
        check_count(data.values.shape[1] ** 2, f"the picture behind `{path}`")
        high = options.high or largest_density(
            data, pixel=options.pixel, offset=options.offset
        )
        return cls(
            options, data.name, data, truth, truth_range, high,
            warnings=(*data.warnings, *said),
        )  # fmt: skip

    @property
    def bins(self) -> int:
        return self.data.values.shape[1]

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        # Many steps on a coarse grid serve better than few on a fine one.
        points = self.bins**2
        batch, lr = points, paper_lr(mapping)
        if on_cpu():
            # Of the default steps, so that fewer take less time on the same grid.
            batch = min(points, max(4096, int((CPU_POINTS - 0.4 * points) / STEPS)))
            # Fewer steps are larger: a head from 20 views ends 1.4 dB higher.
            lr = 3e-3
        return resolve(asked, mapping, steps=STEPS, batch=batch, lr=lr)

    def network(self, training: Training | None = None) -> Network:
        # A view's rays add up to all of the density, so that their mean is its mean.
        unit = self.high * self.options.pixel * self.bins
        return Network(2, 1, "sigmoid", start_at(self.data.values.mean() / unit))

    def task(self, training: Training) -> CTTask:
        task = self._task(min(self.bins, math.isqrt(training.batch)))
        return with_prior(task, training)

    @functools.lru_cache(maxsize=4)  # noqa: B019  a projector is built once for a fit
    def _task(self, grid: int) -> CTTask:
        options = self.options
        return ct_task(
            self.data,
            high=self.high,
            grid=grid,
            pixel=options.pixel,
            offset=options.offset,
            holdout=options.holdout,
            seed=options.seed,
        )

    def remarks(self, task: CTTask) -> tuple[str, ...]:
        grid, bins = task.forward.input_shape[0], self.bins
        if grid >= bins:
            return ()
        return (
            f"trains on a grid of {grid} x {grid} for {bins} bins; `batch="
            f"{bins * bins}` takes {bins} x {bins}",
        )

    def nyquist(self) -> float:
        return self.bins / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        task = self._task(min(self.bins, math.isqrt(size.points)))
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
        bins, word = self.bins, str(training.mapping)
        whole = self._task(bins)
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
            unit = self.high * self.options.pixel * bins
            known = whole.train_mask
            return {
                "Reconstructions": reconstructions(
                    {name: self.high * x for name, x in pictures.items()},
                    self.truth,
                    notes={
                        k: score_line(v) for k, v in {word: metrics, **scores}.items()
                    },
                ),
                "Sinogram": sinogram_figure(
                    self.data.values,
                    unit * np.asarray(seen),
                    self.data.angles,
                    None if known is None else ~np.asarray(known),
                ),
            }

        more: dict[str, Any] = {"left_out": late} if late else {}
        if task.step_points < bins * bins:
            more["grid"] = list(task.forward.input_shape)
        return Evaluation(
            metrics=metrics,
            about={
                "shape": [bins, bins, 1],
                "low": 0.0,
                "high": self.high,
                "pixel": self.options.pixel,
            },
            preview=lambda: ours[..., None],
            figures=figures,
            baselines=scores,
            more=more,
            spread=spread_of(apart, self.high, self.high * ours, self.truth),
            shown=lambda: self._shown(ours),
        )

    def _coarse(self) -> CTTask:
        """The task of the baselines, on a grid that a CPU has time for."""
        (views, bins) = self.data.values.shape
        few = min(bins, max(64, CPU_SAMPLES // (views * bins)))
        return self._task(few if on_cpu() else bins)

    def classical(self, room: int) -> dict[str, Make]:
        del room
        whole = self._task(self.bins)

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
        return Units(
            np.zeros(2), np.full(2, 1 / side), np.zeros(2),
            "column and row of the picture of densities",
        )  # fmt: skip

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_picture(field, about, options, listener)


def free_steps() -> int:
    """Of gradient descent on a free grid."""
    return 300 if on_cpu() else 1000


def _in_units(truth: np.ndarray, data: Sinogram, options: CTOptions) -> Truth:
    """The truth in the units of the sinogram, by what a few views would see of it."""
    views, bins = data.values.shape
    some = np.linspace(0, views - 1, min(views, CHECKED_VIEWS)).astype(int)
    forward = radon(data.angles[some], bins, offset=options.offset)
    seen = options.pixel * np.asarray(forward(jnp.asarray(truth)))

    def smooth(rays: np.ndarray) -> np.ndarray:
        """Noise is not smooth, and pixels of other sizes differ in the finest parts."""
        wide = max(1, bins // 16)
        from scipy.ndimage import uniform_filter1d

        return uniform_filter1d(rays.astype(np.float64), wide, mode="constant")

    return in_units_of(
        truth, smooth(seen), smooth(data.values[some]), measures="the sinogram"
    )
