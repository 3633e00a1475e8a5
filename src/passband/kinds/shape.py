"""A mesh file: PLY, OBJ, STL, NPZ."""

import dataclasses
import functools
import math
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..data.meshes import Mesh, Placement, bounding_box, normalise, read_mesh
from ..errors import InputError
from ..export.chamfer import chamfer
from ..export.mesh import Extracted, extract
from ..export.normals import Camera, mesh_normals, on_white, png_of
from ..field import Field
from ..labels.distance import DistancePoints, Distances, distance_points
from ..labels.near import NearPool
from ..labels.occupancy import Labeller
from ..labels.pool import ShapeLabels
from ..members import mean_and_spread
from ..plot.triptych import triptych
from ..tasks.distance import DistanceTask, distance_task, offset_surface
from ..tasks.shape import (
    ShapeTask,
    check_batch,
    near_points,
    shape_task,
    surface_of,
)
from ..tuning.instruments import shape_problem
from ..tuning.points import points_problem
from ..tuning.problem import Problem
from .defaults import MUON_LR, network_share, on_cpu, resolve
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
from .options import ShapeOptions, TrainOptions
from .pace import points_in
from .render_shape import placement_of, render_shape
from .shape_labels import (
    default_sizes,
    near_labels,
    near_share,
    read_labels,
    steps_and_batch,
)
from .shown import Shown
from .views import shape_view

# Of the surface in the report, in cells: the field is asked a million times on a CPU.
GRID, CPU_GRID, LEAST_GRID = 256, 112, 32
SLICE = 384
SAMPLES, CPU_SAMPLES = 200_000, 50_000
DISTANCES, CPU_DISTANCES, TEST_DISTANCES = 2**22, 2**18, 2**15
"""Points whose signed distances are worked out: a CPU takes 40,000 a second."""
SDF_GUESS = 4.0
"""Cycles per side of the cube: a distance is smoother than the shape it is of."""


@dataclasses.dataclass(frozen=True, eq=False)
class ShapeKind(Kind):
    """A solid, moved into the unit cube."""

    name = "shape"
    view = staticmethod(shape_view)
    cpu_trials, gpu_trials = TrialSize(400, 4096), TrialSize(896, 2**15)
    trials_by_default = False  # the first guess is the paper's scale of shapes
    render_example = "--resolution 256 --out surface.ply"

    options: ShapeOptions
    mesh: Mesh
    placement: Placement
    labels: ShapeLabels
    bytes: int
    """Of the file."""
    distances: tuple[DistancePoints, DistancePoints] | None = None
    """Those that are trained on and those that are tested, of the target `sdf`."""
    listener: Listener = SILENT
    """Hears of the labels near the surface, which are made for the first task that
    takes some."""

    @classmethod
    def inputs(cls, options: ShapeOptions) -> list[Path]:
        more = [] if options.labels is None else [Path(options.labels)]
        return [cls.source(options), *more]

    @classmethod
    def read(cls, options: ShapeOptions, listener: Listener = SILENT) -> "ShapeKind":
        path = cls.source(options)
        # What cannot be is refused before labels are made.
        near_share(options, steps_and_batch(options)[1], options)
        listener.progress(f"reading {path.name}", often=False)
        mesh, placement = normalise(read_mesh(path))
        size = path.stat().st_size
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels, said = read_labels(mesh, options, listener)
        said += tuple(str(warning.message) for warning in caught)
        distances = None
        if options.target == "sdf":
            listener.progress(f"distances to {mesh.name}", often=False)
            distances = _distances(mesh, options)
        return cls(
            options, mesh.name, mesh, placement, labels, size, distances, listener,
            warnings=said,
        )  # fmt: skip

    def default_mapping(self) -> str:
        return "gaussian:auto,norm=1"

    def training(self, asked: TrainOptions, mapping: Any) -> Training:
        steps, batch, width, layers = default_sizes(asked)
        steps = asked.steps or steps
        if self.options.labels is not None:
            batch = min(batch, self.labels.pool.block)
        asked = dataclasses.replace(asked, layers=asked.layers or layers)
        # The paper's for its 10,000 steps (protocol 1.5), more where there are fewer:
        # 500 steps at 5e-4 leave everything outside, at 5e-3 they do not.
        lr = float(np.clip(5e-4 * 10_000 / steps, 5e-4, 5e-3))
        muon_lr = MUON_LR * float(np.clip(10_000 / steps, 1, 25)) ** 0.5
        found = resolve(
            asked, mapping, steps=steps, batch=batch, lr=lr, muon_lr=muon_lr,
            schedule="decay", width=asked.width or width,
        )  # fmt: skip
        share = near_share(asked, found.batch, self.options)
        return dataclasses.replace(found, near_surface=share)

    def network(self, training: Training | None = None) -> Network:
        return Network(3, 1, "sigmoid" if self.distances is None else "identity")

    def task(self, training: Training) -> ShapeTask | DistanceTask:
        if self.distances is not None:
            return distance_task(*self.distances, batch=training.batch)
        steps, batch = training.steps, training.batch
        check_batch(batch, self.labels)
        close = near_points(batch, training.near_surface)
        return shape_task(
            self.labels, steps=steps, seed=self.options.seed, batch=batch,
            near=self._near(close * steps, batch) if close else None,
            near_surface=training.near_surface,
        )  # fmt: skip

    @functools.lru_cache(maxsize=2)  # noqa: B019  the tasks of a fit share its labels
    def _near(self, drawn: int, batch: int) -> NearPool:
        return near_labels(
            self.mesh, drawn, batch, self.listener,
            allow_open=self.options.allow_open, said=self.warnings,
        )  # fmt: skip

    def nyquist(self) -> None:
        return None

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        batch = min(size.points, self.labels.pool.block)
        if self.distances is not None:
            known = self.distances[0]
            found = points_problem(
                known.points, known.distances[:, None] + 0.5, batch=batch,
                most=CPU_DISTANCES, seed=asked.seed,
            )  # fmt: skip
            return dataclasses.replace(found, guess=SDF_GUESS)
        return shape_problem(
            self.labels, steps=size.steps, batch=batch, seed=asked.seed,
            share=network_share(), above=_above(asked, size.steps * batch),
        )  # fmt: skip

    def evaluate(
        self,
        task: ShapeTask | DistanceTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        metrics, mesh = task.metrics(field), self.mesh
        for name in metrics:
            if name.startswith("distance_error"):  # in units of the mesh
                metrics[name] *= 2 * self.placement.scale
        cells = CPU_GRID if on_cpu() else GRID
        if seconds is not None:  # the other half is for distances and figures
            few = round(points_in(seconds / 2, field) ** (1 / 3))
            cells = min(cells, max(LEAST_GRID, few))
        surface = self._surface(field, cells)
        camera = Camera.seeing(mesh.vertices)
        seen = np.zeros((camera.size, camera.size, 3), np.float32)
        if surface is not None:
            apart = chamfer(
                (surface.vertices, surface.faces),
                (mesh.vertices, mesh.faces),
                samples=CPU_SAMPLES if on_cpu() else SAMPLES,
            )
            metrics["chamfer"] = apart.mean * 2 * self.placement.scale
            seen = mesh_normals(surface.vertices, surface.faces, camera=camera)
        picture = on_white(seen)
        cut = None if field.members == 1 else self._slice(field)

        def figures() -> dict[str, Any]:
            pair = np.concatenate([self._normals, picture], axis=1)
            across = int(np.argmin(np.subtract(*bounding_box(mesh)[::-1])))
            axis, middle = "xyz"[across], self.placement.center[across]
            return {
                f"Slice at {axis} = {middle:.4g}": triptych(
                    *(cut or self._slice(field))[:2]
                ),
                "Normals: the mesh on the left, the field on the right": png_of(pair),
            }

        pool, about = self.labels.pool, self.labels.about
        near = task.near if isinstance(task, ShapeTask) else None
        model = sum(leaf.nbytes for leaf in jax.tree.leaves(field))
        size = {"mesh": self.bytes, "model": model}
        labels = {
            "points": pool.blocks * pool.block,
            "near_surface": 0 if near is None else near.blocks * near.block,
            "method": about["method"],
            "undecided": about["undecided"],
        }
        low, high = bounding_box(mesh)
        return Evaluation(
            metrics=metrics,
            about={
                "name": mesh.name,
                "center": self.placement.center.tolist(),
                "scale": self.placement.scale,
                "box": [low.tolist(), high.tolist()],
                "faces": len(mesh.faces),
                "digest": mesh.digest,
                "bytes": size,
            }
            | self._as_distance(),
            preview=lambda: picture / 255,
            figures=figures,
            more={"bytes": size, "labels": labels},
            spread=None if cut is None else spread_of(cut[2], 1.0, cut[1], cut[0]),
            shown=lambda: Shown(picture / 255, self._normals / 255),
        )

    def _as_distance(self) -> dict[str, Any]:
        """What a model of signed distances says besides: its values in units of the
        mesh."""
        if self.distances is None:
            return {}
        return {"target": "sdf", "low": 0.0, "high": 2 * self.placement.scale}

    @functools.cached_property
    def _normals(self) -> np.ndarray:
        """Those of the mesh, as a picture."""
        mesh, camera = self.mesh, Camera.seeing(self.mesh.vertices)
        return on_white(mesh_normals(mesh.vertices, mesh.faces, camera=camera))

    def _surface(self, field: Field, cells: int) -> Extracted | None:
        """The field's surface in the unit cube; None where it says one thing only."""
        try:
            surface = surface_of(field)
            if self.distances is not None:
                surface = offset_surface(field, 0.0)
            return extract(surface, bounding_box(self.mesh), resolution=cells)
        except InputError:
            return None

    def _slice(self, field: Field) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Inside or not, the field's probability and its spread, on a plane across the
        mesh.

        Through the middle of the vertices, across the shortest side of the box; y, or
        else z, points up.
        """
        low, high = bounding_box(self.mesh)
        across = int(np.argmin(high - low))
        up = 2 if across == 1 else 1
        right = 3 - across - up
        step = float((high - low).max()) / SLICE
        x = np.arange(low[right], high[right], step)
        y = np.arange(low[up], high[up], step)[::-1]
        points = np.full((len(y), len(x), 3), 0.5, np.float32)
        points[..., right], points[..., up] = np.meshgrid(x, y)
        flat = points.reshape(-1, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the points were labelled
            labeller = Labeller(self.mesh, allow_open=True, cells=False)
        truth = labeller.inside(flat).reshape(len(y), len(x))
        guess, apart = mean_and_spread(
            field, lambda one: one.predict(flat).reshape(len(y), len(x))
        )
        truth = truth.astype(np.float32)
        if self.distances is not None:
            apart_from = Distances(self.mesh, labeller, samples=SAMPLES)
            truth = _shade(apart_from.signed(flat).reshape(len(y), len(x)))
            guess = _shade(guess)
        return truth, guess, apart

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_shape(field, about, options, listener)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        placement = placement_of(about)
        # What float32 drops of a centre in the millions goes into the shift.
        center = placement.center.astype(np.float32).astype(np.float64)
        scale = np.full(3, 0.5 / placement.scale)
        shift = 0.5 + (center - placement.center) * scale
        return Units(
            center, scale, shift, "x, y and z of the fitted mesh",
            "signed distance in the mesh's units"
            if about.get("target") == "sdf"
            else "probability of inside",
        )  # fmt: skip


def _shade(distance: np.ndarray) -> np.ndarray:
    """A distance as a picture: white inside, grey on the surface, black a fifth of the
    cube away from it."""
    return np.clip(0.5 - 2.5 * distance, 0, 1)


def _above(asked: TrainOptions, tried: int) -> float:
    """How much higher the best scale of a fit is than that of trials of so many points.

    n points in a volume lie n^(-1/3) apart, and that is what the short fits of a CPU
    can tell: after 1.6 million points in trials 4.7, 5.3 and 5.7 were best for the
    Armadillo, Buddha and Lucy, after the 11.5 million of a fit about 10, 12 and 14.
    """
    if not on_cpu():
        return 1.0
    points = math.prod(steps_and_batch(asked))
    return float(np.clip((points / tried) ** (1 / 3), 1, 3))


def _distances(
    mesh: Mesh, options: ShapeOptions
) -> tuple[DistancePoints, DistancePoints]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the points were labelled
        labeller = Labeller(mesh, allow_open=True, cells=False)
    count = CPU_DISTANCES if on_cpu() else DISTANCES
    return (
        distance_points(mesh, labeller, count, seed=options.seed),
        distance_points(mesh, labeller, TEST_DISTANCES, seed=options.seed + 2**20),
    )
