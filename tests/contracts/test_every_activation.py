"""What holds for every activation: a new row of the table is found here."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

import passband.theory
from passband.activations import ACTIVATIONS, Activation
from passband.errors import InputError
from passband.export.onnx import onnx_bytes
from passband.field import Field, glorot, make_field
from passband.mappings import FourierFeatures
from passband.model_file import load, load_with_info, save
from passband.ops.mlp import Precision, mlp
from passband.theory import composed_ntk, empirical_ntk, kernel_row, survey
from passband.theory.design import Training, predicted_loss

EVERY = pytest.mark.parametrize("row", ACTIVATIONS.values(), ids=ACTIVATIONS)
MAPPINGS = pytest.mark.parametrize("word", ["gaussian:2,m=16", "none:scale=2,shift=-1"])
POINTS = np.random.default_rng(0).random((60, 2)).astype(np.float32)


def field_of(row: Activation, word: str = "gaussian:2,m=16", seed: int = 0) -> Field:
    key = jax.random.key(seed)
    return make_field(
        word, d=2, out=2, key=key, layers=4, width=32, activation=row.name
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
    np.testing.assert_allclose(batch, field.batch(v), atol=1e-5)
    np.testing.assert_allclose(batch[0], field(v[0]), atol=1e-5)


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


@EVERY
def test_onnxruntime_agrees(row):
    field = field_of(row)
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
