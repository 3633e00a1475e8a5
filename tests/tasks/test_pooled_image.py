"""Pictures of several sizes as one program: the task is the picture's own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.images import Image
from passband.field import make_field
from passband.tasks.image import image_task
from passband.tasks.pooled_image import PooledImageTask, pool_size, pooled

BATCH = 16


def picture(h: int, w: int, c: int = 3, seed: int = 0) -> Image:
    values = np.random.default_rng(seed).integers(0, 256, (h, w, c)).astype(np.uint8)
    return Image(values, 0.0, 255.0, "noise")


def of(image: Image) -> PooledImageTask:
    task = pooled(image.values, image.low, image.high, BATCH)
    return jax.tree.map(jnp.asarray, task)


FIELD = make_field("gaussian:2,m=8", d=2, out=3, width=8, key=jax.random.key(0))


def _loss(field, task, key):
    return task.loss(field, key)


@pytest.mark.parametrize("size", [(9, 13), (13, 9), (8, 8), (5, 31)])
def test_loss_and_metrics_are_those_of_the_picture(size):
    image = picture(*size)
    whole, task = image_task(image, batch=BATCH), of(image)
    for seed in range(3):
        key = jax.random.key(seed)
        expected = eqx.filter_value_and_grad(_loss)(FIELD, whole, key)
        found = eqx.filter_value_and_grad(_loss)(FIELD, task, key)
        for a, b in zip(*map(jax.tree.leaves, (found, expected)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert task.metrics(FIELD) == pytest.approx(whole.metrics(FIELD))
    assert task.step_points == whole.step_points == BATCH


def test_what_fills_a_pool_is_never_drawn():
    image = picture(9, 13)
    task = of(image)
    assert len(task.pool) == 128
    pool = task.pool.astype(jnp.float32).at[9 * 13 :].set(jnp.nan)
    task = eqx.tree_at(lambda t: t.pool, task, pool)
    keys = jax.random.split(jax.random.key(0), 200)
    assert np.isfinite(jax.vmap(lambda key: task.loss(FIELD, key))(keys)).all()


def test_pictures_of_several_sizes_stack():
    images = [picture(9, 13, seed=1), picture(11, 11, seed=2), picture(14, 9, seed=3)]
    tasks = [of(image) for image in images]
    assert len({jax.tree.structure(task) for task in tasks}) == 1
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *tasks)
    key = jax.random.key(0)
    found = jax.vmap(lambda task: task.loss(FIELD, key))(stack)
    expected = [image_task(i, batch=BATCH).loss(FIELD, key) for i in images]
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_pools_are_few_and_little_larger():
    counts = np.arange(1, 2**14)
    sizes = np.asarray([pool_size(int(n)) for n in counts])
    assert (sizes >= counts).all() and (sizes <= 1.25 * counts + 1).all()
    assert len({*sizes[2**12 - 1 : 2**13 - 1]}) <= 5
    assert all(pool_size(n * n) == n * n for n in (32, 64, 128, 256))
