r"""Choosing amplitudes by the theory: gradient descent on a predicted validation loss.

Signals live on N periodic points; every `every`-th one is trained on, the others are
held out (appendix A.1). With the kernel circulant, eq. 3 is diagonal in frequency. Cut
the kernel row into its `every` phases, $G_r = \mathrm{FFT}(k_{r::every})$. The network
at the points of phase r is then, at bin k,

$$\hat f_r = P_r\,\hat y_0, \qquad P_r = G_r\,\frac{1 - e^{-t G_0}}{G_0},$$

so the loss over any number of signals needs only their mean cross spectra.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Complex, Float

from ..errors import InputError
from ..mappings import FourierFeatures
from .compose import encode
from .ntk import check_network, closed_form


@dataclasses.dataclass(frozen=True)
class Training:
    """The training whose outcome is predicted; the defaults are fig. 5's."""

    t: float = 5.0
    """Learning rate x steps, for a loss that is half the sum of squares."""
    every: int = 2
    """One point in `every` is trained on (the paper's c)."""
    layers: int = 4
    width: int = 1024
    activation: str = "relu"
    parameterization: str = "standard"
    w_std: float = 1.0
    b_std: float = 0.0


@dataclasses.dataclass(frozen=True)
class Design:
    """Amplitudes, of unit norm, and the loss they were reached through."""

    frequencies: Float[np.ndarray, " m"]
    amplitudes: Float[np.ndarray, " m"]
    losses: Float[np.ndarray, " steps"]
    norm: float = 1.0
    """What the amplitudes were divided by; only their ratios matter."""

    def encoding(self) -> FourierFeatures:
        """The mapping that was designed."""
        return FourierFeatures(
            jnp.asarray(self.frequencies[:, None], jnp.float32),
            jnp.asarray(self.amplitudes, jnp.float32),
        )


def design_amplitudes(
    signals: Any,
    *,
    training: Training = Training(),  # noqa: B008 (frozen)
    frequencies: Any = None,
    initial: Any = None,
    steps: int = 800,
    rate: float = 0.01,
    as_published: bool = False,
) -> Design:
    """Descend, with Adam, on the predicted loss of `signals` at their held-out points.

    Args:
        signals: (signals, N) values on N periodic points.
        frequencies: whole numbers; left out, 1 up to half the training points.
        initial: amplitudes to start from; left out, all on the lowest frequency with
            a thousandth on the others (the notebook drew that thousandth at random).
        as_published: descend on the notebook's loss instead: half the mean square of
            every second signal, at all points, those trained on too, divided once more
            by N (protocol 4).
    """
    y, b, waves = _setting(signals, frequencies, training)
    if initial is None:
        initial = np.where(b == b.min(), 1.0, 1e-3)
    a = _amplitudes("initial", initial, b)
    if steps < 1 or not rate > 0:
        raise InputError(f"`steps` (={steps}) and `rate` (={rate}) must be positive")
    with jax.enable_x64(True):
        # An even kernel row cannot tell a from -a, and 0 has no slope: start inside.
        a, losses = _descend(
            jnp.asarray(np.where(a == 0, 1e-3, a)),
            jnp.asarray(waves),
            _spectra(y, training.every, as_published),
            rate,
            steps=steps,
            training=training,
        )
        a = np.abs(np.asarray(a))
        norm = float(np.linalg.norm(a))
        return Design(b, a / norm, np.asarray(losses), norm)


def predicted_loss(
    amplitudes: Any,
    signals: Any,
    *,
    training: Training = Training(),  # noqa: B008
    frequencies: Any = None,
    as_published: bool = False,
) -> float:
    """The mean squared error eq. 3 predicts at the held-out points (eq. of A.1)."""
    y, b, waves = _setting(signals, frequencies, training)
    a = _amplitudes("amplitudes", amplitudes, b)
    with jax.enable_x64(True):
        spectra = _spectra(y, training.every, as_published)
        return float(_loss(jnp.asarray(a), jnp.asarray(waves), spectra, training))


class _Spectra(NamedTuple):
    """Mean cross spectra of the signals' phases, weighted as the loss weighs them."""

    train: Float[Array, " n"]
    cross: Complex[Array, "phases n"]
    power: Float[Array, "phases n"]
    weight: Float[Array, " phases"]


def _spectra(y: np.ndarray, every: int, as_published: bool) -> _Spectra:
    if as_published:
        y = y[1::2]
    # (phases, signals, n): phase 0 is what the network is trained on.
    phases = np.fft.fft(np.stack([y[:, r::every] for r in range(every)]))
    n = phases.shape[-1]
    if as_published:
        # The half counts: these slopes are no larger than Adam's epsilon of 1e-8.
        weight = np.full(every, 0.5 / (every * y.shape[1]))
    else:
        weight = np.arange(every).clip(max=1) / (every - 1)
    return _Spectra(
        jnp.asarray(np.mean(np.abs(phases[0]) ** 2, axis=0)),
        jnp.asarray(np.mean(phases[0].conj() * phases, axis=1)),
        jnp.asarray(np.mean(np.abs(phases) ** 2, axis=1)),
        jnp.asarray(weight / n**2),  # one n is Parseval's, the other the mean's
    )


@functools.partial(jax.jit, static_argnames="training")
def _loss(a: Array, waves: Array, spectra: _Spectra, training: Training) -> Array:
    share = a**2 / jnp.sum(a**2)
    h = waves @ share
    row = closed_form(training.activation)(
        h.at[0].set(1.0),
        1.0,
        1.0,
        layers=training.layers,
        width=training.width,
        fan_in=2 * len(a),
        parameterization=training.parameterization,
        w_std=training.w_std,
        b_std=training.b_std,
    )
    phases = jnp.fft.fft(row.reshape(-1, training.every).T)
    eigenvalues = phases[0].real
    # The kernel of distinct points is positive; the floor only guards the quotient.
    safe = jnp.maximum(eigenvalues, 1e-12)
    response = phases * (-jnp.expm1(-training.t * safe) / safe)
    square = (
        jnp.abs(response) ** 2 * spectra.train
        - 2 * (response.conj() * spectra.cross).real
        + spectra.power
    )
    return jnp.sum(spectra.weight[:, None] * square)


@functools.partial(jax.jit, static_argnames=("steps", "training"))
def _descend(
    a: Array,
    waves: Array,
    spectra: _Spectra,
    rate: float | Array,
    *,
    steps: int,
    training: Training,
) -> tuple[Array, Array]:
    adam = optax.adam(rate)

    def step(carry, _):
        a, state = carry
        loss, slope = jax.value_and_grad(_loss)(a, waves, spectra, training)
        update, state = adam.update(slope, state)
        return (a + update, state), loss

    (a, _), losses = jax.lax.scan(step, (a, adam.init(a)), length=steps)
    return a, losses


def _setting(
    signals: Any, frequencies: Any, training: Training
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signals, frequencies, and cos 2 pi b x at the N points."""
    y = np.asarray(signals, np.float64)
    if y.ndim != 2 or not y.size:
        raise InputError(f"`signals` has shape {y.shape}; expected (signals, points)")
    if not np.isfinite(y).all():
        raise InputError("`signals` holds values that are not finite")
    every, N = training.every, y.shape[1]
    if every < 2 or N % every:
        raise InputError(
            f"`every` (={every}) must be 2 or more and divide the {N} points"
        )
    if not (np.isfinite(training.t) and training.t > 0):
        raise InputError(f"`t` (={training.t}) must be positive and finite")
    b = np.arange(1.0, N // every // 2 + 1) if frequencies is None else frequencies
    b = np.asarray(b, np.float64)
    if b.ndim != 1 or not b.size or (b != np.round(b)).any():
        raise InputError(
            "`frequencies` must be a list of whole numbers: the grid wraps"
        )
    closed_form(training.activation)
    check_network(
        training.layers, training.width, 2 * len(b), training.parameterization
    )
    with jax.enable_x64(True):
        unit = FourierFeatures(jnp.asarray(b[:, None]), jnp.asarray(np.ones(len(b))))
    return y, b, encode(unit, np.arange(N)[:, None] / N)[:, len(b) :]


def _amplitudes(name: str, a: Any, b: np.ndarray) -> np.ndarray:
    a = np.asarray(a, np.float64)
    if a.shape != b.shape:
        raise InputError(f"`{name}` has shape {a.shape}; expected {b.shape}")
    if not np.isfinite(a).all() or not a.any():
        raise InputError(f"`{name}` must be finite and not all zero")
    return a
