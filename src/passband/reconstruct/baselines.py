"""What the same measurements give without a network: one `baselines` for every task."""

import functools
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..forward.fan import Projector
from ..forward.kspace import KSpace
from ..forward.linear import Masked
from ..tasks.ct import CTTask, kept_rays
from ..tasks.ct_rows import RowsTask
from ..tasks.linear import LinearTask, held_out
from ..tasks.mri import MriTask
from ..tasks.task import Task
from .backprojection import filtered_backprojection
from .free_grid import free_grid
from .least_squares import least_squares
from .sart import sart
from .total_variation import chosen_total_variation

SHARES = (0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5)
"""Weights of total variation that are tried on k-space, of the largest |A^H y|."""
DARK = -5.0
"""A start of the free grid near black, which most of a scan is."""


def baselines(
    task: Task,
    *,
    steps: int = 1000,
    seconds: float | None = None,
    on_skip: Callable[[str], object] = str,
) -> dict[str, np.ndarray]:
    """The classical reconstructions of a task's measurements, by name.

    Args:
        steps: of gradient descent on the free grid, and about as many iterations of
            total variation where each is as costly as such a step.
        seconds: once they have passed none is begun any more, and those that were not
            are left out; the first is always made. One with fewer iterations would make
            the network look better than it is.
        on_skip: called with the name of each that is left out.
    """
    begun, found = time.perf_counter(), {}
    for name, reconstruct in recipes(task, steps=steps).items():
        late = seconds is not None and time.perf_counter() - begun >= seconds
        if found and late:
            on_skip(name)
        else:
            found[name] = reconstruct()
    return found


Recipes = dict[str, Callable[[], np.ndarray]]
"""Reconstructions by name, each made when it is called."""


@functools.singledispatch
def recipes(task: Task, *, steps: int = 1000) -> Recipes:
    """How each classical reconstruction of a task's measurements is made."""
    raise TypeError(f"no baselines are known for a {type(task).__name__}")


@recipes.register
def _(task: CTTask, *, steps: int = 1000) -> Recipes:
    """Filtered back-projection, SART, total variation and a free grid.

    All but the first leave out the held-out rays, by which the sweeps of SART and the
    weight of total variation are chosen (back-projection fills them from their
    neighbours in the view, or leaves the view out). On the grid of the task, then
    enlarged to the picture's.
    """
    forward = task.forward
    if not isinstance(forward, Projector):
        raise TypeError("baselines need line integrals, so a task of `ct_task`")
    y, train_mask = task.sinogram, task.train_mask
    if train_mask is None:  # the weight of total variation must be chosen by something
        choose = jnp.asarray(kept_rays((y.shape[0], y.shape[1]), 0.05, 0))
    else:
        choose = train_mask
    make: dict[str, Callable[[], Any]] = {
        "FBP": lambda: filtered_backprojection(
            *_filled(forward, np.asarray(y), train_mask)
        ),
        "SART": lambda: sart(forward, y, train_mask).values,
        "TV": lambda: chosen_total_variation(forward, y, choose, high=1.0).values,
        "free grid": lambda: free_grid(task, steps=steps),
    }
    return {
        name: lambda one=one: enlarged(np.asarray(one()), task.side)
        for name, one in make.items()
    }


@recipes.register
def _(task: RowsTask, *, steps: int = 1000) -> Recipes:
    """Those of every row by itself, stacked."""
    rows = [recipes(task.row(k), steps=steps) for k in range(task.sinogram.shape[1])]
    return {
        name: lambda name=name: np.stack([row[name]() for row in rows])
        for name in rows[0]
    }


@recipes.register
def _(task: MriTask, *, steps: int = 1000) -> Recipes:
    """Zero filling, least squares for several coils (SENSE), total variation and a free
    grid, from the frequencies that train.

    The iterations of SENSE and the weight of total variation are those that predict the
    held-out frequencies best; both are left out where nothing is held out. Complex
    images have two free numbers a voxel, which start at 0.
    """
    pair = task.forward.pair
    make: Recipes = {"zero-filled": lambda: zero_filled(task)}
    if task.test_mask is not None and task.forward.maps is not None:
        make["SENSE"] = lambda: sense(task, iterations=min(30, steps))
    if task.test_mask is not None:
        make["total variation"] = lambda: total_variation_of(task, steps=steps)[0]
    # Its iterations cost a third of total variation's, and it needs more of them.
    more, start = min(1000, 3 * steps), 0.0 if pair else DARK
    make["free grid"] = lambda: np.asarray(
        free_grid(task, steps=more, start=start, signed=pair)
    )
    return make


@recipes.register
def _(task: LinearTask, *, steps: int = 1000) -> Recipes:
    """Least squares, total variation and a free grid, as shares of the task's range.

    The iterations of the first and the weight of the second are those that predict the
    held-out measurements best.
    """
    whole = jnp.ones(task.measured.shape, bool)
    train = whole if task.train_mask is None else task.train_mask
    test = task.test_mask
    if test is None:  # they must be chosen by something
        train, test = map(jnp.asarray, held_out(np.asarray(train), 0.05, 0))
    # What was not measured is 0 in the task, and must be seen as 0.
    known = Masked(task.forward, train | test)
    low, high, y = float(task.low), float(task.high), task.measured

    def solved() -> np.ndarray:
        return least_squares(known, y, train, test, iterations=min(50, steps)).values

    def smooth() -> np.ndarray:
        return chosen_total_variation(
            known, y, train, shares=SHARES, search=max(1, steps // (2 * len(SHARES))),
            iterations=max(1, steps // 2), low=low, high=high,
        ).values  # fmt: skip

    return {
        "least squares": lambda: (solved() - low) / (high - low),
        "total variation": lambda: (smooth() - low) / (high - low),
        "free grid": lambda: np.asarray(free_grid(task, steps=steps)),
    }


def _filled(
    forward: Projector, y: np.ndarray, train_mask: Array | None
) -> tuple[Projector, Array]:
    """Every view whole: rays that are left out come from those beside them."""
    if train_mask is None:
        return forward, jnp.asarray(y)
    known = np.asarray(train_mask)
    left = np.flatnonzero(known.any(axis=1))
    bins = np.arange(y.shape[1])
    rows = [np.interp(bins, bins[known[k]], y[k][known[k]]) for k in left]
    return forward.view(left), jnp.asarray(np.stack(rows), jnp.float32)


def enlarged(x: Float[np.ndarray, "n n"], side: int) -> Float[np.ndarray, "side side"]:
    """A coarser grid on a finer one over the same square, linear in between."""
    n = len(x)
    if n == side:
        return x
    at, index = np.arange(side) * (n / side), np.arange(n)
    tall = np.stack([np.interp(at, index, column) for column in x.T], axis=1)
    return np.stack([np.interp(at, index, row) for row in tall]).astype(np.float32)


def zero_filled(task: MriTask) -> np.ndarray:
    """The unmeasured frequencies at 0."""
    return np.asarray(task.forward.zero_filled(task.measured))


def sense(task: MriTask, *, iterations: int) -> np.ndarray:
    """Least squares by conjugate gradients, of several coils (Pruessmann et al. 2001),
    after the iteration that predicts the held-out frequencies best."""
    whole, train = _whole(task)
    if task.test_mask is None:
        raise ValueError("this task holds no frequencies out to stop by")
    test = jnp.broadcast_to(task.test_mask, task.measured.shape)
    return least_squares(
        whole, task.measured, train, test, iterations=iterations
    ).values


def _whole(task: MriTask) -> tuple[KSpace, Array]:
    """The instrument with what is held out, and which of its samples train."""
    train = task.forward.mask
    held = train if task.test_mask is None else train | task.test_mask
    whole = eqx.tree_at(lambda f: f.mask, task.forward, held)
    return whole, jnp.broadcast_to(train, task.measured.shape)


def total_variation_of(task: MriTask, *, steps: int) -> tuple[np.ndarray, float]:
    """The image of least total variation, and the weight that was chosen for it."""
    if task.test_mask is None:
        raise ValueError("this task holds no frequencies out to choose the weight by")
    whole, train = _whole(task)
    pair = task.forward.pair
    chosen = chosen_total_variation(
        whole,
        task.measured,
        train,
        shares=SHARES,
        search=max(1, steps // (2 * len(SHARES))),
        iterations=max(1, steps // 2),
        low=None if pair else 0.0,
        pair=pair,
    )
    return chosen.values, chosen.weight
