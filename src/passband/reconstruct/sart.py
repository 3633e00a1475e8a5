"""SART: the algebraic reconstruction that corrects view by view."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..forward.fan import Projector
from ..forward.linear import relative_error


class Swept(NamedTuple):
    """A reconstruction, after as many sweeps as did good."""

    values: np.ndarray
    sweeps: int
    errors: list[float]
    """Relative error of what was held out, sweep by sweep."""


def sart(
    forward: Projector,
    sinogram: Float[Array, "views bins"],
    train_mask: Bool[Array, "views bins"] | None = None,
    *,
    sweeps: int = 20,
    relaxation: float = 0.3,
) -> Swept:
    """Andersen and Kak's (1984) simultaneous algebraic technique, values at least 0.

    x += relaxation H_v((y_v - A_v x) / A_v 1) / H_v 1, for every view v in turn, those
    far apart following each other. Sweeps beyond the one that predicts the held-out
    rays best fit noise; without any held out, all are made.
    """
    known = jnp.ones(forward.output_shape, bool) if train_mask is None else train_mask
    held = train_mask is not None and not bool(train_mask.all())
    order = jnp.asarray(_far_apart(forward.output_shape[0]))
    x = jnp.zeros(forward.input_shape)
    best, best_error, best_sweep, errors = x, np.inf, sweeps, []
    for sweep in range(1, sweeps + 1):
        x = _sweep(forward, sinogram, known, x, order, relaxation)
        error = relative_error(forward(x), sinogram, ~known) if held else -sweep
        errors.append(float(error))
        if error < best_error:
            best, best_error, best_sweep = x, error, sweep
    return Swept(np.asarray(best), best_sweep, errors if held else [])


@eqx.filter_jit
def _sweep(
    forward: Projector,
    y: Array,
    train_mask: Array,
    x: Array,
    order: Array,
    relaxation: float,
) -> Array:
    tiny = 1e-3 * forward.pixel

    def body(x, k):
        view = forward.view(k)
        length = view(jnp.ones_like(x))
        share = view.H(train_mask[k][None] * 1.0)
        missing = jnp.where(train_mask[k] & (length > tiny), y[k] - view(x), 0)
        change = view.H(missing / jnp.maximum(length, tiny))
        x = x + relaxation * change / jnp.maximum(share, tiny)
        return jnp.maximum(x, 0), None

    return jax.lax.scan(body, x, order)[0]


def _far_apart(views: int) -> np.ndarray:
    """The views by golden steps: any few in a row lie all around the object."""
    golden = (np.sqrt(5) - 1) / 2
    return np.argsort(np.argsort(np.arange(views) * golden % 1))
