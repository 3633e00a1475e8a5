"""The training that Figs. 3 and 12 show: one signal, seven mappings, two theories."""

import dataclasses
import math
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .. import theory
from ..data.noise import DenseSignals, power_law_signals
from ..field import Field, make_field, standard
from ..ops.without_autotune import jit_without_autotune
from ..tasks.signal1d import Signal1D, signal_tasks
from ..train.loop import Config, start
from ..train.population import population_chunk_without_autotune, stack
from ..train.state import sgd
from ..train.work import count
from .item import Preset, Progress

# In the order of the 2020 keys.
POWERS = ("0", "0.5", "1", "1.5", "2", "inf")
NAMES = (*(f"p={p}" for p in POWERS), "none")
WORDS = (*(f"dense:p={p},m=16,norm=1" for p in POWERS), "none:shift=-0.5")
N, C = 32, 8
LAYERS, WIDTH = 4, 1024
RATE, END = 1e-5, 0.5
"""The paper's learning rate, and what its 50,000 steps amount to in time."""


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
    # The plain network has one input and not 32: another shape, so another program.
    outputs = np.concatenate(
        [
            _train(task, fields[part], size.rate * shares[part], size, progress)
            for part in (slice(0, 6), slice(6, 7))
        ]
    )
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


def network(word: str, key: Array, width: int) -> Field:
    """A network as it starts, with the random bits of 2020."""
    return make_field(
        word,
        d=1,
        out=1,
        key=key,
        layers=LAYERS,
        width=width,
        output="identity",
        init=standard,
        bits2020=True,
    )


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
    optimiser = sgd()
    states = [
        start(
            field,
            Config(size.steps, float(rate), size.every, precision="float32"),
            key=jax.random.key(0),  # full batches: nothing is drawn
            optimiser=optimiser,
        )
        for field, rate in zip(fields, rates, strict=True)
    ]
    tasks, axes = stack([task] * len(fields))
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    seen = [_outputs(state.field, task.grid)]
    for done in range(size.every, size.steps + 1, size.every):
        state, _ = population_chunk_without_autotune(
            tasks, state, axes, optimiser, size.every
        )
        seen.append(_outputs(state.field, task.grid))
        progress(f"{len(fields)} networks, step {done} of {size.steps}")
    count(state.field, task.step_points, size.steps * len(fields))
    return np.stack([np.asarray(s, np.float64) for s in seen], axis=1)


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
