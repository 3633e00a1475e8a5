r"""The closed-form neural tangent kernel of a ReLU network.

The kernel is a function of inner products alone, so it composes with any encoding: feed
it $\gamma(u)\cdot\gamma(v)$, $\gamma(u)\cdot\gamma(u)$ and $\gamma(v)\cdot\gamma(v)$.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..activations import parse_activation
from ..errors import InputError

Inner = Float[Array, "..."] | Float[np.ndarray, "..."] | float
Kernel = Float[Array, "..."]


def relu_ntk(
    xy: Inner,
    xx: Inner,
    yy: Inner,
    *,
    layers: int,
    width: int | None = None,
    fan_in: int,
    parameterization: str = "standard",
    w_std: float = 1.0,
    b_std: float = 0.0,
) -> Kernel:
    r"""The NTK of `layers` dense layers with ReLU between them, in the caller's dtype.

    With $\Sigma = w^2 K + b^2$ the covariance before a ReLU and $\theta$ its angle,

    $$K \leftarrow \frac{\sin\theta + (\pi - \theta)\cos\theta}{2\pi}
      \sqrt{\Sigma_{xx}\Sigma_{yy}}, \qquad
      \Theta \leftarrow \frac{\pi - \theta}{2\pi}\Theta,$$

    starting from $K = x\cdot y / n_0$; a dense layer of fan-in $n$ then adds
    $nK + 1 + w^2\Theta$ ("standard": weights drawn with the variance, the kernel grows
    with the width, and 1 is the bias gradient) or $\Sigma + w^2\Theta$ ("ntk").

    Args:
        xy: inner products of the network's inputs; any shapes that broadcast.
        layers: dense layers, the output too (fig. 7's depth d is `layers = d + 1`).
        width: units of a hidden layer; only the standard parameterisation needs it.
        fan_in: how many features the network receives, zero ones included.
    """
    check_network(layers, width, fan_in, parameterization)
    return _propagate(
        xy, xx, yy, layers, width, fan_in, parameterization, w_std, b_std
    ).ntk


def relu_nngp(
    xy: Inner,
    xx: Inner,
    yy: Inner,
    *,
    layers: int,
    fan_in: int,
    w_std: float = 1.0,
    b_std: float = 0.0,
) -> Kernel:
    """The covariance of the network's output at initialisation, as it widens."""
    check_network(layers, None, fan_in, "ntk")
    return _propagate(xy, xx, yy, layers, None, fan_in, "ntk", w_std, b_std).nngp


class _Kernels(NamedTuple):
    nngp: Kernel
    ntk: Kernel


def _propagate(
    xy: Inner,
    xx: Inner,
    yy: Inner,
    layers: int,
    width: int | None,
    fan_in: int,
    parameterization: str,
    w_std: float,
    b_std: float,
) -> _Kernels:
    xy, xx, yy = jnp.asarray(xy), jnp.asarray(xx), jnp.asarray(yy)
    fan_ins = [fan_in] + [width] * (layers - 1)
    k, kx, ky = xy / fan_in, xx / fan_in, yy / fan_in
    theta = jnp.zeros_like(k)
    sigma = k
    for i, n in enumerate(fan_ins):
        if i:
            k, slope = _relu(sigma, kx, ky)
            kx, ky = kx / 2, ky / 2
            theta = theta * slope
        sigma = w_std**2 * k + b_std**2
        kx, ky = w_std**2 * kx + b_std**2, w_std**2 * ky + b_std**2
        if parameterization == "standard":
            assert n is not None
            theta = n * k + 1 + w_std**2 * theta
        else:
            theta = sigma + w_std**2 * theta
    return _Kernels(sigma, theta)


def _relu(k: Kernel, kx: Kernel, ky: Kernel) -> tuple[Kernel, Kernel]:
    r"""E[relu(u) relu(v)] and E[relu'(u) relu'(v)] of two correlated Gaussians."""
    eps = float(jnp.finfo(k.dtype).eps)
    # A zero input has no angle; with the product of norms floored it stands at a right
    # angle to everything: the matrix stays positive (and protocol 2.3 has the value).
    product = kx * ky
    norms = jnp.sqrt(jnp.where(product > eps**4, product, eps**4))
    # Below a few roundings of the inner product the angle is noise: they coincide.
    # sqrt never sees that zero, so that its infinite slope does not reach a gradient.
    apart = (norms - k > 8 * eps * norms) & (norms + k > 8 * eps * norms)
    square = jnp.where(apart, (norms - k) * (norms + k), 1.0)
    sine = jnp.where(apart, jnp.sqrt(square), 0.0)
    angle = jnp.arctan2(sine, k)
    return (
        (sine + (math.pi - angle) * k) / (2 * math.pi),
        (math.pi - angle) / (2 * math.pi),
    )


CLOSED_FORMS = {"relu_ntk": relu_ntk}


def closed_form(activation: str) -> Callable[..., Kernel]:
    """The kernel that an activation's row names, or an `InputError` without one."""
    name = parse_activation(activation).ntk
    if name is None:
        raise InputError(
            f"activation `{activation}` has no closed-form kernel; `empirical_ntk` "
            "computes that of any one network"
        )
    return CLOSED_FORMS[name]


def check_network(
    layers: int, width: int | None, fan_in: int, parameterization: str
) -> None:
    """Refuse what is no network."""
    if layers < 1:
        raise InputError(f"`layers` (={layers}) must be at least 1")
    if fan_in < 1:
        raise InputError(f"`fan_in` (={fan_in}) must be at least 1")
    if parameterization not in ("standard", "ntk"):
        raise InputError(
            f"`parameterization` (={parameterization}) must be `standard` or `ntk`"
        )
    if parameterization == "standard" and layers > 1 and (width is None or width < 1):
        raise InputError(
            f"`width` (={width}) must be at least 1: the standard kernel depends on it"
        )
