"""A network of the paper, drawn with the bits of 2020; trained in stacks."""

import dataclasses
import math
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

from ..field import Field
from ..mappings import AnyKey
from ..ops.mlp import Precision
from ..tasks.task import Task
from ..train import driver
from ..train.schedules import Schedule
from ..train.stack import unstack
from ..train.state import State
from .drawing import drawn
from .item import Progress


@dataclasses.dataclass(frozen=True)
class Run:
    """One network; the defaults are those of most mapped rows."""

    signal: int
    """Which of the signals it learns."""
    word: str
    """Its mapping: `gaussian:10,m=256`."""
    lr: float = 1e-3
    layers: int = 4
    key: int = 10
    """The seed that gives B and the weights."""


def silent(text: str) -> None:
    """No progress."""
    del text


def draw_fields(
    runs: Sequence[Run], *, d: int, out: int, width: int, output: str
) -> list[Field]:
    """Each run's network before training, of the bits of 2020; equal draws are one."""
    distinct = {(run.word, run.layers, run.key): run for run in runs}

    def draw(run: Run) -> Field:
        key = jax.random.PRNGKey(run.key)
        return drawn(
            run.word, d=d, out=out, key=key, layers=run.layers, width=width,
            output=output,
        )  # fmt: skip

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # every shape compiles its draws
        fields = dict(zip(distinct, pool.map(draw, distinct.values()), strict=True))
    return [fields[run.word, run.layers, run.key] for run in runs]


def precision_of(asked: str) -> str:
    """The precision that products have here; scores are always taken in float32."""
    return Precision.resolve(asked, jax.default_backend()).value


def chunk_length(steps: int, most: int = 250) -> int:
    """A length of chunk that divides the steps, a multiple of 4 where there is one: the
    program of a chunk then has neither a shorter twin nor a tail of odd steps."""
    divisors = [k for k in range(1, min(steps, most) + 1) if steps % k == 0]
    return max(divisors, key=lambda k: (k % 4 == 0, k))


def train(
    tasks: Sequence[Task],
    fields: Sequence[Field],
    *,
    stops: Sequence[int],
    lrs: Sequence[float | Schedule],
    keys: Sequence[AnyKey],
    precision: str,
    progress: Progress,
) -> tuple[list[list[Field]], list[float]]:
    """Train all, those of one shape together: each one's fields by stop, its seconds.

    Seconds are those of a stack's steps, shared among it.
    """
    steps, seconds = stops[-1], [0.0] * len(fields)
    found: list[list[Field]] = [[] for _ in fields]
    places: list[int] = []
    begun = 0.0

    def on_stop(step: int, members: list[int], stacked: Field) -> None:
        nonlocal places, begun
        if step == 0:
            places, begun = members, time.perf_counter()
            return
        for i, field in zip(members, unstack(stacked, len(members)), strict=True):
            found[i].append(field)

    def on_log(state: State, entry: dict[str, Any]) -> None:
        each = (time.perf_counter() - begun) / len(places)
        for i in places:
            seconds[i] = each
        inputs = state.field.encoding.features
        progress(f"networks of {inputs} inputs: step {entry['step']} of {steps}")

    trained, _ = driver.train(
        tasks,
        fields,
        driver.Config(steps, every=chunk_length(math.gcd(*stops)), precision=precision),
        keys=keys,
        lrs=lrs,
        stops=(0, *stops[:-1]),
        on_stop=on_stop,
        on_log=on_log,
        on_stack=lambda done: progress(f"{done} of {len(fields)} networks trained"),
    )
    return [[*kept, last] for kept, last in zip(found, trained, strict=True)], seconds
