"""A file of samples: NPY, CSV, WAV."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from ..data.images import to_user
from ..data.signals import Signal, read_signal, write_signal
from ..domain import grid_coords
from ..errors import InputError
from ..field import Field
from ..members import mean_and_spread
from ..plot.signal import signal_figure
from ..plot.spectrum import spectrum_figure
from ..tasks.regression import RegressionTask, regression_task
from ..tuning.grid import grid_problem
from ..tuning.problem import Problem
from .defaults import cut_to_size, points_in_time, resolve, start_at
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
from .model_facts import check_room, range_of, refuse, shape_of, suffix_of
from .options import SignalOptions, TrainOptions
from .pace import points_in
from .shown import Shown
from .views import signal_view

STEPS = 2000
LEAST_SAMPLES = 256  # that are always evaluated


@dataclasses.dataclass(frozen=True, eq=False)
class SignalKind(Kind):
    """Samples; sample k of n sits at k/n."""

    name = "signal"
    view = staticmethod(signal_view)
    cpu_trials, gpu_trials = TrialSize(1280, 1024), TrialSize(1536, 2**12)

    options: SignalOptions
    signal: Signal

    @property
    def render_example(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A sound, where the samples have a rate."""
        return f"--out rendered{'.npy' if self.signal.rate is None else '.wav'}"

    @classmethod
    def read(cls, options: SignalOptions, listener: Listener = SILENT) -> "SignalKind":
        del listener
        signal = read_signal(cls.source(options))
        return cls(options, signal.name, signal)

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        n = len(self.signal.values)
        # Of the default steps, so that fewer take less time with the same batch.
        batch = points_in_time(n, n, STEPS)
        return resolve(asked, mapping, steps=STEPS, batch=batch, lr=1e-3, muon_lr=2e-3)

    def network(self, training: Training | None = None) -> Network:
        values, low, high = self.signal.values, self.signal.low, self.signal.high
        start = start_at((values.mean() - low) / (high - low))
        return Network(1, values.shape[1], "sigmoid", start)

    def task(self, training: Training) -> RegressionTask:
        n = len(self.signal.values)
        return regression_task(
            grid_coords(np.arange(n), (n,)),
            self.signal.values,
            batch=training.batch,
            low=self.signal.low,
            high=self.signal.high,
        )

    def nyquist(self) -> float:
        return len(self.signal.values) / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        low, high = self.signal.low, self.signal.high
        values = (self.signal.values - low) / (high - low)
        most, batch = cut_to_size(len(values), size)
        return grid_problem(
            values, most=most, batch=batch, seed=asked.seed,
            start=self.network().start, name="samples",
        )  # fmt: skip

    def evaluate(
        self,
        task: RegressionTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        signal, word = self.signal, str(training.mapping)
        n, channels = signal.values.shape
        first, count, more = 0, n, {}
        if seconds is not None and (most := points_in(seconds / 2, field)) < n:
            count = max(most, min(n, LEAST_SAMPLES))
            first = (n - count) // 2
            more["evaluated"] = f"samples {first} to {first + count - 1} of {n}"
            task = stretch(task, first, count)
        prediction, apart = mean_and_spread(field, task.predict)
        seen, truth = signal.to_user(prediction), signal.values[first : first + count]

        def shown() -> Any:
            x, label = np.arange(first, first + count), "Sample"
            if signal.rate:
                x, label = x / signal.rate, "Seconds"
            return signal_figure(truth, seen, x, mapping=word, xlabel=label)

        return Evaluation(
            metrics=task.metrics(field, prediction),
            about={
                "shape": [n, channels],
                "low": signal.low,
                "high": signal.high,
                "rate": signal.rate,
            },
            preview=shown,
            figures=lambda: {
                "signal": shown(),
                "spectrum": spectrum_figure(
                    truth,
                    seen,
                    n / 2,
                    training.sigma,
                    mapping=word,
                    spatial=1,
                    length=(n / signal.rate, "Hz") if signal.rate else (1.0, ""),
                    share=count / n,
                ),
            },
            more=more,
            spread=spread_of(
                apart, signal.high - signal.low, seen, truth, channels=True
            ),
            shown=lambda: Shown(seen[:, 0], truth[:, 0]),
        )

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        refuse(options, ("size", "crop", "bits"), "is for pictures, this is a signal")
        n, channels = shape_of(field, about, 1)
        low, high = range_of(about)
        count = n if options.resolution is None else options.resolution
        rate = about.get("rate")
        if rate is not None:
            if not isinstance(rate, int | float) or not 0 < rate < math.inf:
                raise InputError(f"the model's `rate` (={rate}) makes no sense")
            rate = rate * count / n
        check_room(count * channels)

        def samples() -> np.ndarray:
            values = field.predict(grid_coords(np.arange(count), (count,)))
            return to_user(values, low, high)

        def write(out: Path) -> dict[str, Any]:
            suffix = suffix_of(out, (".npy", ".csv", ".wav"))
            if rate is None and suffix == ".wav":
                raise InputError(
                    f"`{out}`: a WAV file needs a sample rate, and the fitted file had "
                    "none; write .npy or .csv"
                )
            values = samples()
            write_signal(out, values, rate)
            return {"shape": list(values.shape)}

        return Rendered(samples, write)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        n, _ = shape_of(field, about, 1)
        return Units(
            np.zeros(1), np.full(1, 1 / n), np.zeros(1), "number of the sample"
        )


def stretch(task: RegressionTask, first: int, count: int) -> RegressionTask:
    """The task of some samples in a row."""
    part = slice(first, first + count)
    return eqx.tree_at(
        lambda t: (t.coords, t.values), task, (task.coords[part], task.values[part])
    )
