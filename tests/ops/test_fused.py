"""The fused op against float64 and the plain path; its programs run interpreted."""

import functools
import itertools
from contextvars import ContextVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import passband.field
from passband.activations import RELU, parse_activation
from passband.field import make_field
from passband.mappings import FourierFeatures
from passband.ops import by_mosaic, fused
from passband.ops.fused import fits, fused_field, fused_mlp
from passband.ops.fused_tiles import back, dense, dense_first, features
from passband.ops.mlp import Precision, mlp

interpreted = functools.partial(fused_field, interpret=True)


def network(n: int, d: int, m: int, width: int, layers: int, c: int):
    rng = np.random.default_rng(n)
    sizes = [2 * m, *[width] * (layers - 1), c]
    weights = tuple(
        rng.normal(scale=np.sqrt(2 / i), size=(i, o))
        for i, o in itertools.pairwise(sizes)
    )
    biases = tuple(rng.normal(scale=0.1, size=o) for o in sizes[1:])
    B, a = rng.normal(scale=3, size=(m, d)), rng.uniform(0.5, 1.5, m)
    arrays = (rng.random((n, d)), B, a, weights, biases)
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), arrays)


def plain(coords, B, a, weights, biases):
    x = jax.vmap(FourierFeatures(B, a, "ab"))(coords)
    return mlp(x, weights, biases, Precision.BFLOAT16)


def textbook(coords, B, a, weights, biases):
    angle = 2 * jnp.pi * coords @ B.T
    x = jnp.concatenate([a * jnp.sin(angle), a * jnp.cos(angle)], axis=1)
    for W, b in zip(weights[:-1], biases[:-1], strict=True):
        x = jnp.maximum(x @ W + b, 0)
    return x @ weights[-1] + biases[-1]


def outputs_and_gradients(f, arguments) -> list[np.ndarray]:
    def loss(arguments):
        out = f(*arguments)
        return jnp.sum(jnp.sin(3 * out)), out

    grad = jax.jit(jax.grad(loss, has_aux=True))
    return [np.asarray(x, np.float64) for x in jax.tree.leaves(grad(arguments)[::-1])]


def relative(x: np.ndarray, to: np.ndarray) -> float:
    return float(np.linalg.norm(x - to) / np.linalg.norm(to))


@pytest.mark.parametrize(
    "shape",
    [
        (150, 2, 40, 128, 4, 3),
        (70, 3, 12, 256, 2, 1),
        (130, 1, 32, 128, 3, 8),
        (200, 2, 120, 256, 4, 3),  # by Mosaic GPU, where JAX can interpret it
        (330, 3, 256, 256, 3, 4),
        (200, 2, 20, 256, 3, 3),  # the hidden layers alone by Mosaic GPU
    ],
    ids=[
        "four layers",
        "two layers",
        "three layers",
        "wide",
        "wide, three layers",
        "wide, few features",
    ],
)
def test_outputs_and_gradients_are_those_of_the_textbook(shape):
    # Every gradient: coordinates, frequencies, amplitudes, weights and biases. Rounding
    # flips ReLUs, so that bfloat16 gradients err by some per cent: the plain path's own
    # error is the measure.
    arguments = network(*shape)
    with jax.enable_x64(True):
        exact = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), arguments)
        reference = outputs_and_gradients(textbook, exact)
    ours = outputs_and_gradients(interpreted, arguments)
    theirs = outputs_and_gradients(plain, arguments)
    assert relative(ours[0], reference[0]) < 1e-2
    for x, y, r in zip(ours, theirs, reference, strict=True):
        assert relative(x, r) < 1.5 * relative(y, r) + 2e-3


@pytest.mark.parametrize(
    "n, layers, width", [(70, 2, 128), (70, 4, 128), (200, 4, 256)]
)
def test_a_few_inputs_are_those_of_the_textbook(n, layers, width):
    *_, weights, biases = network(n, 1, 3, width, layers, 3)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(n, 6)), jnp.float32)
    exact = outputs_and_gradients(
        functools.partial(mlp, precision=Precision.FLOAT32), (x, weights, biases)
    )
    ours = outputs_and_gradients(
        functools.partial(fused_mlp, interpret=True), (x, weights, biases)
    )
    theirs = outputs_and_gradients(
        functools.partial(mlp, precision=Precision.BFLOAT16), (x, weights, biases)
    )
    for mine, plainly, want in zip(ours, theirs, exact, strict=True):
        assert relative(mine, want) < 1.5 * relative(plainly, want) + 2e-3


def test_points_that_stay_give_what_points_that_move_give():
    arguments = network(256, 2, 128, 256, 3, 3)
    stay = functools.partial(interpreted, still=True)
    pairs = (outputs_and_gradients(f, arguments) for f in (stay, interpreted))
    for x, y in zip(*pairs, strict=True):
        assert relative(x, y) < 1e-3


@pytest.mark.parametrize("d", [1, 2, 3])
def test_features_are_sines_and_cosines(d):
    rng = np.random.default_rng(d)
    v = rng.random((d, 128)).astype(np.float32)
    B = rng.normal(scale=30, size=(d, 96)).astype(np.float32)
    angle = 2 * np.pi * (v.astype(np.float64).T @ B)
    expected = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    found = np.asarray(features(jnp.asarray(v), jnp.asarray(B), interpret=True))
    np.testing.assert_allclose(found.astype(np.float64), expected, atol=4e-3)


@pytest.mark.parametrize("width, m", [(128, 8), (256, 128)])
def test_runs_stack(width, m):
    one, two = network(200, 2, m, width, 3, 2), network(200, 2, m, width, 3, 2)
    two = jax.tree.map(lambda x: x[::-1], two)
    stacked = jax.tree.map(lambda x, y: jnp.stack([x, y]), one, two)
    coords = one[0]  # shared by the stack

    def slope(weights, run):
        _, B, a, _, biases = run
        return jnp.sum(interpreted(coords, B, a, weights, biases) ** 2)

    grad = jax.jit(jax.grad(slope))
    both = jax.jit(jax.vmap(jax.grad(slope)))(stacked[3], stacked)
    for k, run in enumerate((one, two)):
        for x, y in zip(both, grad(run[3], run), strict=True):
            np.testing.assert_allclose(x[k], y, rtol=1e-4, atol=1e-4)


def test_nan_is_not_hidden():
    coords, B, a, weights, biases = network(64, 2, 8, 128, 3, 1)
    bad = (biases[0].at[3].set(jnp.nan), *biases[1:])
    assert np.isnan(interpreted(coords, B, a, weights, bad)).all()


def test_mosaic_takes_the_papers_networks():
    assert by_mosaic.takes(weights_of(512, 256, 256, 256, 3))
    assert by_mosaic.takes(weights_of(2, 256, 256, 3))
    assert by_mosaic.takes(weights_of(2048, 256, 256, 3))
    assert not by_mosaic.takes(weights_of(512, 128, 128, 3))
    assert not by_mosaic.takes(weights_of(512, 256, 3))


def test_makers_change_with_the_version_of_jax(monkeypatch):
    def maker(*version: int) -> str:
        monkeypatch.setattr(jax, "__version_info__", version)
        wide = weights_of(512, 256, 256, 3)
        return type(fused._layers(1024, wide, False)).__name__

    assert maker(0, 11, 2) == "ByTriton"
    monkeypatch.setattr(fused, "_PATIENT", ContextVar("patient", default=True))
    assert maker(0, 10, 2) == "ByTriton"
    assert maker(0, 11, 2) == maker(0, 12, 0, 1) == "ByMosaic"
    assert maker(0, 13, 0) == "ByTriton"


def weights_of(*sizes: int) -> list[jax.Array]:
    return [jnp.zeros(s) for s in itertools.pairwise(sizes)]


def test_dispatch_takes_what_fits(monkeypatch):
    wide = weights_of(512, 256, 256, 256, 3)
    half, many = Precision.BFLOAT16, fused.FEWEST[256]
    assert not fits(many, 2, wide, half, RELU)  # tests run on a CPU
    monkeypatch.setattr(fused, "hopper", lambda: True)
    assert fits(many, 2, wide, half, RELU)
    assert fits(fused.FEWEST[128], 1, weights_of(30, 128, 8), half, RELU)
    assert not fits(many, 2, wide, half, parse_activation("sine"))
    assert not fits(many - 1, 2, wide, half, RELU)
    assert not fits(many, 4, wide, half, RELU)
    assert not fits(many, 2, wide, Precision.FLOAT32, RELU)
    assert not fits(many, 2, weights_of(512, 256, 64, 3), half, RELU)
    assert not fits(many, 2, weights_of(512, 256, 9), half, RELU)
    assert not fits(many, 2, weights_of(512, 3), half, RELU)


def test_a_field_takes_the_fused_path_where_it_fits(monkeypatch):
    def field(word: str):
        key = jax.random.key(0)
        return make_field(word, d=2, out=3, key=key, layers=3, width=128)

    coords = jnp.asarray(np.random.default_rng(0).random((70, 2)), jnp.float32)
    exact = field("gaussian:3,m=16").batch(coords)
    calls = []

    def recorded(*arguments, still):
        calls.append(arguments)
        return interpreted(*arguments, still=still)

    monkeypatch.setattr(passband.field, "fits", lambda *_: True)
    monkeypatch.setattr(passband.field, "fused_field", recorded)
    np.testing.assert_allclose(field("gaussian:3,m=16").batch(coords), exact, atol=2e-2)
    assert len(calls) == 1
    field("gaussian:3,m=16,train=ab").batch(coords)
    assert len(calls) == 1
    raw = field("none").mlp(coords)
    few = functools.partial(fused_mlp, interpret=True)
    monkeypatch.setattr(passband.field, "fused_mlp", few)
    np.testing.assert_allclose(field("none").logits(coords), raw, atol=2e-2)
    assert len(calls) == 1


@pytest.mark.parametrize("width", [128, 256])
def test_products_of_integers_are_exact(width):
    """On a Hopper GPU by the programs themselves: an assembler that lets a register be
    written before an asynchronous product has read it (ptxas before 13.3) shows here.
    """
    real = fused.hopper()
    n, tiles = (65_536, 8) if real else (256, 2)
    rng = np.random.default_rng(width)

    def integers(low, high, *shape):
        return rng.integers(low, high + 1, shape).astype(np.float32)

    x, g = integers(-1, 1, n, width), integers(-1, 1, n, width)
    W, b, h = integers(-1, 1, width, width), integers(-3, 3, width), np.abs(x)
    half, asked = jnp.bfloat16, {"tiles": tiles, "interpret": not real}
    X, G, H = (jnp.asarray(a, half) for a in (x, g, h))
    M, B = jnp.asarray(W, half), jnp.asarray(b)
    want = np.maximum(x @ W + b, 0)
    np.testing.assert_array_equal(dense(X, M, B, **asked), want)
    np.testing.assert_array_equal(dense_first(X, M, B, interpret=not real), want)
    d, db, dW = back(G, M, H, **asked)
    want = (g @ W.T) * (h > 0)
    np.testing.assert_array_equal(d, want)
    np.testing.assert_array_equal(np.asarray(db).sum(axis=0), want.sum(axis=0))
    np.testing.assert_array_equal(np.asarray(dW).sum(axis=0), h.T @ g)
