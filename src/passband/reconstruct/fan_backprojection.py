"""Filtered back-projection of fan beams, flat and arc, over any part of a turn."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..forward.fan import Fan
from .ramp import ramp

TAPER = np.deg2rad(10)
"""Over which a view's say in a line that was measured twice falls to 0, towards the end
of the measured part of the turn: a step there would be seen as streaks."""


def fan_backprojection(
    forward: Fan, sinogram: Float[Array, "views bins"], *, window: str = "ramp"
) -> Float[Array, "side side"]:
    """x = sum_v d_v (ramp * (r_v y_v cos g))(bin of the pixel) / u^2.

    u is a pixel's distance from the source, over that of the axis: along the central
    ray for a flat detector, straight for an arc. d_v is the angle that view v stands
    for, r the share of a ray in its line, which is measured again from the other side
    where the views go round far enough. Outside the circle that the detector sees,
    values are 0.
    """
    gamma, R = forward.fan_angles, forward.source_origin
    turn = np.arctan2(*(np.asarray(a) for a in forward_turns(forward)))
    share = shares(turn, gamma) * _gaps(turn)[:, None] * np.cos(gamma)
    step = R * forward.step  # from bin to bin at the axis, in pixels of the grid
    response = ramp(forward.bins, window=window, bend=forward.step * forward.arc)
    return _apply(
        forward,
        sinogram * jnp.asarray(share / (step * forward.pixel), jnp.float32),
        jnp.asarray(response, jnp.float32),
        float(R * np.sin(np.abs(gamma).max())),
    )


def forward_turns(forward: Fan) -> tuple[Array, Array]:
    """Sine and cosine of the views' angles."""
    return forward.geometry.sin, forward.geometry.cos


def shares(
    turn: Float[np.ndarray, " views"], gamma: Float[np.ndarray, " bins"]
) -> Float[np.ndarray, "views bins"]:
    """How much of its line each ray stands for: 1, or with the ray from the other side
    1 together, in a smooth way.

    The line of (a, g) is also that of (a + pi - 2 g, -g).
    """
    own = _say(turn, turn)[:, None]
    other = _say(turn, (turn[:, None] + np.pi - 2 * gamma).ravel())
    other = other.reshape(len(turn), len(gamma))
    # An angle at the very end has no say, but its line may have no other ray.
    return np.where(other > 0, own / np.maximum(own + other, 1e-9), 1.0)


def _gaps(turn: np.ndarray) -> np.ndarray:
    """Half of the gaps to both neighbours on the circle; a wide one is nobody's."""
    order = np.argsort(turn)
    gaps = _spans(turn[order])
    share = np.empty(len(turn))
    share[order] = (gaps + np.roll(gaps, 1)) / 2
    return share


def _spans(ordered: np.ndarray) -> np.ndarray:
    """From each angle to the next, the widest cut to three times the median."""
    spans = np.diff(ordered, append=ordered[0] + 2 * np.pi)
    return np.minimum(spans, 3 * np.median(spans) if len(spans) > 2 else np.pi)


def _say(turn: np.ndarray, at: np.ndarray) -> np.ndarray:
    """1 inside the measured part of the turn, 0 outside, smooth towards its ends."""
    ordered = np.sort(turn)
    true = np.diff(ordered, append=ordered[0] + 2 * np.pi)
    usual = 3 * np.median(true) if len(true) > 2 else np.pi
    wide = np.flatnonzero(true > usual)
    if not len(wide):
        return np.ones(len(at))
    half = np.median(true) / 2
    ends = ordered[wide] + half  # where a measured part ends, and the next begins
    begins = ordered[(wide + 1) % len(ordered)] - half
    since = ((at[:, None] - begins) % (2 * np.pi)).min(axis=1)
    until = ((ends - at[:, None]) % (2 * np.pi)).min(axis=1)
    last = (at[:, None] - ends) % (2 * np.pi)
    inside = since <= last.min(axis=1)
    near = np.minimum(since, until) / TAPER
    return np.where(inside, np.sin(np.pi / 2 * np.clip(near, 0, 1)) ** 2, 0)


@eqx.filter_jit
def _apply(forward: Fan, weighted: Array, ramp: Array, seen: float) -> Array:
    bins, n = forward.bins, forward.side
    size = 2 * (len(ramp) - 1)
    sharp = jnp.fft.irfft(jnp.fft.rfft(weighted, size) * ramp, size)[:, :bins]
    x = jnp.arange(n) - forward.centre
    R = forward.source_origin

    def body(total, part):
        data, cos, sin = part
        across = x * cos - x[:, None] * sin
        depth = R - x * sin - x[:, None] * cos
        if forward.arc:
            at = jnp.arctan2(across, depth) / forward.step
            near = (across**2 + depth**2) / R**2
        else:
            at = across / (depth * forward.step)
            near = (depth / R) ** 2
        at = at + forward.axis
        return total + jnp.interp(at, jnp.arange(bins), data, left=0, right=0) / near, 0

    view = forward.geometry
    total, _ = jax.lax.scan(body, jnp.zeros((n, n)), (sharp, view.cos, view.sin))
    return jnp.where(x**2 + x[:, None] ** 2 <= seen**2, total, 0)
