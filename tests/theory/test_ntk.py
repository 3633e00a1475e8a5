"""The closed-form kernel against protocol 2.3, 4 and 12, integrals and networks."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from passband.errors import InputError
from passband.mappings import Dense, FourierFeatures, NoMapping
from passband.theory import composed_ntk, eigenvalues, kernel_row, relu_nngp, relu_ntk

KEY = jax.random.key(0)
INF = math.inf
# Half a unit of the last printed digit; the protocol rounded some values twice
# (13.94246 to 13.9425 to 13.943), which adds a twentieth.
DIGIT = 0.55

# p: K(0), K(1/32), K(1/2), then bins 0, 1, 2, 5, 10, 15, 16 (protocol 2.3).
FIG2 = {
    0: (14, 5.519, 5.699, 187.78, 8.301, 8.301, 8.301, 8.301, 8.301, 11.187),
    0.5: (14, 7.787, 5.178, 190.25, 20.480, 13.943, 8.549, 6.106, 5.373, 6.047),
    1: (14, 10.768, 4.565, 201.60, 41.185, 21.114, 6.701, 2.907, 2.142, 2.193),
    1.5: (14, 12.287, 4.276, 213.07, 54.950, 24.396, 4.364, 1.283, 0.855, 0.850),
    2: (14, 12.762, 4.174, 219.25, 60.951, 24.866, 3.134, 0.824, 0.550, 0.545),
    INF: (14, 12.987, 4.120, 224.60, 65.223, 24.157, 2.321, 0.652, 0.442, 0.439),
}


@pytest.mark.parametrize("p", FIG2)
def test_fig2_kernels_and_spectra(p):
    encoding = Dense(p, m=16, norm=True).draw(KEY, 1)
    row = kernel_row(encoding, 32, layers=4, width=1024)
    spectrum = np.abs(np.fft.fft(row))
    ours = [row[0], row[1], row[16], *spectrum[[0, 1, 2, 5, 10, 15, 16]]]
    places = np.array([3, 3, 3, 2, 3, 3, 3, 3, 3, 3])
    assert np.all(np.abs(np.array(ours) - FIG2[p]) < DIGIT * 10.0**-places)


@pytest.mark.parametrize(
    ("p", "bins"),
    [
        (0, (323.9, 2.48, 2.48, 2.48, 3.34)),
        (1, (342.5, 45.0, 3.40, 0.532, 0.310)),
        (INF, (371.9, 76.1, 1.05, 0.0745, 0.0371)),
    ],
)
def test_fig5_spectra(p, bins):
    encoding = Dense(p, m=64, norm=True).draw(KEY, 1)
    row = kernel_row(encoding, 128, layers=4, width=1024)
    assert row[0] == pytest.approx(5, abs=1e-6)
    ours = np.abs(np.fft.fft(row))[[0, 1, 8, 32, 64]]
    places = np.array(
        [1 if x > 10 else 2 if x > 1 else 3 if x > 0.1 else 4 for x in bins]
    )
    assert np.all(np.abs(ours - bins) < DIGIT * 10.0**-places)


@pytest.mark.parametrize(
    ("frequencies", "depth", "bins"),
    [
        ((1.0,), 4, (21.22, 7.65, 0.117, 0.0084, 0.0067)),
        ((1.0,), 8, (16.41, 4.11, 0.165, 0.0132, 0.0100)),
        ((1.0,), 16, (14.44, 2.65, 0.255, 0.0244, 0.0186)),
        ((1.0, 0, 0, 0, 0, 43), 4, (16.66, 1.95, 0.0110, 2.01, 0.0049)),
        ((1.0, 0, 0, 0, 0, 43), 8, (15.13, 1.66, 0.0223, 1.74, 0.0101)),
        ((1.0, 0, 0, 0, 0, 43), 16, (13.95, 1.37, 0.0457, 1.46, 0.0213)),
    ],
)
def test_fig7_kernel_spreading(frequencies, depth, bins):
    b = jnp.asarray(frequencies)[:, None]
    row = kernel_row(
        FourierFeatures(b, jnp.ones(len(b))),
        128,
        layers=depth + 1,
        parameterization="ntk",
        fan_in=12,
    )
    # The notebook divides by the value half a period away.
    spectrum = np.abs(np.fft.fft(row / row[64], norm="ortho"))
    ours = spectrum[[0, 1, 10, 43, 64]]
    places = np.array([2 if x > 1 else 3 if x > 0.1 else 4 for x in bins])
    assert np.all(np.abs(ours - bins) < DIGIT * 10.0**-places)


def test_plain_network_eigenvalues():
    plain = NoMapping(shift=-0.5).draw(KEY, 1)
    k = composed_ntk(plain, np.arange(32) / 32, layers=4, width=1024)
    ours = eigenvalues(k)
    assert ours[0] == pytest.approx(678, abs=0.5)
    assert ours[1] == pytest.approx(394, abs=0.5)
    assert ours[2] == pytest.approx(11.9, abs=0.05)
    assert ours[3] == pytest.approx(1.72, abs=0.005)
    assert ours[4] == pytest.approx(0.19, abs=0.005)
    assert ours[5] < 1e-9


def test_fig2_panel_scales():
    corner = relu_ntk(
        jnp.float32(np.pi**2),
        jnp.float32(np.pi**2),
        jnp.float32(np.pi**2),
        layers=4,
        width=1024,
        fan_in=1,
    )
    one = jnp.ones(())
    wrapped = relu_ntk(one, one, one, layers=4, width=1024, fan_in=2)
    assert float(corner) == pytest.approx(3793, abs=0.5)
    assert float(wrapped) == 194


@pytest.mark.parametrize("c", [-0.7, 0.2, 0.95])
def test_one_hidden_layer_is_a_gaussian_integral(c):
    # E[relu(u) relu(v)] and P(u > 0, v > 0) for unit Gaussians of correlation c.
    s = math.sqrt(1 - c * c)
    normal = scipy.stats.norm

    def mean_positive(u):  # E[relu(v) | u]
        return c * u * normal.cdf(c * u / s) + s * normal.pdf(c * u / s)

    k = scipy.integrate.quad(lambda u: u * mean_positive(u) * normal.pdf(u), 0, 12)[0]
    slope = scipy.integrate.quad(
        lambda u: normal.cdf(c * u / s) * normal.pdf(u), 0, 12
    )[0]
    with jax.enable_x64(True):
        one = jnp.ones(())
        nngp = relu_nngp(c * one, one, one, layers=2, fan_in=1)
        ntk = relu_ntk(c * one, one, one, layers=2, width=50, fan_in=1)
        assert float(nngp) == pytest.approx(k, abs=1e-9)
        assert float(ntk) == pytest.approx(50 * k + 1 + (c + 1) * slope, abs=1e-7)


def test_initial_output_sd_is_a_sixteenth():
    one = jnp.ones(())
    variance = relu_nngp(one, one, one, layers=4, fan_in=32)
    assert float(variance) == pytest.approx(1 / 256)  # protocol 2.4


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("pair", ["coincide", "opposite", "zero", "both zero"])
def test_gradients_are_finite_where_the_angle_has_no_slope(pair, x64):
    u = np.array([0.3, -0.8])
    v = {"coincide": u, "opposite": -u, "zero": 0 * u, "both zero": 0 * u}[pair]
    u = 0 * u if pair == "both zero" else u
    with jax.enable_x64(x64):

        def k(u, v):
            return relu_ntk(u @ v, u @ u, v @ v, layers=4, width=64, fan_in=2)

        both = jax.jit(jax.value_and_grad(k, argnums=(0, 1)))
        value, slopes = both(jnp.asarray(u), jnp.asarray(v))
        assert value.dtype == (jnp.float64 if x64 else jnp.float32)
        assert np.isfinite(value)
        assert all(np.isfinite(s).all() for s in slopes)


def test_gradient_equals_finite_difference():
    u, v = np.array([0.3, -0.8]), np.array([0.5, 0.1])

    @jax.jit
    def k(u):
        return relu_ntk(u @ v, u @ u, v @ v, layers=3, width=64, fan_in=2, b_std=0.3)

    with jax.enable_x64(True):
        slope = np.asarray(jax.grad(k)(jnp.asarray(u)))
        steps = 1e-6 * np.eye(2)
        central = [(float(k(u + e)) - float(k(u - e))) / 2e-6 for e in steps]
    np.testing.assert_allclose(slope, central, rtol=1e-6)


def test_gradient_on_the_diagonal_is_that_of_the_norm():
    with jax.enable_x64(True):

        @jax.jit
        def diagonal(x):
            return relu_ntk(x, x, x, layers=4, width=64, fan_in=2)

        # Every term of the diagonal is linear in x.x: 1 + x, halved and added up.
        x = jnp.asarray(0.7)
        line = diagonal(jnp.asarray(1.7)) - diagonal(x)
        assert float(jax.grad(diagonal)(x)) == pytest.approx(float(line), rel=1e-12)


def test_jit_and_vmap_change_nothing():
    h = jnp.cos(jnp.linspace(0, 3, 7))

    def k(h):
        return relu_ntk(h, 1.0, 1.0, layers=3, width=64, fan_in=2)

    plain = k(h)
    np.testing.assert_allclose(jax.jit(k)(h), plain, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(k)(h), plain, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, r"`layers` \(=0\)"),
        ({"fan_in": 0}, r"`fan_in` \(=0\)"),
        ({"width": None}, r"`width` \(=None\)"),
        ({"width": 0}, r"`width` \(=0\)"),
        ({"parameterization": "mup"}, r"`parameterization` \(=mup\)"),
    ],
)
def test_what_is_no_network_is_refused(change, message):
    one = jnp.ones(())
    network: Any = {"layers": 4, "width": 64, "fan_in": 2} | change
    with pytest.raises(InputError, match=message):
        relu_ntk(one, one, one, **network)
