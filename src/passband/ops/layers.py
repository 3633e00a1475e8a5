"""What the fused op asks of whoever makes its layers."""

import abc
from collections.abc import Sequence

from jaxtyping import Array, BFloat16, Float, Float32


class Layers(abc.ABC):
    """A network's layers, forward and backward; frozen and hashable, so that a compiled
    program is made for each."""

    @property
    @abc.abstractmethod
    def rows(self) -> int:
        """What the number of points must be a multiple of."""

    @abc.abstractmethod
    def first(
        self,
        coords: Float32[Array, "d n"],
        frequencies: Float32[Array, "d m"],
        W: BFloat16[Array, "f w"],
        b: Float32[Array, " w"],
    ) -> tuple[BFloat16[Array, "n f"], BFloat16[Array, "n w"]]:
        """Features and the layer behind them."""

    @abc.abstractmethod
    def rest(
        self,
        h: BFloat16[Array, "n w"],
        weights: Sequence[BFloat16[Array, "_ _"]],
        biases: Sequence[Float32[Array, " _"]],
    ) -> tuple[Float32[Array, "n c"], tuple[BFloat16[Array, "n w"], ...]]:
        """The sums of the output layer without its bias, and every hidden layer."""

    @abc.abstractmethod
    def through(
        self,
        g: Float[Array, "n c"],
        weights: Sequence[BFloat16[Array, "_ _"]],
        hidden: Sequence[BFloat16[Array, "n w"]],
    ) -> tuple[
        BFloat16[Array, "n w"],
        list[Float32[Array, "_ _"]],
        list[Float32[Array, " _"]],
    ]:
        """What reaches the first layer, the others' weight gradients, and the bias
        gradients of all but the output layer."""
