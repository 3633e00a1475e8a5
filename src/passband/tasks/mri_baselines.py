"""An MRI task without a network: zero filling, total variation, a free grid."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from ..forward.total_variation import chosen_total_variation
from .mri import MriTask

SHARES = (0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
"""Weights of total variation that are tried, as shares of the largest |A^H y|."""
DARK = -5.0
"""A start of the free grid near black, which most of a scan is."""


def baselines(task: MriTask, *, steps: int = 1000) -> dict[str, np.ndarray]:
    """Images by method, from the frequencies that train, in about `steps` iterations.

    The weight of total variation is the one that predicts the held-out frequencies
    best; it is left out where nothing is held out, and for complex images.
    """
    found = {"zero-filled": zero_filled(task)}
    if task.test_mask is not None and not task.forward.pair:
        found["total variation"], _ = total_variation_of(task, steps=steps)
    # Its iterations cost a third of total variation's, and it needs more of them.
    found["free grid"] = free(task, steps=min(1000, 3 * steps))
    return found


def zero_filled(task: MriTask) -> np.ndarray:
    """The unmeasured frequencies at 0."""
    return np.asarray(task.forward.zero_filled(task.measured))


def total_variation_of(task: MriTask, *, steps: int) -> tuple[np.ndarray, float]:
    """The image of least total variation, and the weight that was chosen for it."""
    if task.test_mask is None:
        raise ValueError("this task holds no frequencies out to choose the weight by")
    train = task.forward.mask
    whole = eqx.tree_at(lambda f: f.mask, task.forward, train | task.test_mask)
    chosen = chosen_total_variation(
        whole,
        task.measured,
        jnp.broadcast_to(train, task.measured.shape),
        shares=SHARES,
        search=max(1, steps // (2 * len(SHARES))),
        iterations=max(1, steps // 2),
    )
    return chosen.values, chosen.weight


def free(task: MriTask, *, steps: int, start: float = DARK) -> np.ndarray:
    """The authors' own baseline, one free number a voxel behind a sigmoid, by Adam.

    What is not measured stays where the start, and Adam's equal steps, put it: from 0,
    which is mid-grey and where `forward.free_grid` starts, a dark image keeps much of
    the way it came. A complex image has two numbers a voxel, and starts at 0.
    """
    return np.asarray(_free(task, steps, start))


@eqx.filter_jit
def _free(task: MriTask, steps: int, start: float) -> Array:
    pair = task.forward.pair
    squash = jnp.tanh if pair else jax.nn.sigmoid
    optimiser = optax.adam(0.1)

    def body(carry, _):
        grid, moments = carry
        slope = jax.grad(lambda g: task.loss_of(squash(g)))(grid)
        updates, moments = optimiser.update(slope, moments)
        return (grid + updates, moments), None

    first = jnp.full(task.forward.input_shape, 0.0 if pair else start)
    (grid, _), _ = jax.lax.scan(body, (first, optimiser.init(first)), length=steps)
    return squash(grid)
