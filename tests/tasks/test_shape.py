"""The shape task: its loss, its order through the pool, its IoU, its stacks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, xlogy

from passband.data.meshes import normalise
from passband.data.primitives import sphere, torus
from passband.errors import InputError
from passband.field import make_field
from passband.labels.near import NearPool, make_near
from passband.labels.pool import make_labels
from passband.tasks.shape import cross_entropy, near_points, shape_task
from passband.train.driver import Config, train
from passband.train.stack import stack

KEY = jax.random.key(0)
MESH = normalise(torus(ring=32, tube=16).mesh)[0]
LABELS = [
    make_labels(normalise(shape.mesh)[0], blocks=4, block=512, test_points=2048)
    for shape in (torus(ring=32, tube=16), sphere(2))
]


def _field(seed=0):
    key = jax.random.key(seed)
    return make_field("gaussian:1,m=16,norm=1", d=3, out=1, key=key, layers=3, width=32)


def test_cross_entropy_is_that_of_the_probabilities():
    z = np.random.default_rng(0).normal(size=64) * 4
    y = np.arange(64) % 3 == 0
    p = expit(z)
    expected = -np.mean(xlogy(y, p) + xlogy(~y, 1 - p))
    found = cross_entropy(jnp.float32(z), jnp.float32(y))
    assert found == pytest.approx(expected, rel=1e-5)


def test_cross_entropy_is_finite_for_large_logits():
    z, y = jnp.float32([3e4, -3e4, 3e4]), jnp.float32([1, 0, 0])
    value, slope = jax.value_and_grad(cross_entropy)(z, y)
    assert value == pytest.approx(1e4)
    np.testing.assert_allclose(slope, [0, 0, 1 / 3], atol=1e-6)


@pytest.mark.parametrize("batch", [None, 512, 128, 296, 1024, 680])
def test_each_pass_shows_every_point_of_the_pool_once(batch):
    # But for fewer than a step's at its end, where steps do not divide it.
    labels = LABELS[0]
    task = shape_task(labels, steps=32, seed=3, batch=batch)
    per_pass = 2048 // task.step_points
    seen = [labels.pool.batch(int(k), task.batch) for k in task.order[:per_pass]]
    points = np.concatenate([p for p, _ in seen])
    inside = np.concatenate([y for _, y in seen])
    whole = [labels.pool.batch(block) for block in range(4)]
    drawn = per_pass * task.step_points
    expected = np.concatenate([p for p, _ in whole])[:drawn]
    assert len(np.unique(points, axis=0)) == drawn
    order, other = np.lexsort(points.T), np.lexsort(expected.T)
    np.testing.assert_array_equal(points[order], expected[other])
    truth = np.concatenate([y for _, y in whole])[:drawn]
    np.testing.assert_array_equal(inside[order], truth[other])


def test_the_points_that_a_share_near_the_surface_leaves_are_all_drawn():
    # 304 of 512 uniform points: of blocks alone four parts of six, 59 % of the points.
    task = shape_task(LABELS[0], steps=6, seed=0, near=_near(0), near_surface=0.4)
    assert (task.batch, task.near_batch) == (304, 208)
    assert sorted(int(k) for k in task.order) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("batch", "share", "expected"),
    [(512, 0.4, 208), (64, 0.25, 16), (8, 0, 0), (16, 0.9, 8), (16, 0.01, 8),
     (32, 0.9, 24), (32_768, 0.4, 13_104)],
)  # fmt: skip
def test_a_share_is_in_eights_and_leaves_none_without(batch, share, expected):
    assert near_points(batch, share) == expected


def test_a_share_that_a_step_has_no_room_for_is_refused():
    with pytest.raises(InputError, match=r"`near_surface` .=0.5. .*`batch` .=8. .* 16"):
        shape_task(LABELS[0], steps=1, seed=0, batch=8, near=_near(0), near_surface=0.5)
    for near in (None, make_near(MESH, seed=0, blocks=1, block=64)):
        with pytest.raises(InputError, match="`near` has fewer than 208 points"):
            shape_task(LABELS[0], steps=1, seed=0, near=near, near_surface=0.4)


def test_the_step_decides_the_points_and_the_order_repeats():
    task = shape_task(LABELS[0], steps=4, seed=0)
    field = _field()
    loss = eqx.filter_jit(task.loss)
    losses = [float(loss(field, KEY, jnp.int32(step))) for step in range(6)]
    assert len(set(losses)) == 4
    assert losses[4:] == losses[:2]
    points, inside = task.pool.batch(task.order[1])
    p = np.float64(field.predict(points)[:, 0])
    expected = -np.mean(np.log(np.where(inside, p, 1 - p)))
    assert losses[1] == pytest.approx(expected, rel=1e-5)


def _near(which: int) -> NearPool:
    mesh = normalise((torus(ring=32, tube=16), sphere(2))[which].mesh)[0]
    return make_near(mesh, seed=0, blocks=2, block=512)


def test_points_near_the_surface_count_as_the_others_do():
    near, field = _near(0), _field()
    task = shape_task(LABELS[0], steps=4, seed=0, near=near, near_surface=0.375)
    plain = shape_task(LABELS[0], steps=4, seed=0, batch=320)
    assert task.step_points == 512
    for step in (0, 3, 5):
        points, inside = near.batch(step, 192)
        p = np.float64(field.predict(points)[:, 0])
        close = -np.mean(np.log(np.where(inside, p, 1 - p)))
        uniform = float(plain.loss(field, KEY, jnp.int32(step)))
        found = float(eqx.filter_jit(task.loss)(field, KEY, jnp.int32(step)))
        assert found == pytest.approx((320 * uniform + 192 * close) / 512, rel=1e-5)


def test_points_near_the_surface_teach_more_of_it():
    mesh, _ = normalise(sphere(3).mesh)
    labels = make_labels(mesh, blocks=64, block=512, test_points=8192)
    near = make_near(mesh, seed=0, blocks=64, block=512)
    config = Config(steps=200, lr=5e-3)
    tasks = [
        shape_task(labels, steps=200, seed=0),
        shape_task(labels, steps=200, seed=0, near=near, near_surface=0.4),
    ]
    scores = []
    for task in tasks:
        [field], _ = train([task], [_field()], config, keys=[KEY])
        scores.append(task.metrics(field)["iou_boundary"])
    assert scores[1] > scores[0] + 0.01


def test_training_learns_the_shape():
    mesh, _ = normalise(sphere(3).mesh)
    labels = make_labels(mesh, blocks=64, block=512, test_points=8192)
    task = shape_task(labels, steps=200, seed=0)
    before = task.metrics(_field())
    config = Config(steps=200, lr=5e-3)
    [field], [history] = train([task], [_field()], config, keys=[KEY])
    after = task.metrics(field)
    assert history["loss"][-1] < 0.1
    assert after["iou_uniform"] > 0.95 > before["iou_uniform"]
    # Points a hundredth from the surface are harder than points anywhere.
    assert before["iou_boundary"] < after["iou_boundary"] < after["iou_uniform"]


def test_iou_is_of_the_thresholded_field():
    task = shape_task(LABELS[0], steps=1, seed=0)
    prediction = np.full((4096, 1), 0.25)
    prediction[:2048, 0] = task.held_out.uniform.labels
    prediction[2048:] = 0.75
    share = task.held_out.boundary.labels.mean()
    found = task.metrics(_field(), prediction)
    assert found == {"iou_uniform": 1.0, "iou_boundary": pytest.approx(share)}


def test_shapes_stack_without_their_test_points():
    tasks = [shape_task(labels, steps=8, seed=0) for labels in LABELS]
    stacked, _ = stack(tasks)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(stacked))
    bits, order, box_and_seed = 4 * 512 // 8, 8 * 4, 3 * 4 + 3 * 4 + 2 * 4
    assert size == 2 * (bits + order + box_and_seed)
    close = [
        shape_task(labels, steps=8, seed=0, near=_near(k), near_surface=0.4)
        for k, labels in enumerate(LABELS)
    ]  # 304 and 208 points: parts that run over the ends of blocks
    both, axes = stack(close)
    assert both.near is not None and both.near.surface.shape[0] == 2
    assert axes.near.bits == 0 and axes.near.surface == 0
    fields = [_field(1), _field(2)]
    for some in (tasks, close):
        together, _ = train(some, fields, Config(steps=8, lr=1e-3), keys=[KEY, KEY])
        [alone], _ = train(some[1:], fields[1:], Config(steps=8, lr=1e-3), keys=[KEY])
        np.testing.assert_allclose(
            some[1].predict(together[1]), some[1].predict(alone), rtol=0, atol=1e-5
        )


def test_four_mappings_of_one_mesh_hold_the_pool_once():
    task = shape_task(LABELS[0], steps=8, seed=0)
    _, axes = stack([task] * 4)
    assert jax.tree.leaves(axes) == []


@pytest.mark.parametrize("batch", [0, 12, 2056])
@pytest.mark.parametrize("share", [0, 0.5])
def test_batches_that_the_labels_do_not_have_are_refused_as_given(batch, share):
    told = rf"`batch` .={batch}. must be a multiple of 8 and at most 2048"
    with pytest.raises(InputError, match=told):
        shape_task(
            LABELS[0], steps=1, seed=0, batch=batch, near=_near(0), near_surface=share
        )
