"""An evaluation in parts is the whole one, with the memory of a part."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.ops.chunked import chunked_map, chunked_sum


def waves(params, index):
    moving, resting = params
    x = jnp.sin(index[:, None] * resting) @ moving["w"] + moving["b"]
    return jnp.tanh(x)


def arrays(seed: int = 0):
    rng = np.random.default_rng(seed)
    moving = {"w": rng.normal(size=(5, 2)), "b": rng.normal(size=2)}
    f32 = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), moving)
    return f32, jnp.asarray(rng.normal(size=5), jnp.float32)


def loss(moving, resting, at_once: int):
    out = chunked_map(waves, (moving, resting), 23, at_once)
    assert out.shape == (23, 2)
    return jnp.sum(jnp.cumsum(out, axis=0) ** 2), out  # every part needs all of them


@pytest.mark.parametrize("wanted", [0, (0, 1)], ids=["some", "all"])
@pytest.mark.parametrize("at_once", [1, 5, 12, 22])
def test_values_and_gradients_are_those_of_the_whole(at_once, wanted):
    pair = arrays()
    grad = jax.jit(jax.grad(loss, wanted, has_aux=True), static_argnums=2)
    whole, parts = grad(*pair, 23), grad(*pair, at_once)
    for x, y in zip(*map(jax.tree.leaves, (whole, parts)), strict=True):
        assert np.linalg.norm(x - y) < 1e-5 * np.linalg.norm(x)


def test_runs_stack():
    both = jax.tree.map(lambda *x: jnp.stack(x), arrays(0), arrays(1))
    grad = jax.grad(lambda moving, resting: loss(moving, resting, 8)[0])
    together = jax.vmap(grad)(*both)
    alone = grad(*arrays(1))
    for x, y in zip(*map(jax.tree.leaves, (together, alone)), strict=True):
        np.testing.assert_allclose(x[1], y, rtol=2e-5, atol=1e-5)


def test_memory_is_that_of_a_part():
    def wide(params, index):
        W, b = params
        x = jnp.sin(index[:, None] * b)
        for _ in range(4):
            x = jnp.tanh(x @ W)
        return x[:, :1]

    def needed(at_once: int) -> int:
        def total(W, b):
            return jnp.sum(jnp.cumsum(chunked_map(wide, (W, b), 8192, at_once), 0) ** 2)

        W, b = jnp.eye(64), jnp.ones(64)
        program = jax.jit(jax.grad(total)).lower(W, b).compile()
        analysis = program.memory_analysis()
        assert analysis is not None
        return analysis.temp_size_in_bytes

    assert needed(1024) < 0.2 * needed(8192)


def rows(params, x, y):
    moving, resting = params
    return jnp.sum(
        (jnp.tanh(x * resting @ moving["w"] + moving["b"]) - y) ** 2, axis=-1
    )


@pytest.mark.parametrize("wanted", [0, (0, 1)], ids=["some", "all"])
@pytest.mark.parametrize("at_once", [1, 5, 12, 22])
def test_a_sum_in_parts_and_its_gradients_are_those_of_the_whole(at_once, wanted):
    pair, rng = arrays(), np.random.default_rng(1)
    x = jnp.asarray(rng.normal(size=(23, 5)), jnp.float32)
    y = jnp.asarray(rng.normal(size=(23, 2)), jnp.float32)

    def total(moving, resting, at_once):
        return 3 * chunked_sum(rows, (moving, resting), (x, y), at_once)

    grad = jax.jit(jax.value_and_grad(total, wanted), static_argnums=2)
    whole, parts = grad(*pair, 23), grad(*pair, at_once)
    assert float(total(*pair, at_once)) == pytest.approx(float(whole[0]), rel=1e-6)
    for a, b in zip(*map(jax.tree.leaves, (whole, parts)), strict=True):
        assert np.linalg.norm(a - b) < 1e-5 * np.linalg.norm(a)
