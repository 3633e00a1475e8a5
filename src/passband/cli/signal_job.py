"""The signal's part of `passband fit`."""

from typing import Any

import numpy as np

from ..atomic_write import write_bytes
from ..data.signals import Signal, read_signal
from ..export.report import write_report
from ..field import Field
from ..mappings import Mapping
from ..plot.signal import signal_figure
from ..plot.spectrum import spectrum_figure
from ..plot.style import png_bytes
from ..tasks.regression import RegressionTask, regression_task
from ..train.run_folder import RunFolder
from .console import Console
from .fit_job import FitJob, start_at
from .fit_signal import Options


class SignalJob(FitJob):
    """A file of samples, fitted; sample k of n sits at k/n."""

    name = "signal"
    signal: Signal

    def read(self, options: Options, console: Console) -> None:
        del console
        self.signal = read_signal(self.source(options))

    def task(self, options: Options, batch: int | None) -> RegressionTask:
        n = len(self.signal.values)
        return regression_task(
            np.arange(n)[:, None] / n,
            self.signal.values,
            batch=batch,
            low=self.signal.low,
            high=self.signal.high,
        )

    def field_options(self) -> dict[str, Any]:
        values, low, high = self.signal.values, self.signal.low, self.signal.high
        start = start_at((values.mean() - low) / (high - low))
        return {"d": 1, "out": values.shape[1], "output": "sigmoid", "start": start}

    def points(self, options: Options) -> tuple[int, int]:
        n = len(self.signal.values)
        return n, n

    def nyquist(self, options: Options) -> float:
        return len(self.signal.values) / 2

    def default_mapping(self) -> str:
        # Where the 1D study's best sparse mappings lie (paper, figure 4).
        return f"gaussian:{len(self.signal.values) / 32:.3g}"

    def rate(self, mapping: Mapping) -> float:
        del mapping
        return 1e-3

    def finish(
        self,
        task: RegressionTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        prediction = task.predict(field)
        result["metrics"] = task.metrics(field, prediction)
        signal = self.signal
        n = len(signal.values)
        seen = signal.to_user(prediction)
        seconds = np.arange(n) / signal.rate if signal.rate else None
        shown = signal_figure(
            signal.values,
            seen,
            seconds,
            mapping=result["mapping"],
            xlabel="Seconds" if signal.rate else "Sample",
        )
        write_bytes(folder.path / "preview.png", png_bytes(shown))
        write_report(
            folder.path / "report.html",
            title=signal.name,
            config=folder.config,
            result=result,
            figures={
                "signal": shown,
                "spectrum": spectrum_figure(
                    signal.values,
                    seen,
                    n / 2,
                    result["sigma"],
                    mapping=result["mapping"],
                    spatial=1,
                    unit="cycles per signal",
                ),
            },
            history=history,
        )
        return {
            "shape": [n, signal.values.shape[1]],
            "low": signal.low,
            "high": signal.high,
            "rate": signal.rate,
        }
