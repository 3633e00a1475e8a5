"""What is held out of the measurements of any linear instrument."""

import dataclasses
import hashlib
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Scalar

from ..field import Field
from ..tasks.linear import LinearTask
from .problem import HeldMeasured, Problem
from .spectrum import first_guess

HOLDOUT = 0.1
STRETCH, LONGEST = 1 / 32, 8
"""How many neighbours along the last axis are held out together: one by itself is known
from those beside it (`instruments.stretches`)."""


class HeldMeasurements(HeldMeasured[LinearTask]):
    """Measurements that the task does not train on."""

    out: Bool[Array, "..."]

    def error(self, field: Field) -> Scalar:
        return self.task.mean_square(self.task.values(field), self.out)

    def measured(self) -> Inexact[Array, " k"]:
        return self.task.measured[self.out] / self.task.unit


def linear_problem(
    task: LinearTask,
    picture: Float[np.ndarray, "..."],
    *,
    start: float | None = None,
    share: float = 1.0,
    seed: int = 0,
) -> Problem:
    """The problem of measurements, of those to train on some held out.

    Args:
        picture: a rough reconstruction on the instrument's full grid, whose spectrum
            gives the first guess.
    """
    measured = np.asarray(task.measured)
    known = (
        np.ones(measured.shape, bool)
        if task.train_mask is None
        else np.array(task.train_mask)
    )
    gone = stretches(measured.shape, HOLDOUT, seed)
    train, out = known & ~gone, known & gone
    held, blank = None, 0.0
    if train.any() and out.any():
        held = HeldMeasurements(
            dataclasses.replace(task, train_mask=jnp.asarray(train)), jnp.asarray(out)
        )
        blank = _blank(task, measured, train, out)
    sides = picture.shape
    # What the instrument makes of something random tells it from others.
    some = np.random.default_rng(0).random(task.forward.input_shape)
    seen = np.asarray(task.forward(jnp.asarray(some, jnp.float32)))
    digest = hashlib.sha256()
    for part in (measured, train, out, seen, task.low, task.high, start):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(f"{task.forward.input_shape} {sides} {share}".encode())
    return Problem(
        name="measurements", held=held, blank=blank, d=len(sides), out=1,
        output="sigmoid", guess=picture_guess(picture), nyquist=max(sides) / 2,
        start=start, share=share, digest=digest.hexdigest(),
    )  # fmt: skip


def picture_guess(picture: Float[np.ndarray, "..."]) -> float:
    """The spectrum's scale; of a volume, the mean of its middle slices, because the
    guess was fitted to pictures."""
    slices = [picture]
    if picture.ndim > 2:
        slices = [np.take(picture, n // 2, k) for k, n in enumerate(picture.shape)]
    step = 1 / max(picture.shape)
    found = [first_guess(s[..., None].astype(np.float32), step) for s in slices]
    return float(np.exp(np.mean(np.log(found))))


def stretches(
    shape: tuple[int, ...], share: float, seed: int
) -> Bool[np.ndarray, "..."]:
    """A share of the measurements, a few neighbours at a time, at random places."""
    last = shape[-1] if shape else 1
    rows = math.prod(shape) // last
    wide = max(1, min(LONGEST, round(STRETCH * last)))
    each = math.ceil(last / wide)
    gone = np.zeros(rows * each, bool)
    order = np.random.default_rng(seed).permutation(gone.size)
    gone[order[: max(1, round(share * gone.size))]] = True
    return np.repeat(gone.reshape(rows, each), wide, axis=1)[:, :last].reshape(shape)


def _blank(
    task: LinearTask, measured: np.ndarray, train: np.ndarray, out: np.ndarray
) -> float:
    """The held-out error of one value everywhere, the one that fits best."""
    ones = np.asarray(task.forward(jnp.ones(task.forward.input_shape)))
    power = float(np.sum(np.abs(ones[train]) ** 2))
    mean = np.vdot(ones[train], measured[train]).real / power if power > 0 else 0.0
    return float(np.mean(np.abs(mean * ones - measured)[out] ** 2) / task.unit**2)
