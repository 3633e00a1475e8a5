"""A field: encoding, multilayer perceptron and output activation, as one pytree."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .activations import Activation, parse_activation
from .encodings import Encoding, FourierFeatures, as_points
from .errors import InputError
from .mappings import AnyKey, Mapping, as_key
from .ops.fused import fits, fused_field, fused_mlp
from .ops.mlp import SMALL_FAN_IN, Precision, mlp
from .ops.without_autotune import jit_without_autotune
from .words import parse_mapping

OUTPUTS: dict[str, Callable[[Array], Array]] = {
    "identity": lambda y: y,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
}
INVERSES: dict[str, Callable[[float], float]] = {
    "identity": lambda y: y,
    "sigmoid": lambda y: math.log(y / (1 - y)),
    "tanh": math.atanh,
}


def leaking(output: str, y: Array, leak: float) -> Array:
    """The output activation, its slope larger by `leak` if it has flat ends."""
    out = OUTPUTS[output](y)
    if not leak or output == "identity":
        return out
    return out + leak * (y - jax.lax.stop_gradient(y))


class MLP(eqx.Module):
    """Dense layers, an activation between them: "L layers" are L matrices (0.1)."""

    weights: tuple[Float[Array, "*runs _ _"], ...]
    biases: tuple[Float[Array, "*runs _"], ...]
    gains: tuple[tuple[float, float], ...] | None = eqx.field(static=True, default=None)
    """What a layer's W and b are multiplied by (the NTK parameterisation)."""
    activation: str = eqx.field(static=True, default="relu")

    def __call__(
        self, x: Float[Array, "*n f"], precision: Precision = Precision.FLOAT32
    ) -> Float[Array, "*n c"]:
        weights, biases = self.effective()
        return mlp(x, weights, biases, precision, self.nonlinearity)

    @property
    def nonlinearity(self) -> Activation:
        """The row that `activation` names."""
        return parse_activation(self.activation)

    def effective(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Weights and biases as they act, with the gains multiplied in."""
        if self.gains is None:
            return self.weights, self.biases
        weights = (w * g for w, (g, _) in zip(self.weights, self.gains, strict=True))
        biases = (b * g for b, (_, g) in zip(self.biases, self.gains, strict=True))
        return tuple(weights), tuple(biases)


class Field(eqx.Module):
    """A signal as a network: `field(v)` is one point, `field.batch` many of them.

    It is a plain pytree: `jax.jacrev`, `jax.hessian` and `jax.vmap` take it as they
    take any function, and `eqx.filter_jit` compiles it. `make_field` draws one.

    Args:
        encoding: from a point, (d,), to the features of the first layer.
        mlp: the dense layers.
        output: what follows the last layer: `identity`, `sigmoid` or `tanh`.
        precision: of the products in the layers; phases and sums stay in float32.
        leak: what is added to the slope of the output activation while training, so
            that no output is ever out of reach: at the flat end of a sigmoid no step
            moves it. Values are not touched by it.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np, passband as pb
        >>> field = pb.make_field("gaussian:3,m=16", d=2, out=3, key=0, width=32)
        >>> v = jnp.array([0.2, 0.7])
        >>> field(v).shape, jax.jacrev(field)(v).shape  # one point, and its slopes
        ((3,), (3, 2))
        >>> points = np.random.default_rng(0).random((100, 2))
        >>> field.predict(points).shape  # many, to NumPy
        (100, 3)
    """

    encoding: Encoding
    mlp: MLP
    output: str = eqx.field(static=True, default="identity")
    precision: Precision = eqx.field(static=True, default=Precision.FLOAT32)
    leak: float = eqx.field(static=True, default=0.0)

    @property
    def trains(self) -> str:
        """Which of the encoding's `a` and `b` gradient descent may move."""
        return self.encoding.trains

    @property
    def members(self) -> int:
        """Networks that it is the mean of (`members.Members`); 1 is this one alone."""
        return 1

    def __call__(self, v: Any) -> Float[Array, " c"]:
        """The value of one point, (d,) -> (c,)."""
        v, d = as_points("v", v), self.encoding.dims
        if v.shape != (d,):
            raise InputError(
                f"`v` has shape {v.shape}; a field takes one point, ({d},): for many, "
                f"(n, {d}), use `field.predict` (NumPy) or `field.batch` (inside JAX)"
            )
        return OUTPUTS[self.output](self.mlp(self.encoding(v), self.precision))

    def batch(self, coords: Any, *, still: bool = False) -> Float[Array, "n c"]:
        """All points at once, (n, d) -> (n, c): what a matrix unit wants.

        Args:
            still: the same points come again with the next step of a training: their
                features are made apart, where a compiler can keep them.
        """
        return leaking(self.output, self.logits(coords, still=still), self.leak)

    def logits(self, coords: Any, *, still: bool = False) -> Float[Array, "n c"]:
        """All points at once, (n, d) -> (n, c), before the output activation."""
        encoding, coords = self.encoding, as_points("coords", coords)
        if coords.ndim != 2 or coords.shape[1] != encoding.dims:
            raise self._wrong_shape(coords.shape)
        weights, biases = self.mlp.effective()
        between = self.mlp.nonlinearity
        if fits(coords.shape[0], encoding.dims, weights, self.precision, between):
            if encoding.features <= SMALL_FAN_IN:
                x = jax.vmap(encoding)(coords)
                return fused_mlp(x, weights, biases)
            if isinstance(encoding, FourierFeatures) and not self.trains:
                B, a = encoding.held()
                return fused_field(coords, B, a, weights, biases, still=still)
        return self.mlp(jax.vmap(encoding)(coords), self.precision)

    def predict(
        self, coords: Any, *, chunk: int | None = None, logits: bool = False
    ) -> np.ndarray:
        """(n, d) -> (n, c) in float32, chunk by chunk, so that n is not limited.

        Args:
            coords: points in the coordinates of the field.
            chunk: points at once. By default 65536, on a CPU 8192: layers of a few
                megabytes are not handed back to the system between chunks, a fifth of
                the time.
            logits: the values before the output activation.
        """
        if chunk is None:
            chunk = 8192 if jax.default_backend() == "cpu" else 65536
        coords = np.asarray(coords, np.float32)
        if coords.ndim != 2 or coords.shape[1] != self.encoding.dims:
            raise self._wrong_shape(coords.shape)
        out = np.empty((len(coords), self.mlp.biases[-1].shape[-1]), np.float32)
        exact = self.with_precision(Precision.FLOAT32)
        evaluate = _logits if logits else _batch
        for start in range(0, len(coords), chunk):
            part = coords[start : start + chunk]
            size = len(part)
            # Programs are few: of a whole chunk, and of powers of two below it.
            whole = chunk if start else min(chunk, 1 << max(6, (size - 1).bit_length()))
            if size < whole:
                part = np.pad(part, ((0, whole - size), (0, 0)))
            out[start : start + size] = evaluate(exact, jnp.asarray(part))[:size]
        return out

    def with_precision(self, precision: Precision) -> "Field":
        """The same field, computing in another precision."""
        return dataclasses.replace(self, precision=precision)

    def with_leak(self, leak: float) -> "Field":
        """The same field, whose output keeps such a slope while it trains."""
        return dataclasses.replace(self, leak=leak)

    def starting_about(self, level: float) -> "Field":
        """The same field with such a level as the output of its last biases alone."""
        *others, last = self.mlp.biases
        last = jnp.full_like(last, INVERSES[self.output](level))
        mlp = dataclasses.replace(self.mlp, biases=(*others, last))
        return dataclasses.replace(self, mlp=mlp)

    def trainable(self) -> "Field":
        """A pytree of booleans: what gradient descent may move.

        Every float array would be too many: a and B are data unless `trains` says so;
        the values of a grid are not.
        """
        mask = jax.tree.map(lambda _: False, self)
        mask = eqx.tree_at(
            lambda f: f.mlp, mask, jax.tree.map(lambda _: True, self.mlp)
        )
        for name in self.encoding.moving:
            inside = jax.tree.map(lambda _: True, getattr(self.encoding, name))
            mask = eqx.tree_at(lambda f, n=name: getattr(f.encoding, n), mask, inside)
        return mask

    @property
    def parameters(self) -> int:
        """How many numbers gradient descent may move."""
        moving = eqx.filter(self, self.trainable())
        return sum(leaf.size for leaf in jax.tree.leaves(moving))

    def _wrong_shape(self, shape: tuple[int, ...]) -> InputError:
        return InputError(
            f"`coords` has shape {shape}; this field takes (n, {self.encoding.dims})"
        )


@jit_without_autotune
def _batch(field: Field, coords: Array) -> Array:
    return field.batch(coords)


@jit_without_autotune
def _logits(field: Field, coords: Array) -> Array:
    return field.logits(coords)


Initialiser = Callable[[AnyKey, Sequence[int]], MLP]


def glorot(key: AnyKey, sizes: Sequence[int]) -> MLP:
    """Truncated Glorot normal weights, N(0, 0.01^2) biases (protocol 0.2)."""
    draw_w = jax.nn.initializers.glorot_normal()
    weights, biases = [], []
    for kw, kb, i, o in _layers(key, sizes):
        weights.append(draw_w(kw, (i, o), jnp.float32))
        biases.append(1e-2 * jax.random.normal(kb, (o,)))
    return MLP(tuple(weights), tuple(biases))


def standard(
    key: AnyKey, sizes: Sequence[int], *, w_std: float = 1.0, b_std: float = 0.0
) -> MLP:
    """W ~ N(0, w_std^2 / fan_in), b ~ N(0, b_std^2): the 1D studies' networks."""
    weights, biases = [], []
    for kw, kb, i, o in _layers(key, sizes):
        weights.append(jax.random.normal(kw, (i, o)) * (w_std / math.sqrt(i)))
        biases.append(b_std * jax.random.normal(kb, (o,)))
    return MLP(tuple(weights), tuple(biases))


def ntk(
    key: AnyKey, sizes: Sequence[int], *, w_std: float = 1.0, b_std: float = 0.0
) -> MLP:
    """W, b ~ N(0, 1) with the constants in the layer, not in the draw."""
    weights, biases, gains = [], [], []
    for kw, kb, i, o in _layers(key, sizes):
        weights.append(jax.random.normal(kw, (i, o)))
        biases.append(jax.random.normal(kb, (o,)))
        gains.append((w_std / math.sqrt(i), b_std))
    return MLP(tuple(weights), tuple(biases), tuple(gains))


INITIALISERS: dict[str, Initialiser] = {
    "glorot": glorot,
    "standard": standard,
    "ntk": ntk,
}


def _layers(key: AnyKey, sizes: Sequence[int]):
    """A key for every layer, activations too: as stax split them (protocol 0.10)."""
    keys = _layer_keys(key, len(sizes) - 1)
    for (kw, kb), (i, o) in zip(keys, itertools.pairwise(sizes), strict=True):
        yield kw, kb, i, o


@functools.partial(jax.jit, static_argnums=1)
def _layer_keys(key: AnyKey, count: int) -> list[tuple[AnyKey, AnyKey]]:
    """As one program: splits are most of the calls that drawing a network makes."""
    found = []
    for _ in range(count):
        key, layer = jax.random.split(key)
        kw, kb = jax.random.split(layer)
        found.append((kw, kb))
        key, _ = jax.random.split(key)
    return found


def _own_init(activation: Activation) -> Initialiser:
    draw = activation.init
    if draw is None:
        return glorot

    def init(key: AnyKey, sizes: Sequence[int]) -> MLP:
        layers = enumerate(_layers(key, sizes))
        drawn = [draw(*layer, k == 0) for k, layer in layers]
        return MLP(tuple(W for W, _ in drawn), tuple(b for _, b in drawn))

    return init


def make_field(
    mapping: str | Mapping,
    *,
    d: int,
    out: int,
    key: AnyKey | int,
    encoding_key: AnyKey | int | None = None,
    layers: int = 4,
    width: int = 256,
    output: str = "sigmoid",
    activation: str = "relu",
    init: Initialiser | None = None,
    start: float | None = None,
    bits2020: bool = False,
) -> Field:
    """Draw an encoding and a network.

    One key gives both, from independent halves. With `bits2020` both take the key as it
    is, and JAX's random bits are those of 2020, so that `PRNGKey(10)` gives the paper's
    own B and weights; the global JAX configuration is not touched.

    Args:
        mapping: a word, such as `gaussian:10`, or a mapping; its scale is in cycles per
            unit of the coordinates.
        d: coordinates of a point.
        out: values of a point.
        key: a JAX key, or a seed.
        encoding_key: another one for the encoding alone.
        layers: matrices of the network, the last one included.
        width: units of every layer but the last.
        output: what follows the last layer: `identity`, `sigmoid` or `tanh`.
        activation: what stands between the layers, such as `relu` or `sine`.
        init: left out, what the activation asks for, or `glorot`.
        start: the level that all outputs begin about; that of no bias without it. A
            sigmoid far from what is mostly there is driven to its flat end, and stays.
        bits2020: draw what the paper's code drew.

    Example:
        >>> import passband as pb
        >>> field = pb.make_field("gaussian:10,m=64", d=2, out=3, key=0, width=32)
        >>> [W.shape for W in field.mlp.weights]
        [(128, 32), (32, 32), (32, 32), (32, 3)]
    """
    mapping, between = parse_mapping(mapping), parse_activation(activation)
    if layers < 1 or width < 1:
        raise InputError(
            f"`layers` (={layers}) and `width` (={width}) must be 1 or more"
        )
    if output not in OUTPUTS:
        raise InputError(f"`output` (={output}) must be one of {', '.join(OUTPUTS)}")
    key = as_key(key)
    encoding_key = None if encoding_key is None else as_key(encoding_key)
    if bits2020:
        ke, kn = key if encoding_key is None else encoding_key, key
    else:
        ke, kn = jax.random.split(key)
        ke = ke if encoding_key is None else encoding_key
    with jax.threefry_partitionable(not bits2020):
        encoding = mapping.draw(ke, d)
        sizes = [encoding.features, *[width] * (layers - 1), out]
        network = (init or _own_init(between))(kn, sizes)
    network = dataclasses.replace(network, activation=between.word)
    field = Field(encoding, network, output)
    return field if start is None else field.starting_about(start)
