"""A CT scan: line integrals or raw counts of a file, or simulated from a picture."""

import dataclasses
import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import jax.numpy as jnp
import numpy as np

from ..data.ct_geometry import Geometry, from_about
from ..data.scans import Scan, tiff_files
from ..data.sinograms import Sinogram
from ..domain import check_count
from ..errors import InputError
from ..field import Field
from ..members import mean_and_spread
from ..reconstruct.baselines import baselines, recipes
from ..tasks.ct import (
    CTTask,
    against_truth,
    ct_task,
)
from ..tasks.ct_rows import RowsTask, rows_task, volume_extent
from ..tasks.splitting import norm_of
from ..tuning.instruments import ct_problem
from ..tuning.problem import Problem
from .ct_densities import bound_of, known_truth
from .ct_figures import ct_figures
from .ct_measurements import measured_again
from .ct_options import CTOptions
from .ct_scan import each_row, measure
from .ct_volume import (
    MOST_POINTS,
    ct_view,
    middle,
    render_slices_of,
    scored_rows,
    slab_of,
    units_of,
)
from .defaults import (
    CPU_POINTS,
    network_share,
    on_cpu,
    out_of_patience,
    paper_lr,
    resolve,
    score_line,
    start_at,
)
from .descent import Split, at_an_end, descent_of, split_remark, with_descent
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

STEPS = 1000
# Samples of rays in one projection, for baselines that take 2 CPU cores half a minute.
CPU_SAMPLES = 8_000_000
SPLIT = Split(pull=2e-3, pictures=40, iterations=50, ratio=2.0, most=25)


@dataclasses.dataclass(frozen=True, eq=False)
class CTKind(Kind):
    """Line integrals of parallel rays or of fans, and the density if it is known."""

    name = "ct"
    view = staticmethod(ct_view)
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
    def read(
        cls,
        options: CTOptions,
        listener: Listener = SILENT,
        *,
        scan: Scan | None = None,
    ) -> "CTKind":
        if options.each_row:
            raise InputError(
                "`each_row` makes a set of fields: `passband fit`, or `pb.fit_many`"
            )
        path = cls.source(options)
        found = measure(options, path, listener, scan)
        data, truth, truth_range, said = found.data, found.truth, found.truth_range, ()
        geometry = data.geometry
        assert geometry is not None
        if options.truth is not None:
            truth, truth_range, said = known_truth(options.truth, data)
        notes = found.notes
        if data.rows is not None:
            notes += (f"{data.rows} rows are fitted as one volume",)
        check_count(data.values.size, f"`{path}`")
        check_count((data.rows or 1) * geometry.size**2, f"the picture behind `{path}`")
        high = options.high or bound_of(data, geometry)
        return cls(
            options, data.name, data, geometry, truth, truth_range, high,
            warnings=(*data.warnings, *said), notes=notes,
        )  # fmt: skip

    @classmethod
    def parts(
        cls, options: CTOptions, listener: Listener
    ) -> dict[str, Callable[[Any], Kind]]:
        """The rows of a scan, each a picture of its own."""
        return each_row(cls.read, options, listener) if options.each_row else {}

    @property
    def side(self) -> int:
        """Rows and columns of the picture."""
        return self.geometry.size

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        # Many steps on a coarse grid serve better than few on a fine one.
        rows, evaluate = self.data.rows or 1, len(self._scored or [0]) * self.side**2
        points, lr = rows * self.side**2, paper_lr(mapping)
        batch = points if rows == 1 else min(points, MOST_POINTS)
        if on_cpu():
            # Of the default steps, so that fewer take less time on the same grid.
            batch = min(points, max(4096, int((CPU_POINTS - 0.4 * evaluate) / STEPS)))
            # Fewer steps are larger: a head from 20 views ends 1.4 dB higher.
            lr = 3e-3
        found = resolve(asked, mapping, steps=STEPS, batch=batch, lr=lr)
        # Split steps learn from no finer grid than the instrument has time for.
        finest = self._affordable() ** 2
        how = descent_of(asked, found.batch, finest, can=self.data.rows is None)
        return dataclasses.replace(found, descent=how)

    def network(self, training: Training | None = None) -> Network:
        # A view's rays add up to all of the density, so that their mean is its mean.
        wide = self.data.bins * self._bin / self.geometry.side
        mean = self.data.values.mean() * wide / (self.high * self.geometry.side)
        return Network(self.data.values.ndim, 1, "sigmoid", start_at(mean))

    @property
    def _bin(self) -> float:
        """A bin as it is seen at the axis."""
        far, near = self.geometry.source_detector, self.geometry.source_origin
        return self.geometry.pitch * (near / far if near and far else 1.0)

    def task(self, training: Training) -> CTTask:
        if training.descent == "split":
            grid = min(self.side, max(self._affordable(), math.isqrt(training.batch)))
            task = with_prior(self._task(grid), training)
            return with_descent(task, training, SPLIT, lambda: self._norm(grid))
        grid, at_once = min(self.side, math.isqrt(training.batch)), None
        if self.data.rows is not None:
            grid, at_once = slab_of(training.batch, self.data.rows, self.side)
        return with_prior(self._task(grid, at_once), training)

    @functools.lru_cache(maxsize=4)  # noqa: B019  a projector is built once for a fit
    def _task(self, grid: int, at_once: int | None = None) -> CTTask:
        data, options, high = self.data, self.options, self.high
        given: dict[str, Any] = {"holdout": options.holdout, "seed": options.seed}
        if data.rows is None:
            return ct_task(data, high=high, grid=grid, **given)
        return rows_task(data, high=high, grid=grid, at_once=at_once, **given)

    @functools.lru_cache(maxsize=4)  # noqa: B019
    def _norm(self, grid: int) -> float:
        return norm_of(self._task(grid).quadratic())

    @property
    def _scored(self) -> list[int] | None:
        """Of several rows those that are evaluated; None of a picture."""
        return None if self.data.rows is None else scored_rows(self.data.rows)

    def _scored_task(self, grid: int) -> CTTask:
        """The task of what is evaluated."""
        task, rows = self._task(grid), self._scored
        return task if rows is None else cast(RowsTask, task).of_rows(rows)

    def remarks(self, task: CTTask) -> tuple[str, ...]:
        grid, side, rows = task.forward.input_shape[-1], self.side, self.data.rows
        if task.splitting is not None:
            return (split_remark(task, (grid, grid), (side, side)),)
        if task.step_points >= (rows or 1) * side**2:
            return ()
        of_rows = "" if rows is None else (
            f"a step sees {task.step_points // grid**2} of {rows} rows and "
        )  # fmt: skip
        return (
            f"{of_rows}trains on a grid of {grid} x {grid} for {side} x {side} pixels; "
            f"`batch={(rows or 1) * side * side}` takes them all",
        )

    def nyquist(self) -> float:
        data, side = self.data, self.side
        if data.rows is None:
            return side / 2
        pixel, spacing = self.geometry.pixel, data.row_spacing
        extent = volume_extent(side, pixel, data.rows, spacing)
        return max(side / extent[0], data.rows / extent[2]) / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        task = self._task(min(self.side, math.isqrt(size.points)))
        if isinstance(task, RowsTask):  # two that lie side by side
            first = max(0, task.slices.rows // 2 - 1)
            task = task.of_rows([first, first + 1])
        start, share = self.network().start, network_share()
        return ct_problem(task, start=start, share=share, seed=asked.seed)

    def health(
        self, task: CTTask, field: Field, entry: Any, history: History
    ) -> Health:
        collapse = at_an_end(task, field, entry, history)
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
        side, word, scored = self.side, str(training.mapping), self._scored
        whole = self._scored_task(side)
        ours, apart = mean_and_spread(field, whole.predict)
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
        truth = None if self.truth is None else middle(self._truth())

        def figures() -> dict[str, Any]:
            pictures = {word: ours, **others}
            both = {word: metrics, **scores}
            return ct_figures(
                self.data,
                whole,
                {name: self.high * x for name, x in pictures.items()},
                self.high * self.geometry.side * np.asarray(seen),
                {name: score_line(found) for name, found in both.items()},
                field=field,
                high=self.high,
                truth=self.truth,
                scored=scored,
                spectrum={"sigma": training.sigma, "nyquist": self.nyquist(),
                          "mapping": word},
            )  # fmt: skip

        more: dict[str, Any] = {"left_out": late} if late else {}
        if task.grid_points < (self.data.rows or 1) * side * side:
            more["grid"] = list(task.forward.input_shape)
        about = {
            "shape": [*self.data.values.shape[1:-1], side, side, 1],
            "low": 0.0,
            "high": self.high,
            "pixel": self.geometry.pixel,
            "geometry": self.geometry.about(),
            "bins": self.data.bins,
            "angles": self.data.angles.tolist(),
        }
        if scored is not None:
            pixel, unit = self.geometry.pixel, self.geometry.unit
            about |= {"spacing": [self.data.row_spacing, pixel, pixel], "unit": unit}
            if len(scored) < (self.data.rows or 1):
                more["evaluated"] = f"{len(scored)} of {self.data.rows} rows"
        flat = None if apart is None else middle(apart)
        return Evaluation(
            metrics=metrics,
            about=about,
            preview=lambda: middle(ours)[..., None],
            figures=figures,
            baselines=scores,
            more=more,
            spread=spread_of(flat, self.high, self.high * middle(ours), truth),
            shown=lambda: dataclasses.replace(
                self._shown(ours),
                others={k: self.high * middle(x) for k, x in others.items()},
            ),
        )

    def _affordable(self) -> int:
        """Rows and columns of a grid on which an instrument is used often."""
        rays = self.data.angles.size * self.data.bins
        few = min(self.side, max(64, CPU_SAMPLES // rays))
        return few if on_cpu() else self.side

    def _coarse(self) -> CTTask:
        """The task of the baselines."""
        return self._scored_task(self._affordable())

    def classical(self, room: int) -> dict[str, Make]:
        del room
        whole = self._scored_task(self.side)

        def judge(x: np.ndarray) -> Reconstruction:
            errors = whole.errors(whole.forward(jnp.asarray(x)))
            return Reconstruction(self._scores(x) | errors, self._shown(x))

        return judged_by(judge, recipes(self._coarse(), steps=free_steps()))

    def _shown(self, values: np.ndarray) -> Shown:
        truth = None if self.truth is None else middle(self._truth())
        return Shown(self.high * middle(values), truth)

    def _truth(self) -> np.ndarray:
        """Of what is evaluated."""
        assert self.truth is not None
        return self.truth if self._scored is None else self.truth[self._scored]

    def _scores(self, values: np.ndarray) -> dict[str, float]:
        if self.truth is None:
            return {}
        return against_truth(self.high * values, self._truth(), self.truth_range)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        unit = from_about(about["geometry"]).unit if "geometry" in about else "pixel"
        if "spacing" in about:
            return units_of(field, about, f"attenuation per {unit}")
        side, _, _ = shape_of(field, about, 2)
        return Units(
            np.zeros(2), np.full(2, 1 / side), np.zeros(2),
            "column and row of the picture of densities", f"attenuation per {unit}",
        )  # fmt: skip

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        if "spacing" in about:
            return render_slices_of(field, about, options, listener)
        return render_picture(field, about, options, listener)

    @classmethod
    def measure(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return measured_again(field, about, options)


def free_steps() -> int:
    """Of gradient descent on a free grid."""
    return 300 if on_cpu() else 1000
