"""Networks of the CT items: who learns which density how, trained and scored.

All follow protocol 6: the nearest-neighbour projector at 20 angles makes the data and
the loss, one key of 2020 gives B and the weights of every picture, and the network is
read at step index 975 of 1000.
"""

import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data.phantoms import paper_phantoms
from ..field import Field, make_field
from ..forward.radon_nearest import NearestRadon, nearest_radon
from ..ops.mlp import Precision
from ..tasks.ct import CTTask
from ..tasks.metrics import psnr
from ..train.loop import Config
from ..train.population import run_population
from .item import Progress

Densities = Float[np.ndarray, "count side side"]

ROWS = ("none", "basic", "positional", "gaussian")
SETS = ("shepp", "atlas")
# Scales and rates of protocol 1.4 and 1.5.
SCALES = {"shepp": {"positional": 3.0, "gaussian": 4.0},
          "atlas": {"positional": 5.0, "gaussian": 5.0}}  # fmt: skip
RATES = {"none": 1e-2, "basic": 1e-2}


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's."""

    images: int = 8
    side: int = 512
    m: int = 256
    width: int = 256
    steps: int = 976
    views: int = 20
    precision: str = "auto"
    standin: bool = True
    """Slices of the data set `brain` for ATLAS; else photographs cut to a disc."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One network."""

    picture: int
    """Which of the densities it learns."""
    word: str
    rate: float = 1e-3
    key: int = 10
    """The seed that gives B and the weights."""


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What came of a list of runs, in its order."""

    pictures: Float[np.ndarray, "runs side side"]
    """Clipped to [0, 1]."""
    scores: Float[np.ndarray, " runs"]
    """PSNR of the whole picture against peak 1."""
    precision: str
    seconds: float
    """With compilation and scoring."""


def densities(name: str, setting: Setting, *, sweep: bool = False) -> Densities:
    """The pictures that the table reports, or those on which scales are chosen."""
    count, side = setting.images, setting.side
    if name == "shepp":
        start = 0 if sweep else 8
        return paper_phantoms(side, 16)[start : start + count]
    if setting.standin:
        from ..data.store import load_images

        slices = load_images("brain", "ct_colin27")[..., 0]
        start = 0 if sweep else 8
        return slices[start : start + count].astype(np.float32) / 255
    from ..data.standins import standin_images

    photographs = standin_images("natural", 2 * count, side)
    start = count if sweep else 0
    chosen = photographs[start : start + count].astype(np.float32).mean(axis=-1) / 255
    y, x = (np.mgrid[:side, :side] - side / 2) / (0.46 * side)
    return np.where(x**2 + y**2 < 1, chosen, 0).astype(np.float32)


def word_of(family: str, scale: float | None, setting: Setting) -> str:
    """A mapping; a density holds the same frequencies at every resolution."""
    return family if scale is None else f"{family}:{scale:g},m={setting.m}"


def rows_of(name: str, first: int, setting: Setting, key: int = 10) -> list[Run]:
    """A table's runs of one set whose pictures begin at `first`: row by row."""
    return [
        Run(
            first + k,
            word_of(row, SCALES[name].get(row), setting),
            RATES.get(row, 1e-3),
            key,
        )
        for row in ROWS
        for k in range(setting.images)
    ]


def train_runs(
    pictures: Densities,
    runs: Sequence[Run],
    setting: Setting,
    progress: Progress = lambda text: None,
) -> Trained:
    """Train every run and score it; runs of one shape train as one program."""
    begun = time.perf_counter()
    tasks = tasks_of(pictures, setting.views)
    progress(f"{len(runs)} networks, {setting.steps} steps each; compiling")
    trained, _ = run_population(
        [tasks[run.picture] for run in runs],
        _fields(runs, setting.width),
        Config(
            steps=setting.steps,
            every=setting.steps // 4,
            precision=setting.precision,
        ),
        keys=[jax.random.PRNGKey(0)] * len(runs),  # a full batch draws nothing
        rates=[run.rate for run in runs],
        on_stack=lambda done: progress(f"{done} of {len(runs)} networks trained"),
    )
    seen = np.stack([np.clip(tasks[0].predict(field), 0, 1) for field in trained])
    scores = score(seen, pictures[[run.picture for run in runs]])
    used = Precision.resolve(setting.precision, jax.default_backend()).value
    return Trained(seen, scores, used, round(time.perf_counter() - begun, 1))


def tasks_of(pictures: Densities, views: int) -> list[CTTask]:
    """A task for each density; the projector is one object: a stack holds it once."""
    side = pictures.shape[-1]
    forward = projector(side, views)
    return [CTTask(forward, forward(jnp.asarray(p)), None, side) for p in pictures]


@functools.lru_cache(maxsize=1)
def projector(side: int, views: int) -> NearestRadon:
    """The paper's instrument, at angles up to 180 degrees, these excluded."""
    return nearest_radon(180 / views * np.arange(views), side)


def score(pictures: Densities, truth: Densities) -> Float[np.ndarray, " count"]:
    """PSNR of every picture against peak 1, clipped to [0, 1]."""
    pairs = zip(pictures, truth, strict=True)
    return np.asarray([psnr(np.clip(p, 0, 1), t, data_range=1.0) for p, t in pairs])


def _fields(runs: Sequence[Run], width: int) -> list[Field]:
    """Each run's network before training; equal draws are made once."""
    drawn: dict[Any, Field] = {}
    for run in runs:
        if (run.word, run.key) not in drawn:
            drawn[run.word, run.key] = make_field(
                run.word,
                d=2,
                out=1,
                key=jax.random.PRNGKey(run.key),
                width=width,
                bits2020=True,
            )
    return [drawn[run.word, run.key] for run in runs]
