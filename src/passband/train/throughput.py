"""How fast this machine trains: points a second and FLOP a second of the real step."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Scalar

from ..field import Field, make_field
from ..mappings import AnyKey
from ..ops.mlp import Precision
from ..tasks.task import Task, half_mean_square_at, points_at_once
from .driver import Config, start
from .haste import Haste
from .memory import bytes_of_run
from .optimisers import adam
from .programs import chunk, program
from .stack import stack, together
from .work import flop_of_step


@dataclasses.dataclass(frozen=True)
class Shape:
    """The network and batch that are timed; the defaults are the paper's image task."""

    points: int = 65_536
    features: int = 512
    width: int = 256
    layers: int = 4
    out: int = 3

    @property
    def flop(self) -> int:
        """Of one step."""
        sizes = [self.features, *[self.width] * (self.layers - 1), self.out]
        return flop_of_step(sizes, self.points)


class MovingPoints(Task):
    """Points that move with every step, so that no compiler can keep their features."""

    coords: Float[Array, "n d"]
    values: Float[Array, "*runs n c"]

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        shift = jax.random.uniform(key, (self.coords.shape[1],))
        return half_mean_square_at(field, self.coords + shift, self.values)

    def predict(self, field: Field) -> np.ndarray:
        return field.predict(self.coords)

    def metrics(self, field: Field) -> dict[str, float]:
        return {"loss": float(self.loss(field, jax.random.key(0)))}

    @property
    def step_points(self) -> int:
        return self.coords.shape[0]


@dataclasses.dataclass(frozen=True)
class Timing:
    """The median over repeats, compilation apart."""

    seconds: float
    """Of one step of all runs."""
    spread: float
    """Half the distance between the quartiles."""
    compile_seconds: float
    points_per_second: float
    tflops: float
    planned_bytes: int
    """By `train.memory`, from the shapes."""
    used_bytes: int
    """By XLA's own account of the compiled program."""


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A training that is compiled and warm: `call` takes it `steps` steps on."""

    call: Callable[[], None]
    shape: Shape
    runs: int
    steps: int
    compile_seconds: float
    planned_bytes: int = 0
    used_bytes: int = 0


def measure(candidates: Sequence[Prepared], *, repeats: int = 5) -> list[Timing]:
    """The timings of trainings that take turns, so that all see the same machine."""
    taken = np.zeros((len(candidates), repeats))
    for repeat in range(repeats):
        for k, candidate in enumerate(candidates):
            begun = time.perf_counter()
            candidate.call()
            taken[k, repeat] = (time.perf_counter() - begun) / candidate.steps
    timings = []
    for one, seconds in zip(candidates, taken, strict=True):
        low, middle, high = np.percentile(seconds, [25, 50, 75])
        timings.append(
            Timing(
                seconds=float(middle),
                spread=float(high - low) / 2,
                compile_seconds=one.compile_seconds,
                points_per_second=one.runs * one.shape.points / float(middle),
                tflops=one.runs * one.shape.flop / float(middle) / 1e12,
                planned_bytes=one.planned_bytes,
                used_bytes=one.used_bytes,
            )
        )
    return timings


def prepare(
    shape: Shape,
    *,
    runs: int = 1,
    precision: str = "auto",
    steps: int = 20,
    optimiser: optax.GradientTransformation | None = None,
) -> Prepared:
    """Training as it really runs: encoding, loss, update and checks in every step.

    Args:
        runs: networks trained as one program, each with its own B, weights and target.
        steps: steps a timed call takes.
        optimiser: Adam by default.
    """
    moves = optimiser or adam()
    rng = np.random.default_rng(0)
    coords = jnp.asarray(rng.random((shape.points, 2)), jnp.float32)
    word = f"gaussian:10,m={shape.features // 2}"
    tasks, states = [], []
    for k in range(runs):
        values = jnp.asarray(rng.random((shape.points, shape.out)), jnp.float32)
        tasks.append(MovingPoints(coords, values))
        field = make_field(
            word, d=2, out=shape.out, key=jax.random.key(k), layers=shape.layers,
            width=shape.width,
        )  # fmt: skip
        config = Config(precision=precision)
        states.append(start(field, config, key=jax.random.key(k), optimiser=moves))
    begun = time.perf_counter()
    task, state, axes = tasks[0], states[0], None
    if runs > 1:
        (task, axes), state = stack(tasks), together(states)
    take = program(chunk, task, state, axes, moves, steps, haste=Haste.PATIENT)
    compiling = time.perf_counter() - begun
    used: Any = take.compiled.memory_analysis()

    def call() -> None:
        nonlocal state
        state, losses = take(task, state, axes, moves, steps)
        if not np.isfinite(losses).all():
            raise FloatingPointError("the timed training did not stay finite")

    call()
    at_once = points_at_once(shape.points)
    return Prepared(
        call,
        shape,
        runs,
        steps,
        compiling,
        planned_bytes=runs * bytes_of_run(states[0].field, at_once),
        used_bytes=used.temp_size_in_bytes + used.argument_size_in_bytes,
    )


def matmul_peak(precision: Precision, size: int, *, repeats: int = 5) -> float:
    """TFLOP/s of one large square product in that precision, the ceiling of a step."""
    kind = jnp.bfloat16 if precision is Precision.BFLOAT16 else jnp.float32
    how = {
        Precision.FLOAT32: jax.lax.Precision.HIGHEST,
        Precision.TF32: jax.lax.DotAlgorithmPreset.TF32_TF32_F32,
        Precision.BFLOAT16: None,
    }[precision]
    keys = jax.random.split(jax.random.key(0))
    a, b = (jax.random.normal(k, (size, size), jnp.float32).astype(kind) for k in keys)
    product = jax.jit(lambda a, b: jnp.dot(a, b, precision=how))
    return 2 * size**3 / _median(lambda: product(a, b), repeats) / 1e12


def copy_bandwidth(megabytes: int, *, repeats: int = 5) -> float:
    """TB/s read and written by one pass over an array."""
    x = jnp.ones(megabytes * 2**20 // 4, jnp.float32)
    double = jax.jit(lambda x: 2 * x)
    return 2 * x.nbytes / _median(lambda: double(x), repeats) / 1e12


def _median(call: Callable[[], Array], repeats: int, at_once: int = 10) -> float:
    """Seconds of one call, several of them in flight so that the device never waits."""
    call().block_until_ready()
    taken = []
    for _ in range(repeats):
        begun = time.perf_counter()
        for result in [call() for _ in range(at_once)]:
            result.block_until_ready()
        taken.append((time.perf_counter() - begun) / at_once)
    return float(np.median(taken))
