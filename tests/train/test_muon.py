"""Muon: optax's by the original coefficients, and fewer iterations that do as well."""

import contextlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import linprog

from passband.ops import fused
from passband.ops.newton_schulz import FORM, Form, _Cut, iterate
from passband.train import muon
from passband.train.muon import (
    FEW,
    FEWER,
    JORDAN,
    MORE,
    Coefficients,
    _by_programs,
    muon_of_matrices,
    orthogonal,
)

SHAPES = [(12, 8), (8, 8), (8, 8), (8, 3), (2, 8)]


def _matrices(seed: int) -> list[jax.Array]:
    keys = jax.random.split(jax.random.key(seed), len(SHAPES))
    return [jax.random.normal(k, s) for k, s in zip(keys, SHAPES, strict=True)]


def test_with_the_original_coefficients_it_is_the_muon_of_optax():
    ours, theirs = muon_of_matrices(JORDAN), optax.contrib.muon(1.0)
    weights = _matrices(0)
    mine, other = ours.init(weights), theirs.init(weights)
    update, expected = jax.jit(ours.update), jax.jit(theirs.update)
    for seed in range(1, 5):
        slopes = _matrices(seed)
        found, mine = update(slopes, mine)
        want, other = expected(slopes, other, weights)
        for a, b in zip(*map(jax.tree.leaves, (found, want)), strict=True):
            np.testing.assert_allclose(a, b, atol=5e-5)


@pytest.mark.parametrize("coefficients", [FEW, MORE, JORDAN])
def test_singular_values_come_near_1(coefficients):
    x = np.geomspace(0.02, 1, 1000)
    for a, b, c in coefficients:
        x = a * x + b * x**3 + c * x**5
    assert x.min() > 0.45 and x.max() < 1.55


@pytest.mark.parametrize("several, low", [(FEW, 0.005), (MORE, 0.001), (FEWER, 0.03)])
def test_each_is_the_best_polynomial_for_where_the_last_one_ends(several, low):
    high = 1.0
    for coefficients in several:
        x = np.geomspace(low, high, 2000)
        powers, one = np.stack([x, x**3, x**5], 1), np.ones((len(x), 1))
        found = linprog(
            [0, 0, 0, 1],
            A_ub=np.block([[powers, -one], [-powers, -one]]),
            b_ub=np.concatenate([one[:, 0], -one[:, 0]]),
            bounds=[(None, None)] * 3 + [(0, None)],
        )
        np.testing.assert_allclose(coefficients, found.x[:3], rtol=2e-3)
        low, high = 1 - found.x[3], 1 + found.x[3]


def test_together_they_are_what_each_shape_is_by_itself():
    matrices = _matrices(0)
    both = [orthogonal(matrices, few_products=few) for few in (True, False)]
    for a, b, W in zip(*both, matrices, strict=True):
        assert a.shape == W.shape
        np.testing.assert_allclose(a, b, atol=1e-4)


def test_the_first_matrix_may_have_iterations_of_its_own():
    slopes = _matrices(0)

    def steps(moves: optax.GradientTransformation) -> list[np.ndarray]:
        found, _ = moves.update(slopes, moves.init(slopes))
        return [np.asarray(leaf) for leaf in jax.tree.leaves(found)]

    found = steps(muon_of_matrices(first=FEWER))
    rest, fewer = steps(muon_of_matrices()), steps(muon_of_matrices(FEWER))
    np.testing.assert_allclose(found[0], fewer[0], atol=1e-5)
    for a, b in zip(found[1:], rest[1:], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert np.abs(found[0] - rest[0]).max() > 1e-2


def test_a_stack_is_its_networks_and_nothing_comes_of_no_gradient():
    moves = muon_of_matrices()
    stacks = [jnp.stack(pair) for pair in zip(_matrices(0), _matrices(1), strict=True)]
    state = jax.vmap(moves.init)(stacks)
    found, _ = jax.vmap(lambda g, s: moves.update(g, s))(stacks, state)
    for seed in (0, 1):
        alone, _ = moves.update(_matrices(seed), moves.init(_matrices(seed)))
        for a, b in zip(*map(jax.tree.leaves, (found, alone)), strict=True):
            np.testing.assert_allclose(a[seed], b, atol=1e-4)
    still = [jnp.zeros(s) for s in SHAPES]
    steps, _ = moves.update(still, moves.init(still))
    assert all(not np.asarray(step).any() for step in jax.tree.leaves(steps))


def _reference(W: jax.Array, coefficients: Coefficients) -> np.ndarray:
    X = np.asarray(W, np.float64)
    X /= np.linalg.norm(X)
    for a, b, c in coefficients:
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X


def _apart(found: jax.Array, want: np.ndarray) -> float:
    return float(np.linalg.norm(found - want) / np.linalg.norm(want))


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("shape", [(2, 64, 128), (2, 192, 64), (1, 128, 128)])
def test_programs_of_a_hopper_gpu_take_any_norm_and_side(shape, size):
    X = size * jax.random.normal(jax.random.key(0), shape)
    found = iterate(X, FEW, interpret=True)
    assert found.dtype == jnp.float32
    for Y, W in zip(found, X, strict=True):
        # They are of float16, but of no less.
        assert 1e-4 < _apart(Y, _reference(W, FEW)) < 3e-3


def test_programs_serve_where_they_pay(monkeypatch):
    """Of a training that is short, making them takes longer than they save."""
    monkeypatch.setattr(fused, "hopper", lambda: True)
    made = []
    monkeypatch.setattr(muon, "_by_programs", lambda own, _: made.append(1) or own)
    square, few = jnp.eye(64), jnp.ones((2, 64))
    orthogonal([square])
    assert not made
    with fused.patience(True):
        orthogonal([square, few], few_products=False)  # a side of 2 is no whole tile
    assert len(made) == 1


@pytest.mark.parametrize("shape", [(1, 128, 64), (1, 64, 128)])
def test_one_turn_of_the_programs_is_nearer_than_bfloat16(shape):
    X = jax.random.normal(jax.random.key(0), shape)
    found = iterate(X, FEW[:1], interpret=True)
    # 1.7e-5; by bfloat16 1.7e-3, and 9e-5 where X X^T is of X's upper half alone.
    assert _apart(found[0], _reference(X[0], FEW[:1])) < 4e-5


@pytest.mark.parametrize(
    "form",
    [
        Form((64, 64), (64, 64), 64, 64),
        Form((32, 64), (64, 32), 128, 256),
        Form((64, 32), (32, 64), 256, 64),
    ],
)
@pytest.mark.parametrize("shape", [(2, 256, 128), (1, 128, 192)])
def test_the_cut_of_the_programs_is_not_in_their_result(form, shape):
    X = jax.random.normal(jax.random.key(0), shape)
    found = iterate(X, FEW, form=form, interpret=True)
    for Y, W in zip(found, X, strict=True):
        assert _apart(Y, _reference(W, FEW)) < 3e-3


@pytest.mark.parametrize("shape", [(1, 512, 256), (1, 1024, 512), (1, 576, 320)])
def test_what_programs_ask_for_ahead_fits_on_the_chip(shape):
    """The shared memory of a Hopper GPU's block is 227 KiB."""
    cut, inner = _Cut(FORM.square, FORM, False), max(shape)
    for cast, bits in ((False, 32), (True, 32), (False, 16)):
        chunk = cut.chunk(inner, cast=cast)
        assert inner % chunk == 0 and chunk >= 64
        stages = cut.compiled(inner, chunk, bits).num_stages or 0
        assert 2 <= stages <= inner // chunk + 1
        assert stages * sum(cut.tile) * chunk * bits // 8 < 227 << 10


@pytest.mark.parametrize(
    "shapes",
    [
        [(128, 128), (128, 64), (128, 3)],
        [(3, 128), (64, 128), (128, 128)],
        [(2, 128), (128, 128), (128, 3)],
    ],
)
def test_programs_take_a_group_of_one_length_whichever_way_it_lies(shapes):
    keys = jax.random.split(jax.random.key(0), len(shapes))
    own = [jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True)]
    found = _by_programs(own, FEW, interpret=True)
    for W, Y in zip(own, found, strict=True):
        assert Y.shape == W.shape
        # Of two or three singular values each begins near 0.6, where the polynomial is
        # a difference of terms ten times as large.
        assert _apart(Y, _reference(W, FEW)) < 2e-2


def test_programs_take_stacks_and_leave_zeros():
    own = jax.random.normal(jax.random.key(0), (3, 128, 64)).at[1].set(0)
    each = jax.vmap(lambda W: _by_programs([W], FEWER, interpret=True)[0])(own)
    group = _by_programs(list(own), FEWER, interpret=True)
    for k in (0, 2):
        assert _apart(each[k], _reference(own[k], FEWER)) < 3e-3
        np.testing.assert_allclose(each[k], group[k], atol=1e-6)
    assert not np.asarray(each[1]).any() and not np.asarray(group[1]).any()


@pytest.mark.parametrize("shape", [(1, 512, 256), (1, 256, 512), (3, 256, 256)])
@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.filterwarnings("ignore:The Pallas Triton backend:DeprecationWarning")
def test_programs_are_nine_for_a_gpu_and_what_joins_the_kernel_that_makes_x(
    shape, stacked
):
    def take(X):
        return iterate(X, FEW)

    like = jax.ShapeDtypeStruct((2, *shape) if stacked else shape, jnp.float32)
    with _a_gpu():
        traced = jax.jit(jax.vmap(take) if stacked else take).trace(like)
        text = traced.lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("@__gpu$xla.gpu.triton") == 9
    # No sum, no norm, no transpose: each would be a kernel of its own.
    others = set(re.findall(r"stablehlo\.(\w+)", text)) - {"custom_call"}
    assert others == {"reduce_precision", "convert", "subtract"}


def _a_gpu() -> contextlib.AbstractContextManager:
    """What the programs are lowered for, which JAX 0.11 asks for and 0.10 does not."""
    if jax.__version_info__ < (0, 11):
        return contextlib.nullcontext()
    from jax.sharding import AbstractDevice, AbstractMesh, AxisType, use_abstract_mesh

    gpu: Any = AbstractDevice(device_kind="NVIDIA H200", num_cores=132, platform="gpu")
    mesh: Any = AbstractMesh
    return use_abstract_mesh(mesh((1,), ("x",), (AxisType.Auto,), abstract_device=gpu))
