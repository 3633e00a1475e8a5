"""The layers of the fused op by Pallas' Mosaic GPU back end (`mosaic_tiles`)."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array

from . import mosaic_tiles as op
from .fused_tiles import LANES, MULTIPROCESSORS, dense_first, features
from .layers import (
    Bias,
    Coords,
    Features,
    FirstBias,
    FirstMatrix,
    Frequencies,
    Hidden,
    Layers,
    Matrix,
    OutputGradient,
    Slopes,
    Sums,
)
from .mosaic_first import dense_encoded
from .mosaic_joined import back_outputs

WIDTH = 256
FEATURES = (256, 512)
"""That Mosaic's programs of the first layer have room for; of others Triton makes it,
behind which the hidden layers, where most of a deep network's time goes, are the same.
"""


@dataclasses.dataclass(frozen=True)
class ByMosaic(Layers):
    """Two hidden layers or more of 256 units, behind any number of features."""

    still: bool = False
    """Whether the same points come again: features are made apart, to be kept."""
    interpret: bool = False

    @property
    def rows(self) -> int:
        return 2 * op.ROWS

    def first(
        self, coords: Coords, frequencies: Frequencies, W: FirstMatrix, b: FirstBias
    ) -> tuple[Features, Hidden]:
        known = W.shape[0] in FEATURES
        if known and not self.still:
            return _filling(dense_encoded, 2, self.interpret)(coords, frequencies, W, b)
        x = features(coords, frequencies, interpret=self.interpret)
        if known:
            return x, _filling(op.dense, W.shape[0] // WIDTH, self.interpret)(x, W, b)
        return x, dense_first(x, W, b, interpret=self.interpret)

    def rest(
        self, h: Hidden, weights: Sequence[Matrix], biases: Sequence[Bias]
    ) -> tuple[Sums, tuple[Hidden, ...]]:
        hidden = [h]
        *between, last, outputs = weights
        for W, b in zip(between, biases, strict=False):
            hidden.append(_filling(op.dense, 1, self.interpret)(hidden[-1], W, b))
        V = jnp.pad(outputs.T, ((0, LANES - outputs.shape[1]), (0, 0)))
        h, out = _filling(op.dense_outputs, 1, self.interpret)(
            hidden[-1], last, biases[-2], V
        )
        return out[:, : outputs.shape[1]], (*hidden, h)

    def through(
        self, g: OutputGradient, weights: Sequence[Matrix], hidden: Sequence[Hidden]
    ) -> tuple[Hidden, list[Slopes], list[Bias]]:
        *before, W, V = weights
        *below, h, k = hidden
        lanes = ((0, 0), (0, LANES - V.shape[1]))
        e = jnp.pad(g.astype(jnp.bfloat16), lanes)
        d, *parts = _filling(back_outputs, 2, self.interpret)(
            e, jnp.pad(V, lanes), k, W, h
        )
        db, dW, dc, dV = (jnp.sum(part, axis=0) for part in parts)
        matrices, biases = [dV[:, : V.shape[1]], dW], [dc, db]
        for W, h in zip(before[::-1], below[::-1], strict=True):
            d, db, dW = _filling(op.back, 2, self.interpret, shared=True)(d, W, h)
            biases.append(jnp.sum(db, axis=0))
            matrices.append(jnp.sum(dW, axis=0))
        return d, matrices[::-1], biases[::-1]


@functools.cache
def _filling(
    program: Callable[..., Any], parts: int, interpret: bool, shared: bool = False
) -> Callable[..., Any]:
    """A program as often as multiprocessors can run it at a time, or a multiple of that
    where networks are stacked, whose copies may be `shared` (`multicast`).

    One function for all calls, and compiled as such: making a program of Mosaic GPU
    takes Python a fifth of a second, and a loop calls some dozen.
    """
    program = functools.partial(program, interpret=interpret)
    room = 2 if interpret else MULTIPROCESSORS // parts
    stack = {"multicast": True} if shared else {}

    @custom_vmap
    def filling(*arrays):
        return program(*arrays, programs=room)

    @filling.def_vmap
    def stacked(networks, batched, *arrays):
        programs = room // math.gcd(room, networks)
        share = functools.partial(program, programs=programs, **stack)
        axes = [0 if own else None for own in batched]
        out = jax.vmap(share, in_axes=axes)(*arrays)
        return out, jax.tree.map(lambda _: True, out)

    return jax.jit(filling)


def takes(weights: Sequence[Array | jax.ShapeDtypeStruct]) -> bool:
    """Whether the programs have room for these layers."""
    return len(weights) > 2 and all(W.shape[-1] == WIDTH for W in weights[:-1])
