"""Values at points of the user's own as a problem of scales."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..auto import Auto
from ..tasks.regression import RegressionTask
from ..train.schedules import Schedule
from .choice import Choice
from .choose import choose
from .grid import FEWEST, SAME, split
from .problem import HeldPoints, Problem
from .sweep import Plan, rungs_to

SHARE = 0.06
"""The first guess in Nyquist frequencies, where no spectrum can be taken: between the
best scales of natural pictures and of text."""
MOST, CPU_MOST = 2**18, 2**12
STEPS, CPU_STEPS = 1536, 1600
PASS = 16


def points_problem(
    coords: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, "n c"],
    *,
    most: int | None = None,
    batch: int | None = None,
    output: str = "identity",
    seed: int = 0,
) -> Problem:
    """The problem of scattered points with values in [0, 1].

    They have no spectrum of their own; the Nyquist frequency is that of as many points
    on a grid over their box. Where there are more than `most`, those about the middle
    are taken, as dense as they are: some at random would be sparser.
    """
    x, y = np.asarray(coords, np.float32), np.asarray(values, np.float32)
    low, high = x.min(axis=0), x.max(axis=0)
    sides = np.where(high > low, high - low, 1.0)
    spacing = float(np.prod(sides) / len(x)) ** (1 / x.shape[1])
    index = np.arange(len(x))
    if most is not None and len(x) > most:
        far = np.abs((x - (low + high) / 2) / sides).max(axis=1)
        index = np.sort(np.argsort(far)[:most])
    held, blank = None, float(np.var(y, axis=0, dtype=np.float64).mean())
    blank = 0.0 if blank < SAME else blank
    if len(index) >= FEWEST and blank > 0:
        rest, out = (index[part] for part in split(len(index), seed))
        size = None if batch is None or batch >= len(rest) else batch
        task = RegressionTask(
            jnp.asarray(x[rest]), jnp.asarray(y[rest]), jnp.float32(0),
            jnp.float32(1), size,
        )  # fmt: skip
        held = HeldPoints(task, jnp.asarray(x[out]), jnp.asarray(y[out]))
        blank = float(np.mean((y[out] - y[rest].mean(axis=0)) ** 2))
    seen = hashlib.sha256(x.tobytes() + y.tobytes())
    seen.update(f"{x.shape} {y.shape} {len(index)} {batch} {output}".encode())
    return Problem(
        name="points", held=held, blank=blank, d=x.shape[1], out=y.shape[1],
        output=output, guess=SHARE * 0.5 / spacing, nyquist=0.5 / spacing,
        share=len(index) / len(x), digest=seen.hexdigest(),
    )  # fmt: skip


def choose_for_points(
    coords: Float[np.ndarray, "n d"],
    values: Float[np.ndarray, "n c"],
    auto: Auto,
    *,
    steps: int = CPU_STEPS,
    rate: float | Schedule = 1e-3,
    layers: int = 4,
    width: int = 256,
    precision: str = "auto",
    output: str = "identity",
    seed: int = 0,
) -> Choice:
    """The choice for a fit of so many steps, in less time than that."""
    on_cpu = jax.default_backend() == "cpu"
    most = CPU_MOST if on_cpu else MOST
    batch = max(64, min(most, len(coords)) // PASS) if on_cpu else 2**12
    longest = min(steps, CPU_STEPS if on_cpu else STEPS)
    problem = points_problem(
        coords, values, most=most, batch=batch, output=output, seed=seed
    )
    plan = Plan(
        rungs=rungs_to(longest), lr=rate, layers=layers,
        width=width, precision=precision, slots=2 if on_cpu else None,
    )  # fmt: skip
    return choose(problem, auto, plan, seed=seed)
