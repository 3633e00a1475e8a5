"""An order without replacement."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.tasks.shuffle import shuffled as shuffle
from passband.tasks.shuffle import sides

shuffled = jax.jit(shuffle, static_argnums=2)


@pytest.mark.parametrize("count", [1, 97, 4 * 30 * 30, 3 * 41 * 37])
def test_every_thing_comes_once(count: int):
    place = jnp.arange(count, dtype=jnp.uint32)
    for seed in (0, 1, 2**32 - 1):
        order = np.asarray(shuffled(place, jnp.uint32(seed), count))
        np.testing.assert_array_equal(np.sort(order), np.arange(count))


def test_batches_are_as_even_as_chance_makes_them():
    """Of 100 pictures of 20 x 20, how many rays of a batch fall on each."""
    count, batch = 100 * 400, 1000
    place = jnp.arange(count, dtype=jnp.uint32)
    order = np.asarray(shuffled(place, jnp.uint32(7), count)).reshape(-1, batch)
    hits = np.array([np.bincount(part // 400, minlength=100) for part in order])
    # Draws without replacement: variance 10 (1 - 1/100) (1 - 1/40) a picture.
    assert hits.var() == pytest.approx(10 * 0.99 * 0.975, rel=0.1)
    columns = np.bincount(order[0] % 20, minlength=20)
    assert columns.min() > 25 and columns.max() < 80


def test_seeds_and_neighbours_are_unlike():
    place = jnp.arange(10_000, dtype=jnp.uint32)
    one, two = (np.asarray(shuffled(place, jnp.uint32(s), 10_000)) for s in (3, 4))
    assert (one == two).mean() < 0.001
    assert abs(np.corrcoef(one[:-1], one[1:])[0, 1]) < 0.03


def test_sides_are_the_nearest_factors():
    assert sides(16_000_000) == (4000, 4000)
    assert sides(97) == (1, 97)
    assert sides(100 * 400 * 401) == (4000, 4010)
