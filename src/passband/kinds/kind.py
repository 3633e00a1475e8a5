"""A kind of data: what the product does with a picture, a sinogram, a scene.

A kind is read once and is frozen from then on. The command, `tune` and Python all go
through it; it prints nothing, and opens files only in `read`.
"""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Protocol,
    SupportsFloat,
    runtime_checkable,
)

import jax
import numpy as np

from ..errors import InputError
from ..field import Field, make_field
from ..mappings import AnyKey, Basic, NoMapping, Random
from ..mappings import Mapping as FeatureMapping
from ..tasks.task import Task
from ..train.memory import parse_bytes
from .options import TrainOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..tune.problem import Problem

# Measured on 2 CPU cores: 9 million points take a minute and a half to train on, and
# the evaluation of one costs 0.4 of that; the rest of three minutes is for compiling,
# metrics, the report, and slower cores.
CPU_POINTS = 9_000_000
GPU_BATCH = 2**18
# On a GPU all trials of a scale together cost less than two trainings. On a CPU they
# see a part of the data, with networks as much smaller, and end within a minute,
# volumes in two.
CPU_SHARE = 0.25
"""Of the network's weights and frequencies, where a CPU sees a coarser problem."""
MOST_SAMPLES, CPU_MOST_SAMPLES, CPU_LEAST_SAMPLES = 2**18, 2**14, 2**12
"""Samples of a grid that the trials see: on a CPU a quarter, between these two."""
CPU_PASS = 16
"""Steps that a pass over these takes on a CPU, at least."""

History = Mapping[str, Sequence[float]]


@runtime_checkable
class Listener(Protocol):
    """Hears how far the work has come; the command's console is one."""

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def progress(self, text: str, *, often: bool = True) -> None: ...


class Silent:
    """Hears nothing."""

    def say(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def progress(self, text: str, *, often: bool = True) -> None: ...


SILENT = Silent()


@dataclasses.dataclass(frozen=True)
class Network:
    """What a kind needs of its network; `make_field` explains each."""

    d: int
    out: int
    output: str
    start: float | None = None


@dataclasses.dataclass(frozen=True)
class Training:
    """How a fit trains, with nothing left to be chosen."""

    mapping: FeatureMapping
    steps: int
    lr: float
    optimiser: str
    schedule: str
    activation: str
    batch: int
    layers: int
    width: int
    seed: int
    precision: str
    max_memory: int | None
    """Bytes; None is what the device has."""
    restarts: int = 0
    """How often the run has collapsed and begun anew."""

    @property
    def sigma(self) -> float | tuple[float, ...] | None:
        """The scale of a random mapping."""
        return self.mapping.scale if isinstance(self.mapping, Random) else None

    def draw(self, network: Network, key: AnyKey) -> Field:
        """The field before its first step."""
        return make_field(
            self.mapping,
            key=key,
            layers=self.layers,
            width=self.width,
            activation=self.activation,
            **dataclasses.asdict(network),
        )


@dataclasses.dataclass(frozen=True)
class Health:
    """What a kind makes of an entry of the history."""

    more: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Further columns of the entry."""
    stop: bool = False
    """The run may end here."""
    collapse: str | None = None
    """Why the run learns nothing more and should begin anew."""
    preview: "np.ndarray | None" = None
    """A picture of how far it has come, in [0, 1]."""


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """How good a trained field is, and what to show of it; whoever asks writes it."""

    metrics: dict[str, float]
    about: dict[str, Any]
    """What the model file says, so that the field can be used in the user's units."""
    preview: "Callable[[], np.ndarray | Figure]"
    """A picture in [0, 1], or a figure."""
    figures: "Callable[[], dict[str, Figure | bytes]]"
    """Those of the report, drawn when asked for."""
    baselines: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    """Metrics of other methods on the same data."""
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Further entries of the result: `evaluated`, `grid`, `bytes`, ..."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rendered:
    """A model as a picture, a mesh, a volume, a flight: evaluated when it is used."""

    values: Callable[[], Any]
    """What Python gets: an array in the user's units, a mesh, the views of a scene."""
    write: Callable[[Path], dict[str, Any]]
    """Write it to a file, and give `shape` and what else there is to tell."""


@dataclasses.dataclass(frozen=True, eq=False)
class Units:
    """From the user's coordinates to the field's: `(v - center) * scale + shift`."""

    center: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    coords: str = "the field's own coordinates"
    """In words."""
    values: str = "the field's own values"


def own_units(d: int) -> Units:
    """Coordinates as the field has them."""
    return Units(np.zeros(d), np.ones(d), np.zeros(d))


@dataclasses.dataclass(frozen=True)
class TrialSize:
    """Steps of the longest trial of a scale, and the points of a step."""

    steps: int
    points: int


@dataclasses.dataclass(frozen=True, eq=False)
class Kind(abc.ABC):
    """Data of one kind, read; subclasses are final."""

    name: ClassVar[str]
    cpu_trials: ClassVar[TrialSize]
    gpu_trials: ClassVar[TrialSize]
    trials_mislead: ClassVar[str | None] = None
    """Why a CPU has no time for trials that would tell, if it has not."""
    render_example: ClassVar[str] = "--out rendered.npy"
    """What to try with `passband render` first."""

    options: Any
    """What it was read with."""
    title: str
    """What was fitted, usually the name of the file."""
    warnings: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    notes: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    """What else a reader may want to know."""

    @classmethod
    def source(cls, options: Any) -> Path:
        """The file that gives the run its name."""
        if options.file is None:
            raise InputError("`file` is missing")
        return Path(options.file)

    @classmethod
    def inputs(cls, options: Any) -> list[Path]:
        """Every file that decides the run; their content is kept as one hash."""
        return [cls.source(options)]

    @classmethod
    @abc.abstractmethod
    def read(cls, options: Any, listener: Listener = SILENT) -> "Kind":
        """Take in the files."""

    def again(self, options: Any) -> "Kind":
        """The same data, read with other options."""
        return type(self).read(options)

    def default_mapping(self) -> str:
        """Where the options name none."""
        return "gaussian:10"

    @abc.abstractmethod
    def training(self, asked: TrainOptions, mapping: FeatureMapping) -> Training:
        """What was asked for, and the kind's own choice for the rest."""

    @abc.abstractmethod
    def network(self, training: Training | None = None) -> Network:
        """Channels in and out, the output activation, and where it begins."""

    @abc.abstractmethod
    def task(self, training: Training) -> Task: ...

    @abc.abstractmethod
    def nyquist(self) -> float | None:
        """The highest frequency that the training points can show, if there is one."""

    @abc.abstractmethod
    def trials(self, asked: TrainOptions, size: TrialSize) -> "Problem":
        """What the trials of a scale train on, and what they are judged by."""

    def remarks(self, task: Any) -> tuple[str, ...]:
        """What to say of a task before it is trained."""
        del task
        return ()

    def health(
        self, task: Any, field: Field, entry: Mapping[str, float], history: History
    ) -> Health:
        """See every entry of the history before it is logged; `history` ends before."""
        del task, field, entry, history
        return Health()

    @abc.abstractmethod
    def evaluate(
        self, task: Any, field: Field, training: Training, listener: Listener = SILENT
    ) -> Evaluation:
        """Metrics, baselines and pictures of a trained field."""

    @classmethod
    @abc.abstractmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        """A model at any resolution, in the units of the file it was fitted to."""

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        """Those of the user's coordinates."""
        del about
        return own_units(field.encoding.dims)


def resolve(
    asked: TrainOptions,
    mapping: FeatureMapping,
    *,
    steps: int,
    batch: int,
    lr: float,
    schedule: str = "constant",
    width: int | None = None,
) -> Training:
    """What was asked for, and these values where nothing was."""
    room = None if asked.max_memory is None else parse_bytes(asked.max_memory)
    return Training(
        mapping=mapping,
        steps=asked.steps or steps,
        lr=asked.lr or lr,
        optimiser=asked.optimiser,
        schedule=asked.schedule or schedule,
        activation=asked.activation,
        batch=asked.batch or batch,
        layers=asked.layers,
        width=width or asked.width,
        seed=asked.seed,
        precision=asked.precision,
        max_memory=room,
    )


def on_cpu() -> bool:
    """Whether JAX computes on a CPU, where time is short."""
    return jax.default_backend() == "cpu"


def paper_lr(mapping: FeatureMapping) -> float:
    """The paper's learning rate (protocol 1.5, Natural)."""
    return 1e-2 if isinstance(mapping, NoMapping | Basic) else 1e-3


def points_in_time(train: int, evaluate: int, steps: int) -> int:
    """Points a step of so many steps, that a fit of `train` points has time for."""
    if not on_cpu():
        return min(train, GPU_BATCH)
    return min(train, max(512, int((CPU_POINTS - 0.4 * evaluate) / steps)))


def cut_to_size(samples: int, size: TrialSize) -> tuple[int, int]:
    """How many samples of a grid the trials see, and how many of them a step."""
    if not on_cpu():
        return MOST_SAMPLES, size.points
    most = int(np.clip(samples // 4, CPU_LEAST_SAMPLES, CPU_MOST_SAMPLES))
    return most, int(np.clip(min(most, samples) // CPU_PASS, 64, size.points))


def network_share() -> float:
    """Of the network's size, behind an instrument."""
    return CPU_SHARE if on_cpu() else 1.0


def start_at(mean: SupportsFloat) -> float:
    """Where a sigmoid begins for data of this mean: at it, but not at an end.

    From 1/2 a page that is nearly white, or a sky that is nearly black, drives it to
    its flat end, and a network may stay there for a thousand steps, or for good.
    """
    return min(max(float(mean), 0.02), 0.98)


def stuck(
    entry: Mapping[str, float], history: History, empty: Callable[[], float]
) -> str | None:
    """What is wrong if the loss of full batches is what it was an entry before, to the
    bit, and as bad as that of a field of 0: the end of a sigmoid holds it there."""
    past = history.get("loss", [])
    if past and entry["loss"] == past[-1] and past[-1] > 0.5 * empty():
        return "it is at an end of the sigmoid, where no step moves it"
    return None


def out_of_patience(patience: int | None, errors: Sequence[float]) -> bool:
    """Whether the last so many errors are no lower than one before them."""
    if patience is None or len(errors) <= patience:
        return False
    return min(errors[-patience:]) >= min(errors[:-patience])


def score_line(scores: Mapping[str, float]) -> str:
    """The scores that matter most, under a picture."""
    parts = []
    if "psnr" in scores:
        parts.append(f"{scores['psnr']:.2f} dB")
    if "error_test" in scores:
        parts.append(f"held out {scores['error_test']:.1%}")
    return ", ".join(parts)
