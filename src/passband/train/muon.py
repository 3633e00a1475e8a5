"""Muon: the momentum of a weight matrix, made orthogonal, is its step (Jordan 2024).

All matrices of a network are made orthogonal together. A GPU's time for products of
this size is that of starting them, so there they are one batch, padded to one shape;
a CPU's is that of multiplying, so there matrices of one shape are.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

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
MOMENTUM = 0.95


class MuonState(NamedTuple):
    """The steps taken, and the mean of the gradients."""

    count: Int[Array, ""]
    mean: tuple[Array, ...]


def muon_of_matrices(
    coefficients: Coefficients = FEW,
) -> optax.GradientTransformation:
    """Muon at unit rate for a pytree of matrices (inputs, outputs), with Nesterov's
    momentum; a wide matrix steps further, by the root of outputs over inputs."""

    def init(params: optax.Params) -> MuonState:
        leaves = jax.tree.leaves(params)
        return MuonState(jnp.int32(0), tuple(jnp.zeros_like(W) for W in leaves))

    def update(
        updates: optax.Updates, state: MuonState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, MuonState]:
        del params
        gradients, tree = jax.tree.flatten(updates)
        count = state.count + 1
        now = (1 - MOMENTUM) / (1 - MOMENTUM**count)
        past = MOMENTUM / (1 - MOMENTUM ** (count + 1))
        mean = tuple(
            MOMENTUM * m + (1 - MOMENTUM) * g
            for m, g in zip(state.mean, gradients, strict=True)
        )
        ahead = [past * m + now * g for m, g in zip(mean, gradients, strict=True)]
        steps = [
            -math.sqrt(max(1, W.shape[1] / W.shape[0])) * W
            for W in orthogonal(ahead, coefficients)
        ]
        return jax.tree.unflatten(tree, steps), MuonState(count, mean)

    return optax.GradientTransformation(init, update)  # pyright: ignore


def orthogonal(
    matrices: Sequence[Float[Array, "_ _"]],
    coefficients: Coefficients = FEW,
    *,
    padded: bool | None = None,
) -> list[Float[Array, "_ _"]]:
    """Each matrix with its singular values near 1, by Newton and Schulz's iteration.

    Args:
        padded: all of them as one batch, in bfloat16; by default not on a CPU.
    """
    if padded is None:
        padded = jax.default_backend() != "cpu"
    wide = [W.T if W.shape[0] > W.shape[1] else W for W in matrices]
    shape = tuple(max(W.shape[k] for W in wide) for k in (0, 1)) if wide else ()
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, W in enumerate(wide):
        groups.setdefault(shape if padded else W.shape, []).append(k)
    out = list(matrices)
    for (rows, columns), members in groups.items():
        batch = jnp.stack([
            jnp.pad(W, ((0, rows - W.shape[0]), (0, columns - W.shape[1])))
            for W in (wide[k] for k in members)
        ])  # fmt: skip
        done = _iterate(batch, coefficients, jnp.bfloat16 if padded else jnp.float32)
        for k, X in zip(members, done, strict=True):
            i, o = matrices[k].shape
            out[k] = X[:o, :i].T if i > o else X[:i, :o]
    return out


def _iterate(
    X: Float[Array, "n r c"], coefficients: Coefficients, dtype: jnp.dtype | type
) -> Float[Array, "n r c"]:
    square = jnp.sum(X * X, axis=(1, 2), keepdims=True)
    X = (X * jax.lax.rsqrt(square + 1e-30)).astype(dtype)
    for a, b, c in coefficients:
        A = _product("nij,nkj->nik", X, X).astype(dtype)
        P = (b * A + c * _product("nij,njk->nik", A, A)).astype(dtype)
        X = (a * X + _product("nij,njk->nik", P, X)).astype(dtype)
    return X.astype(jnp.float32)


def _product(how: str, a: Array, b: Array) -> Float[Array, "..."]:
    return jnp.einsum(how, a, b, preferred_element_type=jnp.float32)
