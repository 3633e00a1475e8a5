"""The empirical kernel: the Jacobian's Gram matrix, and what it tends to."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from passband.errors import InputError
from passband.field import Initialiser, glorot, make_field, ntk, standard
from passband.mappings import Gaussian
from passband.theory import composed_ntk, empirical_ntk, linear_dynamics

U = np.random.default_rng(0).random((6, 2))


@pytest.mark.parametrize(
    ("init", "out", "word", "output"),
    [
        (standard, 1, "gaussian:3,m=8", "identity"),
        (glorot, 3, "none", "tanh"),
        (ntk, 2, "gaussian:3,m=8,train=ab", "sigmoid"),
    ],
)
def test_kernel_is_the_gram_matrix_of_the_jacobian(init, out, word, output):
    field = make_field(
        word, d=2, out=out, key=jax.random.key(1), layers=3, width=12, output=output,
        init=init,
    )  # fmt: skip
    ours = empirical_ntk(field, U[:4], U)
    moving, still = eqx.partition(field, field.trainable())
    batch = jax.jit(jax.jacrev(lambda p: eqx.combine(p, still).batch(jnp.asarray(U))))
    jacobian = batch(moving)
    flat = [j.reshape(len(U), out, -1) for j in jax.tree.leaves(jacobian)]
    j = np.concatenate(flat, axis=-1)
    expected = np.einsum("icp,jdp->ijcd", j[:4], j)
    if out == 1:
        expected = expected[..., 0, 0]
    np.testing.assert_allclose(ours, expected, atol=2e-6 * np.abs(expected).max())
    np.testing.assert_allclose(empirical_ntk(field, U)[:4], ours, rtol=1e-12)


def kernels(init: Initialiser, width: int, networks: int) -> np.ndarray:
    """Empirical kernels of several networks behind one encoding."""
    fields = [
        make_field(
            "gaussian:2,m=8", d=2, out=1, key=jax.random.key(seed), layers=3,
            width=width, output="identity", init=init, encoding_key=jax.random.key(0),
        )
        for seed in range(networks)
    ]  # fmt: skip
    return np.stack([empirical_ntk(field, U) for field in fields])


def closed(width: int, **network) -> np.ndarray:
    encoding = Gaussian(2.0, m=8).draw(jax.random.key(0), 2)
    return composed_ntk(encoding, U, layers=3, width=width, **network)


def distance(k: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(k - expected) / np.linalg.norm(expected))


def test_distance_from_the_closed_form_falls_as_the_root_of_the_width():
    widths = [32, 128, 512]
    off = [
        np.mean([distance(k, closed(w)) for k in kernels(standard, w, 16)])
        for w in widths
    ]
    slope = np.polyfit(np.log(widths), np.log(off), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.12)


@pytest.mark.parametrize("parameterization", ["standard", "ntk"])
def test_networks_have_the_closed_form_on_average_with_gains_and_biases(
    parameterization,
):
    draw = {"standard": standard, "ntk": ntk}[parameterization]

    def init(key, sizes):
        return draw(key, sizes, w_std=1.4, b_std=0.5)

    mean = kernels(init, 512, 24).mean(axis=0)
    network = {"parameterization": parameterization}
    assert distance(mean, closed(512, w_std=1.4, b_std=0.5, **network)) < 0.05
    # Without the gains the closed form is another kernel altogether.
    assert distance(mean, closed(512, **network)) > 0.3


def test_trained_networks_follow_the_linear_dynamics_as_they_widen():
    x = np.arange(12)[:, None] / 12
    y = np.sin(2 * np.pi * x[:, 0]) + 0.5 * np.cos(6 * np.pi * x[:, 0])
    steps = 200

    def deviation(width):
        field = make_field(
            "dense:p=1,m=8,norm=1", d=1, out=1, key=jax.random.key(0), layers=3,
            width=width, output="identity", init=standard,
        )  # fmt: skip
        t = 60.0 / width  # the standard kernel grows with the width
        moving, still = eqx.partition(field, field.trainable())
        points, target = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)

        def loss(p):
            output = eqx.combine(p, still).batch(points)[:, 0]
            return 0.5 * jnp.sum((output - target) ** 2)

        def step(p, _):
            slope = jax.grad(loss)(p)
            return jax.tree.map(lambda a, g: a - t / steps * g, p, slope), None

        trained, _ = jax.jit(lambda p: jax.lax.scan(step, p, length=steps))(moving)
        start = field.predict(x)[:, 0].astype(float)
        end = eqx.combine(trained, still).predict(x)[:, 0]
        dynamics = linear_dynamics(empirical_ntk(field, x), y)
        off = dynamics.train(t, f0_train=start) - end
        return np.linalg.norm(off) / np.linalg.norm(end - start)

    narrow, wide = deviation(32), deviation(512)
    assert wide < 0.04
    assert wide < narrow / 3


def test_bad_points_are_refused():
    field = make_field("basic", d=2, out=1, key=jax.random.key(0), width=4)
    with pytest.raises(InputError, match=r"`u` has shape \(3, 1\)"):
        empirical_ntk(field, np.zeros((3, 1)))
    with pytest.raises(InputError, match="`v` is empty"):
        empirical_ntk(field, U, U[:0])
