"""What stands between the layers of a network: one row for each activation.

A new one is a row of `ACTIVATIONS` and nothing else: fields, training in every
precision, the memory plan, model files, ONNX and the theory ask the row.
"""

import dataclasses
import difflib
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .errors import InputError

OMEGA = 30.0
"""SIREN's omega_0: how much faster than its sum a sine turns (Sitzmann et al. 2020)."""


@dataclasses.dataclass(frozen=True)
class Activation:
    """A function of one number, and what each room has to know of it."""

    name: str
    forward: Callable[[Array], Array]
    """Elementwise, in any float type, differentiable by JAX."""
    onnx: Callable[[Callable[..., str], str], str]
    """Its operations: `node(operator, *inputs)` adds one, a number is a constant."""
    pullback: Callable[[Array, Array], Array] | None = None
    """The gradient before it from its output h and the gradient g behind it: then a
    bfloat16 layer keeps nothing but h. Without it, the layer keeps its slopes too."""
    fused: bool = False
    """Whether it is the one that `ops/fused.py` is written for."""
    ntk: str | None = None
    """The function of `passband.theory` that is its tangent kernel in closed form."""
    init: Callable[[Array, Array, int, int, bool], tuple[Array, Array]] | None = None
    """(key of W, key of b, fan-in, fan-out, first layer?) -> (W, b), if it needs an
    initialisation of its own."""


def _siren(kw: Array, kb: Array, i: int, o: int, first: bool) -> tuple[Array, Array]:
    """Sums of unit variance before every sine (SIREN, section 3.2, and its code)."""
    bound = 1 / i if first else math.sqrt(6 / i) / OMEGA
    W = jax.random.uniform(kw, (i, o), minval=-bound, maxval=bound)
    b = jax.random.uniform(kb, (o,), minval=-1, maxval=1) / math.sqrt(i)
    return W, b


RELU = Activation(
    name="relu",
    forward=jax.nn.relu,
    onnx=lambda node, x: node("Relu", x),
    pullback=lambda h, g: jnp.where(h > 0, g, 0),
    fused=True,
    ntk="relu_ntk",
)
# OMEGA is in its gradients too: SIREN trains with a rate of 1e-4, not 1e-3.
SINE = Activation(
    name="sine",
    forward=lambda y: jnp.sin(OMEGA * y),
    onnx=lambda node, x: node("Sin", node("Mul", x, OMEGA)),
    init=_siren,
)
ACTIVATIONS = {row.name: row for row in (RELU, SINE)}


def parse_activation(word: str) -> Activation:
    """The activation that a word names."""
    if word not in ACTIVATIONS:
        near = difflib.get_close_matches(word, ACTIVATIONS, n=1, cutoff=0.4)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(
            f"activation `{word}` is unknown; {hint}known: {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[word]
