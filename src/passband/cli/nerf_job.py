"""The scene's part of `passband fit`."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..data.cameras import focus, orbit_of
from ..data.images import quantise, write_image
from ..data.scenes import Photographs, Scene, read_scene, scene_files
from ..errors import InputError
from ..export.report import write_report
from ..field import Field
from ..mappings import Basic, Mapping, NoMapping
from ..plot.picture_grid import picture_grid
from ..plot.triptych import triptych
from ..tasks.nerf import NerfTask, nerf_task, psnr_of_views
from ..train.run_folder import RunFolder
from ..train.state import State
from .console import Console
from .fit_job import CPU_POINTS, Collapse, FitJob
from .fit_nerf import Options

STEPS, CPU_STEPS = 50_000, 1200
RAYS = 1024
SAMPLES, CPU_SAMPLES = 128, 48
LONGEST, CPU_LONGEST = 800, 100
# Points of test views evaluated at the end: a quarter of a minute.
MOST_POINTS, CPU_MOST_POINTS = 4_000_000_000, 2_500_000
PREVIEW = 20.0  # seconds of training between two
COLLAPSED = 1e-3
"""Spread of a rendered channel, over that of the photographs, below which a network
renders the same on every ray. Healthy ones are at 0.04 or more from the 50th step on,
and those that die are at exactly 0 by then."""
BEFORE = 0.1
"""Share of the way from near to far by which nine rays of ten are stopped in a network
that hangs a picture before each camera. Networks start as fog that ends at 0.2 or
later, and in healthy ones it recedes."""


class NerfJob(FitJob):
    """Photographs of a scene, fitted."""

    name = "nerf"
    scene: Scene
    samples: int
    shown: float = 0.0

    def source(self, options: Options) -> Path:
        return super().source(options).resolve()

    def inputs(self, options: Options) -> list[Path]:
        return scene_files(self.source(options))

    def read(self, options: Options, console: Console) -> None:
        on_cpu = jax.default_backend() == "cpu"
        path = self.source(options)
        console.progress(f"reading {path.name}", often=False)
        scene = read_scene(
            path,
            background=options.background,
            most=options.longest or (CPU_LONGEST if on_cpu else LONGEST),
            near=options.near,
            far=options.far,
            box=None if options.box is None else _box(options.box),
        )
        for note in scene.notes:
            console.say(f"passband: {note}")
        self.samples = options.samples or (CPU_SAMPLES if on_cpu else SAMPLES)
        if scene.test is None and scene.val is not None:
            scene = dataclasses.replace(scene, test=scene.val)
        self.scene = scene

    def task(self, options: Options, batch: int | None) -> NerfTask:
        return nerf_task(
            self.scene,
            batch=batch or RAYS,
            samples=self.samples,
            seed=options.seed,
            test=self._scored()[0],
        )

    def field_options(self) -> dict[str, Any]:
        return {"d": 3, "out": 4, "output": "identity"}

    def points(self, options: Options) -> tuple[int, int]:
        del options
        views = self._scored()[0]
        pixels = 0 if views is None else views.pixels.size // 3
        return self.scene.train.pixels.size // 3, pixels * self.samples

    def nyquist(self, options: Options) -> float:
        """Half the pixels that the sharpest picture has along the scene's box."""
        del options
        train, space = self.scene.train, self.scene.space
        depth = (space.near + space.far) / 2
        return float(train.lens[:, 0].max()) * space.side / depth / 2

    def default_mapping(self) -> str:
        # The paper's 26 radians per unit, 4.14 cycles, are 17 along the box of its
        # scene, where 400 pixels can show 280; smaller pictures train for less long.
        nyquist = self.nyquist(Options())
        return f"gaussian:{min(17.0, max(2.0, nyquist / 14)):.3g}"

    def default_steps(self, options: Options, on_cpu: bool) -> int:
        del options
        return CPU_STEPS if on_cpu else STEPS

    def rate(self, mapping: Mapping) -> float:
        """The paper's learning rates (protocol 1.5, NeRF)."""
        if isinstance(mapping, NoMapping):
            return 1e-2
        if isinstance(mapping, Basic):
            return 5e-3
        on_cpu = jax.default_backend() == "cpu"
        return 2e-3 if on_cpu else 5e-4  # few steps need long ones

    def batch(self, options: Options, steps: int, on_cpu: bool) -> int:
        train, evaluate = self.points(options)
        if not on_cpu:
            return min(train, RAYS)
        rays = (CPU_POINTS - 0.4 * evaluate) / steps / self.samples
        return min(train, max(32, int(rays)))

    def on_log(
        self, task: Any, state: State, entry: dict[str, float], folder: RunFolder
    ) -> bool:
        step = int(entry["step"])
        # Networks die early if they do; later a look now and then is enough.
        often = 50 if step <= 2000 else 1000
        due = step >= 50 and step % often < folder.config["every"]
        if due:
            probe = task.probe(state.field)
            if probe.spread < COLLAPSED:
                raise Collapse(step, "a colour channel is the same on every ray")
            if probe.depth < BEFORE and step <= 2000:
                raise Collapse(step, "all light is stopped right before the cameras")
        if entry["seconds"] - self.shown >= PREVIEW:
            self.shown = entry["seconds"]
            write_image(folder.path / "preview.png", self._preview(task, state.field))
        return False

    def _preview(self, task: NerfTask, field: Field) -> np.ndarray:
        """The first view shown, beside its photograph."""
        views = task.shown
        seen = task.see(field, views.poses[0], views.lens[0], views.size)
        truth = np.asarray(views.pixels[0], np.float32) / 255
        return np.concatenate([truth, seen.colour], axis=1)

    def _scored(self) -> tuple[Photographs | None, int]:
        """The test views that are scored, and how many there are."""
        test = self.scene.test
        if test is None:
            return None, 0
        count = len(test.names)
        on_cpu = jax.default_backend() == "cpu"
        most = CPU_MOST_POINTS if on_cpu else MOST_POINTS
        points = self.samples * test.size[0] * test.size[1]
        kept = max(1, min(count, most // points))
        return test.part(np.arange(kept) * count // kept), count

    def finish(
        self,
        task: NerfTask,
        field: Field,
        folder: RunFolder,
        result: dict[str, Any],
        history: dict[str, list[float]],
    ) -> dict[str, Any]:
        started = time.perf_counter()
        seen = [
            task.see(field, pose, lens, task.shown.size)
            for pose, lens in zip(task.shown.poses, task.shown.lens, strict=True)
        ]
        pictures = np.stack([view.colour for view in seen])
        result["seconds_a_view"] = (time.perf_counter() - started) / len(seen)
        result["metrics"] = task.metrics(field, pictures)
        scored, count = self._scored()
        if scored is not None:
            result["baselines"] = {
                "the nearest photograph": {
                    "psnr_test": float(nearest_psnr(self.scene.train, scored))
                }
            }
            if len(scored.names) < count:
                result["evaluated"] = f"{len(scored.names)} of {count} test views"
        write_image(folder.path / "preview.png", self._preview(task, field))
        truth = task.shown.truth()
        shown = range(min(4, len(truth)))
        depth = [depth_picture(v.depth, v.opacity,
                               self.scene.space.ends) for v in seen[:4]]  # fmt: skip
        grid = picture_grid(
            [[truth[k], np.clip(pictures[k], 0, 1), depth[k]] for k in shown],
            titles=("Photograph", "Rendered", "Depth"),
            captions=[["", f"{p:.2f} dB", ""] for p in
                      psnr_of_views(pictures[:4], truth[:4])],
        )  # fmt: skip
        write_report(
            folder.path / "report.html",
            title=self.scene.name,
            config=folder.config,
            result=result,
            figures={
                "triptych": triptych(truth[0], np.clip(pictures[0], 0, 1)),
                "Views": grid,
            },
            history=history,
        )
        return self._about()

    def _about(self) -> dict[str, Any]:
        """What `passband render` needs to know of the scene."""
        scene, space = self.scene, self.scene.space
        train, test = scene.train, scene.test or scene.train
        seen = focus(train.poses, train.lens, train.size)
        centre = space.centre if seen is None else seen.centre
        return {
            "size": list(train.size),
            "lens": train.lens[0].tolist(),
            "near": space.near,
            "far": space.far,
            "centre": space.centre.tolist(),
            "side": space.side,
            "background": scene.background,
            "samples": self.samples,
            "orbit": orbit_of(train.poses, centre),
            "test": np.round(test.poses[:200], 6).tolist(),
        }


def depth_picture(
    depth: np.ndarray, opacity: np.ndarray, ends: tuple[float, float]
) -> np.ndarray:
    """Depth in grey: white at `near`, black at `far` and where nothing is."""
    mean = depth / np.maximum(opacity, 1e-6)
    light = (ends[1] - mean) / (ends[1] - ends[0])
    grey = np.clip(light, 0, 1) * np.clip(opacity, 0, 1)
    return quantise(np.repeat(grey[..., None], 3, axis=2), 8)


def nearest_psnr(train: Photographs, test: Photographs) -> float:
    """Mean PSNR of showing, for every test view, the photograph taken nearest to it."""
    apart = np.linalg.norm(
        test.poses[:, None, :, 3] - train.poses[None, :, :, 3], axis=2
    )
    nearest = train.pixels[apart.argmin(axis=1)] / 255
    return psnr_of_views(nearest, test.pixels / 255).mean()


def _box(text: str) -> tuple[float, float, float, float]:
    try:
        x, y, z, side = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"`--box` (={text}) must be X,Y,Z,SIDE") from None
    return x, y, z, side
