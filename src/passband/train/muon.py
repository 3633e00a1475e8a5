"""Muon: the momentum of a weight matrix, made orthogonal, is its step (Jordan 2024).

A GPU's time for products of this size is that of starting them, so there one serves
all matrices of one length, padded to one shape; those of the hidden layers run while
the gradient of a longer first layer is still being made. A CPU's time is that of
multiplying, so there one product serves those of one shape. Products are of float32 (on
a GPU TF32, or float16 with as many bits): bfloat16 costs heads behind k-space 18 dB,
since the polynomials are sums of large terms that cancel.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

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
FEWER: Coefficients = ((7.3625, -20.7434, 15.1606), (2.9175, -2.1824, 0.4755))
"""Two, for singular values of 0.03 to 1. They end between 0.6 and 1.4."""
MOMENTUM = 0.95


class MuonState(NamedTuple):
    """The steps taken, and the mean of the gradients."""

    taken: Int[Array, ""]
    mean: PyTree


def muon_of_matrices(
    coefficients: Coefficients = FEW, *, first: Coefficients | None = None
) -> optax.GradientTransformation:
    """Muon at unit rate for a pytree of matrices (inputs, outputs), with Nesterov's
    momentum; a matrix of more outputs than inputs steps further, by the root of their
    quotient.

    Args:
        first: of the first matrix alone. On a GPU it is the one whose iterations
            nothing else can overlap: its gradient is the last of a step.
    """

    def init(params: PyTree) -> MuonState:
        return MuonState(jnp.int32(0), jax.tree.map(jnp.zeros_like, params))

    def update(
        updates: PyTree, state: MuonState, params: PyTree = None
    ) -> tuple[PyTree, MuonState]:
        del params
        taken = state.taken + 1
        mean = jax.tree.map(
            lambda m, g: MOMENTUM * m + (1 - MOMENTUM) * g, state.mean, updates
        )
        # The mean as it will be after one more gradient like this one.
        old = MOMENTUM / (1 - MOMENTUM ** (taken + 1))
        new = (1 - MOMENTUM) / (1 - MOMENTUM**taken)
        ahead = jax.tree.map(lambda m, g: old * m + new * g, mean, updates)
        matrices, tree = jax.tree.flatten(ahead)
        apart = 0 if first is None else 1
        turned = [
            *orthogonal(matrices[:apart], first or ()),
            *orthogonal(matrices[apart:], coefficients),
        ]
        steps = [-math.sqrt(max(1, W.shape[1] / W.shape[0])) * W for W in turned]
        return jax.tree.unflatten(tree, steps), MuonState(taken, mean)

    return optax.GradientTransformation(init, update)  # pyright: ignore


def orthogonal(
    matrices: Sequence[Float[Array, "_ _"]],
    coefficients: Coefficients = FEW,
    *,
    few_products: bool | None = None,
) -> list[Float[Array, "_ _"]]:
    """Each matrix with its singular values near 1, by Newton and Schulz's iteration.

    Args:
        few_products: pad matrices of one length to one shape; by default not on a CPU.
    """
    if few_products is None:
        few_products = jax.default_backend() != "cpu"
    groups: dict[Any, list[int]] = {}
    for k, W in enumerate(matrices):
        name = max(W.shape) if few_products else (min(W.shape), max(W.shape))
        groups.setdefault(name, []).append(k)
    found: dict[int, Array] = {}
    for members in groups.values():
        own = [matrices[k] for k in members]
        found |= zip(members, _turned(own, coefficients), strict=True)
    return [found[k] for k in range(len(matrices))]


def _turned(
    matrices: Sequence[Float[Array, "_ _"]], coefficients: Coefficients
) -> list[Float[Array, "_ _"]]:
    """One group: by the programs of a Hopper GPU where its sides are whole tiles and a
    training is long enough. They take 0.3 s of Python, and XLA's products 28 us more of
    a step."""
    sides = (max(f(W.shape) for W in matrices) for f in (min, max))
    if fused.patient() and fused.hopper() and not any(side % 64 for side in sides):
        return _by_programs(matrices, coefficients)
    done = _iterate(_pack(matrices), coefficients)
    return _unpack(done, [W.shape for W in matrices])


def _by_programs(
    matrices: Sequence[Float[Array, "_ _"]],
    coefficients: Coefficients,
    *,
    interpret: bool = False,
) -> list[Float[Array, "_ _"]]:
    """Matrices stay as most of them are: turning one is a kernel of its own."""
    from ..ops.newton_schulz import iterate

    shapes = [W.shape for W in matrices]
    stand = sum(i > o for i, o in shapes) > sum(i < o for i, o in shapes)
    done = iterate(_pack(matrices, stand=stand), coefficients, interpret=interpret)
    return _unpack(done, shapes, stand=stand)


def _pack(
    matrices: Sequence[Float[Array, "_ _"]], *, stand: bool = False
) -> Float[Array, "n r c"]:
    """Matrices turned to lie, or all to stand, padded to one shape; what is 0 stays
    0."""
    turned = [W.T if _against(W.shape, stand) else W for W in matrices]
    rows, columns = (max(W.shape[k] for W in turned) for k in (0, 1))
    return jnp.stack(
        [
            jnp.pad(W, ((0, rows - W.shape[0]), (0, columns - W.shape[1])))
            for W in turned
        ]
    )


def _unpack(
    packed: Float[Array, "n r c"],
    shapes: Sequence[tuple[int, ...]],
    *,
    stand: bool = False,
) -> list[Float[Array, "_ _"]]:
    """The matrices as they were."""
    return [
        X[:o, :i].T if _against((i, o), stand) else X[:i, :o]
        for X, (i, o) in zip(packed, shapes, strict=True)
    ]


def _against(shape: tuple[int, ...], stand: bool) -> bool:
    """Whether a matrix of that shape must be turned to stand, or to lie."""
    return shape[0] < shape[1] if stand else shape[0] > shape[1]


def _iterate(
    X: Float[Array, "n r c"], coefficients: Coefficients
) -> Float[Array, "n r c"]:
    """Of lying matrices, by XLA's products."""
    for k, (a, b, c) in enumerate(coefficients):
        A = jnp.einsum("nij,nkj->nik", X, X)
        if k == 0:
            # The trace is the square of the Frobenius norm, by which X is divided.
            unit = jnp.trace(A, axis1=1, axis2=2)[:, None, None] + 1e-30
            A, X = A / unit, X * jax.lax.rsqrt(unit)
        X = a * X + jnp.einsum("nij,njk->nik", b * A + c * (A @ A), X)
    return X
