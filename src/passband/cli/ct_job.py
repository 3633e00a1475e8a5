"""The sinogram's part of `passband fit`."""

import math
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data.images import read_image, write_image
from ..data.sinograms import Sinogram, parse_angles, read_sinogram
from ..errors import InputError
from ..export.report import write_report
from ..field import Field
from ..mappings import Mapping
from ..ops.mlp import Precision
from ..plot.reconstructions import reconstructions
from ..plot.sinogram import sinogram_figure
from ..reconstruct.backprojection import largest_density
from ..reconstruct.baselines import baselines
from ..tasks.ct import (
    CTTask,
    against_truth,
    ct_task,
    simulated,
    squared,
)
from ..train.run_folder import RunFolder
from ..train.state import State
from .console import Console
from .fit_ct import Options
from .fit_job import CPU_POINTS, FitJob, check_moves, start_at

# Samples of rays in one projection, for baselines that take 2 CPU cores half a minute.
CPU_SAMPLES = 8_000_000


class CTJob(FitJob):
    """A sinogram from a file or simulated, fitted."""

    name = "ct"
    data: Sinogram
    truth: np.ndarray | None = None
    truth_range: float = 1.0
    high: float
    console: Console
    options: Options

    def source(self, options: Options) -> Path:
        if options.simulate is None:
            if options.file is None:
                raise InputError(
                    "SINOGRAM is missing; give one, or `--simulate IMAGE`; see "
                    "`passband fit ct --help`"
                )
            return Path(options.file)
        if options.file is not None:
            raise InputError("SINOGRAM and `--simulate` exclude each other")
        return Path(options.simulate)

    def inputs(self, options: Options) -> list[Path]:
        files = [self.source(options)]
        for word in (options.angles, options.truth):
            if word is not None and Path(word).is_file():
                files.append(Path(word))
        return files

    def read(self, options: Options, console: Console) -> None:
        self.console, self.options = console, options
        path = self.source(options)
        if options.simulate is not None:
            if options.angles is None:
                angles = 180 / options.views * np.arange(options.views)
            else:
                angles = parse_angles(options.angles)
            image = read_image(path)
            self.data, self.truth = simulated(
                image, angles, noise=options.noise, seed=options.seed
            )
            self.truth_range = image.high - image.low
            scale = options.pixel
            self.data = Sinogram(scale * self.data.values, angles, self.data.name)
        else:
            if options.angles is None:
                raise InputError(
                    "`--angles` is missing; such as 0:180:20 for 20 views from 0 to "
                    "180 degrees, stop excluded, or a file with one number a view"
                )
            self.data = read_sinogram(path, options.angles)
        for warning in self.data.warnings:
            console.warn(warning)
        if options.truth is not None:
            image = read_image(options.truth)
            density = image.values[..., : min(3, image.values.shape[2])]
            density = density.astype(np.float32).mean(axis=2)
            self.truth = squared(density, self.data.values.shape[1])
            self.truth_range = image.high - image.low
        self.high = options.high or largest_density(
            self.data, pixel=options.pixel, offset=options.offset
        )

    def task(self, options: Options, batch: int | None) -> CTTask:
        bins = self.data.values.shape[1]
        grid = bins if batch is None else min(bins, math.isqrt(batch))
        if grid < bins:
            self.console.say(
                f"trains on a grid of {grid} x {grid} for {bins} bins; `--batch "
                f"{bins * bins}` takes {bins} x {bins}"
            )
        return self._task(grid)

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

    def field_options(self) -> dict[str, Any]:
        # A view's rays add up to all of the density, so that their mean is its mean.
        unit = self.high * self.options.pixel * self.data.values.shape[1]
        start = start_at(self.data.values.mean() / unit)
        return {"d": 2, "out": 1, "output": "sigmoid", "start": start}

    def points(self, options: Options) -> tuple[int, int]:
        bins = self.data.values.shape[1]
        return bins * bins, bins * bins

    def nyquist(self, options: Options) -> float:
        return self.data.values.shape[1] / 2

    def default_mapping(self) -> str:
        return "gaussian:5"

    def default_steps(self, options: Options, on_cpu: bool) -> int:
        del options, on_cpu
        return 1000  # many on a coarse grid serve better than few on a fine one

    def batch(self, options: Options, steps: int, on_cpu: bool) -> int:
        points, evaluate = self.points(options)
        if not on_cpu:
            return points
        return min(points, max(4096, int((CPU_POINTS - 0.4 * evaluate) / steps)))

    def rate(self, mapping: Mapping) -> float:
        """The paper's (protocol 1.5); the fewer steps of a CPU are larger (a head from
        20 views ends 1.4 dB higher)."""
        paper = super().rate(mapping)
        return 3e-3 if jax.default_backend() == "cpu" else paper

    def on_log(
        self, task: CTTask, state: State, entry: dict[str, float], folder: RunFolder
    ) -> bool:
        check_moves(entry, folder, lambda: task.empty_loss)
        if task.train_mask is None:
            return False
        entry |= task.metrics(state.field.with_precision(Precision.FLOAT32))
        patience = self.options.patience
        if patience is None:
            return False
        past = [*folder.history().get("error_test", []), entry["error_test"]]
        lately = past[-patience:]
        return len(past) > patience and min(lately) >= min(past[:-patience])

    def finish(
        self,
        task: CTTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        views, bins = self.data.values.shape
        whole = self._task(bins)
        ours = task.predict(field)
        seen = whole.forward(jnp.asarray(ours))
        result["metrics"] = self._scores(ours) | whole.errors(seen)
        if task.step_points < bins * bins:
            result["grid"] = list(task.forward.input_shape)
        self.console.progress("the baselines", often=False)
        on_cpu = jax.default_backend() == "cpu"
        grid = min(bins, max(64, CPU_SAMPLES // (views * bins))) if on_cpu else bins
        few = {"steps": 300} if on_cpu else {}
        others = baselines(self._task(grid), **few)
        result["baselines"] = {
            name: self._scores(x) | whole.errors(whole.forward(jnp.asarray(x)))
            for name, x in others.items()
        }
        self._leave(folder, result, history, ours, others, whole, np.asarray(seen))
        return {
            "shape": [bins, bins, 1],
            "low": 0.0,
            "high": self.high,
            "pixel": self.options.pixel,
        }

    def _scores(self, values: np.ndarray) -> dict[str, float]:
        if self.truth is None:
            return {}
        return against_truth(self.high * values, self.truth, self.truth_range)

    def _leave(
        self,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
        ours: np.ndarray,
        others: dict[str, np.ndarray],
        whole: CTTask,
        seen: np.ndarray,
    ) -> None:
        """Preview and report."""
        scores = {result["mapping"]: result["metrics"], **result["baselines"]}
        notes = {name: _note(found) for name, found in scores.items()}
        pictures = {result["mapping"]: ours, **others}
        unit = self.high * self.options.pixel * seen.shape[1]
        write_image(folder.path / "preview.png", ours[..., None])
        write_report(
            folder.path / "report.html",
            title=self.data.name,
            config=folder.config,
            result=result,
            figures={
                "Reconstructions": reconstructions(
                    {name: self.high * x for name, x in pictures.items()},
                    self.truth,
                    notes=notes,
                ),
                "Sinogram": sinogram_figure(
                    self.data.values,
                    unit * seen,
                    self.data.angles,
                    None if whole.train_mask is None else ~np.asarray(whole.train_mask),
                ),
            },
            history=history,
        )


def _note(scores: dict[str, float]) -> str:
    parts = []
    if "psnr" in scores:
        parts.append(f"{scores['psnr']:.2f} dB")
    if "error_test" in scores:
        parts.append(f"held out {scores['error_test']:.1%}")
    return ", ".join(parts)
