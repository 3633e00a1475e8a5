"""The field: initialisers of 2020, calls, derivatives, what may be trained."""

import functools
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import passband.field
from passband.errors import InputError
from passband.field import INITIALISERS, Field, make_field
from passband.mappings import FourierFeatures
from passband.ops.fused import fused_field
from passband.ops.mlp import Precision


def _field(word="gaussian:3,m=16", **options) -> Field:
    given = {"d": 2, "out": 3, "key": jax.random.key(0), "width": 32, **options}
    return make_field(word, **given)


def test_the_weights_of_2020():
    key = jax.random.PRNGKey(10)
    before = jax.random.bits(key, (4,))
    field = make_field("gaussian:10", d=2, out=3, key=key, bits2020=True)
    W, b = field.mlp.weights[0], field.mlp.biases[0]
    np.testing.assert_allclose(W[0, :3], [-0.06890, 0.06145, 0.05388], atol=5e-6)
    np.testing.assert_allclose(b[0], -0.00847, atol=5e-6)
    assert isinstance(field.encoding, FourierFeatures)
    np.testing.assert_allclose(
        field.encoding.frequencies[0] / 10, [-0.54172, -1.04791], atol=5e-6
    )
    np.testing.assert_array_equal(jax.random.bits(key, (4,)), before)


def test_layers_counts_dense_layers():
    shapes = [W.shape for W in _field(layers=4).mlp.weights]
    assert shapes == [(32, 32), (32, 32), (32, 32), (32, 3)]
    assert len(_field(layers=1).mlp.weights) == 1


def test_glorot_variance_and_truncation():
    W = np.asarray(make_field("none", d=400, out=1, key=jax.random.key(0), width=600,
                              layers=2).mlp.weights[0])  # fmt: skip
    np.testing.assert_allclose(W.var(), 2 / 1000, rtol=0.02)
    assert np.abs(W).max() <= 2 / 0.87962566 * np.sqrt(2 / 1000) * 1.001


@pytest.mark.parametrize("word", ["none:scale=2,shift=-1", "gaussian:3,m=256"])
def test_sines_are_drawn_as_sirens_are(word):
    field = _field(word, width=256, layers=4, activation="sine", key=jax.random.key(2))
    *hidden, _ = field.mlp.weights
    bounds = [1 / len(hidden[0]), *(np.sqrt(6 / 256) / 30,) * 3]
    for W, b, bound in zip(field.mlp.weights, field.mlp.biases, bounds, strict=True):
        np.testing.assert_allclose(np.abs(W).max(), bound, rtol=0.01)
        np.testing.assert_allclose(np.std(W), bound / np.sqrt(3), rtol=0.05)
        assert np.abs(b).max() <= 1 / np.sqrt(len(W))
    # SIREN's theorem 1.8: sums of unit variance, so that sines have variance 1/2.
    x = jax.vmap(field.encoding)(jax.random.uniform(jax.random.key(1), (500, 2)))
    for W, b in zip(hidden, field.mlp.biases, strict=False):
        x = jnp.sin(30 * (x @ W + b))
    np.testing.assert_allclose(np.var(np.asarray(x)), 0.5, atol=0.05)


def test_standard_and_ntk_are_one_function_in_two_parameterisations():
    key = jax.random.key(1)
    one = _field(init=INITIALISERS["standard"], key=key, output="identity")
    two = _field(init=INITIALISERS["ntk"], key=key, output="identity")
    v = jnp.asarray([0.2, 0.7])
    np.testing.assert_allclose(one(v), two(v), atol=1e-6)
    W = np.asarray(two.mlp.weights[1])
    np.testing.assert_allclose(W.std(), 1, rtol=0.05)


@pytest.mark.parametrize("output", ["identity", "sigmoid", "tanh"])
def test_batch_is_the_call_at_every_point(output):
    field = _field(output=output)
    points = np.random.default_rng(0).random((10, 2)).astype(np.float32)
    loop = np.stack([field(v) for v in jnp.asarray(points)])
    np.testing.assert_allclose(field.batch(jnp.asarray(points)), loop, atol=1e-5)
    np.testing.assert_allclose(field.predict(points), loop, atol=1e-5)
    np.testing.assert_allclose(field.predict(points, chunk=4), loop, atol=1e-5)


def test_derivatives_match_finite_differences():
    field = _field("gaussian:1,m=16", output="identity")
    v, h = np.array([0.3, 0.6]), 1e-3
    gradient = jax.jacrev(field)(jnp.asarray(v, jnp.float32))
    for axis in range(2):
        step = np.zeros(2)
        step[axis] = h
        up, down = (
            np.asarray(field(jnp.asarray(v + s * step, jnp.float32))) for s in (1, -1)
        )
        np.testing.assert_allclose(gradient[:, axis], (up - down) / (2 * h), atol=5e-3)
    assert np.isfinite(jax.hessian(lambda v: field(v).sum())(jnp.asarray(v))).all()


@pytest.mark.parametrize(("trains", "moves"), [("", 0), ("a", 1), ("b", 1), ("ab", 2)])
def test_what_may_be_trained(trains, moves):
    field = _field(f"gaussian:3,m=16{',train=' + trains if trains else ''}")
    mask = field.trainable()
    assert sum(jax.tree.leaves(mask.encoding)) == moves
    assert all(jax.tree.leaves(mask.mlp))


def test_precision_is_the_fields_own():
    field = _field()
    half = field.with_precision(Precision.BFLOAT16)
    points = jnp.asarray(np.random.default_rng(0).random((20, 2)), jnp.float32)
    gap = np.abs(half.batch(points) - field.batch(points)).max()
    assert 0 < gap < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layers": 0}, "`layers` \\(=0\\)"),
        ({"width": 0}, "`width` \\(=0\\)"),
        ({"output": "relu"}, "`output` \\(=relu\\) must be one of"),
        ({"activation": "sin"}, "activation `sin` is unknown; did you mean `sine`\\? "),
    ],
)
def test_wrong_networks_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        _field(**options)


def test_predict_names_the_shape_it_wants():
    with pytest.raises(InputError, match="takes \\(n, 2\\)"):
        _field().predict(np.zeros((5, 3)))


@pytest.mark.parametrize("shape", [(5, 2), (3,), (), (1, 2), (0,)])
def test_a_call_with_many_points_names_what_takes_them(shape):
    message = f"`v` has shape {shape}; a field takes one point, (2,): for many, (n, 2)"
    for call in (_field(), eqx.filter_jit(_field())):
        with pytest.raises(InputError, match=re.escape(message)) as error:
            call(np.zeros(shape))
        assert "`field.predict`" in str(error.value)
        assert "`field.batch`" in str(error.value)


@pytest.mark.parametrize("shape", [(2,), (5, 3), (), (4, 5, 2)])
def test_batch_names_the_shape_it_wants(shape):
    with pytest.raises(InputError, match=r"`coords` has shape .* takes \(n, 2\)"):
        _field().batch(np.zeros(shape))


def test_seeds_are_keys():
    by_seed = _field(key=3, encoding_key=4)
    by_key = _field(key=jax.random.key(3), encoding_key=jax.random.key(4))
    for a, b in zip(*map(jax.tree.leaves, (by_seed, by_key)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("fused", [False, True])
def test_no_gradient_of_a_whole_field_reaches_its_encoding(monkeypatch, fused):
    field = _field("gaussian:3,m=80", width=128)
    if fused:  # the path of a Hopper GPU, its programs interpreted
        monkeypatch.setattr(passband.field, "fits", lambda *_: True)
        program = functools.partial(fused_field, interpret=True)
        monkeypatch.setattr(passband.field, "fused_field", program)
    points = jax.random.uniform(jax.random.key(1), (64, 2))
    slopes = jax.grad(lambda f: jnp.mean(f.batch(points) ** 2))(field)
    assert isinstance(slopes.encoding, FourierFeatures)
    assert not np.any(slopes.encoding.frequencies)
    assert not np.any(slopes.encoding.amplitudes)
    assert all(np.any(W) for W in slopes.mlp.weights)


@pytest.mark.parametrize("activation", ["relu", "sine"])
@pytest.mark.parametrize(("output", "level"), [("identity", 3.0), ("sigmoid", 0.05),
                                               ("tanh", -0.4)])  # fmt: skip
def test_outputs_begin_about_a_level(output, level, activation):
    began, plain = (
        _field(output=output, start=start, activation=activation)
        for start in (level, None)
    )
    coords = jax.random.uniform(jax.random.key(1), (512, 2))
    assert np.median(began.batch(coords)) == pytest.approx(level, rel=0.3)
    # The weights are those that would have been drawn anyway.
    np.testing.assert_array_equal(began.mlp.weights[-1], plain.mlp.weights[-1])
    np.testing.assert_allclose(
        began.logits(coords) - plain.logits(coords),
        jnp.broadcast_to(began.mlp.biases[-1] - plain.mlp.biases[-1], (512, 3)),
        atol=1e-5,
    )  # fmt: skip


def test_an_output_that_leaks_has_the_same_values_and_is_never_out_of_reach():
    field = make_field("gaussian:1,m=4", d=1, out=2, key=0, width=8, layers=2)
    field = eqx.tree_at(lambda f: f.mlp.biases[-1], field, jnp.array([-200.0, 200.0]))
    x = jnp.linspace(0, 1, 5)[:, None]

    def slopes(f):
        return jax.grad(lambda f: jnp.sum(f.batch(x) - 0.5))(f).mlp.biases[-1]

    leaking = field.with_leak(0.01)
    np.testing.assert_array_equal(leaking.batch(x), field.batch(x))
    assert not np.asarray(slopes(field)).any()
    np.testing.assert_allclose(slopes(leaking), 5 * 0.01, rtol=1e-5)
