"""The range of values behind measurements, and what their operator has time for."""

import hashlib
import math
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..forward.linear import LinearForward, Masked
from ..reconstruct.baselines import SHARES
from ..reconstruct.total_variation import chosen_total_variation
from ..tasks.linear import held_out

ROUGH_SECONDS, ROUGH_STEPS = 10.0, 240
"""Time for a first picture by total variation where the operator is slow, and its
iterations where it is not."""
ABOVE = 1.5
"""How far the field reaches beyond the largest value that total variation or least
squares finds. Both lower peaks: the first left 0.48 of a phantom's behind a blur and
0.86 behind a quarter as many random sums as points, the second 0.70 and 0.45."""


def rough_of(
    forward: LinearForward, y: np.ndarray, known: np.ndarray, low: float | None
) -> np.ndarray:
    """A first picture, by total variation."""
    train, _ = held_out(known, 0.05, 0)
    steps = affordable(forward, ROUGH_SECONDS, ROUGH_STEPS)
    return chosen_total_variation(
        Masked(forward, jnp.asarray(known)), jnp.asarray(y), jnp.asarray(train),
        shares=SHARES, search=max(1, steps // (2 * len(SHARES))), iterations=steps // 2,
        low=-math.inf if low is None else low,
    ).values  # fmt: skip


def affordable(forward: LinearForward, seconds: float, most: int) -> int:
    """How often an operator and its adjoint can be applied in time; at least 10."""
    x = jnp.ones(forward.input_shape)
    jax.block_until_ready(forward.N(x))  # compiled
    begun = time.perf_counter()
    jax.block_until_ready(forward.N(x))
    spent = max(time.perf_counter() - begun, 1e-9)
    return int(np.clip(seconds / spent, 10, most))


def ends_of(
    rough: np.ndarray, low: float | None, high: float | None
) -> tuple[float, float]:
    """The range of the values: what was given, the rest from a first picture."""
    bottom, top = float(rough.min()), float(rough.max())
    wide = (ABOVE - 1) * (top - bottom)
    low = bottom - wide if low is None else float(low)
    if high is None:
        high = low + ABOVE * (top - low)
        if not high > low:
            raise InputError(
                f"no value above `low` (={low:g}) explains `y`, whose values reach "
                f"{top:.3g}; give `high`, or a lower `low`"
            )
    if not low < high:
        raise InputError(f"`low` (={low:g}) must be below `high` (={high:g})")
    return low, float(high)


def truth_of(truth: Any, sides: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(truth)
    if found.shape != sides:
        raise InputError(f"`truth` has shape {found.shape}; the field's is {sides}")
    if found.dtype.kind not in "buif":
        raise InputError(f"`truth` holds {found.dtype}; values are real numbers")
    if not np.isfinite(found).all():
        raise InputError("`truth` has NaN or infinite numbers")
    return found.astype(np.float32)


def digest_of(*parts: Any) -> str:
    seen = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        seen.update(f"{array.shape} {array.dtype}".encode() + array.tobytes())
    return seen.hexdigest()
