"""The training loop: jitted chunks of a scan, and Python between them."""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax
from jaxtyping import Array, Float

from ..errors import InputError
from ..field import Field
from ..mappings import AnyKey
from ..ops.mlp import Precision
from ..ops.without_autotune import NO_AUTOTUNE
from ..tasks.task import Task
from .state import Rate, State, adam, advance, constant_rate, init_state
from .work import count, flop_of


@dataclasses.dataclass(frozen=True)
class Config:
    """How long and how fast to train; the paper's values are the defaults."""

    steps: int = 2000
    rate: float | Rate = 1e-3
    """Learning rate, or a schedule that starts at one."""
    every: int = 25
    """Steps between two entries of the history, and between looks at the clock."""
    precision: str = "auto"
    minutes: float | None = None
    """Stop after this long, at the next entry of the history."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"`steps` (={self.steps}) must be at least 1")
        if self.every < 1:
            raise InputError(f"`every` (={self.every}) must be at least 1")
        if isinstance(self.rate, float | int) and not 0 < self.rate < float("inf"):
            raise InputError(f"`lr` (={self.rate:g}) must be positive and finite")
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"`minutes` (={self.minutes:g}) must be positive")


class Diverged(Exception):
    """A run's loss or gradient became NaN or infinite."""

    def __init__(self, step: int, run: str, state: Any = None):
        super().__init__(
            f"the loss of run `{run}` stopped being finite at step {step}; "
            "its state before that step is kept; a lower `--lr` usually helps"
        )
        self.step, self.run, self.state = step, run, state


AUTOTUNE_FLOP = {False: 2e15, True: 3e14}
"""FLOP from which XLA's search for the fastest float32 products is worth its time (12
to 22 s on an H200), without and with many points a step. Unsearched, products of some
hundred points run at 32 TFLOP/s; those of 884,736 at 10, where the search finds 40."""
MANY_POINTS = 1 << 14


def too_short_to_autotune(field: Field, points: int, steps: int) -> bool:
    """Whether a training of so many steps is over before a search would pay."""
    exact = field.precision is Precision.FLOAT32
    return (
        exact and steps * flop_of(field, points) < AUTOTUNE_FLOP[points > MANY_POINTS]
    )


def _chunk(
    task: Task,
    state: State,
    optimiser: optax.GradientTransformation,
    length: int,
) -> tuple[State, Float[Array, " length"]]:
    """`length` steps as one program; `state` is donated."""

    def body(carry, _):
        return advance(task, carry, optimiser)

    return jax.lax.scan(body, state, length=length, unroll=unroll(task))


chunk = eqx.filter_jit(_chunk, donate="all-except-first")
chunk_without_autotune = eqx.filter_jit(  # pyright: ignore[reportCallIssue]
    _chunk, donate="all-except-first", compiler_options=NO_AUTOTUNE
)


def unroll(task: Task) -> int:
    """Steps of a scan laid side by side: 4 on a GPU, where a lone step waits for the
    loop to come round (5 %), and 1 on a CPU, where compiling is what costs. Also 1
    where a step goes in parts: XLA works out the features of several together and
    keeps them.
    """
    return 1 if task.microbatched or jax.default_backend() == "cpu" else 4


History = dict[str, list[float]]
OnChunk = Callable[[State, dict[str, float]], None]


def run(
    task: Task,
    field: Field,
    config: Config,
    *,
    key: AnyKey,
    optimiser: optax.GradientTransformation | None = None,
    on_chunk: OnChunk | None = None,
    state: State | None = None,
    seconds: float = 0.0,
    name: str = "run",
) -> tuple[Field, History]:
    """Train a field; `on_chunk` sees the state and the latest entry of the history.

    Args:
        optimiser: any optax transformation, built for a learning rate of 1: the rate is
            multiplied in afterwards. Adam by default.
        state: go on from here instead of from `field`.
        seconds: time already spent, when going on.
    """
    optimiser = optimiser or adam()
    if state is None:
        state = start(field, config, key=key, optimiser=optimiser)
    history: History = {"step": [], "seconds": [], "loss": []}
    begun = time.perf_counter() - seconds
    done = int(state.step)
    short = too_short_to_autotune(state.field, task.step_points, config.steps)
    take = chunk_without_autotune if short else chunk
    while done < config.steps:
        length = min(config.every - done % config.every, config.steps - done)
        state, losses = take(task, state, optimiser, length)
        losses = np.asarray(losses)
        if (bad := int(state.stopped)) >= 0:
            raise Diverged(bad, name, state)
        done += length
        count(state.field, task.step_points, length)
        entry = {
            "step": done,
            "seconds": time.perf_counter() - begun,
            "loss": float(losses[-1]),
        }
        level = task.psnr_of_loss(losses)
        if level is not None:
            entry["psnr"] = float(np.mean(level))
        for column, value in entry.items():
            history.setdefault(column, []).append(value)
        if on_chunk is not None:
            on_chunk(state, entry)
        if config.minutes is not None and entry["seconds"] > 60 * config.minutes:
            break
    return state.field.with_precision(Precision.FLOAT32), history


def start(
    field: Field,
    config: Config,
    *,
    key: AnyKey,
    optimiser: optax.GradientTransformation | None = None,
) -> State:
    """The state of a run before its first step, on arrays of its own.

    Chunks donate their state, so the caller's field must not share its buffers.
    """
    platform = jax.default_backend()
    field = field.with_precision(Precision.resolve(config.precision, platform))
    rate = config.rate if isinstance(config.rate, Rate) else constant_rate(config.rate)
    fresh = init_state(field, optimiser or adam(), rate, key)
    return jax.tree.map(lambda x: x.copy() if eqx.is_array(x) else x, fresh)
