"""What a sinogram gives without a network, from the same rays."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..forward.backprojection import filtered_backprojection
from ..forward.free_grid import free_grid
from ..forward.radon import Radon
from ..forward.sart import sart
from ..forward.total_variation import chosen_total_variation
from .ct import CTTask, kept_rays


def baselines(
    task: CTTask, *, iterations: int = 200, search: int = 150, steps: int = 1000
) -> dict[str, np.ndarray]:
    """Filtered back-projection, SART, total variation and a free grid, by name.

    All but the first leave out the held-out rays, by which the sweeps of SART and the
    weight of total variation are chosen (back-projection fills them from their
    neighbours in the view, or leaves the view out). On the grid of the task, then
    enlarged to the picture's.

    Args:
        iterations: of total variation, `search` more for each weight that is tried.
        steps: of gradient descent on the free grid.
    """
    forward = task.forward
    if not isinstance(forward, Radon):
        raise TypeError("baselines need line integrals, so a task of `ct_task`")
    y, train_mask = task.sinogram, task.train_mask
    if train_mask is None:  # the weight of total variation must be chosen by something
        choose = jnp.asarray(kept_rays((y.shape[0], y.shape[1]), 0.05, 0))
    else:
        choose = train_mask
    found = {
        "FBP": filtered_backprojection(*_filled(forward, np.asarray(y), train_mask)),
        "SART": sart(forward, y, train_mask).values,
        "TV": chosen_total_variation(
            forward, y, choose, iterations=iterations, search=search, high=1.0
        ).values,
        "free grid": free_grid(forward, y, train_mask, steps=steps),
    }
    return {name: enlarged(np.asarray(x), task.side) for name, x in found.items()}


def _filled(
    forward: Radon, y: np.ndarray, train_mask: Array | None
) -> tuple[Radon, Array]:
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
