"""Muon: optax's by the original coefficients, and fewer iterations that do as well."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import linprog

from passband.ops.newton_schulz import iterate
from passband.train.muon import (
    FEW,
    FEWER,
    JORDAN,
    MORE,
    _iterate,
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


def test_programs_of_a_hopper_gpu_are_the_plain_iteration_to_the_bits_of_float16():
    X = jax.random.normal(jax.random.key(0), (2, 64, 128))
    X /= jnp.linalg.norm(X, axis=(1, 2), keepdims=True)
    found, want = iterate(X, FEW, interpret=True), _iterate(X, FEW)
    np.testing.assert_allclose(found, want, atol=2**-9)
    assert not np.allclose(found, want, atol=2**-16)  # they are of float16
