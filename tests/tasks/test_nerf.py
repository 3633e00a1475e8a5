"""The task of view synthesis."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.data.frustum import Frustum
from passband.data.toy_scene import toy_cameras, toy_lens
from passband.errors import InputError
from passband.field import make_field
from passband.paper.nerf_study import SMOKE, scene_of
from passband.tasks.nerf import (
    MORE_RAYS,
    SKIP_AFTER,
    FieldRadiance,
    nerf_task,
    psnr_of_views,
)
from passband.train.driver import Config, start, train


@pytest.fixture(scope="module")
def scene():
    return scene_of(SMOKE)


@pytest.fixture(scope="module")
def task(scene):
    return nerf_task(scene, batch=48, samples=8, seed=3)


@pytest.fixture(scope="module")
def field():
    return make_field(
        "gaussian:1,m=8", d=3, out=4, key=jax.random.key(0), width=8, output="identity"
    )


def dead(field):
    """The field with no density anywhere."""
    bias = jnp.array([0.0, 0.0, 0.0, -1e3])
    return eqx.tree_at(lambda f: f.mlp.biases[-1], field, bias)


def test_colour_is_a_sigmoid_and_density_a_relu(field):
    points = jax.random.normal(jax.random.key(1), (20, 3))
    raw = field.predict(points)
    colour, density = FieldRadiance(field)(points)
    np.testing.assert_allclose(colour, 1 / (1 + np.exp(-raw[:, :3])), rtol=1e-5)
    np.testing.assert_allclose(density, np.maximum(raw[:, 3], 0), atol=1e-6)


def test_a_pass_takes_every_ray_once(task):
    n, h, w, _ = task.views.pixels.shape
    rays, pick = n * h * w, jax.jit(lambda step: task.pick(step))
    steps = rays // 48
    first = np.concatenate([pick(k) for k in range(steps)])
    assert len(np.unique(first)) == len(first) == rays
    second = np.concatenate([pick(k) for k in range(steps, 2 * steps)])
    assert len(np.unique(second)) == rays and (first != second).any()


def test_a_ray_has_the_colour_of_its_pixel(task):
    index = jnp.array([0, 5, 12 * 12 + 12 * 3 + 7, 12 * 12 * 5 + 30])
    o, d, colour = task.views.rays(index)
    pixels = np.asarray(task.views.pixels)
    np.testing.assert_allclose(colour[2], pixels[1, 3, 7] / 255)
    np.testing.assert_allclose(o[3], task.views.poses[5, :, 3])
    # The ray through the middle of the picture is the camera's axis.
    lens, size = np.asarray(task.views.lens[1]), task.views.size
    assert size == (12, 12) and lens[2] == lens[3] == 5.5
    toward = (np.array([7, 3]) - 5.5) / lens[0] * [1, -1]
    axes = np.asarray(task.views.poses[1, :, :3])
    np.testing.assert_allclose(axes.T @ np.asarray(d[2]), [*toward, -1], atol=1e-5)


def test_the_loss_is_the_mean_square_of_a_batch(task, field):
    """Where no density is, nothing is seen, and the loss is that of a black picture."""
    index = np.asarray(task.pick(2))
    wanted = (task.views.truth().reshape(-1, 3)[index] ** 2).mean()
    loss = eqx.filter_jit(task.loss)(dead(field), jax.random.key(0), 2)
    assert float(loss) == pytest.approx(wanted, rel=1e-5)
    [psnr] = task.psnr_of_loss(np.array([loss]))
    assert psnr == pytest.approx(-10 * np.log10(wanted), rel=1e-4)


def test_a_network_that_renders_one_colour_has_no_spread(task, field):
    assert task.probe(field).spread > 0.01
    assert task.probe(dead(field)) == (0, 1)
    # Red is saturated, green and blue are not.
    last = field.mlp.biases[-1].at[0].set(1e4)
    lost = eqx.tree_at(lambda f: f.mlp.biases[-1], field, last)
    white = eqx.tree_at(lambda f: f.mlp.biases[-1], lost, last.at[3].set(1e4))
    assert task.probe(white).spread < 1e-3


def test_a_network_that_stops_all_light_at_once_is_seen(task, field):
    assert task.probe(field).depth > 0.2
    dense = field.mlp.biases[-1].at[3].set(1e4)
    wall = eqx.tree_at(lambda f: f.mlp.biases[-1], field, dense)
    assert task.probe(wall).depth < 0.08


def test_white_shows_where_nothing_is(scene, field):
    white = nerf_task(dataclasses.replace(scene, background="white"), samples=8)
    seen = white.predict(dead(field))
    assert seen.shape == (2, 12, 12, 3)
    np.testing.assert_array_equal(seen, 1)
    found = white.metrics(field, seen)
    truth = white.shown.truth()
    assert found["psnr_test"] == pytest.approx(psnr_of_views(seen, truth).mean())


def test_a_task_needs_two_samples_a_ray(scene):
    with pytest.raises(InputError, match=r"`samples` \(=1\) must be at least 2"):
        nerf_task(scene, samples=1)
    assert nerf_task(scene, batch=10**6).batch == 6 * 12 * 12  # no more than there are


def test_toy_cameras_look_at_the_scene_from_above():
    poses = toy_cameras(9, seed=0)
    np.testing.assert_allclose(np.linalg.norm(poses[:, :, 3], axis=1), 4)
    np.testing.assert_allclose(poses[:, :, 2], poses[:, :, 3] / 4)
    assert (poses[:, 2, 3] > 0).all()
    assert toy_lens(400)[0] == pytest.approx(555.5555, abs=1e-4)  # protocol 9


def test_skipping_empty_space_takes_more_rays_of_as_many_points(scene, field):
    """Where all is empty, a ray is its last sample."""
    skips = nerf_task(scene, batch=48, samples=8, seed=3, skip=True)
    plain = nerf_task(scene, batch=MORE_RAYS * 48, samples=8, seed=3)
    assert skips.step_points == 48 * 8 and skips.rays == plain.batch
    np.testing.assert_array_equal(skips.pick(2), plain.pick(2))
    gone = dead(field)
    loss = eqx.filter_jit(lambda task: task.loss(gone, jax.random.key(0), 2))
    looked = skips.ready(gone, SKIP_AFTER)
    assert float(loss(looked)) == pytest.approx(float(loss(plain)), rel=1e-6)
    # Before the first look, and early, nothing is empty, and a quarter of the rays fit.
    index = np.asarray(skips.pick(2))[:48]
    wanted = (skips.views.truth().reshape(-1, 3)[index] ** 2).mean()
    for early in (skips, skips.ready(gone, SKIP_AFTER - 1)):
        assert float(loss(early)) == pytest.approx(wanted, rel=1e-5)


def test_a_resumed_run_that_skips_finds_the_same_bits(scene, field, monkeypatch):
    monkeypatch.setattr("passband.tasks.nerf.SKIP_AFTER", 4)
    task = nerf_task(scene, batch=24, samples=8, seed=3, skip=True)
    config, key = Config(steps=8, lr=1e-2, every=4, precision="float32"), jax.random.key
    [whole], _ = train([task], [field], config, keys=[key(1)])
    states = []
    train(
        [task], [field], config, keys=[key(1)],
        on_log=lambda state, _: states.append(state) or True,
    )  # fmt: skip
    [resumed], _ = train([task], [field], config, keys=[key(1)], state=states[0])
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(a, b)
    moved = start(field, config, key=key(1)).field.mlp.weights[0]
    assert (np.asarray(whole.mlp.weights[0]) != np.asarray(moved)).any()


def test_forward_facing_scenes_are_not_skipped(scene):
    frustum = Frustum(np.eye(3, 4), 1.2)
    task = nerf_task(scene, samples=8, skip=True)
    assert task.skip is not None and task.steps_a_look > 1
    ahead = dataclasses.replace(scene.space, frustum=frustum)
    bent = nerf_task(dataclasses.replace(scene, space=ahead), samples=8, skip=True)
    assert bent.skip is None and bent.steps_a_look == 1
