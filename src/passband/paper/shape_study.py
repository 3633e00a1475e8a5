"""3D shapes: the labels and networks of Table 4 and Fig. 16 (protocol 8)."""

import dataclasses
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.meshes import Mesh, bounding_box, normalise, read_mesh
from ..data.primitives import Primitive, knot, torus, wrinkled
from ..data.store import check_file, find, kept_folder, known_set
from ..field import Field
from ..labels.pool import ShapeLabels, make_labels
from ..tasks.shape import ShapeTask, shape_task
from ..train.schedules import Rate, decaying_rate
from . import published
from .item import Preset, Progress
from .study import ROWS, Key, Network, Sizes, Study, kept
from .training import Run, precision_of

if TYPE_CHECKING:
    pass

POINTS = ("uniform", "boundary")
SCANS = ("dragon", "armadillo", "buddha", "lucy")
STANDINS = ("wrinkled", "knot", "ring", "pebble")
"""What is trained on without the scans. The last of either chooses the scale."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShapeSizes(Sizes):
    """The sizes of a preset; the defaults are the paper's."""

    shapes: tuple[str, ...] = SCANS
    blocks: int = 2048
    block: int = 32_768
    """Points a step, and of one block of the pool of labels."""
    test_points: int = 1 << 18
    layers: int = 8
    gaussian: float = 12.0
    positional: float = 6.0
    steps: int = 10_001
    lr: float = 5e-4
    gaussian_sweep: tuple[float, ...] = (4, 6, 8, 10, 12, 14, 16, 20)
    positional_sweep: tuple[float, ...] = (3, 4, 5, 6, 7, 8)

    @property
    def tests(self) -> tuple[str, ...]:
        """The shapes whose mean the table prints."""
        return self.shapes[:-1]

    @property
    def validation(self) -> str:
        return self.shapes[-1]


PAPER = ShapeSizes()
SMOKE = ShapeSizes(
    shapes=STANDINS[::3], blocks=32, block=1024, test_points=1 << 12, layers=2,
    width=32, m=48, gaussian=1.5, positional=3.0, steps=200, lr=5e-2,
    gaussian_sweep=(1.5, 3), positional_sweep=(3, 4), full=False,
)  # fmt: skip
SMALL = ShapeSizes(
    shapes=STANDINS, blocks=256, block=2048, test_points=1 << 15, layers=5, width=64,
    m=64, gaussian=3.0, positional=4.0, steps=500, lr=5e-3, gaussian_sweep=(1, 3, 9),
    positional_sweep=(2, 4), full=False,
)  # fmt: skip


class ShapeStudy(Study):
    """Meshes, learned from labelled points; a signal is a shape's name."""

    kind = "shape"
    columns = own = POINTS
    sizes = MappingProxyType(
        {Preset.SMOKE: SMOKE, Preset.SMALL: SMALL, Preset.FULL: PAPER}
    )
    printed = published.TABLE4
    key = 0
    d, out = 3, 1

    def word(
        self, row: str, column: str, sizes: ShapeSizes, scale: float | None = None
    ) -> str:
        """The mapping of a row, features over their norm, as in 2020."""
        del column
        if row == "none":
            return "none:scale=2,shift=-1"
        if row == "basic":
            return "basic:norm=1"
        given = getattr(sizes, row) if scale is None else scale
        return f"{row}:{given:g},m={sizes.m},norm=1"

    def schedule(self, run: Run, sizes: ShapeSizes) -> Rate:
        """5e-4 * 0.1^(step / 5000), at other lengths to the same share of the start."""
        return decaying_rate(run.lr, 0.1, (sizes.steps - 1) / 2)

    def identities(self, signals: Sequence[str], sizes: ShapeSizes) -> list[Hashable]:
        return [(name, sizes.blocks, sizes.block, sizes.test_points)
                for name in signals]  # fmt: skip

    def tasks(self, signals: Sequence[str], sizes: ShapeSizes) -> list[ShapeTask]:
        return [task_of(name, sizes) for name in signals]

    def scores(
        self, fields: list[Field], runs: Sequence[Run], signals: Any, sizes: Any
    ) -> Iterable[dict[str, float]]:
        """Intersection over union, by kind of points."""
        for field, run in zip(fields, runs, strict=True):
            found = task_of(signals[run.signal], sizes).metrics(field)
            yield {points: found[f"iou_{points}"] for points in POINTS}

    def panel(self, column: str) -> str:
        return f"{column} points"

    def run(
        self,
        name: str,
        row: str,
        sizes: ShapeSizes,
        *,
        scale: float | None = None,
        key: int = 0,
    ) -> Run:
        """A mapping's network of a shape; all its scales have the same base matrix."""
        word = self.word(row, "", sizes, scale)
        return Run(sizes.shapes.index(name), word, sizes.lr, sizes.layers, key)

    def of_rows(
        self, sizes: ShapeSizes, progress: Progress
    ) -> dict[str, list[Network]]:
        """Every row's network of every shape: one population, so that each program is
        compiled once, beside the others."""
        shapes = sizes.shapes
        runs = [self.run(name, row, sizes) for row in ROWS for name in shapes]
        found = self.networks(shapes, runs, sizes, progress)
        count = len(shapes)
        rows = {r: found[k * count : (k + 1) * count] for k, r in enumerate(ROWS)}
        for row, networks in rows.items():
            text = ", ".join(f"{n.score['boundary']:.3f}" for n in networks)
            progress(f"{row}: boundary IoU {text}")
        return rows


STUDY = ShapeStudy()


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


def labelled(name: str, sizes: ShapeSizes) -> Shape:
    """A shape with its labels: a scan from the data set, or one made up."""

    def make() -> Shape:
        mesh, _ = normalise(_scan(name) if sizes.full else _standin(name).mesh)
        begun = time.perf_counter()
        labels = make_labels(
            mesh,
            blocks=sizes.blocks,
            block=sizes.block,
            test_points=sizes.test_points,
            cache_dir=kept_folder("labels") if sizes.full else None,
        )
        return Shape(name, mesh, labels, time.perf_counter() - begun)

    return kept(Key("labelled shape", STUDY.identities([name], sizes)[0]), make)


def task_of(name: str, sizes: ShapeSizes) -> ShapeTask:
    """The task of a shape, which all its networks share."""
    named = STUDY.identities([name], sizes)[0]
    return kept(
        Key("shape task", (named, sizes.steps)),
        lambda: shape_task(labelled(name, sizes).labels, steps=sizes.steps, seed=0),
    )


def labels_of(
    sizes: ShapeSizes, progress: Progress, shapes: tuple[str, ...] = ()
) -> dict[str, float]:
    """Label the shapes, all of them if none is named; the seconds each took."""
    seconds = {}
    for name in shapes or sizes.shapes:
        progress(f"labels of {name}")
        seconds[name] = labelled(name, sizes).seconds
        progress(f"labels of {name} in {seconds[name]:.1f} s")
    return seconds


def settings_of(sizes: ShapeSizes) -> dict[str, Any]:
    """What was run."""
    content = dataclasses.asdict(sizes)
    shapes = content.pop("shapes")
    return {
        **content,
        "precision": precision_of(sizes.precision),
        "test": shapes[:-1],
        "validation": shapes[-1],
        "mappings": {row: STUDY.word(row, "", sizes) for row in ROWS},
        "optimiser": "Adam on the mean cross-entropy of logits",
        "schedule": f"{sizes.lr:g} * 0.1^(step / {(sizes.steps - 1) / 2:g})",
        "keys": "2020: PRNGKey(0) for weights and B of every shape",
        "pool": f"{sizes.blocks} blocks of {sizes.block} labelled points, each once a "
        "pass, in a new order",
        "spread": "standard deviation over the test shapes",
    }


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


def iou_of(rows: Mapping[str, Sequence[Network]]) -> np.ndarray:
    """(points, rows, shapes)."""
    return np.array(
        [[[n.score[points] for n in rows[row]] for row in ROWS] for points in POINTS]
    )
