"""Each mapping against its definition in the paper and the protocol."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.stats

from passband.errors import InputError
from passband.mappings import (
    AnyKey,
    FourierFeatures,
    Gaussian,
    as_key,
    nyquist_warning,
)
from passband.words import parse_mapping

KEY = jax.random.key(0)


def _draw(word, d, key: AnyKey | int = KEY) -> FourierFeatures:
    encoding = parse_mapping(word).draw(key, d)
    assert isinstance(encoding, FourierFeatures)
    return encoding


def _B(word, d, key: AnyKey | int = KEY):
    return np.asarray(_draw(word, d, key).frequencies)


def test_positional_subtracts_one_and_includes_its_end_point():
    B = _B("positional:6", 2)
    assert B.shape == (256, 2)
    per_axis = B[:128, 0]
    np.testing.assert_array_equal(B[128:, 1], per_axis)
    np.testing.assert_allclose(per_axis[[0, 1, 2]], [0, 0.0333, 0.0677], atol=1e-4)
    np.testing.assert_allclose(per_axis[[-2, -1]], [60.94, 63], atol=5e-3)
    assert (per_axis < 1).sum() == 22
    np.testing.assert_array_equal(np.sort(B[:, 0]), np.sort(B[:, 1]))
    assert (B * B[:, ::-1] == 0).all()


def test_positional_has_85_frequencies_per_axis_in_3d():
    encoding = parse_mapping("positional:6").draw(KEY, 3)
    assert encoding.features == 510
    # x, y and z of a frequency stand together there.
    B = _B("positional:6", 3)
    np.testing.assert_array_equal(B[-3:], 63 * np.eye(3, dtype=np.float32))


def test_octaves_of_the_nerf_notebook():
    B = _B("octaves:9,units=rad", 3)
    assert B.shape == (27, 3)
    np.testing.assert_allclose(
        np.sort(B.max(axis=1))[::3] * 2 * np.pi, 2.0 ** np.arange(9), rtol=1e-6
    )


def test_rotation_is_z_then_x_and_keeps_lengths():
    plain, turned = _B("octaves:3", 3), _B("octaves:3,rotate=zx45", 3)
    h = np.sqrt(0.5)
    about_z = np.array([[h, -h, 0], [h, h, 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, h, -h], [0, h, h]])
    np.testing.assert_allclose(turned, plain @ about_z.T @ about_x.T, atol=1e-6)


def test_basic_is_one_turn_per_axis():
    encoding = parse_mapping("basic").draw(KEY, 2)
    v = jnp.asarray([0.1, 0.3])
    angle = 2 * np.pi * np.asarray(v)
    want = [*np.sin(angle), *np.cos(angle)]
    np.testing.assert_allclose(encoding(v), want, atol=1e-6)


@pytest.mark.parametrize(
    ("word", "law"),
    [
        ("gaussian:7,m=4000", scipy.stats.norm(scale=7)),
        ("uniform:7,m=4000", scipy.stats.uniform(scale=7)),
        ("loguniform:7,m=4000", scipy.stats.loguniform(1, 7)),
        ("laplace:7,m=4000", scipy.stats.laplace(scale=7)),
    ],
)
def test_random_families_follow_table_2(word, law):
    assert scipy.stats.kstest(_B(word, 1)[:, 0], law.cdf).pvalue > 0.01


@pytest.mark.parametrize("word", ["uniform:7", "loguniform:7", "laplace:7"])
def test_families_are_isotropic_in_2d(word):
    B = _B(f"{word},m=4000", 2)
    angle = np.arctan2(B[:, 1], B[:, 0])
    uniform = scipy.stats.uniform(-np.pi, 2 * np.pi)
    assert scipy.stats.kstest(angle, uniform.cdf).pvalue > 0.01
    law = {
        "u": scipy.stats.uniform(scale=7).cdf,
        "lo": scipy.stats.loguniform(1, 7).cdf,
    }
    length = np.linalg.norm(B, axis=1)
    cdf = law.get("u" if word[0] == "u" else word[:2], lambda x: 1 - np.exp(-x / 7))
    assert scipy.stats.kstest(length, cdf).pvalue > 0.01


def test_one_scale_per_axis():
    B = _B("gaussian:10/10/3,m=4000", 3)
    np.testing.assert_allclose(B.std(axis=0), [10, 10, 3], rtol=0.05)
    np.testing.assert_allclose(
        B[:, 2], 0.3 * _B("gaussian:10,m=4000", 3)[:, 2], rtol=1e-6
    )
    with pytest.raises(InputError, match="names 3 axes but the data have 2"):
        _B("gaussian:10/10/3", 2)


def test_one_base_matrix_serves_all_scales():
    np.testing.assert_allclose(
        _B("gaussian:20", 2), 2 * _B("gaussian:10", 2), rtol=1e-6
    )


def test_dense_amplitudes():
    def a(word):
        return np.asarray(_draw(word, 1).amplitudes)

    np.testing.assert_allclose(a("dense:p=1,m=4"), [1, 1 / 2, 1 / 3, 1 / 4], rtol=1e-6)
    np.testing.assert_array_equal(a("dense:p=inf,m=4"), [1, 0, 0, 0])
    np.testing.assert_allclose(np.linalg.norm(a("dense:p=0,m=9,norm=1")), 1, rtol=1e-6)


def test_the_matrices_of_2020():
    with jax.threefry_partitionable(False):
        two = _B("gaussian:1", 2, jax.random.PRNGKey(10))[0]
        three = _B("gaussian:1", 3, jax.random.PRNGKey(10))[0]
        nerf = _B("gaussian:1", 3, jax.random.PRNGKey(0))[0]
    np.testing.assert_allclose(two, [-0.54172, -1.04791], atol=5e-6)
    np.testing.assert_allclose(three, [-1.90164, 0.11863, -0.23801], atol=5e-6)
    np.testing.assert_allclose(nerf, [-2.07953, -1.89208, 1.58133], atol=5e-6)


def test_above_nyquist_draws_a_warning_with_both_numbers():
    message = nyquist_warning(parse_mapping("gaussian:200"), 128)
    assert message and "200" in message and "128" in message
    assert nyquist_warning(parse_mapping("gaussian:100"), 128) is None
    assert nyquist_warning(parse_mapping("positional:8"), 128)
    assert nyquist_warning(parse_mapping("positional:8,units=rad"), 128) is None


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gausian:10", "did you mean `gaussian`"),
        ("gaussian", "needs its scale"),
        ("gaussian:0", "must be positive; for no mapping use `none`"),
        ("gaussian:-3", "must be positive"),
        ("gaussian:inf", "must be positive"),
        ("gaussian:nan", "not nan"),
        ("gaussian:ten", "`scale` \\(=ten\\) must be a number"),
        ("gaussian:10,m=0", "`m` \\(=0\\) must be at least 1"),
        ("gaussian:10,m=2.5", "must be a whole number"),
        ("gaussian:10,mm=3", "has no option `mm`"),
        ("gaussian:10,units=deg", "must be `cycles` or `rad`"),
        ("gaussian:10,train=c", "must be `a`, `b` or `ab`"),
        ("octaves:2,rotate=q45", "such as `zx45`"),
        ("octaves:0", "whole number from 1 to"),
        ("positional:0", "must be positive"),
        ("dense:p=-1", "must be 0 or more"),
        ("basic:3", "option=value"),
        ("", "is unknown"),
    ],
)
def test_wrong_words_are_refused(word, message):
    with pytest.raises(InputError, match=message):
        parse_mapping(word)


def test_a_seed_is_a_key():
    want = _B("laplace:3,m=8", 2, jax.random.key(7))
    legacy = jax.random.PRNGKey(7)
    for key in (7, np.int64(7), jax.random.key(7), legacy, np.asarray(legacy)):
        np.testing.assert_array_equal(_B("laplace:3,m=8", 2, as_key(key)), want)
    np.testing.assert_array_equal(_B("laplace:3,m=8", 2, 7), want)
    for wrong in (None, 1.5, "7", True):
        with pytest.raises(InputError, match=r"`key` \(=.*must be a whole number"):
            as_key(wrong)
    with pytest.raises(InputError, match="`d` \\(=0\\) must be 1 or more"):
        _B("gaussian:3", 0)


def test_what_is_no_mapping_is_said():
    with pytest.raises(InputError, match=r"`mapping` \(=10\.0\) must be a word"):
        inspect.unwrap(parse_mapping)(10.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("train", ["", "a", "b", "ab"])
def test_training_another_librarys_model_moves_what_was_asked_for(train):
    drawn = Gaussian(3.0, m=16, train=train).draw(0, 2)
    model = (drawn, eqx.nn.Linear(32, 1, key=KEY))
    x = np.random.default_rng(0).random((64, 2))
    y = jnp.asarray(np.sin(9 * x[:, :1]))
    adam = optax.adam(1e-2)
    state = adam.init(eqx.filter(model, eqx.is_inexact_array))

    @eqx.filter_jit
    def step(model, state):
        def loss(model):
            encoding, layer = model
            return jnp.mean((jax.vmap(layer)(encoding(x)) - y) ** 2)

        slopes = eqx.filter_grad(loss)(model)
        updates, state = adam.update(slopes, state)
        return eqx.apply_updates(model, updates), state

    for _ in range(5):
        model, state = step(model, state)
    now = model[0]
    assert np.any(now.frequencies != drawn.frequencies) == ("b" in train)
    assert np.any(now.amplitudes != drawn.amplitudes) == ("a" in train)


def test_own_frequencies_are_checked():
    with pytest.raises(InputError, match="`frequencies` has shape \\(3,\\)"):
        FourierFeatures(np.ones(3), np.ones(3))
    with pytest.raises(InputError, match="`amplitudes` \\(4,\\); they must be"):
        FourierFeatures(np.ones((3, 2)), np.ones(4))
    with pytest.raises(InputError, match="`train` \\(=c\\) must be"):
        FourierFeatures(np.ones((3, 2)), np.ones(3), "c")


def test_what_is_no_coordinate_is_said():
    encoding = _draw("gaussian:3,m=8", 2)
    with pytest.raises(InputError, match="`v` is complex"):
        encoding(np.zeros(2, complex))
    with pytest.raises(InputError, match="`v` \\(str\\) must be an array of numbers"):
        encoding("ab")
    with pytest.raises(InputError, match="`v` \\(list\\) must be an array of numbers"):
        encoding([[0.1, 0.2], [0.3]])
    np.testing.assert_array_equal(encoding([1, 0]), encoding(np.array([1.0, 0.0])))


def test_what_a_mapping_cannot_do_is_said_when_it_is_drawn():
    with pytest.raises(InputError, match="1 dimension"):
        _B("dense:p=1", 2)
    with pytest.raises(InputError, match="needs 3 dimensions"):
        _B("octaves:2,rotate=x30", 2)
    with pytest.raises(InputError, match="at least 6 in 3"):
        _B("positional:3,m=5", 3)
