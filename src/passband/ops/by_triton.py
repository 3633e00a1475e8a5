"""The layers of the fused op by Pallas' Triton back end (`fused_tiles`)."""

import dataclasses
import math
from collections.abc import Sequence

import jax.numpy as jnp

from . import fused_tiles as op
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


@dataclasses.dataclass(frozen=True)
class ByTriton(Layers):
    """Hidden layers of 128 or 256 units, any number of features and layers."""

    tiles: int
    """That a program takes."""
    interpret: bool = False

    @classmethod
    def of(cls, points: int, *, interpret: bool = False) -> "ByTriton":
        return cls(math.ceil(points / (op.ROWS * op.MULTIPROCESSORS)), interpret)

    @property
    def rows(self) -> int:
        return 2 * op.ROWS * self.tiles

    def first(
        self, coords: Coords, frequencies: Frequencies, W: FirstMatrix, b: FirstBias
    ) -> tuple[Features, Hidden]:
        x = op.features(coords, frequencies, interpret=self.interpret)
        return x, op.dense_first(x, W, b, interpret=self.interpret)

    def rest(
        self, h: Hidden, weights: Sequence[Matrix], biases: Sequence[Bias]
    ) -> tuple[Sums, tuple[Hidden, ...]]:
        hidden = [h]
        for W, b in zip(weights[:-1], biases[:-1], strict=True):
            h = op.dense(h, W, b, tiles=self.tiles, interpret=self.interpret)
            hidden.append(h)
        out = jnp.dot(h, weights[-1], preferred_element_type=jnp.float32)
        return out, tuple(hidden)

    def through(
        self, g: OutputGradient, weights: Sequence[Matrix], hidden: Sequence[Hidden]
    ) -> tuple[Hidden, list[Slopes], list[Bias]]:
        channels = g.shape[-1]
        lanes = ((0, 0), (0, op.LANES - channels))
        d = jnp.pad(g.astype(jnp.bfloat16), lanes)
        matrices, biases = [], []
        for W, h in zip(weights[::-1], hidden[::-1], strict=True):
            last = not matrices
            # One program in two columns has room for a second.
            d, db, dW = op.back(
                d,
                jnp.pad(W, lanes) if last else W,
                h,
                tiles=self.tiles if last else 2 * self.tiles,
                interpret=self.interpret,
            )
            dW = dW[..., :channels] if last else dW
            biases.append(jnp.sum(db, axis=0))
            matrices.append(jnp.sum(dW, axis=0))
        return d, matrices[::-1], biases[::-1]
