"""Encoding and perceptron as one op: the training step of a Hopper GPU.

XLA writes a layer's product and reads it again for bias and ReLU, and in the backward
pass once more for the mask and the bias gradient: a third of a step. Here each layer is
one program, forward and backward (see `fused_tiles`).

The programs are Pallas with its Triton backend, which JAX 0.11 still has but calls
deprecated. Where it is gone, or anything else does not fit, the plain path is taken.
"""

import functools
import importlib.util
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..activations import RELU, Activation
from .mlp import Precision, hidden_of_few, slopes_of_few

MULTIPROCESSORS = 132
"""Of an H100 or H200: points are dealt out so that each gets one program or two."""
FEWEST = {128: 16_384, 256: 32_768}
"""Points from which the fused step of so many units is known to be faster (H200, Muon,
TFLOP/s: 128 units and 16,384 points 55 against 48, 64 stacked 141 against 109; 256
units and as many points 88 against 97, but from twice as many on more than plain)."""


def fits(
    points: int,
    dims: int,
    weights: Sequence[Array | jax.ShapeDtypeStruct],
    precision: Precision,
    activation: Activation,
) -> bool:
    """Whether `fused_field` can take this network here: the dispatch rule.

    bfloat16 products, ReLU, hidden layers of 128 or 256 units, up to 3 coordinates and
    8 outputs, enough points, and Hopper GPUs. (Several share a population by
    `shard_map`, in which each runs the op on networks of its own.)
    """
    return (
        precision is Precision.BFLOAT16
        and activation.fused
        and dims <= 3
        and len(weights) > 1
        and all(points >= FEWEST.get(W.shape[-1], math.inf) for W in weights[:-1])
        and weights[-1].shape[-1] <= 8
        and hopper()
    )


def hopper() -> bool:
    """Whether the devices are Hopper GPUs and JAX has what the op is written in."""
    if jax.default_backend() != "gpu":
        return False
    here = jax.local_devices()
    found = {getattr(device, "compute_capability", "") for device in here}
    known = importlib.util.find_spec("jax.experimental.pallas.triton") is not None
    return found == {"9.0"} and known


def fused_field(
    coords: Float[Array, "n d"],
    frequencies: Float[Array, "m d"],
    amplitudes: Float[Array, " m"],
    weights: Sequence[Float[Array, "_ _"]],
    biases: Sequence[Float[Array, " _"]],
    *,
    interpret: bool = False,
) -> Float[Array, "n c"]:
    r"""`mlp` of $[a \sin 2\pi B v, a \cos 2\pi B v]$, phase and output in float32.

    `vmap` and reverse-mode gradients work, for every argument; gradients of gradients
    do not. `interpret` runs the same programs anywhere, slowly.

    A whole training step of 65,536 points (2 coordinates, 512 features, 3 hidden layers
    of 256, 3 outputs; 86.2 GFLOP), its points moving so that no features are kept, on
    one H200 with JAX 0.11.2, 15 November 2026:

    | | one network | 16 stacked |
    | --- | --- | --- |
    | plain | 0.495 ms, 174 TFLOP/s | 6.12 ms, 225 TFLOP/s |
    | fused | 0.328 ms, 263 TFLOP/s | 4.11 ms, 336 TFLOP/s |
    """
    from .fused_tiles import CHUNK

    n, m, width = coords.shape[0], amplitudes.shape[0], weights[0].shape[1]
    tiles, more_points = _dealt(n)
    more_features = (0, -m % (CHUNK // 2))
    # The amplitudes ride on the weights, and features stay plain sines and cosines.
    W = weights[0].reshape(2, m, width) * amplitudes[:, None]
    W = jnp.pad(W, ((0, 0), more_features, (0, 0))).reshape(-1, width)
    out: Array = _network(
        (tiles, interpret),
        jnp.pad(coords, more_points).T,
        jnp.pad(frequencies, (more_features, (0, 0))).T,
        (W, *weights[1:]),
        tuple(biases),
    )
    return out[:n]


def fused_mlp(
    x: Float[Array, "n f"],
    weights: Sequence[Float[Array, "_ _"]],
    biases: Sequence[Float[Array, " _"]],
    *,
    interpret: bool = False,
) -> Float[Array, "n c"]:
    """`mlp` of a few inputs: the first layer in float32, and all behind it fused."""
    n = x.shape[0]
    tiles, more_points = _dealt(n)
    out: Array = _few(
        (tiles, interpret), jnp.pad(x, more_points), tuple(weights), tuple(biases)
    )
    return out[:n]


def _dealt(n: int) -> tuple[int, tuple[tuple[int, int], tuple[int, int]]]:
    """Tiles that a program takes, and the rows that make n points whole programs."""
    from .fused_tiles import ROWS

    tiles = math.ceil(n / (ROWS * MULTIPROCESSORS))
    return tiles, ((0, -n % (2 * ROWS * tiles)), (0, 0))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _network(
    deal: tuple[int, bool],
    coords: Float[Array, "d n"],
    frequencies: Float[Array, "d m"],
    weights: tuple[Float[Array, "_ _"], ...],
    biases: tuple[Float[Array, " _"], ...],
) -> Float[Array, "n c"]:
    return _forward(deal, coords, frequencies, weights, biases)[0]


def _forward(deal, coords, frequencies, weights, biases):
    from . import fused_tiles as op

    x = op.features(coords, frequencies, interpret=deal[1])
    W = weights[0].astype(jnp.bfloat16)
    h = op.dense_first(x, W, biases[0], interpret=deal[1])
    out, residuals = _rest(deal, h, weights[1:], biases[1:])
    return out, (coords, frequencies, x, W, residuals)


def _backward(deal, residuals, g):
    coords, frequencies, x, W, rest = residuals
    d, db, weights_grad, biases_grad = _through(deal, rest, g)
    # Dead code, and compiled away, unless coordinates or frequencies are trained.
    m = frequencies.shape[1]
    dx = jnp.dot(d, W.T, preferred_element_type=jnp.float32)
    turns = 2 * jnp.pi * (x[:, m:] * dx[:, :m] - x[:, :m] * dx[:, m:])
    return (
        jnp.dot(frequencies, turns.T, precision=lax.Precision.HIGHEST),
        jnp.dot(coords, turns, precision=lax.Precision.HIGHEST),
        (jnp.dot(x.T, d, preferred_element_type=jnp.float32), *weights_grad),
        (db, *biases_grad),
    )


_network.defvjp(_forward, _backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _few(
    deal: tuple[int, bool],
    x: Float[Array, "n f"],
    weights: tuple[Float[Array, "_ _"], ...],
    biases: tuple[Float[Array, " _"], ...],
) -> Float[Array, "n c"]:
    return _few_forward(deal, x, weights, biases)[0]


def _few_forward(deal, x, weights, biases):
    h = hidden_of_few(RELU, x, weights[0], biases[0])
    out, residuals = _rest(deal, h, weights[1:], biases[1:])
    return out, (x, weights[0], residuals)


def _few_backward(deal, residuals, g):
    x, W, rest = residuals
    d, db, weights_grad, biases_grad = _through(deal, rest, g)
    dx, dW = slopes_of_few(x, W, d)
    return dx, (dW, *weights_grad), (db, *biases_grad)


_few.defvjp(_few_forward, _few_backward)


def _rest(deal, h, weights, biases):
    """All layers behind the first, whose ReLU has been taken."""
    from . import fused_tiles as op

    tiles, interpret = deal
    halves = tuple(W.astype(jnp.bfloat16) for W in weights)
    hidden = [h]
    for W, b in zip(halves[:-1], biases[:-1], strict=True):
        hidden.append(op.dense(hidden[-1], W, b, tiles=tiles, interpret=interpret))
    out = jnp.dot(hidden[-1], halves[-1], preferred_element_type=jnp.float32)
    return out + biases[-1], (halves, tuple(hidden))


def _through(deal, residuals, g):
    """What reaches the first layer, its bias gradient, and the others' gradients."""
    from . import fused_tiles as op

    tiles, interpret = deal
    weights, hidden = residuals
    channels = g.shape[-1]
    lanes = ((0, 0), (0, op.LANES - channels))
    d = jnp.pad(g.astype(jnp.bfloat16), lanes)
    biases_grad = [jnp.sum(g, axis=0)]
    weights_grad = []
    for W, h in zip(weights[::-1], hidden[::-1], strict=True):
        if not weights_grad:  # one program in two columns has room for a second
            d, db, dW = op.back(
                d, jnp.pad(W, lanes), h, tiles=tiles, interpret=interpret
            )
            dW = dW[..., :channels]
        else:
            d, db, dW = op.back(d, W, h, tiles=2 * tiles, interpret=interpret)
        biases_grad.append(jnp.sum(db, axis=0))
        weights_grad.append(jnp.sum(dW, axis=0))
    *biases_grad, first = biases_grad
    return d, first, tuple(weights_grad[::-1]), tuple(biases_grad[::-1])
