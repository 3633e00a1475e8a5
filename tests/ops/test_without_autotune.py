"""Programs compiled in a hurry give what they would have given anyway."""

import jax
import jax.numpy as jnp
import numpy as np

from passband.field import make_field
from passband.ops.without_autotune import jit_without_autotune


def test_a_brief_program_is_the_function():
    field = make_field("gaussian:3,m=8", d=2, out=3, key=jax.random.key(0), width=16)
    v = jnp.linspace(0, 1, 20).reshape(10, 2)
    found = jit_without_autotune(lambda f, x: f.batch(x))(field, v)
    np.testing.assert_allclose(found, field.batch(v), rtol=1e-5)


def test_one_program_serves_equal_shapes():
    traced = []

    @jit_without_autotune
    def double(tree):
        traced.append(1)
        return 2 * tree["x"]

    assert double({"x": jnp.arange(3)}).tolist() == [0, 2, 4]
    assert double({"x": np.ones(3, np.int32)}).tolist() == [2, 2, 2]
    assert len(traced) == 1


def test_numbers_are_part_of_the_program():
    repeat = jit_without_autotune(lambda x, times: jnp.tile(x, times))
    assert repeat(jnp.arange(2), (2,)).tolist() == [0, 1, 0, 1]
    assert repeat(jnp.arange(2), (1,)).tolist() == [0, 1]
