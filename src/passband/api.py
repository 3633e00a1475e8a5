"""The one-line uses: `fit` for points and values, `fit_population` for many runs."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from .auto import Auto
from .errors import InputError
from .field import Field, make_field
from .mappings import AnyKey, Mapping
from .tasks.regression import regression_task
from .tasks.task import Task
from .train.driver import Config, History, OnLog, train
from .train.memory import check_fits
from .train.schedules import Schedule
from .words import parse_mapping


def fit(
    coords: Any,
    values: Any,
    *,
    mapping: str | Mapping = "gaussian:10",
    steps: int = 2000,
    key: int | AnyKey = 0,
    rate: float | Schedule = 1e-3,
    batch: int | None = None,
    layers: int = 4,
    width: int = 256,
    precision: str = "auto",
    optimiser: optax.GradientTransformation | None = None,
    on_log: OnLog | None = None,
) -> tuple[Field, History]:
    """Fit (n, d) -> (n, c) data: a field in the units of `values`, and its history.

    Scales are in cycles per unit of `coords`, as they are given; `gaussian:auto` has
    one chosen by points held out, which takes less long than the fit.

    Example:
        >>> import numpy as np, passband as pb
        >>> x = np.arange(64)[:, None] / 64
        >>> field, history = pb.fit(x, np.sin(6 * x), mapping="gaussian:2", steps=300)
        >>> bool(abs(field.predict(x) - np.sin(6 * x)).max() < 0.1)
        True
    """
    if batch is not None and batch < 1:
        raise InputError(f"`batch` (={batch}) must be at least 1")
    task = regression_task(coords, values, batch=batch)
    config = Config(steps=steps, lr=rate, precision=precision)
    mapping = parse_mapping(mapping)
    if isinstance(mapping, Auto):
        from .tune.points import choose_for_points

        choice = choose_for_points(
            np.asarray(task.coords), np.asarray(task.values), mapping, steps=steps,
            rate=rate, layers=layers, width=width, precision=precision,
        )  # fmt: skip
        mapping = parse_mapping(choice.mapping)
    first, second = jax.random.split(_key(key))
    field = make_field(
        mapping,
        d=task.coords.shape[1],
        out=task.values.shape[1],
        key=first,
        layers=layers,
        width=width,
        output="identity",
    )
    check_fits(field, task.step_points)
    [field], [history] = train(
        [task], [field], config, keys=[second], optimiser=optimiser, on_log=on_log
    )
    return in_units(field, float(task.low), float(task.high)), history


def fit_population(
    fields: Sequence[Field],
    tasks: Sequence[Task],
    *,
    steps: int = 2000,
    rates: Sequence[float | Schedule] | float = 1e-3,
    keys: Sequence[AnyKey] | int = 0,
    precision: str = "auto",
    optimiser: optax.GradientTransformation | None = None,
    max_memory: int | None = None,
) -> tuple[list[Field], list[History]]:
    """Train many (field, task) pairs; those of one shape train as one program."""
    if len(fields) != len(tasks) or not fields:
        raise InputError(
            f"`fields` ({len(fields)}) and `tasks` ({len(tasks)}) must pair up"
        )
    count = len(fields)
    if isinstance(keys, int):
        keys = list(jax.random.split(jax.random.key(keys), count))
    return train(
        tasks,
        fields,
        Config(steps=steps, precision=precision),
        keys=keys,
        lrs=[float(rates)] * count if isinstance(rates, float | int) else rates,
        optimiser=optimiser,
        max_memory=max_memory,
    )


def in_units(field: Field, low: float, high: float) -> Field:
    """A field with identity output, its last layer scaled to [low, high]."""
    span = high - low
    last = lambda f: (f.mlp.weights[-1], f.mlp.biases[-1])  # noqa: E731
    W, b = last(field)
    return eqx.tree_at(last, field, (W * span, b * span + low))


def _key(key: int | AnyKey) -> AnyKey:
    if isinstance(key, int | np.integer):
        return jax.random.key(int(key))
    return key
