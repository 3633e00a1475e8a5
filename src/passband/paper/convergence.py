"""The training that Figs. 3 and 12 show: one signal, seven mappings, two theories."""

import dataclasses
import math
import time
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from .. import theory
from ..data.noise import DenseSignals, power_law_signals
from ..field import Field
from ..ops.without_autotune import jit_without_autotune
from ..tasks.signal1d import Signal1D, signal_tasks
from ..train import driver
from ..train.driver import Config
from ..train.optimisers import sgd
from . import published
from .fig2 import LAYERS, POWERS, WIDTH, N
from .item import Number, Preset, Progress
from .signal_runs import dense_word, network

# In the order of the 2020 keys.
NAMES = (*(f"p={p}" for p in POWERS), "none")
WORDS = (*(dense_word(p, N) for p in POWERS), "none:shift=-0.5")
C = 8
RATE, END = 1e-5, 0.5
"""The paper's learning rate, and what its 50,000 steps amount to in time."""
TABLES = {"train": published.FIG3_TRAIN, "test": published.FIG3_TEST}


@dataclasses.dataclass(frozen=True)
class Size:
    """How finely the same time is stepped through, and by how wide a network."""

    width: int
    steps: int
    every: int

    @property
    def rate(self) -> float:
        return END / self.steps


# Descent is so slow here (rate x largest eigenvalue = 0.002 in the paper) that it is a
# gradient flow: 10 times the rate and a tenth of the steps give the same curves, and
# 100 times nearly so (p = 0 ends 4 % lower).
SIZES = {
    Preset.SMOKE: Size(width=128, steps=400, every=20),
    Preset.SMALL: Size(width=WIDTH, steps=500, every=10),
    Preset.FULL: Size(width=WIDTH, steps=5000, every=20),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Study:
    """Outputs of the seven networks over time, and what two theories say of them.

    Times are the paper's: learning rate x steps at width 1024.
    """

    signal: DenseSignals
    size: Size
    times: Float[np.ndarray, " times"]
    outputs: Float[np.ndarray, "runs times cn"]
    """The networks at every point of the signal."""
    flow: Float[np.ndarray, "runs times cn"]
    """Eq. 3 from the networks' initialisation."""
    coded: Float[np.ndarray, "runs times cn"]
    """What the published figure draws: at every time, eq. 3 started from the network as
    it is then, and run for that time over n (protocol 2.4)."""
    decay: Float[np.ndarray, "runs n"]
    """The rate at which eq. 4 has each Fourier bin decay; NaN without a mapping, where
    the kernel's modes are not Fourier's."""
    seconds: float
    """What the study took; the second figure of a process has it for nothing."""

    def errors(self, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean squared error (runs, times) at the train points, and at all others."""
        square = (outputs - self.signal.y[0].astype(np.float64)) ** 2
        seen = self.signal.train
        return square[..., seen].mean(axis=-1), square[..., ~seen].mean(axis=-1)

    def bands(self, outputs: np.ndarray) -> np.ndarray:
        """|DFT| of the error at the train points (runs, times, n), without a factor."""
        seen = outputs[..., self.signal.train]
        return theory.band_errors(seen - self.signal.y_train[0].astype(np.float64))


class Losses:
    """Mean squared errors of the networks and of the two theories, over time."""

    def __init__(self, found: Study):
        self.comparable = is_paper_size(found.size)
        self.signal = found.signal
        self.by: dict[tuple[str, str], np.ndarray] = {}
        for column, outputs in (
            ("observed", found.outputs),
            ("as-coded", found.coded),
            ("eq3", found.flow),
        ):
            train, test = found.errors(outputs)
            self.by["train", column], self.by["test", column] = train, test

    def final(self, part: str, column: str) -> np.ndarray:
        """The last errors of all mappings, in the order of `NAMES`."""
        return self.by[part, column][:, -1]

    def cells(self, part: str) -> dict[tuple[str, str], float]:
        """The last errors by mapping and column, as the printed tables have them."""
        return {
            (name, column): float(value)
            for column in ("observed", "as-coded", "eq3")
            for name, value in zip(NAMES, self.final(part, column), strict=True)
        }

    def numbers(
        self, names: Sequence[str], columns: Sequence[str]
    ) -> tuple[Number, ...]:
        """Each last error beside the printed one, where there is one."""
        found = []
        for part, printed in TABLES.items():
            ours = self.cells(part)
            for name in names:
                for column in columns:
                    cell = printed.get((name, column))
                    found.append(
                        Number(
                            f"{name} {part} MSE, {column}",
                            None if cell is None else cell.value,
                            ours[name, column],
                            comparable=self.comparable and cell is not None,
                        )
                    )
        return tuple(found)


def signal_2020() -> tuple[DenseSignals, Array]:
    """The signal of 2020, from PRNGKey(0) itself, and the seven networks' keys."""
    with jax.threefry_partitionable(False):
        key = jax.random.PRNGKey(0)
        signal = power_law_signals(key[None], n=N, c=C, alpha=1.0, bandlimited=True)
        return signal, jax.random.split(key, 1 + len(NAMES))[1:]


_done: dict[Preset, Study] = {}


def study(preset: Preset, progress: Progress) -> Study:
    """Train the seven networks, once for both figures of a process."""
    if preset not in _done:
        _done[preset] = _study(SIZES[preset], progress)
    return _done[preset]


def _study(size: Size, progress: Progress) -> Study:
    begun = time.perf_counter()
    signal, keys = signal_2020()
    fields = [
        network(word, key, size.width) for word, key in zip(WORDS, keys, strict=True)
    ]
    kernels = [_kernel(field, signal, size.width) for field in fields]
    shares = np.array(
        [_rate_share(f, signal, k) for f, k in zip(fields, kernels, strict=True)]
    )
    steps = np.arange(0, size.steps + 1, size.every)
    (task,) = signal_tasks(signal)
    outputs = _train(task, fields, size.rate * shares, size, progress)
    progress("theory")
    times = steps * size.rate
    flow, coded = np.empty_like(outputs), np.empty_like(outputs)
    decay = np.full((len(NAMES), N), np.nan)
    for i, (kernel, share) in enumerate(zip(kernels, shares, strict=True)):
        flow[i], coded[i] = _theories(kernel, share * times, outputs[i], signal)
        if NAMES[i] != "none":
            row = kernel[signal.train, 0]
            decay[i] = share * theory.circulant_eigenvalues(row)
    seconds = time.perf_counter() - begun
    return Study(signal, size, times, outputs, flow, coded, decay, seconds)


def _kernel(field: Field, signal: DenseSignals, width: int) -> np.ndarray:
    """The closed-form kernel of all points against the train points."""
    return theory.composed_ntk(
        field.encoding, signal.x, signal.x_train, layers=LAYERS, width=width
    )


def _rate_share(field: Field, signal: DenseSignals, kernel: np.ndarray) -> float:
    """By how much another width's rate is larger, so that rate x largest eigenvalue is
    the paper's: the standard kernel grows with the width."""
    paper = _kernel(field, signal, WIDTH)
    largest = [theory.eigenvalues(k[signal.train])[0] for k in (paper, kernel)]
    return float(largest[0] / largest[1])


def _train(
    task: Signal1D,
    fields: list[Field],
    rates: np.ndarray,
    size: Size,
    progress: Progress,
) -> np.ndarray:
    """Plain descent on all points; the outputs (runs, times, cn) along the way."""
    steps = range(0, size.steps + 1, size.every)
    seen = np.empty((len(fields), len(steps), len(task.grid)))

    def on_stop(step: int, places: list[int], stacked: Field) -> None:
        seen[places, step // size.every] = _outputs(stacked, task.grid)
        progress(f"{len(places)} networks, step {step} of {size.steps}")

    driver.train(
        [task] * len(fields),
        fields,
        Config(size.steps, every=size.every, precision="float32"),
        keys=[jax.random.key(0)] * len(fields),  # full batches: nothing is drawn
        lrs=rates.tolist(),
        optimiser=sgd(),
        stops=steps,
        on_stop=on_stop,
    )
    return seen


@jit_without_autotune
def _outputs(fields: Field, grid: Array) -> Array:
    return eqx.filter_vmap(lambda field: field.batch(grid)[:, 0])(fields)


def _theories(
    kernel: np.ndarray, times: np.ndarray, outputs: np.ndarray, signal: DenseSignals
) -> tuple[np.ndarray, np.ndarray]:
    """Eq. 3 from initialisation, and as the notebook restarted it at every time."""
    seen = signal.train
    targets = signal.y_train[0].astype(np.float64)
    honest = theory.linear_dynamics(kernel[seen], targets)
    flow = honest(times, kernel, f0_train=outputs[0, seen], f0_test=outputs[0])
    restarted = theory.linear_dynamics(kernel[seen], targets, loss_scale=1 / N)
    coded = [
        restarted(t, kernel, f0_train=now[seen], f0_test=now)
        for t, now in zip(times, outputs, strict=True)
    ]
    return flow, np.array(coded)


def paper_steps(times: np.ndarray) -> np.ndarray:
    """Times as the paper's iterations."""
    return np.rint(times / RATE)


def is_paper_size(size: Size) -> bool:
    """Whether the printed numbers may be asked for."""
    return size.width == WIDTH and math.isclose(size.rate * size.steps, END)
