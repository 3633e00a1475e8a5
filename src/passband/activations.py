"""What stands between the layers of a network: one row for each activation.

A word names one: `relu`, `sine`, or with scales of its own `sine:60`, `wire:20,10`. A
new one is a row of `ACTIVATIONS` and nothing else: fields, training in every precision,
the memory plan, model files, ONNX and the theory ask the row.
"""

import dataclasses
import difflib
import functools
import inspect
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
    scales: tuple[float, ...] = ()
    """The numbers behind the colon of its word, where they are not the usual ones."""
    make: "Callable[..., Activation] | None" = None
    """From scales to the row that has them; None where there are no scales."""

    @property
    def word(self) -> str:
        """What parses back to this row: `sine`, `sine:60`, `wire:20,10`."""
        own = ",".join(_short(scale) for scale in self.scales)
        return f"{self.name}:{own}" if own else self.name


def _uniform(key: Array, shape: tuple[int, ...], bound: float) -> Array:
    return jax.random.uniform(key, shape, minval=-bound, maxval=bound)


def _bias(kb: Array, i: int, o: int) -> Array:
    return jax.random.uniform(kb, (o,), minval=-1, maxval=1) / math.sqrt(i)


def _siren(
    omega: float, kw: Array, kb: Array, i: int, o: int, first: bool
) -> tuple[Array, Array]:
    """Sums of unit variance before every sine (SIREN, section 3.2, and its code)."""
    bound = 1 / i if first else math.sqrt(6 / i) / omega
    return _uniform(kw, (i, o), bound), _bias(kb, i, o)


def _finer(
    omega: float, k: float | None, kw: Array, kb: Array, i: int, o: int, first: bool
) -> tuple[Array, Array]:
    """SIREN's, and biases of the first layer from U(-k, k): where a sine begins says
    how fast it turns (FINER, section 3.3; its code leaves them at 1/sqrt(fan-in))."""
    W, b = _siren(omega, kw, kb, i, o, first)
    return (W, _uniform(kb, (o,), k)) if first and k is not None else (W, b)


def _linear(kw: Array, kb: Array, i: int, o: int, first: bool) -> tuple[Array, Array]:
    """What PyTorch gives a layer, which the codes of Gauss and WIRE leave it at."""
    del first
    return _uniform(kw, (i, o), 1 / math.sqrt(i)), _bias(kb, i, o)


# Omega is in the gradients too: SIREN trains with a rate of 1e-4, not 1e-3.
def sine(omega: float = OMEGA) -> Activation:
    """sin(omega y), of SIREN."""
    return Activation(
        name="sine",
        forward=lambda y: jnp.sin(omega * y),
        onnx=lambda node, x: node("Sin", node("Mul", x, omega)),
        init=functools.partial(_siren, omega),
    )


def finer(omega: float = OMEGA, k: float | None = None) -> Activation:
    """sin(omega (|y| + 1) y), which turns the faster the farther from 0 it is."""

    def onnx(node: Callable[..., str], x: str) -> str:
        faster = node("Mul", node("Add", node("Abs", x), 1.0), x)
        return node("Sin", node("Mul", faster, omega))

    return Activation(
        name="finer",
        forward=lambda y: jnp.sin(omega * (jnp.abs(y) + 1) * y),
        onnx=onnx,
        init=functools.partial(_finer, omega, k),
    )


def _bell(node: Callable[..., str], x: str, s: float) -> str:
    wide = node("Mul", x, s)
    return node("Exp", node("Neg", node("Mul", wide, wide)))


def gauss(s: float = 30.0) -> Activation:
    """exp(-(s y)^2): a bell at every unit (Ramasinghe and Lucey 2022)."""
    return Activation(
        name="gauss",
        forward=lambda y: jnp.exp(-jnp.square(s * y)),
        onnx=lambda node, x: _bell(node, x, s),
        init=_linear,
    )


def wire(omega: float = 20.0, s: float = 10.0) -> Activation:
    """cos(omega y) exp(-(s y)^2): the real part of WIRE's Gabor wavelet."""
    return Activation(
        name="wire",
        forward=lambda y: jnp.cos(omega * y) * jnp.exp(-jnp.square(s * y)),
        onnx=lambda node, x: node(
            "Mul", node("Cos", node("Mul", x, omega)), _bell(node, x, s)
        ),
        init=_linear,
    )


RELU = Activation(
    name="relu",
    forward=jax.nn.relu,
    onnx=lambda node, x: node("Relu", x),
    pullback=lambda h, g: jnp.where(h > 0, g, 0),
    fused=True,
    ntk="relu_ntk",
)
SCALED = (sine, finer, gauss, wire)
ACTIVATIONS = {
    row.name: row
    for row in (RELU, *(dataclasses.replace(make(), make=make) for make in SCALED))
}


def parse_activation(word: str) -> Activation:
    """The activation that a word names: the row itself, or that at other scales."""
    name, colon, numbers = word.partition(":")
    if name not in ACTIVATIONS:
        near = difflib.get_close_matches(name, ACTIVATIONS, n=1, cutoff=0.4)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(
            f"activation `{word}` is unknown; {hint}known: {', '.join(ACTIVATIONS)}"
        )
    row = ACTIVATIONS[name]
    return _at_scales(row, word, numbers) if colon else row


@functools.cache
def _at_scales(row: Activation, word: str, numbers: str) -> Activation:
    """One object for one word, so that a second field finds the first one's program."""
    if row.make is None:
        raise InputError(f"activation `{word}`: `{row.name}` has no scale")
    usual = [p.default for p in inspect.signature(row.make).parameters.values()]
    try:
        scales = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        scales = ()
    good = all(0 < scale < math.inf for scale in scales)
    if not good or not 1 <= len(scales) <= len(usual):
        most = "one number" if len(usual) == 1 else f"one to {len(usual)} numbers"
        raise InputError(
            f"activation `{word}` must have {most} above 0 behind the colon, such as "
            f"`{row.name}:{_short(usual[0])}`"
        )
    while scales and scales[-1] == usual[len(scales) - 1]:
        scales = scales[:-1]
    if not scales:
        return row
    return dataclasses.replace(row.make(*scales), make=row.make, scales=scales)


def _short(value: float) -> str:
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
