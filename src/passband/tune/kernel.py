r"""The kernel's prediction: held-out error against scale, without training.

Eq. 3 on small neighbourhoods at full density: the composed kernel of a mapping is
factored once and says what a wide network, trained for as long as it takes, makes of
the points held out.
"""

from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float

from ..mappings import Mapping
from ..theory import composed_ntk, linear_dynamics
from .problem import Patches

TIME = 1.0
"""Learning rate x steps at which the prediction is taken. Of 0.01 to infinity on
`train_data` it agreed best with trained networks, if not well."""


def predicted_errors(
    patches: Patches,
    mappings: Sequence[Mapping],
    *,
    layers: int = 4,
    width: int = 256,
    seed: int = 0,
    time: float = TIME,
) -> Float[np.ndarray, " scales"]:
    """The mean squared error at the held-out points, for every mapping."""
    train, out = ~patches.held, patches.held
    mean = patches.values[train].mean(axis=0)
    wanted = patches.values[out] - mean
    found = []
    for mapping in mappings:
        encoding = mapping.draw(jax.random.key(seed), patches.coords.shape[1])
        k = composed_ntk(encoding, patches.coords, layers=layers, width=width)
        shown = patches.values[train] - mean
        dynamics = linear_dynamics(k[np.ix_(train, train)], shown)
        seen = dynamics(time, k[np.ix_(out, train)])
        found.append(float(np.mean((seen - wanted) ** 2)))
    return np.asarray(found)
