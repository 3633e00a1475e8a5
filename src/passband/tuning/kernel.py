r"""The kernel's prediction: held-out error against scale, without training.

Eq. 3 on small neighbourhoods at full density: the composed kernel of a mapping is
factored once and says what a wide network, trained for as long as it takes, makes of
the points held out. Behind a linear instrument it is eq. 22 on a coarse grid: A K A^T
is factored, and measurements are held out.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import scipy
from jaxtyping import Float

from ..domain import xy
from ..errors import InputError
from ..mappings import FourierFeatures, Mapping
from ..theory import composed_ntk, linear_dynamics
from ..theory.linear_map import LinearMap
from .problem import Coarse, Patches

TIME = 1.0
"""Learning rate x steps at which the prediction is taken. Of 0.01 to infinity on
`train_data` it agreed best with trained networks, if not well."""
SEEN_TIME = 3e4
"""The same behind an instrument, in units of 1 / (points k(0) |A|^2), so that neither
the grid, nor the width, nor the unit of the measurements matters. Of 1 to infinity on
densities of the paper's sweep, 1e4 to 1e5 agreed best with trained networks."""
BEYOND = 0.25
"""The share of a mapping's power above the Nyquist frequency of a coarse grid from
which it is not judged there."""

ROUNDING = 1e-6
"""Of a sum in float32, as a share of its terms."""


def predicted_errors(
    shown: Patches | Coarse,
    mappings: Sequence[Mapping],
    *,
    layers: int = 4,
    width: int = 256,
    seed: int = 0,
    time: float | None = None,
) -> tuple[Float[np.ndarray, " scales"], float]:
    """The mean squared error of what is held out, for every mapping and of a constant.

    Not a number where a coarse grid cannot show the mapping's frequencies.
    """
    network = {"layers": layers, "width": width}
    if isinstance(shown, Coarse):
        time = SEEN_TIME if time is None else time
        return _through(shown, mappings, network, seed, time)
    return _directly(shown, mappings, network, seed, TIME if time is None else time)


def _directly(
    patches: Patches,
    mappings: Sequence[Mapping],
    network: dict[str, Any],
    seed: int,
    time: float,
) -> tuple[Float[np.ndarray, " scales"], float]:
    train, out = ~patches.held, patches.held
    mean = patches.values[train].mean(axis=0)
    wanted = patches.values[out] - mean
    found = []
    for mapping in mappings:
        encoding = mapping.draw(jax.random.key(seed), patches.coords.shape[1])
        k = composed_ntk(encoding, patches.coords, **network)
        shown = patches.values[train] - mean
        dynamics = linear_dynamics(k[np.ix_(train, train)], shown)
        seen = dynamics(time, k[np.ix_(out, train)])
        found.append(float(np.mean((seen - wanted) ** 2)))
    return np.asarray(found), float(np.mean(wanted**2))


def _through(
    coarse: Coarse,
    mappings: Sequence[Mapping],
    network: dict[str, Any],
    seed: int,
    time: float,
) -> tuple[Float[np.ndarray, " scales"], float]:
    plane = [n for axis, n in enumerate(coarse.sides) if axis != coarse.summed]
    n, channels = int(np.prod(plane)), coarse.channels
    look = LinearMap(coarse.A, n * channels)
    A, (b, _) = look.matrix(), look.targets(coarse.measured)
    out = np.tile(coarse.held, 2 if look.complex else 1)
    # A field begins as the constant that explains most of what is trained on. Without
    # frequency 0 a constant is measured as rounding, which explains nothing.
    flat = np.tile(np.eye(channels), (n, 1))
    constant = A @ flat
    constant[np.abs(constant) <= ROUNDING * (np.abs(A) @ flat)] = 0.0
    start = flat @ np.linalg.lstsq(constant[~out], b[~out], rcond=None)[0]
    left = b - A @ start
    A_train, b_train = A[~out], left[~out, 0]
    if len(A_train) > A.shape[1]:  # the same dynamics of fewer measurements
        parts: Any = scipy.linalg.qr_multiply(A_train, b_train[None], mode="right")
        b_train, A_train = parts[0][0], parts[1]
    last = len(A_train) - 1
    [norm] = scipy.linalg.eigvalsh(A_train @ A_train.T, subset_by_index=[last, last])
    size = float(norm) * int(np.prod(coarse.sides))
    found, count = [], int(coarse.held.sum())
    for mapping in mappings:
        encoding = mapping.draw(jax.random.key(seed), len(coarse.sides))
        if not isinstance(encoding, FourierFeatures):
            raise InputError(
                f"mapping `{mapping}` has no frequencies; through an instrument the "
                "kernel needs Fourier features"
            )
        if _hidden(encoding, coarse) > BEYOND:
            found.append(np.nan)
            continue
        k, top = grid_kernel(encoding, coarse, **network)
        k = np.kron(k, np.eye(channels))
        dynamics = linear_dynamics(k, b_train, A=A_train)
        wrong = A[out] @ dynamics(time / (size * top), k) - left[out, 0]
        found.append(float(np.sum(wrong**2)) / count)
    return np.asarray(found), float(np.sum(left[out] ** 2)) / count


def grid_kernel(
    encoding: FourierFeatures, coarse: Coarse, **network: Any
) -> tuple[Float[np.ndarray, "n n"], float]:
    r"""The kernel of all points of a coarse grid, and k(0) of a single point.

    It depends on differences alone. Along a summed axis of p points those of every two
    add up, $\frac1p \sum_{i,j} k(\Delta, i - j) = \sum_d (1 - |d|/p)\, k(\Delta, d)$.
    """
    origin = np.zeros((1, len(coarse.sides)))
    plane = [n for axis, n in enumerate(coarse.sides) if axis != coarse.summed]
    depth = 1 if coarse.summed is None else coarse.sides[coarse.summed]
    apart = [np.arange(1 - n, n) for n in coarse.sides]
    table = np.zeros([2 * n - 1 for n in plane])
    for level in range(depth):
        if coarse.summed is not None:
            apart[coarse.summed] = np.asarray([level])
        mesh = np.meshgrid(*apart, indexing="ij")
        points = [step * m.ravel() for step, m in zip(coarse.steps, mesh, strict=True)]
        row = composed_ntk(encoding, origin, np.stack(xy(points), axis=-1), **network)
        row = row.reshape(table.shape)
        # At -level the same values lie the other way round.
        both = row if level == 0 else row + np.flip(row)
        table += (1 - level / depth) * both
    y, x = (np.arange(n)[:, None] - np.arange(n) + n - 1 for n in plane)
    k = table[y[:, None, :, None], x[None, :, None, :]]
    k = k.reshape(len(y) * len(x), -1)
    one = composed_ntk(encoding, origin, **network)
    return (k + k.T) / 2, float(one[0, 0])


def _hidden(encoding: FourierFeatures, coarse: Coarse) -> float:
    """The share of a mapping's power that lies beyond what the grid can show."""
    limits = [0.5 / step for step in xy(coarse.steps)]
    high = np.any(np.abs(np.asarray(encoding.frequencies)) > limits, axis=1)
    power = np.asarray(encoding.amplitudes) ** 2
    return float(power[high].sum() / power.sum())
