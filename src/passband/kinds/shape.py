"""A mesh file: PLY, OBJ, STL, NPZ."""

import dataclasses
import functools
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..data.images import write_image
from ..data.meshes import Mesh, Placement, bounding_box, normalise, read_mesh
from ..data.store import kept_folder
from ..errors import InputError
from ..export.chamfer import chamfer
from ..export.mesh import BatchField, Extracted, extract, write_mesh
from ..export.normals import Camera, field_normals, mesh_normals, on_white, png_of
from ..field import Field
from ..file_gate import read_json
from ..labels.occupancy import Labeller, embree_missing
from ..labels.pool import ShapeLabels, load_labels, make_labels
from ..members import mean_and_spread
from ..plot.triptych import triptych
from ..tasks.shape import ShapeTask, shape_task, surface_of
from ..tuning.instruments import shape_problem
from ..tuning.problem import Problem
from .defaults import MUON_LR, modern, network_share, on_cpu, resolve
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
    share_told,
    spread_of,
)
from .model_facts import check_room, numbers_of, refuse, suffix_of
from .options import ShapeOptions, TrainOptions
from .pace import points_in
from .shown import Shown

BLOCK = 32_768  # the paper's points a step
POOL, SMALL_POOL = 2**26, 2**23
TEST_POINTS = 2**18
# Of the surface in the report, in cells: the field is asked a million times on a CPU.
GRID, CPU_GRID, LEAST_GRID = 256, 112, 32
SLICE = 384
SAMPLES, CPU_SAMPLES = 200_000, 50_000
MESHES = (".ply", ".obj", ".stl")
ROUGH = 48  # points a side that tell where the shape is
Box = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class ShapeKind(Kind):
    """A solid, moved into the unit cube."""

    name = "shape"
    cpu_trials, gpu_trials = TrialSize(400, 1024), TrialSize(896, 2**15)
    trials_by_default = False  # the first guess is the paper's scale of shapes
    render_example = "--resolution 256 --out surface.ply"

    options: ShapeOptions
    mesh: Mesh
    placement: Placement
    labels: ShapeLabels
    bytes: int
    """Of the file."""

    @classmethod
    def inputs(cls, options: ShapeOptions) -> list[Path]:
        more = [] if options.labels is None else [Path(options.labels)]
        return [cls.source(options), *more]

    @classmethod
    def read(cls, options: ShapeOptions, listener: Listener = SILENT) -> "ShapeKind":
        path = cls.source(options)
        listener.progress(f"reading {path.name}", often=False)
        mesh, placement = normalise(read_mesh(path))
        size = path.stat().st_size
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels, said = _labels(mesh, options, listener)
        said += tuple(str(warning.message) for warning in caught)
        return cls(options, mesh.name, mesh, placement, labels, size, warnings=said)

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
        return resolve(
            asked, mapping, steps=steps, batch=batch, lr=lr, muon_lr=muon_lr,
            schedule="decay", width=asked.width or width,
        )  # fmt: skip

    def network(self, training: Training | None = None) -> Network:
        return Network(3, 1, "sigmoid")

    def task(self, training: Training) -> ShapeTask:
        seed, batch = self.options.seed, training.batch
        return shape_task(self.labels, steps=training.steps, seed=seed, batch=batch)

    def nyquist(self) -> None:
        return None

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        batch = min(size.points, self.labels.pool.block)
        return shape_problem(
            self.labels, steps=size.steps, batch=batch, seed=asked.seed,
            share=network_share(),
        )  # fmt: skip

    def evaluate(
        self,
        task: ShapeTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        metrics, mesh = task.metrics(field), self.mesh
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
            return {
                "triptych": triptych(*(cut or self._slice(field))[:2]),
                "Normals: the mesh on the left, the field on the right": png_of(pair),
            }

        pool, about = self.labels.pool, self.labels.about
        model = sum(leaf.nbytes for leaf in jax.tree.leaves(field))
        size = {"mesh": self.bytes, "model": model}
        labels = {
            "points": pool.blocks * pool.block,
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
            },
            preview=lambda: picture / 255,
            figures=figures,
            more={"bytes": size, "labels": labels},
            spread=None if cut is None else spread_of(cut[2], 1.0, cut[1], cut[0]),
            shown=lambda: Shown(picture / 255, self._normals / 255),
        )

    @functools.cached_property
    def _normals(self) -> np.ndarray:
        """Those of the mesh, as a picture."""
        mesh, camera = self.mesh, Camera.seeing(self.mesh.vertices)
        return on_white(mesh_normals(mesh.vertices, mesh.faces, camera=camera))

    def _surface(self, field: Field, cells: int) -> Extracted | None:
        """The field's surface in the unit cube; None where it says one thing only."""
        try:
            return extract(surface_of(field), bounding_box(self.mesh), resolution=cells)
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
        return truth.astype(np.float32), guess, apart

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        refuse(options, ("size", "crop", "bits"), "is for pictures, this is a shape")
        box, placement = box_of(field, about), placement_of(about)
        check_room(8 * (options.resolution or 256) ** 2)
        progress = share_told(listener)

        def mesh() -> Extracted:
            return extract(
                surface_of(field),
                box,
                resolution=options.resolution or 256,
                placement=placement,
                on_slab=progress,
            )

        def write(out: Path) -> dict[str, Any]:
            if suffix_of(out, (*MESHES, ".png")) == ".png":
                camera = _camera(surface_of(field), box, options)
                normals = field_normals(
                    surface_of(field), box, camera=camera, on_rows=progress
                )
                write_image(out, on_white(normals) / 255)
                return {"shape": list(normals.shape)}
            reference, surface = _reference(about, options), mesh()
            write_mesh(out, surface.vertices, surface.faces, surface.normals)
            content: dict[str, Any] = {
                "shape": [len(surface.faces), 3],
                "vertices": len(surface.vertices),
                "bytes": out.stat().st_size,
                "text": f"triangles over {len(surface.vertices)} vertices",
            }
            if reference is not None:
                listener.progress("measuring the distance to the mesh", often=False)
                content |= _apart(surface, reference, placement)
                content["text"] += (
                    f"; Chamfer distance to {reference.name} "
                    f"{content['chamfer']:.4g}, {content['chamfer_relative']:.3%} of "
                    "its size"
                )
            return content

        return Rendered(mesh, write)

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        placement = placement_of(about)
        # What float32 drops of a centre in the millions goes into the shift.
        center = placement.center.astype(np.float32).astype(np.float64)
        scale = np.full(3, 0.5 / placement.scale)
        shift = 0.5 + (center - placement.center) * scale
        return Units(
            center, scale, shift, "x, y and z of the fitted mesh",
            "probability of inside",
        )  # fmt: skip


def default_sizes(asked: TrainOptions) -> tuple[int, int, int, int]:
    """Steps, points a step, width and layers. In three minutes of 2 cores Muon learns
    most with many points and a small network: Lucy's IoU near the surface is 0.940, and
    0.921 with the paper's network."""
    if not on_cpu():
        return 10_000, BLOCK, 256, 8
    return (1400, 8192, 128, 5) if modern(asked) else (2000, 2048, 256, 8)


def _labels(
    mesh: Mesh, options: ShapeOptions, listener: Listener
) -> tuple[ShapeLabels, tuple[str, ...]]:
    """Labels from a file, from the cache, or made now, and what is to be warned of.

    A run that draws few points has a small pool: every point of it is new, or nearly,
    and a CPU is not kept from training.
    """
    if options.labels is not None:
        return (
            load_labels(options.labels, mesh=mesh, allow_open=options.allow_open),
            (),
        )
    steps, batch, *_ = default_sizes(options)
    steps, batch = options.steps or steps, options.batch or batch
    if batch % 8:
        raise InputError(
            f"`batch` (={batch}) must be a multiple of 8, since labels are packed in "
            "bytes"
        )
    block = max(BLOCK, batch)
    points = SMALL_POOL if steps * batch <= SMALL_POOL else POOL
    blocks = max(1, points // block)
    slow = ()
    if embree_missing():
        slow = ("embreex is not installed; labels are made a slower way",)
    listener.progress(f"labelling {mesh.name}", often=False)
    labels = make_labels(
        mesh,
        blocks=blocks,
        block=block,
        test_points=TEST_POINTS,
        cache_dir=kept_folder("labels"),
        allow_open=options.allow_open,
        on_block=lambda done: listener.progress(
            f"labelling {mesh.name}  {done * block / 1e6:.1f} of "
            f"{blocks * block / 1e6:.1f} million points"
        ),
    )
    return labels, slow


def _camera(field: BatchField, box: Box, options: Any) -> Camera:
    """The paper's view or the one asked for, from where all of the shape is seen."""
    given = {
        "azimuth": options.azimuth,
        "elevation": options.elevation,
        "radius": options.radius,
        "size": options.resolution,
    }
    axes = np.meshgrid(*np.linspace(*box, ROUGH).T, indexing="ij")
    grid = np.stack(axes, axis=-1).reshape(-1, 3)
    inside = grid[field(grid) > 0]
    if not len(inside):
        raise InputError("the field has nothing inside; there is no surface to see")
    return Camera.seeing(inside, **{k: v for k, v in given.items() if v is not None})


def _apart(surface: Extracted, mesh: Mesh, placement: Placement) -> dict[str, float]:
    """Chamfer distance in the mesh's own units, and as a share of its longest side."""
    # In the unit cube, where coordinates in the millions lose no digits.
    first = (placement.to_unit(surface.vertices), surface.faces)
    second = (placement.to_unit(mesh.vertices), mesh.faces)
    apart = chamfer(first, second, samples=SAMPLES).mean
    longest = float(np.ptp(second[0], axis=0).max())
    return {
        "chamfer": apart * 2 * placement.scale,
        "chamfer_relative": apart / longest,
    }


def _reference(about: dict[str, Any], options: Any) -> Mesh | None:
    """The mesh to measure against: the one given, or the fitted one if still there."""
    if options.reference is not None:
        return read_mesh(options.reference)
    try:
        config = read_json(Path(about["folder"]) / "config.json")
        mesh = read_mesh(Path(config["file"]))
    except (LookupError, TypeError, InputError):
        return None  # a model that was sent somewhere else
    return mesh if mesh.digest == about.get("digest") else None


def box_of(field: Field, about: dict[str, Any]) -> Box:
    """The corners of the fitted mesh in the unit cube, a little further out."""
    box = np.asarray(numbers_of(about, "box", (2, 3)))
    if field.encoding.dims != 3 or field.mlp.biases[-1].shape[-1] != 1:
        raise InputError(
            f"the model has {field.encoding.dims} coordinates and "
            f"{field.mlp.biases[-1].shape[-1]} outputs; a shape has 3 and 1"
        )
    if not (box[0] < box[1]).all() or np.abs(box).max() > 2:
        raise InputError(f"the model's `box` (={about['box']}) makes no sense")
    return box[0], box[1]


def placement_of(about: dict[str, Any]) -> Placement:
    """Where the fitted mesh stood."""
    center = np.asarray(numbers_of(about, "center", (3,)))
    scale = float(numbers_of(about, "scale", ()))
    if not scale > 0:
        raise InputError(f"the model's `scale` (={scale}) makes no sense")
    return Placement(center, scale)
