"""Muon: the momentum of a weight matrix, made orthogonal, is its step (Jordan 2024).

All matrices of a network are kept as one array: turned so that they are wide, padded to
one shape; what is 0 stays 0. A GPU's time for products of this size is that of starting
them, so there one product serves all matrices; a CPU's is that of multiplying, so there
one serves those of one shape. Products are of float32 (on a GPU TF32, or float16 with
as many bits): bfloat16 costs heads behind k-space 18 dB, since the polynomials are sums
of large terms that cancel.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from ..ops import fused

Coefficients = tuple[tuple[float, float, float], ...]
"""(a, b, c) of each iteration a X + b (X X^T) X + c (X X^T)^2 X."""
JORDAN: Coefficients = ((3.4445, -4.7750, 2.0315),) * 5
"""Those of the original: singular values end between 0.7 and 1.2."""
FEW: Coefficients = (
    (8.2987, -24.4305, 18.0903),
    (3.9152, -2.9211, 0.5592),
    (3.1746, -2.3804, 0.4978),
)
"""The three polynomials that, one after the other, bring singular values of 0.005 to 1
nearest to 1 (each is the best for where the one before it ends, as in Polar Express,
Amsel et al. 2025): they end between 0.5 and 1.5."""
MORE: Coefficients = (
    (8.4703, -25.1082, 18.6293),
    (4.1828, -3.1087, 0.5806),
    (3.9619, -2.9541, 0.563),
    (3.2866, -2.4647, 0.5074),
)
"""Four, for singular values of 0.001 to 1. They end between 0.45 and 1.55."""
MOMENTUM = 0.95


class MuonState(NamedTuple):
    """The steps taken, and the mean of the gradients."""

    taken: Int[Array, ""]
    mean: Float[Array, "n r c"]


def muon_of_matrices(
    coefficients: Coefficients = FEW,
) -> optax.GradientTransformation:
    """Muon at unit rate for a pytree of matrices (inputs, outputs), with Nesterov's
    momentum; a matrix of more outputs than inputs steps further, by the root of their
    quotient."""

    def init(params: Any) -> MuonState:
        zeros = [jnp.zeros_like(W) for W in jax.tree.leaves(params)]
        return MuonState(jnp.int32(0), _pack(zeros))

    def update(
        updates: Any, state: MuonState, params: Any = None
    ) -> tuple[Any, MuonState]:
        del params
        gradients, tree = jax.tree.flatten(updates)
        shapes = [g.shape for g in gradients]
        new, taken = _pack(gradients), state.taken + 1
        mean = MOMENTUM * state.mean + (1 - MOMENTUM) * new
        # The mean as it will be after one more gradient like this one.
        ahead = (
            MOMENTUM / (1 - MOMENTUM ** (taken + 1)) * mean
            + (1 - MOMENTUM) / (1 - MOMENTUM**taken) * new
        )
        steps = [
            -math.sqrt(max(1, o / i)) * W
            for W, (i, o) in zip(
                orthogonal(ahead, shapes, coefficients), shapes, strict=True
            )
        ]
        return jax.tree.unflatten(tree, steps), MuonState(taken, mean)

    return optax.GradientTransformation(init, update)  # pyright: ignore


def orthogonal(
    packed: Float[Array, "n r c"],
    shapes: Sequence[tuple[int, int]],
    coefficients: Coefficients = FEW,
    *,
    at_once: bool | None = None,
) -> list[Float[Array, "_ _"]]:
    """Each matrix with its singular values near 1, by Newton and Schulz's iteration.

    Args:
        at_once: all of them together; by default not on a CPU.
    """
    if at_once is None:
        at_once = jax.default_backend() != "cpu"
    if at_once:
        return _unpack(_iterate(packed, coefficients), shapes)
    groups: dict[tuple[int, int], list[int]] = {}
    for k, (i, o) in enumerate(shapes):
        groups.setdefault((min(i, o), max(i, o)), []).append(k)
    found: dict[int, Array] = {}
    for (r, c), members in groups.items():
        own = jnp.stack([packed[k, :r, :c] for k in members])
        done = _iterate(own, coefficients)
        found |= zip(members, _unpack(done, [shapes[k] for k in members]), strict=True)
    return [found[k] for k in range(len(shapes))]


def _pack(matrices: Sequence[Float[Array, "_ _"]]) -> Float[Array, "n r c"]:
    """Matrices turned to lie, padded to one shape."""
    wide = [W.T if W.shape[0] > W.shape[1] else W for W in matrices]
    rows, columns = (max(W.shape[k] for W in wide) for k in (0, 1))
    return jnp.stack(
        [jnp.pad(W, ((0, rows - W.shape[0]), (0, columns - W.shape[1]))) for W in wide]
    )


def _unpack(
    packed: Float[Array, "n r c"], shapes: Sequence[tuple[int, int]]
) -> list[Float[Array, "_ _"]]:
    """The matrices as they were."""
    return [
        X[:o, :i].T if i > o else X[:i, :o]
        for X, (i, o) in zip(packed, shapes, strict=True)
    ]


def _iterate(
    X: Float[Array, "n r c"], coefficients: Coefficients
) -> Float[Array, "n r c"]:
    if fused.hopper() and X.shape[1] % 64 == X.shape[2] % 64 == 0:
        from ..ops.newton_schulz import iterate

        square = jnp.sum(jnp.square(X), axis=(1, 2), keepdims=True)
        return iterate(X * jax.lax.rsqrt(square + 1e-30), coefficients)
    for k, (a, b, c) in enumerate(coefficients):
        A = jnp.einsum("nij,nkj->nik", X, X)
        if k == 0:
            # The trace is the square of the Frobenius norm, by which X is divided.
            unit = jnp.trace(A, axis1=1, axis2=2)[:, None, None] + 1e-30
            A, X = A / unit, X * jax.lax.rsqrt(unit)
        X = a * X + jnp.einsum("nij,njk->nik", b * A + c * (A @ A), X)
    return X
