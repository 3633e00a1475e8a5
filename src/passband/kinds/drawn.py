"""A fit's network before its first step."""

import dataclasses

import equinox as eqx
import jax

from ..field import Field
from .kind import Network, Training


def draw_as_one(training: Training, network: Network, key: jax.Array) -> Field:
    """`Training.draw` by one program, the same for all seeds and all levels to begin
    about: one after the other its thirty operations take a GPU 0.3 s to find again, and
    a CPU 0.7 s longer to compile."""
    # An optimiser of one's own has no hash, perhaps, and no part in this.
    same = dataclasses.replace(training, seed=0, optimiser="")
    if network.start is None or training.members > 1:
        return _draw(same, network, key)
    field = _draw(same, dataclasses.replace(network, start=None), key)
    return field.starting_about(network.start)


@eqx.filter_jit
def _draw(training: Training, network: Network, key: jax.Array) -> Field:
    return training.draw(network, key)
