"""One row of a picture by plain gradient descent, beside what the kernel predicts.

The paper's Fig. 3 with a signal of one's own: every fourth point trains, and each band
of frequencies is learned at the pace of the kernel's power there.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .. import theory
from ..field import Field, make_field, standard
from ..ops.without_autotune import jit_without_autotune
from ..tasks.signal1d import Signal1D
from ..train.driver import Config, train
from ..train.optimisers import sgd
from .kind import SILENT, Listener

POWERS = (0.0, 0.5, 1.0, 1.5, 2.0, float("inf"))
SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
EVERY, LAYERS, WIDTH, STEPS, BETWEEN = 4, 4, 512, 500, 20
BANDS = (1, 5, 15)
"""The low, the middle and the high frequency of Fig. 3, in cycles per row."""
SHARE = 0.2
"""Rate times the largest eigenvalue: a tenth of where descent would diverge."""


def row_study(
    signal: np.ndarray,
    *,
    width: int = WIDTH,
    steps: int = STEPS,
    seed: int = 0,
    listener: Listener = SILENT,
) -> dict[str, Any]:
    """Train networks on a signal and predict how each of its bands is learned.

    Args:
        signal: (n,) values on a grid, n a multiple of 4.
    """
    n = len(signal)
    x = np.arange(n) / n
    seen = np.arange(n) % EVERY == 0
    words = {
        "p": [f"dense:p={p:g},m={n // 8},norm=1" for p in POWERS],
        "sigma": [f"gaussian:{s:g},m={n // 8},norm=1" for s in SCALES],
        "none": ["none:shift=-0.5"],
    }
    every = [word for some in words.values() for word in some]
    fields = [
        make_field(
            word, d=1, out=1, key=seed, layers=LAYERS, width=width, output="identity",
            init=standard,
        )
        for word in every
    ]  # fmt: skip
    kernels = [
        theory.composed_ntk(f.encoding, x, x[seen], layers=LAYERS, width=width)
        for f in fields
    ]
    largest = max(float(theory.eigenvalues(k[seen])[0]) for k in kernels)
    rate = SHARE / largest
    stops = list(range(0, steps + 1, BETWEEN))  # of one length: one program
    outputs = _descend(x, signal, seen, fields, rate, stops, listener)
    times, found = rate * np.array(stops), {}
    target = signal[seen].astype(np.float64)
    for word, kernel, seen_outputs in zip(every, kernels, outputs, strict=True):
        start = seen_outputs[0]
        flow = theory.linear_dynamics(kernel[seen], target)(
            times, kernel, f0_train=start[seen], f0_test=start
        )
        encoding = fields[every.index(word)].encoding
        survey = theory.survey(encoding, int(seen.sum()), layers=LAYERS, width=width)
        found[word] = {
            "measured": _bands(seen_outputs[:, seen] - target),
            "predicted": _bands(flow[:, seen] - target),
            "learned": _rounded(seen_outputs[-1]),
            "kernel": _rounded(survey.kernel / survey.kernel.max()),
            "power": _rounded(survey.power / max(survey.power[1], 1e-300)),
            "train": _error(seen_outputs[-1] - signal, seen),
            "test": _error(seen_outputs[-1] - signal, ~seen),
        }
    power = np.abs(np.fft.rfft(target - target.mean())) ** 2
    return {
        "words": words,
        "powers": [p if np.isfinite(p) else "∞" for p in POWERS],
        "scales": list(SCALES),
        "signal": _rounded(signal),
        "every": EVERY,
        "steps": stops,
        "rate": float(f"{rate:.4g}"),
        "layers": LAYERS,
        "width": width,
        "bands": list(BANDS),
        "spectrum": _rounded(power / max(power[1], 1e-300)),
        "networks": found,
    }


def _descend(
    x: np.ndarray,
    signal: np.ndarray,
    seen: np.ndarray,
    fields: list[Field],
    rate: float,
    stops: list[int],
    listener: Listener,
) -> np.ndarray:
    """The outputs (runs, stops, n) along plain descent on all training points."""
    grid, values = jnp.float32(x[:, None]), jnp.float32(signal[:, None])
    task = Signal1D(grid[seen], values[seen], grid[~seen], values[~seen], grid)
    found = np.empty((len(fields), len(stops), len(x)))

    def on_stop(step: int, places: list[int], stacked: Field) -> None:
        found[places, stops.index(step)] = _outputs(stacked, grid)
        listener.progress(f"one row: step {step} of {stops[-1]}")

    train(
        [task] * len(fields),
        fields,
        Config(stops[-1], every=BETWEEN, precision="float32"),
        keys=[jax.random.key(0)] * len(fields),
        lrs=[rate] * len(fields),
        optimiser=sgd(),
        stops=stops,
        on_stop=on_stop,
    )
    return found


@jit_without_autotune
def _outputs(fields: Field, grid: jax.Array) -> jax.Array:
    if fields.mlp.biases[-1].ndim == 1:  # alone
        return fields.batch(grid)[None, :, 0]
    return eqx.filter_vmap(lambda field: field.batch(grid)[:, 0])(fields)


def _bands(error: np.ndarray) -> list[list[float]]:
    """|DFT| of errors (stops, n) in each of `BANDS`: [band][stop]."""
    found = theory.band_errors(error)
    return [_rounded(found[:, band]) for band in BANDS]


def _error(off: np.ndarray, where: np.ndarray) -> float:
    return float(f"{np.mean(off[where] ** 2):.4g}")


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in np.asarray(values).ravel()]
