"""PSNR and SSIM of a stack of pictures, worked out where their fields are."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from ..domain import grid_coords
from ..field import Field
from ..ops.mlp import Precision
from ..ops.without_autotune import jit_without_autotune

POINTS = 2**20
"""Of all fields together, that are evaluated at once."""
C1, C2 = 0.01**2, 0.03**2  # of SSIM, for a data range of 1


def stack_scores(
    field: Field,
    pixels: Num[np.ndarray, "runs h w c"],
    low: Float[np.ndarray, " runs"],
    high: Float[np.ndarray, " runs"],
) -> tuple[Float[Array, " runs"], Float[Array, " runs"]]:
    """PSNR and SSIM of every field of a stack, as `tasks.metrics` defines them, for a
    data range of 1, in float32: scikit-image's to four digits. They are not waited for.

    Args:
        field: with a leading axis.
        pixels: as they are stored; `low` and `high` become 0 and 1.
    """
    runs, h, w, _ = pixels.shape
    exact = field.with_precision(Precision.FLOAT32)
    coords = grid_coords(np.arange(h * w), (h, w))
    at_once = max(1, min(runs, POINTS // (h * w)))
    if jax.default_backend() == "cpu":
        at_once = 1  # its products of stacks are slow
    return _scores(exact, coords, pixels, low, high, at_once)


@jit_without_autotune
def _scores(
    field: Field, coords: Array, pixels: Array, low: Array, high: Array, at_once: int
) -> tuple[Array, Array]:
    def one(run: tuple[Field, Array, Array, Array]) -> tuple[Array, Array]:
        own, stored, black, white = run
        truth = (stored.astype(jnp.float32) - black) / (white - black)
        seen = own.batch(coords).reshape(truth.shape)
        level = -10 * jnp.log10(jnp.mean(jnp.square(seen - truth)))
        return level, ssim_of(seen, truth)

    runs = field, pixels, low, high
    if at_once == 1:
        return jax.lax.map(one, runs)
    return jax.lax.map(one, runs, batch_size=at_once)


def ssim_of(x: Float[Array, "h w c"], y: Float[Array, "h w c"]) -> Float[Array, ""]:
    """Mean structural similarity with a uniform window of 7, or of the largest odd
    width that fits."""
    window = min(7, *x.shape[:2])
    window -= 1 - window % 2
    count = window**2
    unbias = count / (count - 1) if window > 1 else 1.0

    def mean(values: Array) -> Array:
        for axis in (0, 1):
            kept = values.shape[axis] - window + 1
            first, *others = (
                jax.lax.slice_in_dim(values, k, k + kept, axis=axis)
                for k in range(window)
            )
            values = sum(others, first)
        return values / count

    # About their means, so that float32 keeps the digits of a small variance.
    shift = jnp.mean(y)
    a, b = x - shift, y - shift
    ma, mb = mean(a), mean(b)
    va, vb = unbias * (mean(a * a) - ma * ma), unbias * (mean(b * b) - mb * mb)
    both = unbias * (mean(a * b) - ma * mb)
    mx, my = ma + shift, mb + shift
    alike = (2 * mx * my + C1) * (2 * both + C2)
    return jnp.mean(alike / ((mx * mx + my * my + C1) * (va + vb + C2)))
