"""A kind of data: what the product does with a picture, a sinogram, a scene.

A kind is read once and is frozen from then on. The command, `tune` and Python all go
through it; it prints nothing, and opens files only in `read`.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError
from ..export.web.model_page import View
from ..field import Field, make_field
from ..file_gate import allowing
from ..mappings import AnyKey, Random
from ..mappings import Mapping as FeatureMapping
from ..members import draw_members
from ..tasks.task import Task
from .listener import SILENT as SILENT
from .listener import Listener as Listener
from .listener import Silent as Silent
from .listener import share_told as share_told
from .model_facts import range_of
from .options import TrainOptions
from .provenance import file_hashes, together
from .shown import Make, Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..tuning.problem import Problem

History = Mapping[str, Sequence[float]]


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
    optimiser: str | tuple
    """By name, or one of optax."""
    schedule: str
    activation: str
    batch: int
    layers: int
    width: int
    seed: int
    precision: str
    max_memory: int | None
    """Bytes; None is what the device has."""
    recipe: str
    leak: float
    """Of the output while it trains."""
    restarts: int = 0
    """How often the run has collapsed and begun anew."""
    prior: str = "none"
    """What is added to the loss behind an instrument (`kinds.prior`)."""
    members: int = 1
    """Networks that train side by side, each with its own B and weights."""
    descent: str = "direct"
    """How a step meets an instrument (`kinds.descent`)."""
    near_surface: float = 0.0
    """The share of a step's points that lie near the surface of a shape."""
    samples: int = 0
    """Points along a ray of a scene."""
    skip_empty: bool = False
    """Leave the empty space of a scene out of its steps (`forward.packed`)."""

    @property
    def sigma(self) -> float | tuple[float, ...] | None:
        """The scale of a random mapping."""
        return self.mapping.scale if isinstance(self.mapping, Random) else None

    def draw(self, network: Network, key: AnyKey) -> Field:
        """The field before its first step."""
        draw = functools.partial(
            make_field,
            self.mapping,
            layers=self.layers,
            width=self.width,
            activation=self.activation,
            **dataclasses.asdict(network),
        )
        return draw_members(
            lambda key: draw(key=key).with_leak(self.leak), key, self.members
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
class Spread:
    """How far members differ, in the user's units."""

    values: np.ndarray
    """Standard deviation over the members, on the grid of the data or at points."""
    error: np.ndarray | None = None
    """How far their mean is off there, where the truth is known."""
    pictured: bool = True
    """Whether the values have a grid."""


def spread_of(
    apart: np.ndarray | None,
    scale: float,
    mean: np.ndarray,
    truth: np.ndarray | None,
    *,
    channels: bool = False,
) -> Spread | None:
    """The spread of members, of which a single network has none.

    Args:
        apart: standard deviations as the field has its values.
        scale: what 1 is in the user's units, in which `mean` and `truth` are.
        channels: the last axis has channels, over which the mean is taken; without it
            a last axis of `apart` that `mean` has not is that of a complex number.
    """
    if apart is None:
        return None
    values = scale * apart
    if values.ndim > mean.ndim:
        values = np.linalg.norm(values, axis=-1)
    error = None if truth is None else np.abs(mean - truth)
    if channels:
        values = values.mean(axis=-1)
        error = None if error is None else error.mean(axis=-1)
    return Spread(values, error)


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
    spread: Spread | None = None
    """Of members."""
    shown: Callable[[], Shown] | None = None
    """One picture to lay beside those of other methods."""


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
    trials_by_default: ClassVar[bool] = True
    """Whether trials earn their time on a CPU where no scale was asked for."""
    usual_tv: ClassVar[float | None] = None
    """The weight of total variation behind an instrument, where none is chosen."""
    render_example: ClassVar[str] = "--out rendered.npy"
    """What to try with `passband render` first."""

    options: Any
    """What it was read with."""
    title: str
    """What was fitted, usually the name of the file."""
    warnings: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    notes: tuple[str, ...] = dataclasses.field(default=(), kw_only=True)
    """What else a reader may want to know."""
    beside: bool = dataclasses.field(default=True, kw_only=True)
    """Whether an evaluation works out classical methods too."""
    sha256: str | None = dataclasses.field(default=None, kw_only=True)
    """Of data that came from memory; None stands for the files of `inputs`."""

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

    def hashes(self, asked: Any) -> tuple[str, dict[str, str]]:
        """One hash of all the data, so that a run is not resumed with others, and that
        of each file by its absolute path."""
        if self.sha256 is not None:
            return self.sha256, {}
        found = file_hashes(self.inputs(asked))
        return together([each for _, each in found]), dict(found)

    @classmethod
    @abc.abstractmethod
    def read(cls, options: Any, listener: Listener = SILENT) -> "Kind":
        """Take in the files."""

    @classmethod
    def parts(
        cls, options: Any, listener: Listener
    ) -> "dict[str, Callable[[Any], Kind]]":
        """What a file is several inputs of a set by: how each is read from options, by
        its name; nothing where a file is one input."""
        del options, listener
        return {}

    def again(self, options: Any) -> "Kind":
        """The same data, read with other options."""
        with allowing(options.max_input):
            return type(self).read(options)

    def default_mapping(self) -> str:
        """Where the options name none."""
        return "gaussian:auto"

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
        self,
        task: Any,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        """Metrics, baselines and pictures of a trained field.

        Args:
            seconds: about as long as it may take; less of the data is evaluated, and
                `more` says so, where all would take longer.
        """

    def classical(self, room: int) -> dict[str, Make]:
        """What there is for these data without a network, each made when called.

        Args:
            room: bytes of the network that it is compared with.
        """
        del room
        return {}

    @classmethod
    @abc.abstractmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        """A model at any resolution, in the units of the file it was fitted to."""

    @staticmethod
    def view(field: Field, about: dict[str, Any]) -> View:
        """How a model is looked at in a page."""
        raise InputError("a model of this kind has no page; ask `model(coords)`")

    @classmethod
    def measure(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        """What the instrument would see of a model, held out or never measured."""
        raise InputError(f"a model of `{cls.name}` was measured by no instrument")

    def finished(self, field: Field) -> Field:
        """A trained field as the model has it."""
        return field

    def unfinished(self, field: Field) -> Field:
        """A model's field as it trains on these data."""
        return field

    @classmethod
    def in_units(cls, raw: np.ndarray, about: dict[str, Any]) -> np.ndarray:
        """What a field gives, in the units of the user's values."""
        if "low" not in about and "high" not in about:
            return raw
        low, high = range_of(about)
        return low + (high - low) * raw

    @classmethod
    def onnx_output(cls, field: Field) -> str:
        """What an ONNX model ends with, where that is not all that `in_units` does."""
        return field.output

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        """Those of the user's coordinates."""
        del about
        return own_units(field.encoding.dims)
