"""Linear dynamics against ODE solvers, closed forms and protocol 2.4."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.sparse
import scipy.sparse.linalg

from passband.data.noise import power_law_signals
from passband.errors import InputError
from passband.mappings import Dense, NoMapping
from passband.theory import composed_ntk, kernel_regression, linear_dynamics

RNG = np.random.default_rng(0)
N, M = 16, 40
X, X_TEST = np.arange(N) / N, np.arange(M) / M
Y, F0 = RNG.normal(size=(2, N))
F0_TEST = RNG.normal(size=M)
FOURIER = np.fft.fft(np.eye(N), norm="ortho")


@pytest.fixture(scope="module")
def kernels():
    encoding = Dense(1.0, m=8, norm=True).draw(jax.random.key(0), 1)
    both = composed_ntk(
        encoding, np.concatenate([X_TEST, X]), X, layers=4, width=64
    )  # the train points last
    return both[M:], both[:M]


def flow(kernels, A, b, t, scale=1.0):
    """Gradient flow of scale/2 |A f - b|^2, integrated by SciPy; complex A and all."""
    k, k_test = kernels

    def slope(_, f):
        pull = (A.conj().T @ (A @ f[:N] - b)).real
        return -scale * np.concatenate([k @ pull, k_test @ pull])

    start = np.concatenate([F0, F0_TEST])
    end = scipy.integrate.solve_ivp(
        slope, (0, t), start, method="DOP853", rtol=1e-10, atol=1e-11
    )
    return end.y[:N, -1], end.y[N:, -1]


A_WIDE = RNG.normal(size=(6, N))
A_TALL = RNG.normal(size=(25, N))
A_DEFICIENT = A_TALL @ np.diag([1.0] * 9 + [0.0] * 7)


@pytest.mark.parametrize(
    ("A", "t"),
    [
        (np.eye(N), 0.7),
        (A_WIDE, 0.1),
        (A_TALL, 0.1),
        (A_DEFICIENT, 0.1),
        (FOURIER[[0, 1, 2, 5, 15]], 0.7),
    ],
    ids=["direct", "wide", "tall", "deficient", "complex"],
)
def test_prediction_is_the_gradient_flow(kernels, A, t):
    b = A @ Y + (0.1 if len(A) > N else 0.0)  # more rows than unknowns: not consistent
    train, test = flow(kernels, A, b, t, scale=0.5)
    given = None if A.shape == (N, N) else A
    dynamics = linear_dynamics(kernels[0], b, A=given, loss_scale=0.5)
    ours = dynamics(t, kernels[1], f0_train=F0, f0_test=F0_TEST)
    np.testing.assert_allclose(ours, test, atol=1e-6)
    np.testing.assert_allclose(dynamics.train(t, f0_train=F0), A @ train, atol=1e-6)
    loss = 0.25 * np.sum(np.abs(A @ train - b) ** 2)
    assert float(dynamics.loss(t, f0_train=F0)) == pytest.approx(loss, abs=1e-6)


@pytest.mark.parametrize("given", [FOURIER, lambda f: jnp.fft.fft(f, norm="ortho")])
def test_a_unitary_map_changes_nothing(kernels, given):
    times = np.array([0.0, 0.05, 2.0, np.inf])
    direct = linear_dynamics(kernels[0], Y)
    seen = linear_dynamics(kernels[0], FOURIER @ Y, A=given)
    np.testing.assert_allclose(
        seen(times, kernels[1], f0_train=F0), direct(times, kernels[1], f0_train=F0),
        atol=1e-10,
    )  # fmt: skip
    np.testing.assert_allclose(seen.loss(times), direct.loss(times), atol=1e-10)
    assert seen.unseen.shape == (N, 0)


@pytest.mark.parametrize("t", [0.3, 1e12, np.inf])
def test_a_masked_transform_leaves_unseen_frequencies_at_zero(kernels, t):
    mask = np.zeros(N, bool)
    mask[[0, 1, 2, 5, -1, -2, -5]] = True
    dynamics = linear_dynamics(kernels[0], (FOURIER @ Y)[mask], A=FOURIER[mask])
    spectrum = np.fft.fft(dynamics(t, kernels[0]), norm="ortho")
    assert np.abs(spectrum[~mask]).max() < 1e-12
    if t > 1:
        np.testing.assert_allclose(spectrum[mask], (FOURIER @ Y)[mask], atol=1e-10)
    unseen = dynamics.unseen
    assert unseen.shape == (N, N - mask.sum())
    np.testing.assert_allclose(unseen.T @ unseen, np.eye(unseen.shape[1]), atol=1e-12)
    assert np.abs((FOURIER @ unseen)[mask]).max() < 1e-7


def test_unseen_components_stay_at_their_prior(kernels):
    # In the eigenbasis of K A^T A: f = (what K A^T reaches) + (what A does not see).
    dynamics = linear_dynamics(kernels[0], A_WIDE @ Y, A=A_WIDE)
    basis = np.hstack([kernels[0] @ A_WIDE.T, dynamics.unseen])
    outputs = dynamics(
        np.array([0.0, 0.2, np.inf]), kernels[0], f0_train=F0, f0_test=F0
    )
    components = np.linalg.solve(basis, outputs.T)[len(A_WIDE) :]
    prior = np.linalg.solve(basis, F0)[len(A_WIDE) :]
    np.testing.assert_allclose(components, np.repeat(prior[:, None], 3, 1), atol=1e-9)


def test_maps_in_every_form_agree(kernels):
    b = A_WIDE @ Y
    expected = linear_dynamics(kernels[0], b, A=A_WIDE)(0.1, kernels[1], f0_train=F0)
    forms = [
        jnp.asarray(A_WIDE),
        scipy.sparse.csr_array(A_WIDE),
        scipy.sparse.linalg.aslinearoperator(A_WIDE),
        lambda f: A_WIDE @ f,
    ]
    for form, tolerance in zip(forms, (1e-5, 1e-11, 1e-11, 1e-11), strict=True):
        ours = linear_dynamics(kernels[0], b, A=form)(0.1, kernels[1], f0_train=F0)
        np.testing.assert_allclose(ours, expected, atol=tolerance)


def test_measurements_keep_their_shape(kernels):
    def two_views(f):
        return jnp.stack([f[::2], jnp.flip(f)[::2]])

    b = np.stack([Y[::2], Y[::-1][::2]])
    dynamics = linear_dynamics(kernels[0], b, A=two_views)
    np.testing.assert_allclose(dynamics.train(np.inf), b, atol=1e-10)
    colours = linear_dynamics(kernels[0], np.stack([b, 2 * b], -1), A=two_views)
    assert colours.train([0.0, 1.0]).shape == (2, 2, N // 2, 2)
    ours = colours(0.1, kernels[1])
    np.testing.assert_allclose(ours, dynamics(0.1, kernels[1])[:, None] * [1, 2])


def test_time_zero_and_infinity_are_exact(kernels):
    dynamics = linear_dynamics(kernels[0], Y)
    at_start = dynamics(0, kernels[1], f0_train=F0, f0_test=F0_TEST)
    np.testing.assert_array_equal(at_start, F0_TEST)
    at_end = dynamics(math.inf, kernels[1])
    np.testing.assert_allclose(
        at_end, kernel_regression(kernels[0], Y, kernels[1]), rtol=1e-9
    )
    np.testing.assert_allclose(dynamics.train(math.inf, f0_train=F0), Y, atol=1e-12)
    assert float(dynamics.loss(math.inf)) == 0


def test_many_times_and_channels_are_a_loop(kernels):
    times = np.array([[0.0, 0.1], [1.0, np.inf]])
    b = np.stack([Y, 1 - Y, 3 * Y], axis=1)
    dynamics = linear_dynamics(kernels[0], b)
    together = dynamics(times, kernels[1], f0_train=b / 2)
    assert together.shape == (2, 2, M, 3)
    for index in np.ndindex(2, 2):
        for c in range(3):
            one = linear_dynamics(kernels[0], b[:, c])
            alone = one(times[index], kernels[1], f0_train=b[:, c] / 2)
            np.testing.assert_allclose(together[index][:, c], alone, atol=1e-12)


def test_modes_decay_at_their_eigenvalues(kernels):
    dynamics = linear_dynamics(kernels[0], Y, loss_scale=1 / N)
    values, vectors = np.linalg.eigh(kernels[0])
    expected = np.exp(-values * 3 / N) * np.abs(vectors.T @ Y)
    # Eigenvalues come in pairs, so compare each pair's length.
    ours, pairs = dynamics.errors(3.0), np.round(values, 6)
    for value in np.unique(pairs):
        same = pairs == value
        assert np.linalg.norm(ours[same]) == pytest.approx(
            float(np.linalg.norm(expected[same])), abs=1e-10
        )


def test_mean_loss_is_the_sum_loss_slowed_down(kernels):
    total = linear_dynamics(kernels[0], Y)(0.5, kernels[1])
    mean = linear_dynamics(kernels[0], Y, loss_scale=1 / N)(0.5 * N, kernels[1])
    np.testing.assert_allclose(mean, total, atol=1e-12)


def test_a_singular_kernel_learns_what_it_can():
    # Three copies of one point: the network gives their mean, in and out of the data.
    k = np.full((3, 3), 2.0)
    dynamics = linear_dynamics(k, [1.0, 2.0, 6.0])
    np.testing.assert_allclose(dynamics.train(np.inf), [3.0, 3.0, 3.0])
    for t in (1e6, 1e12, 1e15, 1e30):
        np.testing.assert_allclose(dynamics(t, k[:1]), [3.0], rtol=1e-12)
    assert float(dynamics.loss(np.inf)) == pytest.approx(7.0)
    np.testing.assert_allclose(dynamics(0.1, k[:1]), [3 * (1 - np.exp(-0.6))])


@pytest.mark.parametrize(
    ("mapping", "train_mse", "test_mse"),
    [
        (Dense(0.0, m=16, norm=True), 1.07e-5, 9.82e-3),
        (Dense(1.0, m=16, norm=True), 9.1e-4, 5.69e-3),
        (Dense(math.inf, m=16, norm=True), 7.7e-3, 9.6e-3),
        (NoMapping(shift=-0.5), 3.45e-2, 3.97e-2),
    ],
    ids=str,
)
def test_fig3_genuine_theory(mapping, train_mse, test_mse):
    # Protocol 2.4 starts from a network's f0; from 0 the values move by up to 9 %.
    with jax.threefry_partitionable(False):
        signal = power_law_signals(
            jax.random.PRNGKey(0)[None], n=32, c=8, alpha=1.0, bandlimited=True
        )
    y, train = signal.y[0].astype(float), signal.train
    x = np.arange(256) / 256
    k = composed_ntk(
        mapping.draw(jax.random.key(0), 1), x, x[train], layers=4, width=1024
    )
    error = linear_dynamics(k[train], y[train])(0.5, k) - y
    assert np.mean(error[train] ** 2) == pytest.approx(train_mse, rel=0.09)
    assert np.mean(error[~train] ** 2) == pytest.approx(test_mse, rel=0.09)


EYE = np.eye(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k_train": [[1.0, 2], [2, 1]], "targets": [1.0, 2]}, "not positive semidef"),
        ({"k_train": -EYE, "A": EYE[:2], "targets": [1.0, 2]}, "not positive semidef"),
        ({"k_train": [[1.0, 2], [0, 1]]}, r"`k_train` is not symmetric.*reaches 2"),
        ({"k_train": np.ones((2, 3))}, r"`k_train` has shape \(2, 3\)"),
        ({"k_train": np.ones((0, 0))}, "`k_train` is empty"),
        ({"k_train": EYE * np.nan}, "`k_train` holds values that are not finite"),
        ({"targets": [1.0, 2.0]}, r"`targets` has shape \(2,\); expected \(3,\)"),
        ({"targets": [1.0, np.nan, 0]}, "`targets` holds values that are not finite"),
        ({"targets": np.ones((3, 0))}, "`targets` is empty"),
        ({"targets": [1j, 2, 3]}, "`targets` is complex"),
        (
            {"A": np.ones((2, 4))},
            r"`A` has shape \(2, 4\); the kernel needs \(rows, 3\)",
        ),
        ({"A": np.ones((0, 3))}, "`A` has no rows"),
        ({"A": EYE * np.nan}, "`A` holds values that are not finite"),
        ({"A": lambda f: f.reshape(2, 2)}, r"`A` does not take values of shape \(3,\)"),
        ({"A": lambda f: f**2}, "`A` is not linear"),
        ({"A": lambda f: f + 1}, "`A` is not linear"),
        ({"A": lambda f: f[:0]}, "`A` gives no measurements"),
        ({"A": "radon"}, "`A` is a str; give a matrix or a function"),
        ({"loss_scale": 0.0}, r"`loss_scale` \(=0.0\) must be positive"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        linear_dynamics(**({"k_train": EYE, "targets": np.ones(3)} | arguments))


def test_bad_questions_are_refused():
    dynamics = linear_dynamics(EYE, np.ones(3))
    with pytest.raises(InputError, match="`t` must be 0 or more"):
        dynamics(-1.0, EYE)
    with pytest.raises(InputError, match="`t` must be 0 or more"):
        dynamics(np.nan, EYE)
    with pytest.raises(InputError, match=r"`k_test_train` has shape \(3, 2\)"):
        dynamics(1.0, EYE[:, :2])
    with pytest.raises(InputError, match="`k_test_train` holds values that are not"):
        dynamics(1.0, EYE * np.nan)
    with pytest.raises(
        InputError, match=r"`f0_train` has shape \(3, 1\); expected \(3,\)"
    ):
        dynamics(1.0, EYE, f0_train=np.ones((3, 1)))
    with pytest.raises(InputError, match="`f0_test` holds values that are not finite"):
        dynamics(1.0, EYE, f0_test=np.inf)
