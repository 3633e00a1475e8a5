"""Optimisers by name, at unit rate: a schedule's rate is multiplied in afterwards.

A new one is a row of `OPTIMISERS` and nothing else.
"""

import dataclasses
import functools
from collections.abc import Callable

import equinox as eqx
import jax
import optax
from jaxtyping import PyTree

from ..errors import InputError, unknown_word
from .muon import FEW, MORE, Coefficients, muon_of_matrices

MUON_SHARE = 10.0
"""Muon's rate of the weight matrices over Adam's of all else: Adam's customary 1e-3
becomes 0.01, and .005 to .02 were good for every task of the paper."""
WEIGHT_DECAY = 1e-2


@dataclasses.dataclass(frozen=True)
class Optimiser:
    """A transformation of gradients into steps of a learning rate of 1."""

    name: str
    summary: str
    """What it does with the learning rate it is given."""
    make: Callable[[], optax.GradientTransformation]
    """Gives one object, always the same, so that a second run finds the first one's
    program."""


@functools.cache
def adam() -> optax.GradientTransformation:
    """Adam at unit rate, as the paper set it (protocol 1.1)."""
    return optax.adam(1.0, b1=0.9, b2=0.999, eps=1e-8)


@functools.cache
def sgd() -> optax.GradientTransformation:
    """Plain gradient descent at unit rate."""
    return optax.sgd(1.0)


@functools.cache
def adamw() -> optax.GradientTransformation:
    """Adam, and weight matrices that decay by themselves: W <- (1 - 0.01 lr) W."""
    return optax.adamw(
        1.0, b1=0.9, b2=0.999, eps=1e-8, weight_decay=WEIGHT_DECAY,
        mask=weight_matrices,
    )  # fmt: skip


@functools.cache
def muon() -> optax.GradientTransformation:
    """Momentum of the weight matrices made orthogonal by Newton-Schulz (Jordan 2024),
    at 10 times the rate; Adam for biases and a trained encoding."""
    return _muon(FEW)


@functools.cache
def muon4() -> optax.GradientTransformation:
    """Muon whose fourth iteration reaches singular values five times smaller: worth 0.4
    dB to MRI, and the death of some scenes and shapes."""
    return _muon(MORE)


def _muon(coefficients: Coefficients) -> optax.GradientTransformation:
    matrices = optax.chain(muon_of_matrices(coefficients), optax.scale(MUON_SHARE))
    return optax.partition({True: matrices, False: adam()}, weight_matrices)


def weight_matrices(moving: PyTree) -> PyTree:
    """Which leaves of a field's trainable part are weights of its layers. Not all that
    have two axes are: frequencies have too."""
    mask = jax.tree.map(lambda _: False, moving)
    inside = jax.tree.map(lambda _: True, moving.mlp.weights)
    return eqx.tree_at(lambda field: field.mlp.weights, mask, inside)


OPTIMISERS = {
    row.name: row
    for row in (
        Optimiser("adam", "Adam as the paper set it", adam),
        Optimiser("sgd", "plain gradient descent", sgd),
        Optimiser("adamw", f"Adam with a weight decay of {WEIGHT_DECAY:g} x lr", adamw),
        Optimiser(
            "muon",
            f"Muon at {MUON_SHARE:g} x lr for weight matrices, Adam at lr for the rest",
            muon,
        ),
        Optimiser("muon4", "Muon with a fourth Newton-Schulz iteration", muon4),
    )
}


MUONS = frozenset({"muon", "muon4"})
"""Those that take the modern recipe's rate."""


def optimiser(
    name: str | tuple,
) -> optax.GradientTransformation:
    """The optimiser that a word names, at unit rate; any other of optax is itself."""
    if isinstance(name, optax.GradientTransformation):
        return name
    if not isinstance(name, str):
        raise InputError("`optimiser` must be a name or a transformation of optax")
    if name not in OPTIMISERS:
        raise unknown_word("optimiser", name, OPTIMISERS)
    return OPTIMISERS[name].make()
