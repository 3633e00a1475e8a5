"""A field as an ONNX model, so that it runs without JAX.

The file format is Protocol Buffers; the handful of messages that a network needs are
written here directly, and no ONNX package is called for.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from passband.activations import parse_activation
from passband.errors import InputError

OPSET, IR_VERSION = 17, 8
INT64 = 7  # of TensorProto.DataType
EXACT = 2**24
"""Whole numbers up to which float32 has them all."""
OUTPUTS = {"identity": None, "sigmoid": "Sigmoid", "tanh": "Tanh", "radiance": None}


def onnx_bytes(
    *,
    weights: Sequence[np.ndarray],
    biases: Sequence[np.ndarray],
    frequencies: np.ndarray | None = None,
    amplitudes: np.ndarray | None = None,
    levels: Sequence[np.ndarray] = (),
    input_center: np.ndarray | float = 0.0,
    input_scale: np.ndarray | float = 1.0,
    input_shift: np.ndarray | float = 0.0,
    activation: str = "relu",
    output: str = "identity",
    output_scale: np.ndarray | float = 1.0,
    output_shift: np.ndarray | float = 0.0,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """The model `coords` (n, d) float32 -> `values` (n, c) float32 as a file's bytes.

    v = (coords - input_center) * input_scale + input_shift
    x = [a sin 2 pi B v, a cos 2 pi B v], or v itself without `frequencies`, or what
        the grids have at v
    y = output(W_L ... activation(W_1 x + b_1) ... + b_L)
    values = y * output_scale + output_shift

    Of several networks, whose arrays have a leading axis of one length, y is the mean.

    Args:
        weights: (fan_in, fan_out) of each layer.
        biases: (fan_out,) of each layer.
        frequencies: B (m, d), in cycles.
        amplitudes: a (m,), ones where left out.
        output: `identity`, `sigmoid`, `tanh`, or `radiance` of a scene: the sigmoid of
            three colours and the ReLU of a density.
        levels: of a multigrid, (side, ..., side, features) each.
        metadata: words kept in the file.
    """
    between = parse_activation(activation)
    if output not in OUTPUTS:
        raise InputError(
            f"`output` (={output}) has no ONNX form here; there are "
            f"{', '.join(OUTPUTS)}"
        )
    weights = [np.asarray(w, np.float32) for w in weights]
    biases = [np.asarray(b, np.float32) for b in biases]
    B = None if frequencies is None else np.asarray(frequencies)
    many, graph = weights[0].ndim == 3, _Graph()
    d = features = weights[0].shape[-2]
    if B is not None:
        d, features = B.shape[-1], 2 * B.shape[-2]
    elif levels:
        if many:
            raise InputError(
                "several members with a `multigrid` have no ONNX graph; export one "
                "network"
            )
        d = np.ndim(levels[0]) - 1
        features = sum(np.shape(level)[-1] for level in levels)
    _check(weights, biases, features)
    x = graph.affine("coords", 1.0, -np.asarray(input_center))
    x = graph.affine(x, input_scale, input_shift)
    if B is not None:
        a = np.ones(B.shape[:-1]) if amplitudes is None else np.asarray(amplitudes)
        if a.shape != B.shape[:-1]:
            raise InputError(
                f"`amplitudes` has shape {a.shape}; {B.shape[-2]} frequencies need "
                f"{B.shape[:-1]}"
            )
        x = _encode(graph, x, B, a[:, None] if many else a)
    elif levels:
        x = _look_up(graph, x, levels)
    for layer, (w, b) in enumerate(zip(weights, biases, strict=True)):
        if layer:
            x = between.onnx(graph.node, x)
        if many:  # a Gemm takes matrices only
            x = graph.node("MatMul", x, graph.constant(w))
            x = graph.node("Add", x, graph.constant(b[:, None]))
        else:
            x = graph.node("Gemm", x, graph.constant(w), graph.constant(b))
    operator = OUTPUTS[output]
    if operator is not None:
        x = graph.node(operator, x)
    if output == "radiance":
        x = _radiance(graph, x)
    if many:
        x = graph.node("ReduceMean", x, axes=[0], keepdims=0)
    x = graph.affine(x, output_scale, output_shift)
    graph.node("Identity", x, result="values")
    return graph.model(d, weights[-1].shape[-1], metadata or {})


def _encode(graph: "_Graph", v: str, B: np.ndarray, a: np.ndarray) -> str:
    turns = graph.node("MatMul", v, graph.constant(np.swapaxes(B, -1, -2)))
    # Whole turns go first: the sine of a large angle is poor in many runtimes.
    part = graph.node("Sub", turns, graph.node("Round", turns))
    phase = graph.node("Mul", part, graph.constant(2 * np.pi))
    amplitude = graph.constant(a)
    waves = [graph.node("Mul", graph.node(f, phase), amplitude) for f in ("Sin", "Cos")]
    return graph.node("Concat", *waves, axis=B.ndim - 1)


def _radiance(graph: "_Graph", x: str) -> str:
    colour, density = np.array([1.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0])
    parts = [
        graph.node("Mul", graph.node(f, x), graph.constant(mask))
        for f, mask in (("Sigmoid", colour), ("Relu", density))
    ]
    return graph.node("Add", *parts)


def _look_up(graph: "_Graph", v: str, levels: Sequence[np.ndarray]) -> str:
    """The values of grids over the unit cube at v, linear along each axis."""
    inside = graph.node("Clip", v, 0.0, 1.0)
    return graph.node(
        "Concat", *(_interpolate(graph, inside, level) for level in levels), axis=1
    )


def _interpolate(graph: "_Graph", v: str, level: np.ndarray) -> str:
    side, d = level.shape[0], level.ndim - 1
    if side**d > EXACT:
        raise InputError(
            f"a grid of {side}^{d} points is beyond the {EXACT} that float32 in ONNX "
            "can number; fit a `multigrid` with a smaller side"
        )
    table = graph.constant(level.reshape(-1, level.shape[-1]))
    strides = np.asarray([side ** (d - 1 - i) for i in range(d)])
    place = graph.node("Mul", v, float(side - 1))
    below = graph.node("Min", graph.node("Floor", place), float(side - 2))
    part = graph.node("Sub", place, below)
    first = graph.node("MatMul", below, graph.constant(strides[:, None]))
    columns = np.eye(d)[:, :, None]
    up = [graph.node("MatMul", part, graph.constant(column)) for column in columns]
    down = [graph.node("Sub", 1.0, weight) for weight in up]
    total = ""
    for corner in itertools.product((0, 1), repeat=d):
        number = graph.node("Add", first, float(np.dot(corner, strides)))
        row = graph.node("Cast", number, to=INT64)
        value = graph.node("Flatten", graph.node("Gather", table, row), axis=1)
        for i, bit in enumerate(corner):
            value = graph.node("Mul", value, up[i] if bit else down[i])
        total = graph.node("Add", total, value) if total else value
    return total


def _check(weights: list[np.ndarray], biases: list[np.ndarray], fan_in: int) -> None:
    if len(weights) != len(biases):
        raise InputError(f"{len(weights)} `weights` and {len(biases)} `biases` differ")
    lead = weights[0].shape[:-2]
    for layer, (w, b) in enumerate(zip(weights, biases, strict=True)):
        width = w.shape[-1]
        wanted = (*lead, fan_in, width), (*lead, width)
        if len(lead) > 1 or (w.shape, b.shape) != wanted:
            raise InputError(
                f"layer {layer} has weights {w.shape} and biases {b.shape}; "
                f"({fan_in}, width) and (width,) were expected"
            )
        fan_in = width


class _Graph:
    """Nodes and constants as they are added, each result under a name of its own."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []

    def constant(self, value: np.ndarray | float) -> str:
        array = np.ascontiguousarray(np.asarray(value, "<f4"))
        name = f"c{len(self._constants)}"
        shape = b"".join(_integer(1, size) for size in array.shape)
        tensor = shape + _integer(2, 1) + _text(8, name) + _field(9, array.tobytes())
        self._constants.append(_field(5, tensor))
        return name

    def node(
        self,
        operator: str,
        *inputs: str | float,
        result: str = "",
        **attributes: int | list[int],
    ) -> str:
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        result = result or f"x{len(self._nodes)}"
        message = b"".join(_text(1, name) for name in names) + _text(2, result)
        message += _text(3, f"{operator}_{result}") + _text(4, operator)
        for name, value in attributes.items():
            if isinstance(value, int):
                held = _integer(3, value) + _integer(20, 2)
            else:
                held = b"".join(_integer(8, one) for one in value) + _integer(20, 7)
            message += _field(5, _text(1, name) + held)
        self._nodes.append(_field(1, message))
        return result

    def affine(
        self, x: str, scale: np.ndarray | float, shift: np.ndarray | float
    ) -> str:
        if np.any(np.asarray(scale) != 1):
            x = self.node("Mul", x, self.constant(scale))
        if np.any(np.asarray(shift) != 0):
            x = self.node("Add", x, self.constant(shift))
        return x

    def model(self, d: int, c: int, metadata: Mapping[str, str]) -> bytes:
        graph = b"".join(self._nodes) + _text(2, "field") + b"".join(self._constants)
        graph += _field(11, _array_type("coords", d))
        graph += _field(12, _array_type("values", c))
        words = (_text(1, key) + _text(2, word) for key, word in metadata.items())
        return (
            _integer(1, IR_VERSION)
            + _text(2, "passband")
            + _field(7, graph)
            + _field(8, _text(1, "") + _integer(2, OPSET))
            + b"".join(_field(14, word) for word in words)
        )


def _array_type(name: str, width: int) -> bytes:
    """ValueInfoProto of float32 (n, width), n free."""
    shape = _field(1, _text(2, "n")) + _field(1, _integer(1, width))
    tensor = _integer(1, 1) + _field(2, shape)
    return _text(1, name) + _field(2, _field(1, tensor))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(payload)) + payload


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())
