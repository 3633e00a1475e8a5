"""Networks of the 1D items (Figs. 3 to 5), as the notebooks of 2020 had them."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from ..field import Field, standard
from ..mappings import AnyKey
from ..ops.without_autotune import jit_without_autotune
from ..tasks.signal1d import Signal1D
from ..train.driver import Config, train
from .drawing import drawn


def dense_word(p: str | float, n: int) -> str:
    """The mapping b_j = j, a_j = j^-p for j = 1..n/2, over its norm (section 5)."""
    return f"dense:p={p},m={n // 2},norm=1"


def take(key: AnyKey, count: int) -> tuple[AnyKey, Any]:
    """What is left of a key, and `count` keys, as the notebooks of 2020 split them."""
    keys = jax.random.split(key, count + 1)
    return keys[0], keys[1:]


def network(
    word: str,
    key: AnyKey,
    width: int,
    *,
    layers: int = 4,
    encoding_key: AnyKey | None = None,
) -> Field:
    """A network as it starts, with the random bits of 2020."""
    return drawn(
        word,
        d=1,
        out=1,
        key=key,
        encoding_key=encoding_key,
        layers=layers,
        width=width,
        output="identity",
        init=standard,
    )


def trained_errors(
    tasks: Sequence[Signal1D],
    fields: Sequence[Field],
    *,
    steps: int,
    rate: float,
    **options: Any,
) -> dict[str, np.ndarray]:
    """Mean squared errors at the held-out points (`test`) and at the others (`train`)
    of networks trained on full batches; `options` as `train` has them."""
    config = Config(steps, rate, min(250, steps), "float32")
    start = [jax.random.PRNGKey(0)] * len(fields)  # a full batch draws nothing
    trained, _ = train(tasks, fields, config, keys=start, **options)
    # All are asked for before the first is waited for.
    errors = [_errors(task, field) for task, field in zip(tasks, trained, strict=True)]
    test, train_points = zip(*(map(np.asarray, found) for found in errors), strict=True)
    return {"test": _mean_squares(test), "train": _mean_squares(train_points)}


@jit_without_autotune
def _errors(task: Signal1D, field: Field) -> tuple[Array, Array]:
    """At the held-out points and at the others."""
    return (
        field.batch(task.test_coords) - task.test_values,
        field.batch(task.coords) - task.values,
    )


def _mean_squares(errors: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([np.mean(np.square(e, dtype=np.float64)) for e in errors])
