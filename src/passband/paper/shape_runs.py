"""The networks of table 4 and fig. 16: four mappings of the paper on four shapes."""

import dataclasses
import functools
import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ..data.meshes import Mesh, bounding_box, normalise, read_mesh
from ..data.primitives import Primitive, knot, torus, wrinkled
from ..data.store import cache_folder, check_file, find, known_set
from ..field import Field, make_field
from ..labels.pool import ShapeLabels, make_labels
from ..ops.mlp import Precision
from ..tasks.shape import ShapeTask, shape_task
from ..train.loop import Config, run
from ..train.population import run_population
from ..train.state import Rate, decaying_rate
from .item import Preset, Progress

ROWS = ("none", "basic", "positional", "gaussian")
POINTS = ("uniform", "boundary")
SCANS = ("dragon", "armadillo", "buddha", "lucy")
STANDINS = ("wrinkled", "knot", "ring", "pebble")
"""What is trained on without the scans. The last of either chooses the scale."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's (protocol 8)."""

    shapes: tuple[str, ...] = SCANS
    blocks: int = 2048
    block: int = 32_768
    """Points a step, and of one block of the pool of labels."""
    test_points: int = 1 << 18
    layers: int = 8
    width: int = 256
    m: int = 256
    gaussian: float = 12.0
    positional: float = 6.0
    steps: int = 10_001
    every: int = 137
    """Steps of one program: a divisor of `steps`, so that one is compiled."""
    rate: float = 5e-4
    gaussian_sweep: tuple[float, ...] = (4, 6, 8, 10, 12, 14, 16, 20)
    positional_sweep: tuple[float, ...] = (3, 4, 5, 6, 7, 8)
    precision: str = "auto"

    @property
    def tests(self) -> tuple[str, ...]:
        """The shapes whose mean the table prints."""
        return self.shapes[:-1]

    @property
    def validation(self) -> str:
        return self.shapes[-1]

    @property
    def scanned(self) -> bool:
        return self.shapes == SCANS

    def word(self, row: str, scale: float | None = None) -> str:
        """The mapping of a row, features over their norm, as in 2020."""
        if row == "none":
            return "none:scale=2,shift=-1"
        if row == "basic":
            return "basic:norm=1"
        given = getattr(self, row) if scale is None else scale
        return f"{row}:{given:g},m={self.m},norm=1"

    def schedule(self) -> Rate:
        """5e-4 * 0.1^(step / 5000), at other lengths to the same share of the start."""
        return decaying_rate(self.rate, 0.1, (self.steps - 1) / 2)


SETTINGS = {
    Preset.SMOKE: Setting(
        shapes=STANDINS[::3], blocks=32, block=1024, test_points=1 << 12, layers=2,
        width=32, m=48, gaussian=1.5, positional=3.0, steps=200, every=25, rate=5e-2,
        gaussian_sweep=(1.5, 3), positional_sweep=(3, 4),
    ),
    Preset.SMALL: Setting(
        shapes=STANDINS, blocks=256, block=2048, test_points=1 << 15, layers=5,
        width=64, m=64, gaussian=3.0, positional=4.0, steps=500, every=20, rate=5e-3,
        gaussian_sweep=(1, 3, 9), positional_sweep=(2, 4),
    ),
    Preset.FULL: Setting(),
}  # fmt: skip


class Shape(NamedTuple):
    """A labelled mesh in the unit cube."""

    name: str
    mesh: Mesh
    labels: ShapeLabels
    seconds: float
    """That the labels took, or reading them where they were made before."""

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        return bounding_box(self.mesh)

    @property
    def ply_bytes(self) -> int:
        """Of a binary PLY of the mesh, without its header."""
        return 12 * len(self.mesh.vertices) + 13 * len(self.mesh.faces)


class Trained(NamedTuple):
    """A network, and what it has of its shape."""

    field: Field
    iou: dict[str, float]
    """Intersection over union on the `POINTS`."""


class Row(NamedTuple):
    """A mapping's network of every shape."""

    networks: list[Trained]
    seconds: float
    """That one took, of those that trained as one program; compilation apart."""


# Table 4 and fig. 16 are one run: the second to be asked for finds its parts here.
@functools.lru_cache(maxsize=4)
def labelled(name: str, setting: Setting) -> Shape:
    """A shape with its labels: a scan from the data set, or one made up."""
    mesh, _ = normalise(_scan(name) if setting.scanned else _standin(name).mesh)
    begun = time.perf_counter()
    labels = make_labels(
        mesh,
        blocks=setting.blocks,
        block=setting.block,
        test_points=setting.test_points,
        cache_dir=cache_folder() / "labels" if setting.scanned else None,
    )
    return Shape(name, mesh, labels, time.perf_counter() - begun)


@functools.lru_cache(maxsize=1)
def trained(setting: Setting) -> dict[str, Row]:
    """Every row's network of every shape: one population, so that each program is
    compiled once, beside the others."""
    count = len(setting.shapes)
    words = [setting.word(row) for row in ROWS for _ in setting.shapes]
    networks, seconds = train(words, setting.shapes * len(ROWS), setting)
    places = {row: slice(k * count, (k + 1) * count) for k, row in enumerate(ROWS)}
    return {
        row: Row(networks[place], float(np.mean(seconds[place])))
        for row, place in places.items()
    }


def train(
    words: Sequence[str],
    shapes: Sequence[str],
    setting: Setting,
    *,
    keys: Sequence[int] | None = None,
    progress: Progress = lambda text: None,
) -> tuple[list[Trained], list[float]]:
    """A network for each word and shape, as one program where sizes agree.

    Returns them, and the seconds of each: those of its stack, shared among it, if
    words of equal sizes stand side by side. No stack begins before all are compiled.

    Args:
        keys: of B and the weights, one for each; the paper's, 0, if not given.
    """
    tasks = [task_of(name, setting) for name in shapes]
    asked = list(zip(words, keys or [0] * len(words), strict=True))
    drawn = {(word, key): field_of(word, setting, key) for word, key in set(asked)}
    fields = [drawn[one] for one in asked]
    config = Config(setting.steps, setting.schedule(), setting.every, setting.precision)
    begun: dict[int, float] = {}

    def on_stack(done: int) -> None:
        begun[done] = time.perf_counter()
        progress(f"{done} of {len(fields)} networks trained")

    unused = [jax.random.PRNGKey(0)] * len(fields)  # a step's number draws its points
    fields, _ = run_population(tasks, fields, config, keys=unused, on_stack=on_stack)
    ends = {**begun, len(fields): time.perf_counter()}
    seconds = []
    for (first, start), (last, end) in itertools.pairwise(ends.items()):
        seconds += [(end - start) / (last - first)] * (last - first)
    done = zip(tasks, fields, strict=True)
    return [Trained(field, _iou(task, field)) for task, field in done], seconds


def train_alone(
    word: str, name: str, setting: Setting, *, precision: str
) -> tuple[Trained, float]:
    """One network as `passband fit` trains it, and its seconds without compilation."""
    task = task_of(name, setting)
    config = Config(setting.steps, setting.schedule(), setting.every, precision)
    key = jax.random.PRNGKey(0)
    field, history = run(task, field_of(word, setting), config, key=key)
    # The first entry holds the compilation, so the others stand for all.
    steps, seconds = history["step"], history["seconds"]
    per_step = (seconds[-1] - seconds[0]) / (steps[-1] - steps[0])
    return Trained(field, _iou(task, field)), per_step * setting.steps


@functools.lru_cache(maxsize=4)
def task_of(name: str, setting: Setting) -> ShapeTask:
    """The task of a shape, which all its networks share."""
    labels = labelled(name, setting).labels
    return shape_task(labels, steps=setting.steps, seed=0)


def field_of(word: str, setting: Setting, key: int = 0) -> Field:
    """A network before training; every scale of a mapping has the same base matrix."""
    return make_field(
        word,
        d=3,
        out=1,
        key=jax.random.PRNGKey(key),
        layers=setting.layers,
        width=setting.width,
        output="sigmoid",
        bits2020=True,
    )


def settings_of(setting: Setting) -> dict[str, Any]:
    """What was run."""
    precision = Precision.resolve(setting.precision, jax.default_backend())
    content = dataclasses.asdict(setting)
    shapes = content.pop("shapes")
    return {
        **content,
        "precision": precision.value,
        "test": shapes[:-1],
        "validation": shapes[-1],
        "mappings": {row: setting.word(row) for row in ROWS},
        "optimiser": "Adam on the mean cross-entropy of logits",
        "schedule": f"{setting.rate:g} * 0.1^(step / {(setting.steps - 1) / 2:g})",
        "keys": "2020: PRNGKey(0) for weights and B of every shape",
        "pool": f"{setting.blocks} blocks of {setting.block} labelled points, each "
        "once a pass, in a new order",
        "spread": "standard deviation over the test shapes",
    }


def _iou(task: ShapeTask, field: Field) -> dict[str, float]:
    found = task.metrics(field)
    return {points: found[f"iou_{points}"] for points in POINTS}


def _scan(name: str) -> Mesh:
    folder = find("meshes")
    file = next(f for f in known_set("meshes").files if f.path == f"{name}.npz")
    check_file(folder / file.path, file)
    return read_mesh(folder / file.path)


def _standin(name: str) -> Primitive:
    if name == "wrinkled":
        return wrinkled(5, depth=0.08, frequency=10)
    if name == "knot":
        return knot(thickness=0.18)
    if name == "ring":
        return torus(minor=0.12)
    return wrinkled(5, depth=0.05, frequency=7)
