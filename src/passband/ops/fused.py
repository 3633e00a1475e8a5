"""Encoding and perceptron as one op: the training step of a Hopper GPU.

XLA writes a layer's product and reads it again for bias and ReLU, and in the backward
pass once more for the mask and the bias gradient: a third of a step. Here each layer is
one program, forward and backward.

Who makes a layer: Pallas' Mosaic GPU (`by_mosaic`) for networks of the paper's width
where JAX has it as these programs are written and there is `patience` to make them,
else Pallas' Triton (`by_triton`), which JAX 0.11 still has but calls deprecated. Where
neither fits, the plain path is taken.
"""

import contextlib
import contextvars
import functools
import importlib.util
import math
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..activations import RELU, Activation
from .layers import Layers
from .mlp import Precision, hidden_of_few, slopes_of_few

CHUNK = 64
"""What the number of features is made a multiple of."""
MOSAIC = (0, 11), (0, 13)
"""The versions of JAX, from and before, that the programs are known to work with:
0.11.2 ran them on an H200, 0.12.0.1 interpreted them."""
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
    still: bool = False,
    interpret: bool = False,
) -> Float[Array, "n c"]:
    r"""`mlp` of $[a \sin 2\pi B v, a \cos 2\pi B v]$, phase and output in float32.

    `vmap` and reverse-mode gradients work, for every argument; gradients of gradients
    do not. `interpret` runs the same programs anywhere, slowly.

    A whole training step of 65,536 points (2 coordinates, 512 features, 3 hidden layers
    of 256, 3 outputs; 86.2 GFLOP), its points moving so that no features are kept, on
    one H200 with JAX 0.11.2, 18 November 2026:

    | | one network | 16 stacked |
    | --- | --- | --- |
    | plain | 0.457 ms, 189 TFLOP/s | 5.84 ms, 236 TFLOP/s |
    | by Triton | 0.288 ms, 300 TFLOP/s | 4.03 ms, 343 TFLOP/s |
    | by Mosaic GPU | 0.251 ms, 343 TFLOP/s | 3.20 ms, 431 TFLOP/s |

    Args:
        still: the same points come again: features are made apart, to be kept.
    """
    n, m, width = coords.shape[0], amplitudes.shape[0], weights[0].shape[1]
    more_features = (0, -m % (CHUNK // 2))
    layers = _layers(n, weights, interpret, still)
    # The amplitudes ride on the weights, and features stay plain sines and cosines.
    W = weights[0].reshape(2, m, width) * amplitudes[:, None]
    W = jnp.pad(W, ((0, 0), more_features, (0, 0))).reshape(-1, width)
    out: Array = _network(
        layers,
        jnp.pad(coords, ((0, -n % layers.rows), (0, 0))).T,
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
    layers = _layers(n, weights, interpret)
    more_points = ((0, -n % layers.rows), (0, 0))
    out: Array = _few(layers, jnp.pad(x, more_points), tuple(weights), tuple(biases))
    return out[:n]


_PATIENT = contextvars.ContextVar("patient", default=False)


@contextlib.contextmanager
def patience(enough: bool) -> Iterator[None]:
    """Inside, what is traced may be of programs that take seconds to make."""
    token = _PATIENT.set(enough)
    try:
        yield
    finally:
        _PATIENT.reset(token)


def patient() -> bool:
    """Whether there is `patience`."""
    return _PATIENT.get()


def mosaic() -> bool:
    """Whether this JAX has the Mosaic GPU that the programs were run with."""
    oldest, next_one = MOSAIC
    return oldest <= jax.__version_info__ < next_one


def _layers(
    n: int,
    weights: Sequence[Array],
    interpret: bool,
    still: bool = False,
) -> Layers:
    """Who makes the layers of n points."""
    if mosaic() and (interpret or patient()):
        from .by_mosaic import ByMosaic, takes

        if takes(weights):
            return ByMosaic(still, interpret)
    from .by_triton import ByTriton

    return ByTriton.of(n, interpret=interpret)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _network(
    layers: Layers,
    coords: Float[Array, "d n"],
    frequencies: Float[Array, "d m"],
    weights: tuple[Float[Array, "_ _"], ...],
    biases: tuple[Float[Array, " _"], ...],
) -> Float[Array, "n c"]:
    return _forward(layers, coords, frequencies, weights, biases)[0]


def _forward(layers, coords, frequencies, weights, biases):
    W, *others = (W.astype(jnp.bfloat16) for W in weights)
    x, h = layers.first(coords, frequencies, W, biases[0])
    out, hidden = layers.rest(h, others, biases[1:])
    return out + biases[-1], (coords, frequencies, x, W, others, hidden)


def _backward(layers, residuals, g):
    coords, frequencies, x, W, weights, hidden = residuals
    d, matrices, vectors = layers.through(g, weights, hidden)
    # Dead code, and compiled away, unless coordinates or frequencies are trained.
    m = frequencies.shape[1]
    dx = jnp.dot(d, W.T, preferred_element_type=jnp.float32)
    turns = 2 * jnp.pi * (x[:, m:] * dx[:, :m] - x[:, :m] * dx[:, m:])
    return (
        jnp.dot(frequencies, turns.T, precision=lax.Precision.HIGHEST),
        jnp.dot(coords, turns, precision=lax.Precision.HIGHEST),
        (jnp.dot(x.T, d, preferred_element_type=jnp.float32), *matrices),
        (*vectors, jnp.sum(g, axis=0)),
    )


_network.defvjp(_forward, _backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _few(
    layers: Layers,
    x: Float[Array, "n f"],
    weights: tuple[Float[Array, "_ _"], ...],
    biases: tuple[Float[Array, " _"], ...],
) -> Float[Array, "n c"]:
    return _few_forward(layers, x, weights, biases)[0]


def _few_forward(layers, x, weights, biases):
    h = hidden_of_few(RELU, x, weights[0], biases[0])
    others = [W.astype(jnp.bfloat16) for W in weights[1:]]
    out, hidden = layers.rest(h, others, biases[1:])
    return out + biases[-1], (x, weights[0], others, hidden)


def _few_backward(layers, residuals, g):
    x, W, weights, hidden = residuals
    d, matrices, vectors = layers.through(g, weights, hidden)
    dx, dW = slopes_of_few(x, W, d)
    return dx, (dW, *matrices), (*vectors, jnp.sum(g, axis=0))


_few.defvjp(_few_forward, _few_backward)
