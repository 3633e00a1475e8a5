"""Networks of the MRI items: who learns which volume how, trained and scored.

All follow protocol 7: one mask from the keys of 2020, one key for B and the weights of
every volume, rate 2e-3, and the network read at step index 975 of 1000.
"""

import dataclasses
import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data.masks import gaussian_mask, paper_mask
from ..field import Field, make_field
from ..forward.kspace import KSpace
from ..ops.mlp import Precision
from ..tasks.metrics import psnr
from ..tasks.mri import MriTask, render
from ..train.loop import Config
from ..train.population import run_population
from .item import Progress

Volumes = Float[np.ndarray, "count side side side"]

RATE = 2e-3
SCALES = {"positional": 4.0, "gaussian": 5.0}
SWEEP, TEST = range(6), range(6, 12)
"""Volumes of the stand-in on which scales are chosen, and which the table reports."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """The sizes of a preset; the defaults are the paper's."""

    volumes: int = 6
    side: int = 96
    m: int = 256
    width: int = 256
    steps: int = 976
    rate: float = RATE
    precision: str = "auto"
    standin: bool = True
    """The brains of the data set `brain`; else heads made of ellipsoids."""


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What came of every mapping on every volume, in their order."""

    fields: list[list[Field]]
    scores: Float[np.ndarray, "words volumes"]
    """PSNR of the whole volume, clipped to [0, 1], against peak 1."""
    precision: str
    seconds: float
    """With compilation and scoring."""
    steps_seconds: float
    """Of the steps alone."""


def load_volumes(setting: Setting, which: range = TEST) -> Volumes:
    """Volumes in [0, 1]: stored bytes over 255, with no other scaling (protocol 7)."""
    which = which[: setting.volumes]
    if not setting.standin:
        from ..data.volumes import head_phantom

        return np.stack([head_phantom(setting.side, seed=k) for k in which])
    from ..data.store import check_file, find, known_set

    [file] = [f for f in known_set("brain").files if f.path.endswith("12.npz")]
    path = find("brain") / file.path
    check_file(path, file)
    with np.load(path) as archive:
        return archive["data"][list(which)].astype(np.float32) / 255


def measure(volumes: Volumes, mask: np.ndarray | None = None) -> list[MriTask]:
    """A task for each volume; the mask is one object, so that a stack has it once."""
    side = volumes.shape[1]
    if mask is None:
        mask = paper_mask() if side == 96 else gaussian_mask((side,) * 3, 0.1256)
    forward = KSpace(jnp.asarray(mask))
    return [MriTask(forward, forward(jnp.asarray(v))) for v in volumes]


def scaled_word(family: str, setting: Setting, scale: float | None = None) -> str:
    """A mapping at a scale of the paper's 96^3; smaller volumes hold proportionally
    lower frequencies."""
    if family in ("none", "basic"):
        return family
    scale = SCALES[family] if scale is None else scale
    share = setting.side / 96
    if family == "positional":
        mine = max(0.5, scale + np.log2(share))
    else:
        mine = scale * share
    return f"{family}:{mine:.4g},m={setting.m}"


def train_words(
    words: Sequence[str],
    volumes: Volumes,
    setting: Setting,
    progress: Progress = lambda text: None,
    *,
    key: int = 10,
) -> Trained:
    """Train a network for every mapping and volume; those of one shape together.

    Args:
        key: of B and the weights of all of them; by default that of 2020.
    """
    begun = time.perf_counter()
    drawn_with = jax.random.PRNGKey(key)
    tasks = measure(volumes)
    drawn = [
        make_field(w, d=3, out=1, key=drawn_with, width=setting.width, bits2020=True)
        for w in words
    ]
    progress(f"{len(words) * len(tasks)} networks, {setting.steps} steps")
    every = setting.steps // 4 if setting.steps % 4 == 0 else setting.steps
    stacks: list[float] = []
    trained, _ = run_population(
        tasks * len(words),
        [field for field in drawn for _ in tasks],
        Config(setting.steps, setting.rate, every, setting.precision),
        keys=[drawn_with] * (len(words) * len(tasks)),  # a full batch draws nothing
        on_stack=lambda done: stacks.append(time.perf_counter()),
    )
    steps_seconds = time.perf_counter() - stacks[0]  # all programs are made before
    rows = [trained[k : k + len(tasks)] for k in range(0, len(trained), len(tasks))]
    scores = [[score(f, v) for f, v in zip(r, volumes, strict=True)] for r in rows]
    used = Precision.resolve(setting.precision, jax.default_backend()).value
    seconds = round(time.perf_counter() - begun, 1)
    return Trained(rows, np.asarray(scores), used, seconds, steps_seconds)


def volume_of(field: Field, side: int) -> Float[np.ndarray, "side side side"]:
    """The field's own volume, clipped to [0, 1]."""
    return np.clip(render(field, (side,) * 3, (1.0,) * 3)[..., 0], 0, 1)


def score(field: Field, truth: np.ndarray) -> float:
    return psnr(volume_of(field, len(truth)), truth, data_range=1.0)
