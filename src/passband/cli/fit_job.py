"""What differs from task to task in `passband fit`."""

import abc
from collections.abc import Callable
from pathlib import Path
from typing import Any, SupportsFloat

from ..errors import InputError
from ..field import Field
from ..mappings import Basic, Mapping, NoMapping
from ..tasks.task import Task
from ..train.run_folder import RunFolder
from ..train.state import Rate, State
from .console import Console

# Measured on 2 CPU cores: 9 million points take a minute and a half to train on, and
# the evaluation of one costs 0.4 of that; the rest of three minutes is for compiling,
# metrics, the report, and slower cores.
CPU_POINTS = 9_000_000
GPU_BATCH = 2**18


class Collapse(Exception):
    """A run has come to where it learns nothing more: it starts anew, more slowly."""

    def __init__(self, step: int, reason: str):
        super().__init__(reason)
        self.step = step


def start_at(mean: SupportsFloat) -> float:
    """Where a sigmoid begins for data of this mean: at it, but not at an end.

    From 1/2 a page that is nearly white, or a sky that is nearly black, drives it to
    its flat end, and a network may stay there for a thousand steps, or for good.
    """
    return min(max(float(mean), 0.02), 0.98)


def check_moves(
    entry: dict[str, float], folder: RunFolder, empty: Callable[[], float]
) -> None:
    """Raise if the loss of full batches is what it was at the look before, to the bit,
    and as bad as that of a field of 0: the end of a sigmoid holds it there."""
    past = folder.history().get("loss", [])
    if past and entry["loss"] == past[-1] and past[-1] > 0.5 * empty():
        raise Collapse(
            int(entry["step"]), "it is at an end of the sigmoid, where no step moves it"
        )


class FitJob(abc.ABC):
    """A kind of file that can be fitted."""

    name: str
    restarts: int = 0
    """How often the run has collapsed and begun anew."""

    def source(self, options: Any) -> Path:
        """The file that gives the run its name."""
        if options.file is None:
            raise InputError(f"FILE is missing; see `passband fit {self.name} --help`")
        return Path(options.file)

    def inputs(self, options: Any) -> list[Path]:
        """Every file that decides the run; their content is kept as one hash."""
        return [self.source(options)]

    @abc.abstractmethod
    def read(self, options: Any, console: Console) -> None:
        """Take in the files; the methods below come after this one."""

    @abc.abstractmethod
    def task(self, options: Any, batch: int | None) -> Task: ...

    @abc.abstractmethod
    def field_options(self) -> dict[str, Any]:
        """Input and output channels, the output activation, and where it begins."""

    @abc.abstractmethod
    def points(self, options: Any) -> tuple[int, int]:
        """How many points there are to train on, and to evaluate at the end."""

    @abc.abstractmethod
    def nyquist(self, options: Any) -> float | None:
        """The highest frequency that the training points can show, if there is one."""

    @abc.abstractmethod
    def finish(
        self,
        task: Any,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        """Add metrics to the result, leave preview and report in the folder, and give
        what the model file should say."""

    def default_mapping(self) -> str:
        """Where the options name none."""
        return "gaussian:10"

    def default_steps(self, options: Any, on_cpu: bool) -> int:
        """Where the options name none."""
        del options, on_cpu
        return 2000

    def rate(self, mapping: Mapping) -> float:
        """The paper's learning rate (protocol 1.5, Natural)."""
        return 1e-2 if isinstance(mapping, NoMapping | Basic) else 1e-3

    def schedule(self, lr: float, steps: int) -> float | Rate:
        """How the rate goes on from where it starts."""
        del steps
        return lr

    def batch(self, options: Any, steps: int, on_cpu: bool) -> int:
        """Points a step, where the options name none."""
        train, evaluate = self.points(options)
        left = CPU_POINTS - 0.4 * evaluate
        most = max(512, int(left / steps)) if on_cpu else GPU_BATCH
        return min(train, most)

    def on_log(
        self, task: Any, state: State, entry: dict[str, float], folder: RunFolder
    ) -> bool:
        """See every entry of the history before it is written, and add to it if you
        like; True ends the run here, and `Collapse` starts it anew at a lower rate."""
        del task, state, entry, folder
        return False
