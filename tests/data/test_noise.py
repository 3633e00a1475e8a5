import jax
import numpy as np
import pytest

from passband.data.noise import power_law_signals, power_law_weights
from passband.errors import InputError


def test_figure_3_signal_has_the_values_of_2020():
    with jax.threefry_partitionable(False):
        key = jax.random.PRNGKey(0)
        s = power_law_signals(key[None], n=32, c=8, alpha=1.0, bandlimited=True)
    published = [0.4784, -0.0299, -0.0750, 0.2463, 0.2975, -0.0479, 0.0697, -0.2844]
    np.testing.assert_allclose(s.y_train[0, :8], published, atol=5.1e-5)


def test_weights_are_one_over_one_plus_frequency():
    w = power_law_weights(8, 1.5)
    np.testing.assert_allclose(w, np.array([1, 2, 3, 4, 5, 4, 3, 2]) ** -1.5)
    w = power_law_weights(8, 1.0, bandlimited=True)
    np.testing.assert_allclose(w, [1, 1 / 2, 0, 0, 0, 0, 0, 0])


def test_signals_are_scaled_jointly():
    keys = jax.random.split(jax.random.key(3), 5)
    s = power_law_signals(keys, n=64, c=2, alpha=1.0)
    assert s.y.shape == (5, 128)
    assert (s.y.min(), s.y.max()) == (-0.5, 0.5)
    assert (np.ptp(s.y, axis=1) == 1).sum() <= 1  # one signal may hold both ends


def test_a_stack_of_keys_is_the_signals_one_by_one():
    keys = jax.random.split(jax.random.key(3), 3)
    together = power_law_signals(keys, n=16, c=2, alpha=0.5).y
    for i in range(3):
        alone = power_law_signals(keys[i][None], n=16, c=2, alpha=0.5).y[0]
        fit = np.polynomial.Polynomial.fit(alone, together[i], 1)
        np.testing.assert_allclose(fit(alone), together[i], atol=1e-6)


def test_spectrum_falls_as_the_exponent_says():
    keys = jax.random.split(jax.random.key(0), 400)
    y = power_law_signals(keys, n=256, c=2, alpha=1.5).y
    power = np.mean(np.abs(np.fft.fft(y, axis=1)) ** 2, axis=0)[1:256]
    f = np.arange(1, 256)
    slope = np.polyfit(np.log(1 + f), np.log(power), 1)[0]
    assert abs(slope + 3.0) < 0.05  # power is amplitude squared: -2 alpha


def test_train_and_test_points_share_the_dense_grid():
    s = power_law_signals(jax.random.key(1)[None], n=4, c=2, alpha=1.0)
    np.testing.assert_array_equal(s.x, np.arange(8, dtype=np.float32) / 8)
    np.testing.assert_array_equal(s.x_train, s.x[0::2])
    np.testing.assert_array_equal(s.x_test, s.x[1::2])
    np.testing.assert_array_equal(s.y_train, s.y[:, 0::2])
    np.testing.assert_array_equal(s.y_test, s.y[:, 1::2])


@pytest.mark.parametrize(("n", "c"), [(0, 2), (4, 0), (1, 1)])
def test_sizes_that_make_no_signal_are_refused(n, c):
    with pytest.raises(InputError, match="`n`"):
        power_law_signals(jax.random.key(0)[None], n=n, c=c, alpha=1.0)
