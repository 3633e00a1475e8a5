"""The cosine in turns, against NumPy in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.ops.turns import cos_turns


@pytest.mark.parametrize("reach", [0.5, 10.0, 1000.0, 1e5])
def test_cosine_is_right_to_float32_rounding_at_any_phase(reach):
    t = np.random.default_rng(0).uniform(-reach, reach, 20_000).astype(np.float32)
    want = np.cos(2 * np.pi * t.astype(np.float64))
    np.testing.assert_allclose(cos_turns(jnp.asarray(t)), want, atol=2.5e-7)


def test_it_is_more_accurate_than_the_library_cosine_far_from_zero():
    t = np.random.default_rng(1).uniform(400, 500, 20_000).astype(np.float32)
    want = np.cos(2 * np.pi * t.astype(np.float64))
    ours = np.abs(cos_turns(jnp.asarray(t)) - want).max()
    library = np.abs(jnp.cos(2 * jnp.pi * jnp.asarray(t)) - want).max()
    assert ours < library / 100


def test_exact_at_quarter_turns():
    t = jnp.asarray([0.0, 0.25, 0.5, 0.75, 1.0, -0.25, 1e4])
    np.testing.assert_allclose(cos_turns(t), [1, 0, -1, 0, 1, 0, 1], atol=6e-8)


def test_first_and_second_derivatives():
    t = jnp.float32(0.137)
    angle = 2 * np.pi * 0.137
    first, second = jax.grad(cos_turns)(t), jax.grad(jax.grad(cos_turns))(t)
    np.testing.assert_allclose(first, -2 * np.pi * np.sin(angle), rtol=1e-5)
    np.testing.assert_allclose(second, -((2 * np.pi) ** 2) * np.cos(angle), rtol=1e-5)


def test_float64_stays_float64():
    with jax.enable_x64(True):
        t = jnp.linspace(-3, 3, 101)
        value = cos_turns(t)
        assert value.dtype == jnp.float64
        np.testing.assert_allclose(value, np.cos(2 * np.pi * np.asarray(t)), atol=1e-14)
