"""What the paper does with one kind of signal: who learns it, trained, kept, scored.

A study says which signals, rows and sizes there are and how a network is scored; its
table, its seeds and its sweep (`tables.py`) and the figures that show the same networks
are views of it. A network is trained once in a process.
"""

import abc
import dataclasses
import hashlib
import itertools
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np

from ..field import Field
from ..mappings import AnyKey
from ..tasks.task import Task
from ..train.schedules import Schedule
from ..words import parse_mapping
from .item import Preset, Progress
from .published import Printed
from .training import Run, draw_fields, precision_of, silent, train

T = TypeVar("T")
ROWS: tuple[str, ...] = ("none", "basic", "positional", "gaussian")
"""The mappings of Table 1, the worst first."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large a preset is; the defaults are the paper's."""

    steps: int
    m: int = 256
    width: int = 256
    layers: int = 4
    lr: float = 1e-3
    """Of the mapped rows."""
    precision: str = "auto"
    rows: tuple[str, ...] = ROWS
    full: bool = True
    """The paper's data, or what is nearest to them; else what needs no data set."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class GridSizes(Sizes):
    """Of signals that are pictures or volumes."""

    count: int
    """Signals of each column."""
    side: int


class Key(NamedTuple):
    """All that decides what is made once in a process."""

    what: str
    by: Hashable


_KEPT: dict[Key, Any] = {}


def kept(key: Key, make: Callable[[], T]) -> T:
    """What this process has of that key, or makes now."""
    if key not in _KEPT:
        _KEPT[key] = make()
    return _KEPT[key]


def kept_all(
    keys: Sequence[Key], make: Callable[[list[int]], Iterable[Any]]
) -> list[Any]:
    """The same for many: `make` gets the places of those that are new, each once."""
    new: dict[Key, int] = {}
    for place, key in enumerate(keys):
        if key not in _KEPT:
            new.setdefault(key, place)
    if new:
        _KEPT.update(zip(new, make(list(new.values())), strict=True))
    return [_KEPT[key] for key in keys]


class Network(NamedTuple):
    """A trained network."""

    stops: list[Field]
    """As it was at every stop of its training, the end last."""
    score: Any
    """As its study scores it."""
    seconds: float
    """Of its stack, shared among it, compilation apart."""

    @property
    def field(self) -> Field:
        return self.stops[-1]


class Study(abc.ABC):
    """Signals, rows, sizes and score of one kind; `None` is no such number."""

    kind: str
    columns: tuple[str, ...]
    """Of its table: the data sets, or the kinds of points."""
    rows: tuple[str, ...] = ROWS
    others: tuple[str, ...] = ()
    """Rows without a network."""
    sizes: Mapping[Preset, Any]
    printed: Mapping[tuple[str, str], Printed]
    """By row and column."""
    own: tuple[str, ...] = ()
    """Columns whose data are the paper's own, so that digits can be compared."""
    key: int = 10
    """The paper's seed."""
    d: int
    out: int
    output: str = "sigmoid"

    @abc.abstractmethod
    def word(
        self, row: str, column: str, sizes: Any, scale: float | None = None
    ) -> str:
        """The mapping of a row, at its own scale if none is given."""

    def lr(self, row: str, column: str, sizes: Any) -> float:
        """Its learning rate."""
        del row, column
        return sizes.lr

    def schedule(self, run: Run, sizes: Any) -> float | Schedule:
        """What becomes of a run's learning rate over its steps."""
        del sizes
        return run.lr

    def batch_keys(self, runs: Sequence[Run]) -> list[AnyKey]:
        """What batches are drawn with: nothing, by default."""
        return [jax.random.PRNGKey(0)] * len(runs)

    def stops(self, sizes: Any) -> tuple[int, ...]:
        """Steps after which a network is kept."""
        return (sizes.steps,)

    @abc.abstractmethod
    def identities(self, signals: Any, sizes: Any) -> Sequence[Hashable]:
        """What tells each signal from all others, and what it is measured with."""

    @abc.abstractmethod
    def tasks(self, signals: Any, sizes: Any) -> Sequence[Task]:
        """A task for each signal; what they share is one object, held once."""

    def scores(
        self, fields: list[Field], runs: Sequence[Run], signals: Any, sizes: Any
    ) -> Iterable[Any]:
        """How good each network is."""
        del runs, signals, sizes
        return [None] * len(fields)

    def number(self, row: str, column: str) -> str:
        """What a cell is called."""
        return f"{row} {column}" if len(self.columns) > 1 else row

    def panel(self, column: str) -> str:
        """What a column's drawing is called."""
        return column

    def comparable(self, row: str, column: str, preset: Preset) -> bool:
        """Whether a cell can be held against the printed one."""
        own = preset is Preset.FULL and column in self.own
        return own and (row, column) in self.printed

    def networks(
        self, signals: Any, runs: Sequence[Run], sizes: Any, progress: Progress = silent
    ) -> list[Network]:
        """Every run's network; those that are new train now, one shape together."""
        named = self.identities(signals, sizes)
        used, stops = precision_of(sizes.precision), self.stops(sizes)
        shape = sizes.width, self.output, used, stops
        keys = [
            Key(
                f"{self.kind} network",
                (named[run.signal], parse_mapping(run.word), run.lr, run.layers,
                 run.key, *shape),
            )
            for run in runs
        ]  # fmt: skip

        return kept_all(
            keys,
            lambda new: self.trained(signals, [runs[k] for k in new], sizes, progress),
        )

    def trained(
        self, signals: Any, runs: Sequence[Run], sizes: Any, progress: Progress = silent
    ) -> list[Network]:
        """The same, trained now whatever is kept: for those whose seconds count."""
        progress(f"{len(runs)} networks, {sizes.steps} steps each; compiling")
        tasks = self.tasks(signals, sizes)
        found, seconds = train(
            [tasks[run.signal] for run in runs],
            draw_fields(
                runs, d=self.d, out=self.out, width=sizes.width, output=self.output
            ),
            stops=self.stops(sizes),
            lrs=[self.schedule(run, sizes) for run in runs],
            keys=self.batch_keys(runs),
            precision=sizes.precision,
            progress=progress,
        )
        global _SCORING_SECONDS
        begun = time.perf_counter()
        scores = list(self.scores([f[-1] for f in found], runs, signals, sizes))
        _SCORING_SECONDS += time.perf_counter() - begun
        return list(map(Network, found, scores, seconds))


_SCORING_SECONDS = 0.0


def scoring_seconds() -> float:
    """What scoring networks has taken in this process."""
    return _SCORING_SECONDS


class Scored(NamedTuple):
    """What came of some columns of a table."""

    scores: dict[str, dict[str, np.ndarray]]
    """Of every signal, by column and row."""
    networks: dict[str, dict[str, list[Network]]]
    words: list[str]
    precision: str
    seconds: float
    """With compilation and scoring, less what was trained before."""


class GridStudy(Study):
    """A study of pictures or volumes, each with one score."""

    over: str = "pictures"
    within: Mapping[tuple[str, str], float] = {}
    """By row and column, how near the printed mean is asked for, in dB."""
    gains_in_smoke: bool = False
    """Whether Fourier features must win at the smallest size too."""
    rises: str | None = None
    """How the smallest rise from row to row is told, with other keys."""
    seed_columns: tuple[str, ...]
    """Those that are run with other keys."""

    @abc.abstractmethod
    def load(self, column: str, sizes: Any, *, sweep: bool = False) -> np.ndarray:
        """The signals that the table reports, or those on which scales are chosen."""

    def identities(self, signals: np.ndarray, sizes: Any) -> list[Hashable]:
        del sizes
        return [(s.shape, hashlib.sha256(s.tobytes()).digest()) for s in signals]

    def runs(
        self, columns: Sequence[str], sizes: GridSizes, key: int | None = None
    ) -> list[Run]:
        """Column by column, row by row, signal by signal."""
        return [
            Run(
                place * sizes.count + k,
                self.word(row, column, sizes),
                self.lr(row, column, sizes),
                sizes.layers,
                self.key if key is None else key,
            )
            for place, column in enumerate(columns)
            for row in sizes.rows
            for k in range(sizes.count)
        ]

    def scored(
        self,
        columns: Sequence[str],
        sizes: GridSizes,
        progress: Progress = silent,
        *,
        key: int | None = None,
    ) -> Scored:
        """Networks of all rows of some columns, trained together, and their scores."""
        begun = time.perf_counter()
        signals = np.concatenate([self.load(column, sizes) for column in columns])
        runs = self.runs(columns, sizes, key)
        found = iter(self.networks(signals, runs, sizes, progress))
        networks = {
            column: {
                row: list(itertools.islice(found, sizes.count)) for row in sizes.rows
            }
            for column in columns
        }
        scores = {
            column: {
                row: np.asarray([self.value(n.score) for n in of])
                for row, of in r.items()
            }
            for column, r in networks.items()
        }
        return Scored(
            scores,
            networks,
            sorted({run.word for run in runs}),
            precision_of(sizes.precision),
            round(time.perf_counter() - begun, 1),
        )

    def value(self, score: Any) -> float:
        """The number that the table has of a network's score."""
        return score

    def curves(
        self,
        column: str,
        grids: Mapping[str, Sequence[float]],
        sizes: GridSizes,
        progress: Progress,
    ) -> dict[str, tuple[Sequence[float], np.ndarray]]:
        """By family its scales and scores (scales, signals), on the sweep's signals.

        One key gives all scales of a family the same base matrix.
        """
        words = [
            self.word(family, column, sizes, scale)
            for family, grid in grids.items()
            for scale in grid
        ]
        runs = [
            Run(k, word, sizes.lr, sizes.layers, self.key)
            for word in words
            for k in range(sizes.count)
        ]
        signals = self.load(column, sizes, sweep=True)
        networks = self.networks(signals, runs, sizes, progress)
        values = [self.value(network.score) for network in networks]
        scores = iter(np.reshape(values, (-1, sizes.count)))
        return {
            family: (grid, np.stack(list(itertools.islice(scores, len(grid)))))
            for family, grid in grids.items()
        }

    @abc.abstractmethod
    def table(
        self, preset: Preset, progress: Progress
    ) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, Any]]:
        """Scores by column and row, those without a network too, and what was run."""
