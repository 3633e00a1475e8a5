"""View synthesis: the scenes and networks of Table 7 and Fig. 19.

All follow protocol 9: 1024 rays a step, 128 samples, near 2, far 6, world coordinates,
and one key of 2020 for B and the weights.
"""

import dataclasses
import json
import math
from collections.abc import Hashable, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ..data.scene_space import Space
from ..data.scenes import Photographs, Scene, read_scene, subset, turned_scene
from ..data.toy_scene import FAR, NEAR
from ..field import Field
from ..mappings import AnyKey
from ..tasks.nerf import NerfTask, nerf_task, psnr_of_views, views_in
from ..tasks.toy_views import toy_views
from . import published
from .item import Preset, Progress
from .study import Key, Network, Sizes, Study, kept
from .training import Run, precision_of

if TYPE_CHECKING:
    pass

WORLD = Space(NEAR, FAR, np.full(3, 0.5), 1.0)
"""The paper's coordinates: those of the world, unscaled, from 2 to 6 along a ray."""
COLUMN = "test"
ROWS = ("none", "basic", "octaves:rotated", "positional:rotated", "gaussian",
        "octaves", "positional")  # fmt: skip
"""As printed; `octaves` is the original encoding of NeRF."""
ROTATED = {"none": "none", "basic": "basic", "octaves": "octaves:rotated",
           "positional": "positional:rotated", "gaussian": "gaussian"}  # fmt: skip
"""Each mapping, on the axes, and the row of the table that it stands for."""
RATES = {"none": 1e-2, "basic": 5e-3}
"""Learning rates of protocol 1.5."""
SWEEP_STEPS = {Preset.SMOKE: 20, Preset.SMALL: 500, Preset.FULL: 10_000}
SWEPT = {
    Preset.SMOKE: {"gaussian": (6.0,), "positional": (4.0,)},
    Preset.SMALL: {"gaussian": (1.0, 6.0, 20.0), "positional": (2.0, 4.5, 6.0)},
    Preset.FULL: {
        "gaussian": (8.0, 14.0, 20.0, 26.0, 32.0, 38.0),
        "positional": (4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class NerfSizes(Sizes):
    """The sizes of a preset; the defaults are the paper's."""

    rows: tuple[str, ...] = ROWS
    side: int = 400
    views: int = 100
    val: int = 7
    test: int = 13
    rays: int = 1024
    samples: int = 128
    octaves: int = 9
    positional: float = 8.0
    """Powers of two, in radians per unit of the world."""
    gaussian: float = 26.0
    lr: float = 5e-4
    steps: int = 50_000
    looks: tuple[int, ...] = (5_000, 20_000)
    """Steps before the last after which the test views are looked at."""


SMALL = NerfSizes(
    side=32, views=20, val=3, test=3, rays=128, samples=48, width=64, m=64, octaves=5,
    positional=4.5, gaussian=6.0, lr=2e-3, steps=1000, looks=(200, 500), full=False,
)  # fmt: skip
# With 12 frequencies, three per octave, all mapped rows have one shape: one program.
SMOKE = dataclasses.replace(
    SMALL, side=12, views=6, val=1, test=2, rays=32, samples=24, width=32, m=12,
    octaves=4, layers=2, steps=40, looks=(20,),
)  # fmt: skip


class NerfStudy(Study):
    """A scene, learned from photographs; its only signals are itself and it turned."""

    kind = "nerf"
    columns = own = (COLUMN,)
    rows = ROWS
    sizes = MappingProxyType(
        {Preset.SMOKE: SMOKE, Preset.SMALL: SMALL, Preset.FULL: NerfSizes()}
    )
    printed = published.TABLE7
    key = 0
    d, out, output = 3, 4, "identity"

    def word(
        self, row: str, column: str, sizes: NerfSizes, scale: float | None = None
    ) -> str:
        """The mapping of a row: `positional:rotated` turns its frequencies, as the
        notebook did for the scene."""
        del column
        family, _, turn = row.partition(":")
        if scale is not None:
            sizes = dataclasses.replace(sizes, **{family: scale})
        word = {
            "none": "none",
            "basic": "basic:units=rad",
            "octaves": f"octaves:{sizes.octaves},units=rad",
            "positional": f"positional:{sizes.positional:g},units=rad,m={sizes.m}",
            "gaussian": f"gaussian:{sizes.gaussian:g},units=rad,m={sizes.m}",
        }[family]
        return f"{word},rotate=zx45" if turn else word

    def lr(self, row: str, column: str, sizes: NerfSizes) -> float:
        return RATES.get(row, sizes.lr)

    def stops(self, sizes: NerfSizes) -> tuple[int, ...]:
        return (*sizes.looks, sizes.steps)

    def batch_keys(self, runs: Sequence[Run]) -> list[AnyKey]:
        """Those of B and the weights: runs of one key take the same rays in order."""
        return [jax.random.key(run.key) for run in runs]

    def identities(self, signals: Sequence[Scene], sizes: NerfSizes) -> list[Hashable]:
        return [(scene.name, sizes.side, sizes.views, sizes.rays, sizes.samples)
                for scene in signals]  # fmt: skip

    def tasks(self, signals: Sequence[Scene], sizes: NerfSizes) -> list[NerfTask]:
        return [task_of(scene, sizes) for scene in signals]

    def of_rows(
        self,
        rows: Sequence[str],
        sizes: NerfSizes,
        progress: Progress,
        *,
        keys: Sequence[int] = (0,),
        turned: bool = False,
    ) -> list[Network]:
        """Networks row by row, key by key."""
        runs = [
            Run(
                0,
                self.word(row, COLUMN, sizes),
                self.lr(row, COLUMN, sizes),
                sizes.layers,
                key,
            )
            for row in rows
            for key in keys
        ]
        scene = scene_of(sizes, turned=turned)
        return self.networks([scene], runs, sizes, progress)

    def papers(self, curve: str) -> float:
        """The scale of the notebook, in radians."""
        return getattr(self.sizes[Preset.FULL], curve)

    def swept(self, preset: Preset, progress: Progress) -> Any:
        """On the validation views."""
        sizes = dataclasses.replace(
            self.sizes[preset], steps=SWEEP_STEPS[preset], looks=()
        )
        cells = [(f, s) for f, scales in SWEPT[preset].items() for s in scales]
        words = [self.word(family, COLUMN, sizes, scale) for family, scale in cells]
        runs = [Run(0, word, sizes.lr, sizes.layers, self.key) for word in words]
        scene = scene_of(sizes)
        found: dict[str, tuple[tuple[float, ...], list[np.ndarray]]]
        found = {family: (scales, []) for family, scales in SWEPT[preset].items()}
        networks = self.networks([scene], runs, sizes, progress)
        for k, ((family, _), network) in enumerate(zip(cells, networks, strict=True)):
            progress(f"rendering the views of network {k + 1} of {len(runs)}")
            found[family][1].append(scores(scene, sizes, network.field, "val")[0])
        return found, settings_of(sizes, networks)


STUDY = NerfStudy()


def settings_of(sizes: NerfSizes, networks: Sequence[Network]) -> dict[str, Any]:
    """What was run."""
    return {
        **dataclasses.asdict(sizes),
        "precision": precision_of(sizes.precision),
        "seconds of training": round(sum(n.seconds for n in networks), 1),
        "keys": "2020: PRNGKey(0) for B and weights",
        "spread": "standard deviation over test views",
    }


def scores(
    scene: Scene,
    sizes: NerfSizes,
    field: Field,
    split: str = "test",
    places: Sequence[int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The PSNR of each view of a split, or of some of them, and the views."""
    photographs = getattr(scene, split)
    if places is not None:
        photographs = photographs.part(np.asarray(places))
    views = views_in(WORLD, photographs)
    seen = task_of(scene, sizes).predict(field, views)
    return psnr_of_views(seen, views.truth()), seen


def scene_of(sizes: NerfSizes, *, turned: bool = False) -> Scene:
    """The paper's Lego in full; else the toy scene, photographed by our renderer."""
    shape = sizes.full, sizes.side, sizes.views, sizes.val, sizes.test
    plain = kept(Key("scene", shape), lambda: _lego() if sizes.full else _toys(sizes))
    if not turned:
        return plain

    def turn() -> Scene:
        other = turned_scene(plain, turn_zx45())
        return dataclasses.replace(other, name=f"{plain.name} turned")

    return kept(Key("turned scene", shape), turn)


def task_of(scene: Scene, sizes: NerfSizes) -> NerfTask:
    """The task of a scene, which all its networks share."""
    named = STUDY.identities([scene], sizes)[0]
    return kept(
        Key("nerf task", named),
        lambda: nerf_task(scene, batch=sizes.rays, samples=sizes.samples),
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


def _toys(sizes: NerfSizes) -> Scene:
    counts = {"train": sizes.views, "val": sizes.val, "test": sizes.test}
    splits = {
        name: _toy(count, sizes.side, seed)
        for seed, (name, count) in enumerate(counts.items())
    }
    return Scene("toy", **splits, space=WORLD, background="black", notes=(), files=())


def _toy(count: int, side: int, seed: int) -> Photographs:
    views = toy_views(count, side, seed=seed)
    names = tuple(f"{seed}/{k}" for k in range(count))
    return Photographs(
        np.asarray(views.pixels),
        np.asarray(views.poses, float),
        np.asarray(views.lens, float),
        names,
    )
