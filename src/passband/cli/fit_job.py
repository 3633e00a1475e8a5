"""What differs from task to task in `passband fit`."""

import abc
from pathlib import Path
from typing import Any

from ..field import Field
from ..mappings import Basic, Mapping, NoMapping
from ..tasks.task import Task
from ..train.run_folder import RunFolder


class FitJob(abc.ABC):
    """A kind of file that can be fitted."""

    name: str

    @abc.abstractmethod
    def read(self, path: Path) -> None:
        """Take in the file; the other methods come after this one."""

    @abc.abstractmethod
    def task(self, options: Any, batch: int | None) -> Task: ...

    @abc.abstractmethod
    def field_options(self) -> dict[str, Any]:
        """Input and output channels, and the output activation."""

    @abc.abstractmethod
    def points(self, options: Any) -> tuple[int, int]:
        """How many points there are to train on, and to evaluate at the end."""

    @abc.abstractmethod
    def nyquist(self, options: Any) -> float:
        """The highest frequency that the training points can show."""

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

    def rate(self, mapping: Mapping) -> float:
        """The paper's learning rate (protocol 1.5, Natural)."""
        return 1e-2 if isinstance(mapping, NoMapping | Basic) else 1e-3
