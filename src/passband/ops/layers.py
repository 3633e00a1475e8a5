"""What the fused op asks of whoever makes its layers."""

import abc
from collections.abc import Sequence

from jaxtyping import Array, BFloat16, Float, Float32

Coords = Float32[Array, "d n"]
Frequencies = Float32[Array, "d m"]
Features = BFloat16[Array, "n f"]
Hidden = BFloat16[Array, "n w"]
FirstMatrix = BFloat16[Array, "f w"]
FirstBias = Float32[Array, " w"]
Matrix = BFloat16[Array, "_ _"]
Bias = Float32[Array, " _"]
Slopes = Float32[Array, "_ _"]
"""A weight gradient."""
Sums = Float32[Array, "n c"]
"""Of the output layer."""
OutputGradient = Float[Array, "n c"]


class Layers(abc.ABC):
    """A network's layers, forward and backward; frozen and hashable, so that a compiled
    program is made for each."""

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """What the number of points must be a multiple of."""

    @abc.abstractmethod
    def first(
        self, coords: Coords, frequencies: Frequencies, W: FirstMatrix, b: FirstBias
    ) -> tuple[Features, Hidden]:
        """Features and the layer behind them."""

    @abc.abstractmethod
    def rest(
        self, h: Hidden, weights: Sequence[Matrix], biases: Sequence[Bias]
    ) -> tuple[Sums, tuple[Hidden, ...]]:
        """The sums of the output layer without its bias, and every hidden layer."""

    @abc.abstractmethod
    def through(
        self, g: OutputGradient, weights: Sequence[Matrix], hidden: Sequence[Hidden]
    ) -> tuple[Hidden, list[Slopes], list[Bias]]:
        """What reaches the first layer, the others' weight gradients, and the bias
        gradients of all but the output layer."""
