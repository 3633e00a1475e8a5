"""k-space from a file (NPY), or simulated from a volume (NIfTI, NPY)."""

import dataclasses
import functools
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..data.kspace_files import parts_of
from ..data.masks import hold_out
from ..domain import check_count, extent_of
from ..field import Field
from ..mappings import Mapping
from ..members import mean_and_spread
from ..ops.mlp import Precision
from ..plot.reconstructions import reconstructions
from ..reconstruct.baselines import baselines, recipes
from ..tasks.mri import MriTask, against, render
from ..tasks.splitting import norm_of
from ..train.memory import budget, microbatch_voxels
from ..tuning.instruments import kspace_guess, mri_problem
from ..tuning.problem import Problem
from .defaults import (
    CPU_SHARE,
    on_cpu,
    out_of_patience,
    score_line,
    start_at,
)
from .descent import at_an_end, by_sides, split_remark, with_descent
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
from .mri_figures import kspace, middle_slice, slices, spectrum
from .mri_grid import LOOK, coarser, looks_of
from .mri_measurement import Measurement, measurement
from .mri_model import about_of, measured_again, units_of
from .mri_options import MriOptions
from .mri_sizes import (
    CPU_GRID,
    CPU_MAPPING,
    CPU_WIDTH,
    SPLIT,
    small,
    training_of,
    width_of,
)
from .options import TrainOptions
from .pace import points_in
from .prior import with_prior
from .render_volume import render_volume
from .shown import Make, Reconstruction, Shown, judged_by
from .views import volume_view

# Voxels times iterations of a baseline: 20 s on 2 CPU cores, 300 iterations of 96^3.
CPU_WORK = 260_000_000
CPU_GUESS = 5.0  # a CPU's few steps learn no more: a whole head 26.1 dB, at 8.1 24.4
HOLDOUT = 0.05  # of frequencies, for trials, where the fit itself holds none out


@dataclasses.dataclass(frozen=True, eq=False)
class MriKind(Kind):
    """An image or volume behind k-space."""

    name = "mri"
    view = staticmethod(volume_view)
    cpu_trials, gpu_trials = TrialSize(160, 20**3), TrialSize(608, 56**3)
    usual_tv = 3e-4  # what heads did best with
    trials_by_default = False  # those of a volume take a CPU two minutes
    render_example = "--out volume.nii.gz"

    options: MriOptions
    data: Measurement

    @classmethod
    def source(cls, options: MriOptions) -> Path:
        if options.simulate is not None:
            return Path(options.simulate)
        return super().source(options)

    @classmethod
    def inputs(cls, options: MriOptions) -> list[Path]:
        words = ("gaussian", "uniform", "estimate", "learn", "rss", None)
        given = (options.mask, options.sens, options.truth)
        files = [cls.source(options), *(Path(p) for p in given if p not in words)]
        return [file for one in files for file in parts_of(one)]

    @classmethod
    def read(cls, options: MriOptions, listener: Listener = SILENT) -> "MriKind":
        del listener
        data = measurement(options)
        check_count(math.prod(data.sides), f"`{cls.source(options)}`")
        return cls(options, data.name, data, warnings=data.warnings, notes=data.notes)

    def default_mapping(self) -> str:
        return CPU_MAPPING if self._small(self.options) else "gaussian:auto"

    def _small(self, asked: TrainOptions) -> bool:
        return small(asked, self.data.sides, self.network())

    def training(self, asked: TrainOptions, mapping: Mapping) -> Training:
        return training_of(asked, mapping, self.data.sides, self.network())

    def _shapes(self, training: Training) -> Field:
        """The network before it is drawn."""
        precision = Precision.resolve(training.precision, jax.default_backend())
        network = self.network(training)
        drawn = eqx.filter_eval_shape(training.draw, network, jax.random.key(0))
        return drawn.with_precision(precision)

    def network(self, training: Training | None = None) -> Network:
        data, d = self.data, len(self.data.sides)
        if data.pair:
            return Network(d, 2, "tanh")
        # By the paper's recipe heads come out better from 1/2 (23.4 dB and 22.6 in one
        # run), which is too far for an image that is nearly 0 everywhere; by the modern
        # one it is the same. Frequency 0 has the mean.
        mean = training is not None and (training.restarts > 0 or training.leak > 0)
        if mean and data.maps is None and data.train_mask.flat[0]:
            level = data.measured.flat[0].real / math.sqrt(data.train_mask.size)
            return Network(d, 1, "sigmoid", start_at(level))
        return Network(d, 1, "sigmoid")

    def task(self, training: Training) -> MriTask:
        if training.descent == "split":
            sides = self.data.sides
            if on_cpu():
                coils = 1 if self.data.maps is None else len(self.data.maps)
                sides = coarser(sides, min(CPU_GRID, 2 * CPU_GRID // coils))
            task = with_prior(self._task(self.data.cropped(sides), None), training)
            ends = (-1.0, 1.0) if self.data.pair else (0.0, 1.0)
            return with_descent(task, training, SPLIT, lambda: self._norm(sides), ends)
        sides = coarser(self.data.sides, training.batch)
        room = training.max_memory or budget()
        coils = 1 if self.data.maps is None else len(self.data.maps)
        shapes, count = self._shapes(training), math.prod(sides)
        # A prior has volumes of its own, less than one more coil would have.
        volumes = coils + (training.prior != "none")
        at_once = microbatch_voxels(shapes, count, volumes, room)
        return with_prior(self._task(self.data.cropped(sides), at_once), training)

    @functools.lru_cache(maxsize=4)  # noqa: B019
    def _norm(self, sides: tuple[int, ...]) -> float:
        return norm_of(self._task(self.data.cropped(sides), None).quadratic())

    def _task(self, data: Measurement, at_once: int | None) -> MriTask:
        return MriTask(
            data.forward(),
            jnp.asarray(data.measured),
            None if data.test_mask is None else jnp.asarray(data.test_mask),
            extent=extent_of(self.data.sides, self.data.spacing),
            at_once=at_once,
        )

    def remarks(self, task: MriTask) -> tuple[str, ...]:
        sides, full = task.forward.mask.shape, self.data.sides
        if task.splitting is not None:
            return (split_remark(task, sides, full),)
        if sides == full:
            return ()
        return (
            f"trains on the {by_sides(sides)} lowest frequencies of "
            f"{by_sides(full)}, on a grid as coarse; "
            f"`batch={math.prod(full)}` takes them all",
        )

    def nyquist(self) -> float:
        # Along the longest side, which is one unit: half its voxels.
        extent = extent_of(self.data.sides, self.data.spacing)
        return max(n / (2 * e) for n, e in zip(self.data.sides, extent, strict=True))

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        data = self.data
        if data.test_mask is None:
            train, test = hold_out(
                data.train_mask, HOLDOUT, seed=asked.seed, spare=data.spare
            )
            data = dataclasses.replace(data, train_mask=train, test_mask=test)
        sides = coarser(data.sides, size.points)
        task = self._task(data.cropped(sides), None)
        guess = kspace_guess(data.measured, data.train_mask, task.extent)
        if on_cpu() and len(sides) == 3:
            guess = min(guess, CPU_GUESS)
        network = self.network()
        # The network is a CPU's already where the options leave its width to the kind.
        wide = on_cpu() and width_of(asked, self._small(asked)) > CPU_WIDTH
        return mri_problem(
            task, out=network.out, output=network.output, nyquist=self.nyquist(),
            guess=guess, share=CPU_SHARE if wide else 1.0,
        )  # fmt: skip

    def health(
        self, task: MriTask, field: Field, entry: Any, history: History
    ) -> Health:
        collapse = at_an_end(task, field, entry, history)
        if task.test_mask is None or collapse:
            return Health(collapse=collapse)
        steps, errors = history.get("step", []), history.get("error_test", [])
        looks = looks_of(steps, errors)
        if looks and entry["step"] - looks[-1][0] < LOOK:
            return Health({k: history[k][-1] for k in ("error_test", "error_train")})
        found = task.errors(task.predict(field))
        past = [error for _, error in looks]
        stop = out_of_patience(self.options.patience, [*past, found["error_test"]])
        return Health(found, stop)

    def evaluate(
        self,
        task: MriTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        sides = self.data.sides
        if seconds is not None:  # the other half is for the baselines
            sides = coarser(sides, points_in(seconds / 2, field))
        if sides == self.data.sides:
            return self._evaluate(task, field, training, listener, seconds)
        return self._evaluate_part(sides, task, field, training, listener, seconds)

    def _evaluate(
        self,
        task: MriTask,
        field: Field,
        training: Training,
        listener: Listener,
        seconds: float | None,
    ) -> Evaluation:
        data, word = self.data, str(training.mapping)
        whole = task if task.forward.mask.shape == data.sides else self._task(data, 1)
        extent = extent_of(data.sides, data.spacing)
        seen, apart = mean_and_spread(field, lambda f: render(f, data.sides, extent))
        seen = seen.reshape(whole.forward.input_shape)
        metrics = self._scores(whole, seen)
        listener.progress("the baselines", often=False)
        late: list[str] = []
        others = {} if not self.beside else baselines(
            whole, steps=self._free_steps(), seconds=seconds, on_skip=late.append
        )  # fmt: skip
        scores = {name: self._scores(whole, image) for name, image in others.items()}
        truth = None if data.truth is None else np.abs(data.truth)
        ours = self._magnitude(seen)

        def figures() -> dict[str, Any]:
            shown = {word: ours} | {k: self._magnitude(v) for k, v in others.items()}
            notes = {k: score_line(v) for k, v in {word: metrics, **scores}.items()}
            return spectrum(data, ours, truth, training.sigma, word) | {
                "Reconstructions": reconstructions(
                    {k: middle_slice(v) for k, v in shown.items()},
                    None if truth is None else middle_slice(truth),
                    notes=notes,
                ),
                **({"Slices": slices(data, ours, truth)} if ours.ndim > 2 else {}),
                "k-space": kspace(data, whole, seen),
            }

        more: dict[str, Any] = {"left_out": late} if late else {}
        if task is not whole:
            more["grid"] = list(task.forward.mask.shape)
        return Evaluation(
            metrics=metrics,
            about=about_of(data, self.options),
            preview=lambda: slices(data, ours, None),
            figures=figures,
            baselines=scores,
            more=more,
            spread=spread_of(apart, data.high, ours, truth),
            shown=lambda: dataclasses.replace(
                self._shown(seen),
                others={k: self._shown(v).values for k, v in others.items()},
            ),
        )

    def _free_steps(self) -> int:
        """Of gradient descent on a free grid, and of total variation."""
        limit = CPU_WORK // math.prod(self.data.sides) if on_cpu() else 1000
        return int(np.clip(limit, 20, 1000))

    def classical(self, room: int) -> dict[str, Make]:
        del room
        whole = self._task(self.data, 1)
        return judged_by(
            lambda image: Reconstruction(
                self._scores(whole, image), self._shown(image)
            ),
            recipes(whole, steps=self._free_steps()),
        )

    def _shown(self, image: np.ndarray) -> Shown:
        truth = self.data.truth
        known = None if truth is None else middle_slice(np.abs(truth))
        return Shown(middle_slice(self._magnitude(image)), known)

    def _evaluate_part(
        self,
        sides: tuple[int, ...],
        task: MriTask,
        field: Field,
        training: Training,
        listener: Listener,
        seconds: float | None,
    ) -> Evaluation:
        """The evaluation of the lowest frequencies, where all would take too long; the
        truth has no grid as coarse."""
        data = self.data
        voxels = zip(data.spacing, data.sides, sides, strict=True)
        part = dataclasses.replace(
            data.cropped(sides), spacing=tuple(size * n / s for size, n, s in voxels)
        )
        small = dataclasses.replace(self, data=part)
        found = small._evaluate(task, field, training, listener, seconds)
        what = f"the {' x '.join(map(str, sides))} lowest frequencies"
        return dataclasses.replace(
            found,
            about=about_of(data, self.options),
            more=found.more | {"evaluated": what},
        )

    def _magnitude(self, image: np.ndarray) -> np.ndarray:
        """In the user's units."""
        size = np.linalg.norm(image, axis=-1) if self.data.pair else np.abs(image)
        return self.data.high * size

    def _scores(self, task: MriTask, image: np.ndarray) -> dict[str, float]:
        truth = self.data.truth
        found: dict[str, float] = {}
        if truth is not None:
            ours = self.data.high * image
            if self.data.pair:  # a truth without a phase says nothing of it
                ours = ours[..., 0] + 1j * ours[..., 1]
                ours = ours if np.iscomplexobj(truth) else np.abs(ours)
            found = against(ours, truth, data_range=float(np.abs(truth).max()))
        return found | task.errors(image)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        return units_of(field, about)

    @classmethod
    def in_units(cls, raw: np.ndarray, about: dict[str, Any]) -> np.ndarray:
        values = super().in_units(raw, about)
        return values if raw.shape[1] == 1 else values[:, :1] + 1j * values[:, 1:]

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_volume(field, about, options, listener)

    @classmethod
    def measure(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return measured_again(field, about, options, listener)
