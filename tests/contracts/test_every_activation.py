"""What holds for every activation: a new row of the table is found here."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

import passband.theory
from passband.activations import ACTIVATIONS, Activation, parse_activation
from passband.errors import InputError
from passband.export.onnx import onnx_bytes
from passband.field import Field, glorot, make_field
from passband.mappings import FourierFeatures
from passband.model_file import load, load_with_info, save
from passband.ops.mlp import Precision, mlp
from passband.theory import composed_ntk, empirical_ntk, kernel_row, survey
from passband.theory.design import Training, predicted_loss

OTHER_SCALES = ["sine:60", "finer:20,5", "gauss:10", "wire:12.5,4"]
GENTLE = {"gauss": "gauss:3", "wire": "wire:4,2"}
"""Of those whose slope is in the tens, scales at which rounding is not multiplied."""
EVERY = pytest.mark.parametrize("row", ACTIVATIONS.values(), ids=ACTIVATIONS)
EVERY_WORD = pytest.mark.parametrize("word", [*ACTIVATIONS, *OTHER_SCALES])
MAPPINGS = pytest.mark.parametrize("word", ["gaussian:2,m=16", "none:scale=2,shift=-1"])
POINTS = np.random.default_rng(0).random((60, 2)).astype(np.float32)


def field_of(row: Activation, word: str = "gaussian:2,m=16", seed: int = 0) -> Field:
    key = jax.random.key(seed)
    return make_field(
        word, d=2, out=2, key=key, layers=4, width=32, activation=row.word
    )


def plain(row: Activation, x, weights, biases):
    """The network as it is defined."""
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        x = row.forward(x @ W + b)
    return x @ weights[-1] + biases[-1]


def onnx_values(field: Field, coords: np.ndarray) -> np.ndarray:
    """What onnxruntime makes of a field with Fourier features."""
    assert isinstance(field.encoding, FourierFeatures)
    weights, biases = field.mlp.effective()
    data = onnx_bytes(
        weights=[np.asarray(W) for W in weights],
        biases=[np.asarray(b) for b in biases],
        frequencies=np.asarray(field.encoding.frequencies),
        amplitudes=np.asarray(field.encoding.amplitudes),
        activation=field.mlp.activation,
        output=field.output,
    )
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["values"], {"coords": coords})[0])


@EVERY
@MAPPINGS
def test_jit_changes_nothing(row, word):
    field, v = field_of(row, word), jnp.asarray(POINTS)
    batch = jax.jit(lambda f, v: f.batch(v))(field, v)
    atol = 5e-5 if row.name in GENTLE else 1e-5
    np.testing.assert_allclose(batch, field.batch(v), atol=atol)
    np.testing.assert_allclose(batch[0], field(v[0]), atol=atol)


@EVERY
def test_gradients_are_those_of_the_plain_formula(row):
    field = field_of(row)
    x = jax.vmap(field.encoding)(jnp.asarray(POINTS))
    arguments = (x, *field.mlp.effective())
    ways = [functools.partial(mlp, activation=row), functools.partial(plain, row)]
    ours, theirs = (
        jax.tree.leaves(jax.grad(lambda a, f=f: jnp.sum(f(*a) ** 2))(arguments))
        for f in ways
    )
    for mine, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, want, rtol=1e-3, atol=1e-4)


@EVERY
def test_the_slope_is_that_of_finite_differences(row):
    with jax.enable_x64(True):
        y = jnp.asarray(np.random.default_rng(1).normal(size=200))
        slope = jax.vmap(jax.grad(row.forward))(y)
        step = 1e-6
        want = (row.forward(y + step) - row.forward(y - step)) / (2 * step)
        np.testing.assert_allclose(slope, want, atol=1e-5)
        if row.pullback is not None:
            g = jnp.asarray(np.random.default_rng(2).normal(size=200))
            np.testing.assert_allclose(
                row.pullback(row.forward(y), g), slope * g, atol=1e-9
            )


@EVERY
@MAPPINGS
def test_bfloat16_is_float32_rounded(row, word):
    row = parse_activation(GENTLE[row.name]) if row.name in GENTLE else row
    field, v = field_of(row, word), jnp.asarray(POINTS)

    def outputs_and_gradients(precision):
        f = field.with_precision(precision)
        out, pull = jax.vjp(lambda m: m(jax.vmap(f.encoding)(v), precision), f.mlp)
        return [np.asarray(x) for x in jax.tree.leaves((out, *pull(jnp.cos(out))))]

    exact = outputs_and_gradients(Precision.FLOAT32)
    half = outputs_and_gradients(Precision.BFLOAT16)
    for k, (found, want) in enumerate(zip(half, exact, strict=True)):
        assert found.dtype == np.float32
        error = np.linalg.norm(found - want) / np.linalg.norm(want)
        assert 0 < error < (8e-2 if k else 3e-2)


@EVERY
@pytest.mark.parametrize("precision", [Precision.FLOAT32, Precision.BFLOAT16])
def test_two_runs_stack(row, precision):
    fields = [field_of(row, seed=k).with_precision(precision) for k in (0, 1)]
    stack = jax.tree.map(lambda *a: jnp.stack(a), *fields)
    v = jnp.asarray(POINTS)

    def slope(field):
        def loss(network):
            return jnp.sum(network(jax.vmap(field.encoding)(v), precision) ** 2)

        return jax.grad(loss)(field.mlp)

    both = jax.vmap(slope)(stack)
    for k, field in enumerate(fields):
        pairs = zip(jax.tree.leaves(both), jax.tree.leaves(slope(field)), strict=True)
        for together, alone in pairs:
            gap = np.linalg.norm(together[k] - alone) / np.linalg.norm(alone)
            assert gap < (1e-4 if precision is Precision.FLOAT32 else 5e-2)


@EVERY_WORD
def test_a_word_prints_back_and_is_one_object(word):
    row = parse_activation(word)
    assert row.word == word and parse_activation(word) is row
    name, _, numbers = word.partition(":")
    assert row.name == name and len(row.scales) == len(numbers.split(",")) * bool(
        numbers
    )
    usual = ACTIVATIONS[name]
    y = jnp.linspace(-0.1, 0.1, 7)
    same = np.array_equal(row.forward(y), usual.forward(y))
    assert same == (row is usual)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("relu:2", "`relu` has no scale"),
        ("sine:", "must have one number above 0 behind the colon, such as `sine:30`"),
        ("sine:-3", "must have one number above 0"),
        ("sine:1,2", "must have one number above 0"),
        ("wire:1,2,3", "must have one to 2 numbers above 0"),
        ("gauss:nan", "must have one number above 0"),
        ("gaus:3", "did you mean `gauss`"),
    ],
)
def test_a_word_that_makes_no_sense_is_refused(word, message):
    with pytest.raises(InputError, match=message):
        parse_activation(word)


def test_the_usual_scales_may_be_spelled_out():
    assert parse_activation("sine:30") is ACTIVATIONS["sine"]
    assert parse_activation("wire:20,10") is ACTIVATIONS["wire"]
    assert parse_activation("wire:25,10").word == "wire:25"
    assert parse_activation("finer:30,5").word == "finer:30,5"


@pytest.mark.parametrize("name", ["sine:60", "finer:40", "finer:30,5", "gauss", "wire"])
def test_networks_are_drawn_as_their_own_code_draws_them(name):
    field = make_field("none:scale=2,shift=-1", d=2, out=3, key=3, layers=4, width=256,
                       activation=name)  # fmt: skip
    omega = {"sine:60": 60, "finer:40": 40, "finer:30,5": 30}.get(name)
    plain = 1 / np.sqrt(256)
    later = plain if omega is None else np.sqrt(6 / 256) / omega
    first = 1 / np.sqrt(2) if omega is None else 1 / 2
    bounds = [first, later, later, later]
    for k, (W, b) in enumerate(zip(field.mlp.weights, field.mlp.biases, strict=True)):
        np.testing.assert_allclose(np.abs(W).max(), bounds[k], rtol=0.02)
        wide = 5 if name == "finer:30,5" and k == 0 else 1 / np.sqrt(len(W))
        assert np.abs(b).max() <= wide
        if len(b) > 100:
            np.testing.assert_allclose(np.abs(b).max(), wide, rtol=0.02)


@EVERY
@MAPPINGS
def test_saved_and_loaded_field_is_the_same(row, word, tmp_path):
    path, field = tmp_path / "m.safetensors", field_of(row, word)
    save(field, path)
    loaded, about = load_with_info(path)
    assert about["activation"] == loaded.mlp.activation == row.name
    assert jax.tree.structure(loaded) == jax.tree.structure(field)
    np.testing.assert_array_equal(loaded.predict(POINTS), field.predict(POINTS))
    assert load(path).mlp.nonlinearity is row


@EVERY_WORD
def test_onnxruntime_agrees(word):
    field = field_of(parse_activation(word))
    np.testing.assert_allclose(
        onnx_values(field, POINTS), field.predict(POINTS), atol=2e-5
    )


@EVERY
def test_its_own_initialiser_is_taken_unless_another_is_asked_for(row):
    own = field_of(row)
    asked = make_field("gaussian:2,m=16", d=2, out=2, key=jax.random.key(0), layers=4,
                       width=32, activation=row.name, init=glorot)  # fmt: skip
    assert asked.mlp.activation == row.name
    same = np.array_equal(own.mlp.weights[0], asked.mlp.weights[0])
    assert same == (row.init is None)


@EVERY
def test_the_theory_has_its_kernel_or_says_that_there_is_none(row):
    field = field_of(row, "basic")
    assert np.isfinite(empirical_ntk(field, POINTS[:3])).all()
    network = {"layers": 3, "width": 8, "activation": row.name}
    line = FourierFeatures(jnp.asarray([[1.0], [2.0]]), jnp.ones(2))
    asks = [
        lambda: composed_ntk(line, np.arange(4) / 4, **network),
        lambda: kernel_row(line, 4, **network),
        lambda: survey(line, 4, **network),
        lambda: predicted_loss(
            [1.0], np.ones((1, 4)), training=Training(activation=row.name)
        ),
    ]
    for ask in asks:
        if row.ntk is not None:
            ask()
            continue
        with pytest.raises(InputError, match=f"`{row.name}` has no closed-form kernel"):
            ask()
    assert row.ntk is None or hasattr(passband.theory, row.ntk)
