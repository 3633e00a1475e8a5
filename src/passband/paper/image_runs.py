"""Networks of the image items: who learns which picture how, trained and scored.

All follow protocol 5: train on the pixels [::2, ::2], full batch, Adam, and one key of
2020 for B and the weights of every picture.
"""

import dataclasses
import hashlib
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, UInt8

from ..data.images import Image
from ..field import Field, make_field
from ..ops.mlp import Precision
from ..ops.without_autotune import jit_without_autotune
from ..tasks.image import ImageTask, grid_coords, image_task
from ..train.loop import Config
from ..train.population import run_population
from ..words import parse_mapping
from .item import Progress

STEPS = 1976
"""What the tables report is step index 1975 of 2000 (protocol 0.9)."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One network; the defaults are those of Table 3's mapped rows."""

    picture: int
    """Which of the pictures it learns."""
    word: str
    """Its mapping: `gaussian:10,m=256`."""
    rate: float = 1e-3
    layers: int = 4
    key: int | tuple[int, int] = 10
    """The seed, or both words of a key, that gives B and the weights."""


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What came of a list of runs, in its order; scores are PSNRs against peak 1."""

    fields: list[Field]
    test: Float[np.ndarray, " runs"]
    """At the pixels [1::2, 1::2] alone, as the tables have it."""
    train: Float[np.ndarray, " runs"]
    """At the pixels [::2, ::2] that were learned."""
    all: Float[np.ndarray, " runs"]
    """At every pixel, the learned ones too: Figs. 6 and 10."""
    precision: str
    """Of the training; scores are always taken in float32."""
    seconds: float
    """With compilation and scoring."""


def train_runs(
    pictures: Num[np.ndarray, "count h w c"],
    runs: Sequence[Run],
    *,
    steps: int = STEPS,
    width: int = 256,
    output: str = "sigmoid",
    precision: str = "auto",
    progress: Progress = lambda text: None,
) -> Trained:
    """Train every run and score it; runs of one shape train as one program.

    Pictures are uint8 from 0 to 255, or floats that the network gives as they are. A
    network that this process has trained before, for another item, is not trained
    again.
    """
    begun = time.perf_counter()
    used = Precision.resolve(precision, jax.default_backend()).value
    shown = [(p.shape, hashlib.sha256(p.tobytes()).digest()) for p in pictures]
    names = [
        (
            shown[run.picture],
            parse_mapping(run.word),
            *(run.rate, run.layers, run.key),
            *(steps, width, output, used),
        )
        for run in runs
    ]
    new = {n: run for n, run in zip(names, runs, strict=True) if n not in _KEPT}
    if new:
        progress(f"{len(new)} networks, {steps} steps each; compiling")
        config = Config(steps=steps, every=_every(steps), precision=precision)
        found = _train(pictures, list(new.values()), config, width, output, progress)
        _KEPT.update(zip(new, found, strict=True))
    fields, errors = zip(*(_KEPT[name] for name in names), strict=True)
    with np.errstate(divide="ignore"):
        test, train, every = -10 * np.log10(np.transpose(errors))
    return Trained(
        list(fields), test, train, every, used, round(time.perf_counter() - begun, 1)
    )


_KEPT: dict[Any, tuple[Field, np.ndarray]] = {}
"""Networks by all that decides them, with their errors: Fig. 15 shows some of Table 3,
and Figs. 6 and 8 to 10 have some in common with it."""


def _train(
    pictures: Num[np.ndarray, "count h w c"],
    runs: Sequence[Run],
    config: Config,
    width: int,
    output: str,
    progress: Progress,
) -> Iterable[tuple[Field, np.ndarray]]:
    tasks = picture_tasks(pictures)
    trained, _ = run_population(
        [tasks[run.picture] for run in runs],
        _fields(runs, pictures.shape[-1], width, output),
        config,
        keys=[jax.random.PRNGKey(0)] * len(runs),  # a full batch draws nothing
        rates=[run.rate for run in runs],
        on_stack=lambda done: progress(f"{done} of {len(runs)} networks trained"),
    )
    truth = jnp.asarray(pictures)
    errors = np.full((len(runs), 3), np.nan)

    def score(part: list[int]) -> None:
        which = jnp.asarray([runs[i].picture for i in part])
        errors[part] = _errors(_on_host([trained[i] for i in part]), truth, which)

    with ThreadPoolExecutor(8) as pool:  # programs of many shapes compile side by side
        list(pool.map(score, _of_one_shape(trained)))
    return zip(trained, errors, strict=True)


def load_pictures(
    name: str, count: int, side: int, *, full: bool, split: str = "test_data"
) -> UInt8[np.ndarray, "count side side 3"]:
    """The first pictures of a data set, or of what stands in for it.

    Args:
        split: `test_data`, or `train_data` on which scales are chosen.
    """
    if full:
        from ..data.store import load_images

        return load_images(name, split)[:count]
    from ..data.standins import standin_images

    if split == "train_data":
        return standin_images(name, 2 * count, side)[count:]
    return standin_images(name, count, side)


def scaled_word(family: str, scale: float, *, m: int = 256, side: int = 512) -> str:
    """A mapping at a scale of the paper's 512 x 512 pictures; smaller ones hold
    proportionally lower frequencies."""
    share = side / 512
    mine = scale + np.log2(share) if family == "positional" else scale * share
    return f"{family}:{mine:.4g},m={m}"


def picture_tasks(pictures: Num[np.ndarray, "count h w c"]) -> list[ImageTask]:
    """A task for each picture; the indices of their pixels are one object, so that a
    stack of them holds coordinates once."""
    high = 255.0 if pictures.dtype == np.uint8 else 1.0
    first = image_task(Image(pictures[0], 0.0, high, "picture 0"), holdout="quarter")
    rest = [
        eqx.tree_at(lambda task: task.pixels, first, jnp.asarray(p))
        for p in pictures[1:]
    ]
    return [first, *rest]


def _fields(runs: Sequence[Run], channels: int, width: int, output: str) -> list[Field]:
    """Each run's network before training; equal draws are made once."""
    drawn: dict[Any, Field] = {}
    for run in runs:
        what = (run.word, run.layers, run.key)
        if what not in drawn:
            words = (0, run.key) if isinstance(run.key, int) else run.key
            drawn[what] = make_field(
                run.word,
                d=2,
                out=channels,
                key=jnp.asarray(words, jnp.uint32),
                layers=run.layers,
                width=width,
                output=output,
                bits2020=True,
            )
    return [drawn[run.word, run.layers, run.key] for run in runs]


def _of_one_shape(fields: Sequence[Field]) -> list[list[int]]:
    """The places of fields that stack."""
    groups: dict[Any, list[int]] = {}
    for i, field in enumerate(fields):
        leaves, structure = jax.tree.flatten(field)
        groups.setdefault((structure, *(x.shape for x in leaves)), []).append(i)
    return list(groups.values())


def _every(steps: int) -> int:
    """A length of chunk that divides the steps, a multiple of 4 where there is one: the
    program of a chunk then has neither a shorter twin nor a tail of odd steps."""
    divisors = [k for k in range(1, min(steps, 200) + 1) if steps % k == 0]
    return max(divisors, key=lambda k: (k % 4 == 0, k))


def _on_host(fields: Sequence[Field]) -> Field:
    """The fields as one stack; NumPy compiles nothing for it."""

    def together(*leaves: Array) -> np.ndarray:
        return np.stack([np.asarray(leaf) for leaf in leaves])

    return jax.tree.map(together, *fields)


@jit_without_autotune
def _errors(
    fields: Field, truth: Num[Array, "count h w c"], which: Int[Array, " runs"]
) -> Float[Array, "runs 3"]:
    """Mean squared errors of a stack at test, train and all pixels."""
    _, h, w, c = truth.shape
    coords = grid_coords(jnp.arange(h * w), (h, w))
    high = 255.0 if truth.dtype == jnp.uint8 else 1.0

    def one(run):
        field, k = run
        target = truth[k].astype(jnp.float32) / high
        square = jnp.square(field.batch(coords).reshape(h, w, c) - target)
        parts = square[1::2, 1::2], square[::2, ::2], square
        return jnp.stack([jnp.mean(part) for part in parts])

    # One after the other: together their features would not fit.
    return jax.lax.map(one, (fields, which))
