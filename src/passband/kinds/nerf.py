"""Photographs of a scene with their cameras."""

import dataclasses
import math
import os
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from ..data.cameras import focus
from ..data.scenes import Photographs, Scene, read_scene, scene_files
from ..errors import InputError
from ..field import Field
from ..mappings import Mapping
from ..plot.picture_grid import picture_grid
from ..plot.triptych import triptych
from ..reconstruct.nearest_view import apart, nearest_photographs, nearest_psnr
from ..tasks.nerf import NerfTask, View, nerf_task, psnr_of_views, views_in
from ..tuning.instruments import nerf_problem
from ..tuning.problem import Problem
from .defaults import network_share, on_cpu
from .kind import (
    SILENT,
    Evaluation,
    Health,
    History,
    Kind,
    Listener,
    Network,
    Rendered,
    Spread,
    Training,
    TrialSize,
    Units,
    own_units,
    spread_of,
)
from .nerf_sizes import CPU_MAPPING, samples_of, small, training_of
from .options import NerfOptions, TrainOptions
from .render_scene import depth_picture, flight_of, render_scene, scene_facts
from .shown import Make, Reconstruction, Shown
from .views import scene_view

LONGEST, CPU_LONGEST = 800, 100
# Pixels of test views evaluated at the end: a quarter of a minute.
MOST_PIXELS, CPU_MOST_PIXELS = 31_250_000, 52_000
NEAREST = "nearest photograph"
STRIP = 4  # views that the report shows
PREVIEW_SECONDS = 20.0  # of training between two
FLAT_SPREAD = 1e-3
"""Spread of a rendered channel, over that of the photographs, below which a network
renders the same on every ray. Healthy ones are at 0.04 or more from the 50th step on,
and those that die are at exactly 0 by then."""
RADIANCE = "red, green and blue from 0 to 1, and density along a ray"
FOG_DEPTH = 0.1
"""Share of the way from near to far by which nine rays of ten are stopped in a network
that hangs a picture before each camera. Networks start as fog that ends at 0.2 or
later, and in healthy ones it recedes."""
FOG_STEPS, FRUSTUM_FOG_STEPS = (50, 2000), (1000, 2000)
"""When that is looked for. Forward-facing cameras see nearly the same of a picture on
the near plane, so healthy networks begin with one: of a fern, nine rays of ten were
stopped by 0.04 at step 100, by 0.38 at 200 and by 0.59 at 300."""


@dataclasses.dataclass(frozen=True, eq=False)
class NerfKind(Kind):
    """A scene in the unit cube, seen from its cameras."""

    name = "nerf"
    view = staticmethod(scene_view)
    cpu_trials, gpu_trials = TrialSize(400, 64), TrialSize(10_000, 1024)  # rays
    trials_mislead = (
        "the trials of a scene that a CPU has time for are too short to tell: this is "
        "a first guess; `passband tune nerf --steps 400` tries"
    )
    render_example = "--orbit 60 --out orbit.gif"

    options: NerfOptions
    scene: Scene
    samples: int
    """Points along a ray."""

    @classmethod
    def source(cls, options: NerfOptions) -> Path:
        return Path(os.path.realpath(super().source(options)))

    @classmethod
    def inputs(cls, options: NerfOptions) -> list[Path]:
        return scene_files(
            cls.source(options),
            allow_outside=options.allow_outside,
            most=_longest(options),
        )

    @classmethod
    def read(cls, options: NerfOptions, listener: Listener = SILENT) -> "NerfKind":
        path = cls.source(options)
        listener.progress(f"reading {path.name}", often=False)
        scene = read_scene(
            path,
            background=options.background,
            most=_longest(options),
            near=options.near,
            far=options.far,
            allow_outside=options.allow_outside,
            box=None if options.box is None else _box(options.box),
            rays=options.rays,
        )
        samples = samples_of(options)
        if scene.test is None and scene.val is not None:
            scene = dataclasses.replace(scene, test=scene.val)
        return cls(options, scene.name, scene, samples, notes=tuple(scene.notes))

    def default_mapping(self) -> str:
        return CPU_MAPPING if small(self.options) else "gaussian:auto"

    def _guess(self) -> float:
        """The paper's 26 radians per unit, 4.14 cycles, are 17 along the box of its
        scene, where 400 pixels can show 280. Smaller pictures show less, and where
        they train for fewer steps they are learned less well."""
        share = 10 if small(self.options) else 14
        return min(17.0, max(2.0, self.nyquist() / share))

    def training(self, asked: TrainOptions, mapping: Mapping) -> Training:
        views = self._scored()[0]
        return training_of(
            asked, mapping, self.network(),
            samples=self.samples,
            pixels=self.scene.train.pixels.size // 3,
            evaluate=0 if views is None else views.pixels.size // 3 * self.samples,
            bent=self.scene.space.frustum is not None,
        )  # fmt: skip

    def network(self, training: Training | None = None) -> Network:
        return Network(3, 4, "identity")

    def task(self, training: Training) -> NerfTask:
        return nerf_task(
            self.scene,
            batch=training.batch,
            samples=self.samples,
            seed=self.options.seed,
            test=self._scored()[0],
            skip=training.skip_empty,
        )

    def nyquist(self) -> float:
        """Half the pixels that the sharpest picture has along the scene's box."""
        train, space = self.scene.train, self.scene.space
        if space.frustum is not None:
            return max(train.size) / 2
        depth = (space.near + space.far) / 2
        return float(train.lens[:, 0].max()) * space.side / depth / 2

    def trials(self, asked: TrainOptions, size: TrialSize) -> Problem:
        scene = self.scene
        views, train = scene.val, scene.train
        if views is None:  # every 8th photograph stands in for them
            out = np.arange(len(train.names)) % 8 == 4
            views = train.part(np.flatnonzero(out))
            train = train.part(np.flatnonzero(~out))
        task = nerf_task(
            dataclasses.replace(scene, train=train), batch=size.points,
            samples=self.samples, seed=asked.seed,
        )  # fmt: skip
        return nerf_problem(
            task, views_in(scene.space, views), rays=256 if on_cpu() else 2048,
            guess=self._guess(), nyquist=self.nyquist(), seed=asked.seed,
            share=1.0 if small(asked) else network_share(),
        )  # fmt: skip

    def health(
        self, task: NerfTask, field: Field, entry: Any, history: History
    ) -> Health:
        def every(column: str, period: float) -> bool:
            past = history.get(column, [0])
            before = past[-1] if len(past) else 0
            return entry[column] // period > before // period

        step = entry["step"]
        # Networks die early if they do; later a look now and then is enough.
        if step >= 50 and every("step", 50 if step <= 2000 else 1000):
            probe = task.probe(field)
            if probe.spread < FLAT_SPREAD:
                return Health(collapse="a colour channel is the same on every ray")
            begin, end = FOG_STEPS if task.views.frustum is None else FRUSTUM_FOG_STEPS
            if probe.depth < FOG_DEPTH and begin <= step <= end:
                return Health(collapse="all light is stopped right before the cameras")
        if every("seconds", PREVIEW_SECONDS):
            return Health(preview=_preview(task, field))
        return Health()

    def _scored(self, most_views: int | None = None) -> tuple[Photographs | None, int]:
        """The test views that are scored, and how many there are.

        A few stand for all by how far each is from the nearest photograph: one from the
        middle of each of as many equal groups, from the nearest to the farthest. Every
        tenth view of Lego has 22.4 dB if the nearest photograph is shown, these have
        17.1, and all fifty 18.2.
        """
        test = self.scene.test
        if test is None:
            return None, 0
        count = len(test.names)
        most = CPU_MOST_PIXELS if on_cpu() else MOST_PIXELS
        kept = max(1, min(count, most // math.prod(test.size), most_views or count))
        if kept == count:
            return test, count
        order = np.argsort(apart(self.scene.train, test).min(axis=1), kind="stable")
        middle = (2 * np.arange(kept) + 1) * count // (2 * kept)
        return test.part(np.sort(order[middle])), count

    def evaluate(
        self,
        task: NerfTask,
        field: Field,
        training: Training,
        listener: Listener = SILENT,
        *,
        seconds: float | None = None,
    ) -> Evaluation:
        scored, count = self._scored()
        if seconds is not None and scored is not None:
            scored, _ = self._scored(_views_in(seconds / 2, task, field))
            if scored is not None and len(scored.names) < len(task.shown.poses):
                views = views_in(self.scene.space, scored)
                task = eqx.tree_at(lambda t: t.test, task, views)
        begun = time.perf_counter()
        seen = task.look(field)
        pictures = np.stack([view.colour for view in seen])
        more: dict[str, Any] = {
            "seconds_a_view": (time.perf_counter() - begun) / len(seen)
        }
        baselines = {}
        if scored is not None:
            near = float(nearest_psnr(self.scene.train, scored))
            baselines[NEAREST] = {"psnr_test": near}
            if len(scored.names) < count:
                more["evaluated"] = (
                    f"{len(scored.names)} of {count} test views, near to a photograph "
                    "and far from all"
                )

        def figures() -> dict[str, Any]:
            truth, ends = task.shown.truth()[:STRIP], self.scene.space.ends
            shown = np.clip(pictures[:STRIP], 0, 1)
            levels = psnr_of_views(pictures[:STRIP], truth)
            depths = [depth_picture(v.depth, v.opacity, ends) for v in seen[:STRIP]]
            rows = zip(truth, shown, depths, strict=True)
            grid = picture_grid(
                [list(row) for row in rows],
                titles=("Photograph", "Rendered", "Depth"),
                captions=[["", f"{level:.2f} dB", ""] for level in levels],
            )
            first = triptych(truth[0], shown[0])
            return {"triptych": first, "Views": grid}

        return Evaluation(
            metrics=task.metrics(field, pictures),
            about=self._about(),
            preview=lambda: _preview(task, field),
            figures=figures,
            baselines=baselines,
            more=more,
            spread=_spread(task, seen[:STRIP]),
            shown=lambda: Shown(
                np.clip(pictures[0], 0, 1), task.shown.truth()[0], self._nearest(scored)
            ),
        )

    def _nearest(self, scored: Photographs | None) -> dict[str, np.ndarray]:
        """The photograph nearest to the first test view."""
        if scored is None:
            return {}
        first = scored.part(np.arange(1))
        return {NEAREST: nearest_photographs(self.scene.train, first)[0]}

    def classical(self, room: int) -> dict[str, Make]:
        """The photograph that was taken nearest to each test view."""
        del room
        scored, _ = self._scored()
        if scored is None:
            return {}

        def nearest() -> Reconstruction:
            seen = nearest_photographs(self.scene.train, scored)
            truth = scored.pixels / 255
            level = float(psnr_of_views(seen, truth).mean())
            return Reconstruction({"psnr_test": level}, Shown(seen[0], truth[0]))

        return {NEAREST: nearest}

    def _about(self) -> dict[str, Any]:
        """What `render` needs to know of the scene."""
        scene, space = self.scene, self.scene.space
        train, test = scene.train, scene.test or scene.train
        seen = focus(train.poses, train.lens, train.size)
        centre = space.centre if seen is None else seen.centre
        return flight_of(space, train.poses, centre) | {
            "size": list(train.size),
            "lens": train.lens[0].tolist(),
            "near": space.near,
            "far": space.far,
            "centre": space.centre.tolist(),
            "side": space.side,
            "background": scene.background,
            "samples": self.samples,
            "test": np.round(test.poses[:200], 6).tolist(),
        }

    @classmethod
    def units(cls, field: Field, about: dict[str, Any]) -> Units:
        space, _, _ = scene_facts(field, about)
        if space.frustum is not None:
            return dataclasses.replace(
                own_units(3), coords="x and y of the middle camera's picture, its "
                "longer side one, and disparity from near (0) to far (1)",
                values=RADIANCE,
            )  # fmt: skip
        return Units(
            space.low, np.full(3, 1 / space.side), np.zeros(3),
            "x, y and z of the world of the cameras",
            RADIANCE,
        )  # fmt: skip

    @classmethod
    def in_units(cls, raw: np.ndarray, about: dict[str, Any]) -> np.ndarray:
        colour = 1 / (1 + np.exp(-np.clip(raw[:, :3], -80, 80)))
        return np.concatenate([colour, np.maximum(raw[:, 3:], 0)], axis=1)

    @classmethod
    def onnx_output(cls, field: Field) -> str:
        return "radiance"

    @classmethod
    def render(
        cls, field: Field, about: dict[str, Any], options: Any, listener: Listener
    ) -> Rendered:
        return render_scene(field, about, options, listener)


def _longest(options: NerfOptions) -> int:
    return options.longest or (CPU_LONGEST if on_cpu() else LONGEST)


def _spread(task: NerfTask, seen: list[View]) -> Spread | None:
    """That of a few views, side by side."""
    apart = [view.spread for view in seen if view.spread is not None]
    if not apart:
        return None
    mean = np.concatenate([view.colour for view in seen], axis=1)
    truth = np.asarray(task.shown.pixels[: len(seen)], np.float32) / 255
    known = np.concatenate([*truth], axis=1)
    return spread_of(np.concatenate(apart, axis=1), 1.0, mean, known, channels=True)


def _preview(task: NerfTask, field: Field) -> np.ndarray:
    """The first view shown, beside its photograph."""
    views = task.shown
    seen = task.see(field, views.poses[0], views.lens[0], views.size)
    truth = np.asarray(views.pixels[0], np.float32) / 255
    return np.concatenate([truth, seen.colour], axis=1)


def _views_in(seconds: float, task: NerfTask, field: Field) -> int:
    """Test views that are rendered in so many seconds."""
    views = task.shown
    task.see(field, views.poses[0], views.lens[0], views.size)  # compiled now
    begun = time.perf_counter()
    task.see(field, views.poses[0], views.lens[0], views.size)
    return max(1, int(seconds / max(time.perf_counter() - begun, 1e-6)))


def _box(text: str) -> tuple[float, float, float, float]:
    try:
        x, y, z, side = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"`box` (={text}) must be X,Y,Z,SIDE") from None
    return x, y, z, side
