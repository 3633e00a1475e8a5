"""Networks of the view-synthesis items: trained by shape, looked at on the way.

All follow protocol 9: 1024 rays a step, 128 samples, near 2, far 6, world coordinates,
and one key of 2020 for B and the weights.
"""

import dataclasses
import functools
import json
import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np

from ..data.scene_space import Space
from ..data.scenes import Photographs, Scene, read_scene, subset, turned_scene
from ..data.toy_scene import FAR, NEAR
from ..field import Field, make_field
from ..ops.mlp import Precision
from ..tasks.nerf import NerfTask, nerf_task, psnr_of_views, views_in
from ..tasks.toy_views import toy_views
from ..train.loop import Config, start
from ..train.population import population_chunk, stack, unstack
from ..train.state import adam
from ..train.work import count
from .item import Preset, Progress

WORLD = Space(NEAR, FAR, np.full(3, 0.5), 1.0)
"""The paper's coordinates: those of the world, unscaled, from 2 to 6 along a ray."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's."""

    side: int = 400
    views: int = 100
    val: int = 7
    test: int = 13
    rays: int = 1024
    samples: int = 128
    width: int = 256
    layers: int = 4
    m: int = 256
    octaves: int = 9
    positional: float = 8.0
    """Powers of two, in radians per unit of the world."""
    gaussian: float = 26.0
    rate: float = 5e-4
    """Of the mapped rows."""
    stops: tuple[int, ...] = (5_000, 20_000, 50_000)
    """Steps after which the test views are looked at."""

    def word(self, row: str) -> str:
        """The mapping of a row: `positional:rotated` turns its frequencies, as the
        notebook did for the scene."""
        family, _, turn = row.partition(":")
        word = {
            "none": "none",
            "basic": "basic:units=rad",
            "octaves": f"octaves:{self.octaves},units=rad",
            "positional": f"positional:{self.positional:g},units=rad,m={self.m}",
            "gaussian": f"gaussian:{self.gaussian:g},units=rad,m={self.m}",
        }[family]
        return f"{word},rotate=zx45" if turn else word

    def rate_of(self, row: str) -> float:
        """Learning rates of protocol 1.5."""
        return {"none": 1e-2, "basic": 5e-3}.get(row, self.rate)


SMALL = Setting(
    side=32, views=20, val=3, test=3, rays=128, samples=48, width=64, m=64, octaves=5,
    positional=4.5, gaussian=6.0, rate=2e-3, stops=(200, 500, 1000),
)  # fmt: skip
# With 12 frequencies, three per octave, all mapped rows have one shape: one program.
SETTINGS = {
    Preset.SMOKE: dataclasses.replace(
        SMALL, side=12, views=6, val=1, test=2, rays=32, samples=24, width=32, m=12,
        octaves=4, layers=2, stops=(20, 40),
    ),
    Preset.SMALL: SMALL,
    Preset.FULL: Setting(),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Run:
    """One network."""

    word: str
    rate: float
    key: int = 0
    """The seed, with the bits of 2020, of B and of the weights."""


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What came of a list of runs: fields by stop, then by run."""

    fields: list[list[Field]]
    seconds: dict[str, float]
    """Of each stack, compiling apart, by its shape."""


def train_runs(
    task: NerfTask,
    runs: Sequence[Run],
    stops: Sequence[int],
    setting: Setting,
    progress: Progress,
) -> Trained:
    """Train every run; those of one shape together, all shapes compiled side by side.

    Every run takes the same rays in the same order.
    """
    every = math.gcd(*stops) if len(stops) > 1 else math.gcd(stops[0], 1000)
    states = []
    for run in runs:
        field = make_field(
            run.word, d=3, out=4, key=jax.random.PRNGKey(run.key), width=setting.width,
            layers=setting.layers, output="identity", bits2020=True,
        )  # fmt: skip
        config = Config(stops[-1], run.rate, every, "auto")
        states.append(start(field, config, key=jax.random.key(run.key)))
    groups: dict[tuple[str, int], list[int]] = {}
    for i, state in enumerate(states):
        encoding = state.field.encoding
        groups.setdefault((type(encoding).__name__, encoding.features), []).append(i)

    def stacked(members: list[int]):
        shared, axes = stack([task] * len(members))
        state = jax.tree.map(lambda *a: jnp.stack(a), *(states[i] for i in members))
        return shared, state, axes, adam(), every

    progress(f"compiling {len(groups)} programs")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiling = [
            pool.submit(population_chunk.lower(*stacked(members)).compile)  # pyright: ignore[reportFunctionMemberAccess]
            for members in groups.values()
        ]
        programs = [one.result() for one in compiling]
    fields: list[list[Field]] = [[states[0].field] * len(runs) for _ in stops]
    seconds = {}
    for (_, size), members, program in zip(
        groups.keys(), groups.values(), programs, strict=True
    ):
        name = f"{len(members)} of {size} inputs"
        shared, state, axes, optimiser, every = stacked(members)
        begun = time.perf_counter()
        for step in range(0, stops[-1], every):
            progress(f"{name}: step {step} of {stops[-1]}")
            state, losses = program(shared, state, axes, optimiser, every)
            losses.block_until_ready()
            if step + every in stops:
                exact = state.field.with_precision(Precision.FLOAT32)
                for i, field in zip(members, unstack(exact, len(members)), strict=True):
                    fields[stops.index(step + every)][i] = field
        count(state.field, task.step_points, stops[-1] * len(members))
        seconds[name] = round(time.perf_counter() - begun, 1)
    return Trained(fields, seconds)


def precision() -> str:
    """Of the matrix products of training and rendering."""
    return Precision.resolve("auto", jax.default_backend()).value


def scores(
    task: NerfTask, field: Field, photographs: Photographs
) -> tuple[np.ndarray, np.ndarray]:
    """The PSNR of each view, and the views."""
    views = views_in(WORLD, photographs)
    seen = task.predict(field, views)
    return psnr_of_views(seen, views.truth()), seen


@functools.cache
def scene_of(preset: Preset, turned: bool = False) -> Scene:
    """The paper's Lego in full; else the toy scene, photographed by our renderer."""
    if turned:
        return turned_scene(scene_of(preset), turn_zx45())
    setting = SETTINGS[preset]
    if preset is Preset.FULL:
        return _lego()
    splits = {
        name: _toy(count, setting.side, seed)
        for seed, (name, count) in enumerate(
            (("train", setting.views), ("val", setting.val), ("test", setting.test))
        )
    }
    return Scene("toy", **splits, space=WORLD, background="black", notes=(), files=())


def task_of(preset: Preset, *, turned: bool = False) -> NerfTask:
    """The task of a preset's scene."""
    setting = SETTINGS[preset]
    return nerf_task(
        scene_of(preset, turned), batch=setting.rays, samples=setting.samples
    )


def turn_zx45() -> np.ndarray:
    """45 degrees about z, then 45 degrees about x."""
    r = math.sqrt(0.5)
    about_z = np.array([[r, -r, 0], [r, r, 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, r, -r], [0, r, r]])
    return about_x @ about_z


def _lego() -> Scene:
    """Colours as stored, rays through pixel corners, and the paper's 100/7/13 split."""
    from ..data.store import check

    folder = check("lego")
    scene = read_scene(
        folder, background="none", near=NEAR, far=FAR, box=(0.5, 0.5, 0.5, 1), offset=0
    )
    split = json.loads((folder / "split_paper.json").read_text())
    assert scene.val is not None and scene.test is not None
    return dataclasses.replace(
        scene,
        train=subset(scene.train, split["train"]),
        val=subset(scene.val, split["val"]),
        test=subset(scene.test, split["test"]),
    )


def _toy(count: int, side: int, seed: int) -> Photographs:
    views = toy_views(count, side, seed=seed)
    names = tuple(f"{seed}/{k}" for k in range(count))
    return Photographs(
        np.asarray(views.pixels),
        np.asarray(views.poses, float),
        np.asarray(views.lens, float),
        names,
    )
