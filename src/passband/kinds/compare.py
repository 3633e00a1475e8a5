"""One table and one strip of pictures: ours beside the methods of others."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..auto import Auto
from ..errors import InputError
from ..field import Field
from ..mappings import Multigrid
from ..train.device import device_name
from ..train.driver import Config, Diverged, train
from ..train.optimisers import optimiser
from ..train.schedules import schedule
from ..tuning.problem import Problem
from ..words import parse_mapping
from .comparison import Comparison, Row
from .defaults import entry_steps
from .fit import Fitted, fit
from .kind import SILENT, History, Kind, Listener
from .options import TrainOptions
from .rivals import METHODS, OURS, Changes, chosen, methods_for
from .session import Collapse
from .shown import Shown
from .trials import Tuned, precision_of, setting_of, trial_size, tune_method

EQUAL = ("steps", "seconds", "parameters")
MOST_FEATURES = 64
"""At each point of a grid that is to have as many numbers as a network."""
ENTRIES = 4
"""Of a history, by which the pace of a method is measured."""
CHOSEN = ("lr", "activation")
"""Options that are chosen for each method, and are not the user's to set."""


def compare(
    kind: Kind,
    asked: TrainOptions,
    *,
    methods: str | None = None,
    equal: str = "steps",
    listener: Listener = SILENT,
    on_row: Callable[[Comparison], object] = id,
) -> Comparison:
    """Fit ours, then every other method with as much of what is to be equal.

    Args:
        methods: names, with commas between; left out, all that the kind has.
        equal: `steps`: as many, of as many points; `seconds`: as many steps as it can
            take in the time that ours trained; `parameters`: the width, or the numbers
            at a point of a grid, that comes nearest to those of ours.
        on_row: sees the comparison whenever one more method is done, its last row.
    """
    if equal not in EQUAL:
        raise InputError(f"`equal` (={equal}) must be one of {', '.join(EQUAL)}")
    for name in CHOSEN:
        if getattr(asked, name) != getattr(type(asked)(), name):
            raise InputError(
                f"`{name}` is chosen for each method by trials; leave it out"
            )
    kind = dataclasses.replace(kind, beside=False)
    one = _Comparer(kind, asked, equal, listener)
    # Names are checked before the work begins.
    names, others = chosen(methods, methods_for(type(asked)), kind.classical(0))
    rows: list[Row] = []

    def so_far() -> Comparison:
        return Comparison.of(
            rows, kind=kind.name, title=kind.title, equal=equal, device=device_name(),
            truth=one.truth,
        )  # fmt: skip

    for row in one.rows(names, others):
        rows.append(row)
        on_row(so_far())
    return so_far()


class _Comparer:
    """Fits method after method; what ours took is what the others get."""

    def __init__(self, kind: Kind, asked: TrainOptions, equal: str, listener: Listener):
        word = asked.mapping or kind.default_mapping()  # named, so that trials are made
        self.kind, self.equal, self.listener = kind, equal, listener
        self.asked = dataclasses.replace(asked, mapping=word)
        self.truth: np.ndarray | None = None

    def rows(self, names: list[str], others: list[str]) -> Iterator[Row]:
        """Method after method: ours, the classical ones, which are soon done, and the
        other networks."""
        yield self.ours()
        yield from self.classical(others)
        for name in names:
            if name != OURS:
                yield self.network(name)

    def ours(self) -> Row:
        """Fit ours, and keep its size, its steps and its time."""
        fitted = fit(self.kind, self.asked, listener=self.listener)
        self.training = fitted.training
        self.field: Field = fitted.field
        self.seconds = train_seconds(fitted.history)
        self.settled = dataclasses.replace(
            self.asked, steps=fitted.training.steps, batch=fitted.training.batch,
            width=fitted.training.width,
        )  # fmt: skip
        return self._row(OURS, fitted, {})

    def network(self, name: str) -> Row:
        """Fit a method, with the scale and the rate that trials choose."""
        method = METHODS[name]
        self.listener.progress(f"{name}: choosing its size and scale", often=False)
        if method.tuned:
            tuned = tune_method(
                self.kind, self.asked, method, self.training, self.problem, self._sized
            )
        else:
            tuned = Tuned(self._sized(method.changes))
        if tuned.changes is None:
            return Row(name, note="no size of it has as many parameters", tuned=tuned)
        changes = {"precision": precision_of(self.asked, tuned.changes)}
        changes |= tuned.changes
        asked = dataclasses.replace(self.settled, **changes)
        try:
            if self.equal == "seconds":
                asked = dataclasses.replace(asked, steps=self._steps_in_time(asked))
            fitted = fit(self.kind, asked, listener=self.listener)
        except (Diverged, Collapse) as error:
            return Row(name, setting_of(changes), note=str(error), tuned=tuned)
        return self._row(name, fitted, changes, tuned)

    def classical(self, names: list[str]) -> Iterator[Row]:
        """What there is without a network."""
        there = self.kind.classical(_bytes(self.field))
        for name in names:
            self.listener.progress(name, often=False)
            begun = time.perf_counter()
            made = there[name]()
            if made is None:
                yield Row(name, note="it cannot be made of these data")
                continue
            yield Row(
                name, metrics=made.metrics, bytes=made.bytes,
                seconds=time.perf_counter() - begun, picture=made.shown.values,
            )  # fmt: skip

    def _row(
        self,
        name: str,
        fitted: Fitted,
        changes: Changes,
        tuned: Tuned | None = None,
    ) -> Row:
        picture = None
        if (shown := fitted.evaluation.shown) is not None:
            seen: Shown = shown()
            self.truth = seen.truth if self.truth is None else self.truth
            picture = seen.values
        chose = fitted.choice
        if tuned is None and chose is not None:
            tuned = Tuned({}, seconds=sum(chose.seconds.values()))
        words = {"mapping": str(fitted.training.mapping)} | dict(changes)
        return Row(
            name,
            setting_of({"lr": fitted.training.lr} | words),
            metrics=fitted.evaluation.metrics,
            parameters=fitted.field.parameters,
            bytes=_bytes(fitted.field),
            seconds=train_seconds(fitted.history),
            steps=int(fitted.history["step"][-1]),
            width=fitted.training.width,
            tuned=tuned,
            picture=picture,
        )

    @property
    def problem(self) -> Problem:
        """What trials train on, and what they are judged by."""
        if not hasattr(self, "_problem"):
            size = trial_size(self.kind, self.asked)
            self._problem = self.kind.trials(self.asked, size)
        return self._problem

    def _sized(self, changes: Changes) -> dict[str, Any] | None:
        """A method's options, with as many parameters as ours has if that is asked."""
        if self.equal != "parameters":
            return dict(changes)
        mapping = parse_mapping(changes.get("mapping", str(self.training.mapping)))
        target, width = self.field.parameters, self.training.width
        whole = dict(changes)
        if isinstance(mapping, Multigrid):
            narrow = max(8, width // 4)

            def numbers(features: int) -> int:
                grid = dataclasses.replace(mapping, features=features)
                return self._parameters(whole | {"mapping": str(grid), "width": narrow})

            if numbers(1) > target:
                return None
            features = _largest(numbers, target, MOST_FEATURES)
            grid = dataclasses.replace(mapping, features=features)
            whole["mapping"] = str(grid)

        def wide(width: int) -> int:
            return self._parameters(whole | {"width": width})

        if wide(1) > target:
            return None
        below = _largest(wide, target, 2**16)
        nearest = min((below, below + 1), key=lambda w: abs(wide(w) - target))
        return whole | {"width": nearest}

    def _parameters(self, changes: Changes) -> int:
        asked = dataclasses.replace(self.settled, **changes)
        mapping = parse_mapping(changes.get("mapping", str(self.training.mapping)))
        base = mapping.base if isinstance(mapping, Auto) else mapping
        training = self.kind.training(asked, base)
        network, key = self.kind.network(training), jax.random.key(0)
        shapes: Field = eqx.filter_eval_shape(training.draw, network, key)
        return shapes.parameters

    def _steps_in_time(self, asked: TrainOptions) -> int:
        """Steps that a method takes in the time that ours trained, by the pace of its
        first: a schedule is to come to its end."""
        mapping = parse_mapping(str(asked.mapping))
        if isinstance(mapping, Auto):
            mapping = self.training.mapping
        training = self.kind.training(asked, mapping)
        first, key = jax.random.split(jax.random.key(training.seed))
        task = self.kind.task(training)
        points = task.step_points * getattr(training, "members", 1)
        config = Config(
            steps=training.steps,
            lr=schedule(training.schedule, training.lr, training.steps),
            every=entry_steps(points, task.steps_a_look),
            precision=training.precision,
        )
        seen: list[int] = []

        def enough(state: object, entry: dict[str, Any]) -> bool:
            del state
            seen.append(entry["step"])
            return len(seen) == ENTRIES

        _, [history] = train(
            [task], [training.draw(self.kind.network(training), first)], config,
            keys=[key], optimiser=optimiser(training.optimiser), on_log=enough,
        )  # fmt: skip
        pace = train_seconds(history) / history["step"][-1]
        return max(1, round(self.seconds / max(pace, 1e-9)))


def train_seconds(history: History) -> float:
    """What the steps took, compiling left out: the pace between the first entry of the
    history and the last, times all steps."""
    steps, seconds = history["step"], history["seconds"]
    if len(steps) < 2:
        return float(seconds[-1])
    pace = (seconds[-1] - seconds[0]) / (steps[-1] - steps[0])
    return float(pace * steps[-1])


def _largest(count: Callable[[int], int], most: int, limit: int) -> int:
    """The largest whole number up to `limit` that counts no more than `most`."""
    low, high = 1, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(middle) <= most else (low, middle - 1)
    return low


def _bytes(field: Field) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(field))
