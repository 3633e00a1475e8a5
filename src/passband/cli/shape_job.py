"""The mesh's part of `passband fit`."""

import io
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..data.images import write_image
from ..data.meshes import Mesh, Placement, bounding_box, normalise, read_mesh
from ..data.store import cache_folder
from ..errors import InputError
from ..export.chamfer import chamfer
from ..export.mesh import Extracted, extract
from ..export.normals import Camera, mesh_normals, on_white
from ..export.report import write_report
from ..field import Field
from ..labels.occupancy import Labeller, embree_missing
from ..labels.pool import ShapeLabels, load_labels, make_labels
from ..mappings import Mapping
from ..plot.triptych import triptych
from ..tasks.shape import ShapeTask, shape_task, surface_of
from ..train.run_folder import RunFolder
from ..train.state import Rate, decaying_rate
from .console import Console
from .fit_job import FitJob
from .fit_shape import Options

BLOCK = 32_768  # the paper's points a step
POOL, SMALL_POOL = 2**26, 2**23
TEST_POINTS = 2**18
# Of the surface in the report, in cells: the field is asked a million times on a CPU.
GRID, CPU_GRID = 256, 112
SLICE = 384
SAMPLES, CPU_SAMPLES = 200_000, 50_000


class ShapeJob(FitJob):
    """A mesh file, fitted."""

    name = "shape"
    mesh: Mesh
    """In the unit cube."""
    placement: Placement
    labels: ShapeLabels
    steps: int
    bytes: int

    def inputs(self, options: Options) -> list[Path]:
        more = [] if options.labels is None else [Path(options.labels)]
        return [self.source(options), *more]

    def read(self, options: Options, console: Console) -> None:
        path = self.source(options)
        on_cpu = jax.default_backend() == "cpu"
        self.steps = options.steps or self.default_steps(options, on_cpu)
        console.progress(f"reading {path.name}", often=False)
        self.mesh, self.placement = normalise(read_mesh(path))
        self.bytes = path.stat().st_size
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.labels = self._label(options, console)
        for warning in caught:
            console.warn(str(warning.message))

    def _label(self, options: Options, console: Console) -> ShapeLabels:
        """Labels from a file, from the cache, or made now.

        A run that draws few points has a small pool: every point of it is new, or
        nearly, and a CPU is not kept from training.
        """
        if options.labels is not None:
            return load_labels(
                options.labels, mesh=self.mesh, allow_open=options.allow_open
            )
        on_cpu = jax.default_backend() == "cpu"
        batch = options.batch or self.batch(options, self.steps, on_cpu)
        if batch % 8:
            raise InputError(
                f"`--batch` (={batch}) must be a multiple of 8, since labels are "
                "packed in bytes"
            )
        block = max(BLOCK, batch)
        points = SMALL_POOL if self.steps * batch <= SMALL_POOL else POOL
        blocks = max(1, points // block)
        if embree_missing():
            console.warn("embreex is not installed; labels are made a slower way")
        console.progress(f"labelling {self.mesh.name}", often=False)
        return make_labels(
            self.mesh,
            blocks=blocks,
            block=block,
            test_points=TEST_POINTS,
            cache_dir=cache_folder() / "labels",
            allow_open=options.allow_open,
            on_block=lambda done: console.progress(
                f"labelling {self.mesh.name}  {done * block / 1e6:.1f} of "
                f"{blocks * block / 1e6:.1f} million points"
            ),
        )

    def task(self, options: Options, batch: int | None) -> ShapeTask:
        return shape_task(self.labels, steps=self.steps, seed=options.seed, batch=batch)

    def field_options(self) -> dict[str, Any]:
        return {"d": 3, "out": 1, "output": "sigmoid"}

    def points(self, options: Options) -> tuple[int, int]:
        pool = self.labels.pool
        return pool.blocks * pool.block, 2 * len(self.labels.uniform.labels)

    def nyquist(self, options: Options) -> None:
        return None

    def default_mapping(self) -> str:
        return "gaussian:12,norm=1"

    def default_steps(self, options: Options, on_cpu: bool) -> int:
        return 2000 if on_cpu else 10_000

    def batch(self, options: Options, steps: int, on_cpu: bool) -> int:
        batch = 2048 if on_cpu else BLOCK
        given = options.labels is not None and hasattr(self, "labels")
        return min(batch, self.labels.pool.block) if given else batch

    def rate(self, mapping: Mapping) -> float:
        """The paper's for its 10,000 steps (protocol 1.5), more where there are fewer:
        500 steps at 5e-4 leave everything outside, at 5e-3 they do not."""
        return float(np.clip(5e-4 * 10_000 / self.steps, 5e-4, 5e-3))

    def schedule(self, lr: float, steps: int) -> Rate:
        """Down to a hundredth at the end: lr * 0.1^(i / 5000) of 10,000 steps."""
        return decaying_rate(lr, 0.1, steps / 2)

    def finish(
        self,
        task: ShapeTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        result["metrics"] = task.metrics(field)
        on_cpu = jax.default_backend() == "cpu"
        surface = self._surface(field, CPU_GRID if on_cpu else GRID)
        camera = Camera.seeing(self.mesh.vertices)
        seen = np.zeros((camera.size, camera.size, 3), np.float32)
        if surface is not None:
            apart = chamfer(
                (surface.vertices, surface.faces),
                (self.mesh.vertices, self.mesh.faces),
                samples=CPU_SAMPLES if on_cpu else SAMPLES,
            )
            result["metrics"]["chamfer"] = apart.mean * 2 * self.placement.scale
            seen = mesh_normals(surface.vertices, surface.faces, camera=camera)
        truth = mesh_normals(self.mesh.vertices, self.mesh.faces, camera=camera)
        picture = on_white(seen)
        write_image(folder.path / "preview.png", picture / 255)
        pair = np.concatenate([on_white(truth), picture], axis=1)
        figures = {
            "triptych": triptych(*self._slice(field)),
            "Normals: the mesh on the left, the field on the right": _png(pair),
        }
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(field))
        result["bytes"] = {"mesh": self.bytes, "model": size}
        about = self.labels.about
        result["labels"] = {
            "points": self.labels.pool.blocks * self.labels.pool.block,
            "method": about["method"],
            "undecided": about["undecided"],
        }
        write_report(
            folder.path / "report.html",
            title=self.mesh.name,
            config=folder.config,
            result=result,
            figures=figures,
            history=history,
        )
        low, high = bounding_box(self.mesh)
        return {
            "name": self.mesh.name,
            "center": self.placement.center.tolist(),
            "scale": self.placement.scale,
            "box": [low.tolist(), high.tolist()],
            "faces": len(self.mesh.faces),
            "digest": self.mesh.digest,
            "bytes": result["bytes"],
        }

    def _surface(self, field: Field, cells: int) -> Extracted | None:
        """The field's surface in the unit cube; None where it says one thing only."""
        try:
            return extract(surface_of(field), bounding_box(self.mesh), resolution=cells)
        except InputError:
            return None

    def _slice(self, field: Field) -> tuple[np.ndarray, np.ndarray]:
        """Inside or not, and the field's probability, on a plane across the mesh.

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
        guess = field.predict(flat).reshape(len(y), len(x))
        return truth.astype(np.float32), guess


def _png(picture: np.ndarray) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    return stream.getvalue()
