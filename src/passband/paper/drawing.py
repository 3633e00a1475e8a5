"""The paper's networks before their first step."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import numpy as np
from jaxtyping import PyTree

from ..field import Field, make_field
from ..mappings import Mapping

T = TypeVar("T", bound=PyTree)


def drawn(word: str | Mapping, **options: Any) -> Field:
    """A network with the random bits of 2020 (`make_field`), the same whatever device
    trains it."""
    return made_on_cpu(lambda: make_field(word, bits2020=True, **options))


def drawn_together(draws: Sequence[Callable[[], Field]]) -> list[Field]:
    """Networks drawn by as many threads as there are processors: random numbers are
    made outside Python."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda draw: draw(), draws))


def made_on_cpu(make: Callable[[], T]) -> T:
    """Arrays that the CPU makes, handed to the device. A GPU compiles a program for
    each shape that is drawn, a hundred for Fig. 4, and several times as long."""
    if jax.default_backend() == "cpu":
        return make()
    try:
        host = jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX_PLATFORMS leaves it out
        return make()
    with jax.default_device(host):
        made = make()
    return jax.tree.map(_handed_over, made)


def _handed_over(leaf: Any) -> Any:
    return jax.device_put(np.asarray(leaf)) if isinstance(leaf, jax.Array) else leaf
