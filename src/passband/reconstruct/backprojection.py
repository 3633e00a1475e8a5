"""Filtered back-projection, the reconstruction that every scanner has."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data.sinograms import Sinogram
from ..errors import InputError
from ..forward.fan import Fan, Projector
from ..forward.radon import Radon, radon
from .fan_backprojection import fan_backprojection
from .ramp import ramp


def filtered_backprojection(
    forward: Projector, sinogram: Float[Array, "views bins"], *, window: str = "ramp"
) -> Float[Array, "side side"]:
    """x = sum_v d_v (ramp * y_v)(t_pixel), d_v the angle that view v stands for.

    The ramp is band-limited and made in space, so that the mean is right; `hann` rolls
    it off towards the highest frequency. Outside the circle that every view sees,
    values are 0. For a fan beam see `fan_backprojection`.
    """
    if isinstance(forward, Fan):
        return fan_backprojection(forward, sinogram, window=window)
    response = ramp(forward.bins, window=window)
    spacing = forward.pixel * forward.pitch
    weights = _angles_stood_for(forward) / spacing
    return _apply(forward, sinogram, jnp.asarray(response, jnp.float32),
                  jnp.asarray(weights, jnp.float32))  # fmt: skip


def largest_density(
    sinogram: Sinogram,
    *,
    pixel: float = 1.0,
    offset: float = 0.0,
    forward: Projector | None = None,
) -> float:
    """A bound on the density from the sinogram alone.

    The largest value of a smooth filtered back-projection, or what all but a thousandth
    of a sharp one stays below, and a quarter more, because bones one pixel thick are
    blurred in both: 1.03 to 2.1 times the true one for phantoms and heads of 32 to 256
    pixels, at 16 to 180 views with noise.

    Args:
        forward: what the sinogram was measured with, on a grid of 256 or fewer rows;
            by default parallel rays, `pixel` apart.
    """
    bins = sinogram.values.shape[1]
    if forward is None:
        forward = radon(
            sinogram.angles, bins, side=min(bins, 256), offset=offset, pixel=pixel
        )
    values = jnp.asarray(sinogram.values)
    smooth = filtered_backprojection(forward, values, window="hann")
    sharp = filtered_backprojection(forward, values)
    found = 1.25 * float(jnp.maximum(smooth.max(), jnp.percentile(sharp, 99.9)))
    if not found > 0:
        raise InputError(
            f"the sinogram `{sinogram.name}` back-projects to nothing above 0; "
            "give the largest density by `high`"
        )
    return found


def _angles_stood_for(forward: Radon) -> np.ndarray:
    """Half of the gaps to both neighbours, on the half circle.

    A gap far above the others is a wedge that was not measured, and nobody's share.
    """
    view = forward.geometry
    angles = np.arctan2(np.asarray(view.sin), np.asarray(view.cos)) % np.pi
    order = np.argsort(angles)
    gaps = np.diff(angles[order], append=angles[order[0]] + np.pi)
    gaps = np.minimum(gaps, 3 * np.median(gaps) if len(gaps) > 2 else np.pi)
    share = np.empty(len(angles))
    share[order] = (gaps + np.roll(gaps, 1)) / 2
    return share


@eqx.filter_jit
def _apply(forward: Radon, sinogram: Array, ramp: Array, weights: Array) -> Array:
    bins, n = forward.bins, forward.side
    size = 2 * (len(ramp) - 1)
    sharp = jnp.fft.irfft(jnp.fft.rfft(sinogram, size) * ramp, size)[:, :bins]
    x = (jnp.arange(n) - forward.centre) / forward.pitch

    def body(total, part):
        data, weight, cos, sin = part
        at = x * cos - x[:, None] * sin + forward.axis
        return total + weight * jnp.interp(
            at, jnp.arange(bins), data, left=0, right=0
        ), None

    view = forward.geometry
    parts = (sharp, weights, view.cos, view.sin)
    total, _ = jax.lax.scan(body, jnp.zeros((n, n)), parts)
    return jnp.where(x**2 + x[:, None] ** 2 <= (bins / 2) ** 2, total, 0)
