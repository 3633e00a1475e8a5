r"""The kernel of a network behind an encoding: $h_{NTK}(\gamma(u)\cdot\gamma(v))$.

Behind Fourier features it depends on $u - v$ alone (paper, section 4). Every function
here works in float64 whatever the caller's JAX setting, and returns NumPy.
"""

import functools
import math
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from ..mappings import Encoding, FourierFeatures, Grids
from .ntk import check_network, closed_form

Tree = TypeVar("Tree")

_NETWORK = (
    "layers",
    "width",
    "fan_in",
    "activation",
    "parameterization",
    "w_std",
    "b_std",
)
_ROWS = 512  # a block of 512 rows of a 4096-point kernel is 16 MB: it stays in cache


def composed_ntk(
    encoding: Encoding,
    u: np.ndarray | Array,
    v: np.ndarray | Array | None = None,
    *,
    layers: int,
    width: int | None = None,
    activation: str = "relu",
    parameterization: str = "standard",
    w_std: float = 1.0,
    b_std: float = 0.0,
    fan_in: int | None = None,
) -> Float[np.ndarray, "n k"]:
    r"""The kernel matrix $h_{NTK}(\gamma(u_i)\cdot\gamma(v_j))$ of two sets of points.

    Args:
        u: points, (n, d); in 1D also (n,).
        v: points, (k, d); left out, the matrix of `u` with itself, exactly symmetric.
        fan_in: features the network receives; left out, as many as the encoding has.
    """
    refuse_grids(encoding)
    fan_in = encoding.features if fan_in is None else fan_in
    check_network(layers, width, fan_in, parameterization)
    closed_form(activation)
    u = points("u", u, encoding.dims)
    same = v is None
    v = u if v is None else points("v", v, encoding.dims)
    network = {
        "layers": layers,
        "width": width,
        "fan_in": fan_in,
        "activation": activation,
        "parameterization": parameterization,
        "w_std": w_std,
        "b_std": b_std,
    }
    out = np.empty((len(u), len(v)))
    with jax.enable_x64(True):
        gu = encode(encoding, u)
        gv = gu if same else encode(encoding, v)
        uu, vv = np.sum(gu * gu, axis=1), np.sum(gv * gv, axis=1)
        for start in range(0, len(u), _ROWS):
            rows = slice(start, start + _ROWS)
            # The kernel is symmetric: half of it is the other half.
            cols = slice(start if same else 0, None)
            left = u[rows], gu[rows], uu[rows]
            right = v[cols], gv[cols], vv[cols]
            part = np.asarray(_block(left, right, **network))
            out[rows, cols] = part
            if same:
                out[cols, rows] = part.T
    if same:
        out = _symmetric(out)
    return out


def kernel_row(
    encoding: Encoding,
    n: int | tuple[int, ...],
    *,
    layers: int,
    width: int | None = None,
    activation: str = "relu",
    parameterization: str = "standard",
    w_std: float = 1.0,
    b_std: float = 0.0,
    fan_in: int | None = None,
) -> Float[np.ndarray, "*n"]:
    r"""The stationary kernel $k(\Delta)$ at the points $i/n$ of the unit domain.

    One row says all about a grid: with whole-numbered frequencies the kernel matrix is
    circulant, with others it is Toeplitz. In d dimensions `n` is the grid's shape, and
    every axis is sampled at $i/n_{axis}$.

    The inner product $h_\gamma(u - v) = \gamma(u)\cdot\gamma(v)$ makes n values out of
    about $2\sqrt n$ encoded points: a coarse grid against the fine steps between.
    """
    if not isinstance(encoding, FourierFeatures):
        raise InputError(
            f"`encoding` ({type(encoding).__name__}) has no stationary kernel, so one "
            "row is not enough; use `composed_ntk`"
        )
    shape = (n,) if isinstance(n, int) else tuple(n)
    if len(shape) != encoding.dims or min(shape) < 1:
        raise InputError(
            f"`n` (={n}) must be {encoding.dims} positive sizes, one for each axis"
        )
    fan_in = encoding.features if fan_in is None else fan_in
    check_network(layers, width, fan_in, parameterization)
    closed_form(activation)
    coarse, fine, size = _split(shape)
    with jax.enable_x64(True):
        gc, gf = encode(encoding, coarse), encode(encoding, -fine)
        xx = np.sum(np.asarray(encoding.amplitudes, np.float64) ** 2)
        return np.asarray(
            _row(
                gc,
                gf,
                xx,
                size=size,
                layers=layers,
                width=width,
                fan_in=fan_in,
                activation=activation,
                parameterization=parameterization,
                w_std=w_std,
                b_std=b_std,
            )
        ).reshape(shape)


@functools.partial(jax.jit, static_argnames=_NETWORK)
def _block(
    left: tuple[Array, ...], right: tuple[Array, ...], *, activation: str, **network
) -> Array:
    (u, gu, uu), (v, gv, vv) = left, right
    # A matrix product knows gamma(u).gamma(u) to 1e-15, but its angle only to the root
    # of that: where points coincide, the norm itself stands in.
    uu = uu[:, None]
    xy = jnp.where(jnp.all(u[:, None] == v, axis=2), uu, gu @ gv.T)
    return closed_form(activation)(xy, uu, vv, **network)


@functools.partial(
    jax.jit,
    static_argnames=("size", *_NETWORK),
)
def _row(
    gc: Array, gf: Array, xx: Array, *, size: int, activation: str, **network
) -> Array:
    h = (gc @ gf.T).ravel()[:size].at[0].set(xx)
    return closed_form(activation)(h, xx, xx, **network)


def _split(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, int]:
    """Coarse and fine points whose sums, in order, are the grid's points."""
    if len(shape) == 1:
        (n,) = shape
        step = math.isqrt(n - 1) + 1
        coarse = np.arange(0, n, step)[:, None] / n
        return coarse, np.arange(step)[:, None] / n, n
    # The cut between leading and trailing axes that leaves the fewest points to encode.
    cut = min(
        range(1, len(shape)), key=lambda i: math.prod(shape[:i]) + math.prod(shape[i:])
    )
    axes = [np.arange(s) / s for s in shape]
    lead = [x if i < cut else np.zeros(1) for i, x in enumerate(axes)]
    tail = [x if i >= cut else np.zeros(1) for i, x in enumerate(axes)]
    return _grid(lead), _grid(tail), math.prod(shape)


def _grid(axes: list[np.ndarray]) -> np.ndarray:
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def refuse_grids(encoding: Encoding) -> None:
    """An error where the features are trained values: the theory is of fixed ones."""
    if isinstance(encoding, Grids):
        raise InputError(
            "a `multigrid` has no kernel of its own: its features are trained values; "
            "take a Fourier mapping"
        )


def encode(encoding: Encoding, v: np.ndarray) -> Float[np.ndarray, "n f"]:
    """The features of points, in float64."""
    with jax.enable_x64(True):
        return np.asarray(_encode(in_float64(encoding), v))


@jax.jit
def _encode(encoding: Encoding, v: Array) -> Array:
    return jax.vmap(encoding)(v)


def in_float64(tree: Tree) -> Tree:
    """The same pytree with its arrays as NumPy's float64."""
    return jax.tree.map(lambda x: np.asarray(x, np.float64), tree)


def points(name: str, v: np.ndarray | Array, d: int) -> Float[np.ndarray, "n d"]:
    """Points as a float64 (n, d) array, or an `InputError` that says what is wrong."""
    v = np.asarray(v, np.float64)
    if v.ndim == 1 and d == 1:
        v = v[:, None]
    if v.ndim != 2 or v.shape[1] != d:
        raise InputError(f"`{name}` has shape {v.shape}; the encoding takes (n, {d})")
    if not len(v):
        raise InputError(f"`{name}` is empty; give at least one point")
    if not np.isfinite(v).all():
        raise InputError(f"`{name}` holds values that are not finite")
    return v


def _symmetric(k: np.ndarray) -> np.ndarray:
    """Diagonal blocks made symmetric to the bit, the others are by construction."""
    for start in range(0, len(k), _ROWS):
        b = slice(start, start + _ROWS)
        k[b, b] = (k[b, b] + k[b, b].T) / 2
    return k
