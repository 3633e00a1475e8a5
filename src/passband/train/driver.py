"""The driver: one run or many, trained in chunks of a scan, and Python between them."""

import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
from jaxtyping import Array, PyTree

from ..errors import InputError
from ..field import Field
from ..mappings import AnyKey
from ..ops.mlp import Precision
from ..tasks.task import Task
from .haste import Haste, haste_of
from .memory import budget
from .optimisers import adam
from .programs import Call, Program, chunk, making, programs
from .schedules import Schedule, check_lr, constant_rate
from .stack import Part, parts_of, unstack
from .state import State, init_state
from .work import count


@dataclasses.dataclass(frozen=True)
class Config:
    """How long and how fast to train; the paper's values are the defaults."""

    steps: int = 2000
    lr: float | Schedule = 1e-3
    """Learning rate, or a schedule of it."""
    every: int = 25
    """Steps between two entries of the history, and between looks at the clock."""
    precision: str = "auto"
    minutes: float | None = None
    """Stop after this long, at the next entry of the history; of several stacks, each
    has the share of its runs."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"`steps` (={self.steps}) must be at least 1")
        if self.every < 1:
            raise InputError(f"`every` (={self.every}) must be at least 1")
        if isinstance(self.lr, float | int):
            check_lr(self.lr)
        if self.minutes is not None and not self.minutes > 0:
            raise InputError(f"`minutes` (={self.minutes:g}) must be positive")


class Diverged(Exception):
    """A run's loss or gradient became NaN or infinite."""

    def __init__(self, step: int, run: str, state: Any = None):
        super().__init__(
            f"the loss of run `{run}` stopped being finite at step {step}; "
            "its state before that step is kept; a lower `lr` usually helps"
        )
        self.step, self.run, self.state = step, run, state


History = dict[str, list[float]]
"""Columns `step`, `seconds`, `loss` and, where a loss stands for one, `psnr`. Of
members both are of the mean of their losses, and `loss_worst` is the largest of them.
"""
OnLog = Callable[[State, dict[str, Any]], bool | None]
"""Sees the state and the latest entry of the history; True ends the training there. Of
a stack, the state and all but the step and the seconds have a run axis."""
OnStop = Callable[[int, list[int], Field], None]
"""Sees a step's number, the places of the runs and their fields, with a run axis. The
next step writes over those fields; what `stack.unstack` gives may be kept."""


def train(
    tasks: Sequence[Task],
    fields: Sequence[Field],
    config: Config,
    *,
    keys: Sequence[AnyKey],
    lrs: Sequence[float | Schedule] | None = None,
    optimiser: optax.GradientTransformation | None = None,
    state: State | None = None,
    seconds: float = 0.0,
    stops: Sequence[int] = (),
    on_stop: OnStop | None = None,
    on_log: OnLog | None = None,
    on_stack: Callable[[int], None] | None = None,
    max_memory: int | None = None,
    name: str = "run",
) -> tuple[list[Field], list[History]]:
    """Train every (task, field) pair; runs of one shape train together.

    A run by itself takes the plain program, and raises `Diverged` if it turns bad. Of
    several, nothing reduces across runs: a bad one is frozen at its last finite state
    (`history["stopped"]` holds the step) and its neighbours go on. Stacks are cut to
    what fits in memory and, where there are several devices, spread over them; the
    programs of the next are made while one trains.

    Args:
        lrs: one for each run, instead of the configuration's.
        optimiser: any optax transformation, built for a learning rate of 1: the rate is
            multiplied in afterwards. Adam by default.
        state: where a run by itself goes on from, instead of from its field.
        seconds: time already spent, when going on.
        stops: steps after which `on_stop` sees the fields; 0 is before the first.
        on_stack: hears how many runs are trained, before each stack.
    """
    begun = time.perf_counter() - seconds
    optimiser = optimiser or adam()
    lrs = [config.lr] * len(fields) if lrs is None else lrs
    done = 0 if state is None else int(state.step)
    if len(fields) == 1:
        [task], [field], [key], [lr] = tasks, fields, keys, lrs
        if state is None:
            own = dataclasses.replace(config, lr=lr)
            state = start(field, own, key=key, optimiser=optimiser)
        haste = haste_of(state.field, task.step_points, config.steps)
        parts = [Part([0], [task], [state], haste, alone=True)]
    elif state is not None:
        raise ValueError(f"`state` is of one run, but there are {len(fields)} fields")
    else:
        room = budget() if max_memory is None else max_memory
        parts = parts_of(
            tasks,
            _states(fields, lrs, keys, config, optax.identity()),
            config.steps,
            room,
        )
    ends = _ends(done, config, stops)
    lengths = {b - a for a, b in itertools.pairwise([done, *ends])}
    calls = [_call(part, optimiser, n) for part in parts for n in lengths]
    hooks = _Hooks(frozenset(stops), on_stop, on_log, name)
    trained: dict[int, tuple[Field, History]] = {}
    with making(calls) as made:
        ready = iter(made)
        for part in parts:
            arrays = part.arrays(optimiser)
            if on_stack is not None:
                on_stack(len(trained))
            share = (len(trained) + len(part.places)) / len(fields)
            limit = math.inf if config.minutes is None else 60 * config.minutes * share
            own = {length: next(ready).ready() for length in lengths}
            pieces = [(a, b, own[b - a]) for a, b in itertools.pairwise([done, *ends])]
            clock = begun if part.alone else time.perf_counter(), begun + limit
            _stop(part, done, arrays[1], hooks)
            found = _train_part(part, arrays, pieces, optimiser, config, clock, hooks)
            trained.update(zip(part.places, found, strict=True))
    runs = [trained[i] for i in range(len(fields))]
    return [field for field, _ in runs], [history for _, history in runs]


def _call(part: Part, optimiser: optax.GradientTransformation, length: int) -> Call:
    """The program of so many steps."""
    brief = part.haste is Haste.BRIEF
    shapes = part.shapes(optimiser)
    return Call(
        chunk, (*shapes, optimiser, length, part.mesh, False, brief), part.haste
    )


def calls_of(
    task: Task, state: State, config: Config, optimiser: optax.GradientTransformation
) -> list[Call]:
    """The programs that `train` asks for, of a run by itself from its start."""
    haste = haste_of(state.field, task.step_points, config.steps)
    part = Part([0], [task], [state], haste, alone=True)
    ends = [0, *_ends(0, config, ())]
    lengths = dict.fromkeys(b - a for a, b in itertools.pairwise(ends))
    return [_call(part, optimiser, length) for length in lengths]


class Stacked(NamedTuple):
    """What a stack came to; every leaf of the field, and every array, has a run axis.

    The arrays are NumPy's: a stack of a thousand fields is not taken apart.
    """

    field: Field
    steps: np.ndarray
    """Entries of the history, (entries,)."""
    losses: np.ndarray
    """At these steps, (entries, runs)."""
    stopped: np.ndarray
    """The step whose loss or gradient was not finite; -1 where all is well."""
    seconds: float


class Running(NamedTuple):
    """A stack whose steps a device has been asked for, and may not have taken."""

    field: Field
    """As the last step will leave it."""
    steps: Sequence[int]
    losses: Sequence[Array]
    stopped: Array
    work: Callable[[float], None]
    """Counts the steps, given their seconds."""
    begun: float

    def result(self, free: float = 0.0) -> Stacked:
        """Waits for the last step.

        Args:
            free: since when the device had nothing else to do, on the clock of
                `time.perf_counter`; no seconds before that are counted.
        """
        found = [np.asarray(entry)[-1] for entry in self.losses]  # waits
        losses = [own.mean(axis=-1) if own.ndim > 1 else own for own in found]
        self.work(time.perf_counter() - max(free, self.begun))
        host = jax.tree.map(np.asarray, self.field)
        stopped, seconds = np.asarray(self.stopped), time.perf_counter()
        seconds -= max(free, self.begun)
        ends = np.asarray(self.steps)
        return Stacked(host, ends, np.stack(losses), stopped, seconds)


def begin_stack(
    tasks: Sequence[Task],
    fields: Sequence[Field],
    config: Config,
    *,
    keys: Sequence[AnyKey],
    lrs: Sequence[Schedule],
    optimiser: optax.GradientTransformation,
) -> Running:
    """Train runs of one shape as one program, however many they are, and give them
    back as one; several devices share them. Nothing is waited for but compiling.

    Fields, keys and schedules that are one object in all runs are made ready once.
    """
    states = _states(fields, lrs, keys, config, optax.identity())
    haste = haste_of(states[0].field, tasks[0].step_points, config.steps * len(tasks))
    part = Part(list(range(len(tasks))), list(tasks), states, haste)
    ends = _ends(0, config, ())
    shapes = part.shapes(optimiser)
    lengths = sorted({b - a for a, b in itertools.pairwise([0, *ends])})
    in_turn = jax.default_backend() == "cpu"
    calls = [
        Call(chunk, (*shapes, optimiser, n, part.mesh, in_turn), haste) for n in lengths
    ]
    made = dict(zip(lengths, programs(calls), strict=True))
    task, state, axes = part.arrays(optimiser)
    begun, losses = time.perf_counter(), []
    for before, done in itertools.pairwise([0, *ends]):
        length = done - before
        state, found = made[length](task, state, axes, optimiser, length)
        losses.append(found)
    exact = state.field.with_precision(Precision.FLOAT32).with_leak(0.0)
    for leaf in (*jax.tree.leaves(exact), *losses):
        leaf.copy_to_host_async()
    steps = config.steps * len(tasks)
    work = functools.partial(count, fields[0], tasks[0].step_points, steps)
    return Running(exact, ends, losses, state.stopped, work, begun)


def start(
    field: Field,
    config: Config,
    *,
    key: AnyKey,
    optimiser: optax.GradientTransformation | None = None,
) -> State:
    """The state of a run before its first step, on arrays of its own.

    Chunks donate their state, so the caller's field must not share its buffers.
    """
    [fresh] = _states([field], [config.lr], [key], config, optimiser or adam())
    return jax.tree.map(_copied, fresh)


def _copied(leaf: Any) -> Any:
    """An array in a buffer of its own; `copy` would make a program for each shape."""
    if not isinstance(leaf, jax.Array):
        return leaf
    return jax.device_put(leaf, may_alias=False)


def _states(
    fields: Sequence[Field],
    lrs: Sequence[float | Schedule],
    keys: Sequence[AnyKey],
    config: Config,
    optimiser: optax.GradientTransformation,
) -> list[State]:
    """Where each run starts: equal ones are one object."""
    precision = Precision.resolve(config.precision, jax.default_backend())
    states: list[State] = []
    made: dict[Any, State] = {}
    runs = list(zip(fields, lrs, keys, strict=True))  # kept, so that an id is one's
    for field, lr, key in runs:
        name = id(field), lr if isinstance(lr, float) else id(lr), id(key)
        if name not in made:
            own = dataclasses.replace(config, lr=lr).lr  # checked
            rate = own if callable(own) else constant_rate(own)
            exact = field.with_precision(precision)
            made[name] = init_state(exact, optimiser, rate, key)
        states.append(made[name])
    return states


def _ends(done: int, config: Config, stops: Sequence[int]) -> list[int]:
    """The steps at which training comes back to Python."""
    entries = range(config.every, config.steps, config.every)
    return sorted({end for end in (*entries, *stops, config.steps)
                   if done < end <= config.steps})  # fmt: skip


class _Hooks(NamedTuple):
    stops: frozenset[int]
    on_stop: OnStop | None
    on_log: OnLog | None
    name: str


def _train_part(
    part: Part,
    arrays: tuple[Task, State, PyTree],
    pieces: Sequence[tuple[int, int, Program]],
    optimiser: optax.GradientTransformation,
    config: Config,
    clock: tuple[float, float],
    hooks: _Hooks,
) -> list[tuple[Field, History]]:
    """The fields and histories of a part's runs.

    Args:
        pieces: from which step, to which, by which program.
        clock: since when the seconds count, and when time is up.
    """
    task, state, axes = arrays
    entry_of = functools.partial(_entry, task, state.field.members > 1)
    log: list[tuple[int, float, np.ndarray]] = []
    unlogged: list[np.ndarray] = []
    for before, done, take in pieces:
        since = time.perf_counter()
        state, losses = take(task, state, axes, optimiser, done - before)
        unlogged.append(np.asarray(losses))  # waits
        spent = time.perf_counter() - since
        if part.alone and (bad := int(state.stopped)) >= 0:
            raise Diverged(bad, hooks.name, state)
        steps = (done - before) * len(part.places)
        count(state.field, part.tasks[0].step_points, steps, spent)
        _stop(part, done, state, hooks)
        if done % config.every and done < config.steps:
            continue
        now = time.perf_counter()
        log.append((done, now - clock[0], np.concatenate(unlogged)))
        unlogged = []
        if hooks.on_log is not None and hooks.on_log(state, entry_of(*log[-1])):
            break
        if now > clock[1]:
            break
    entries = [entry_of(*entry) for entry in log]
    exact = state.field.with_precision(Precision.FLOAT32)
    if part.alone:
        return [(exact, _columns(entries))]
    stopped = np.asarray(state.stopped).tolist()
    histories = [_columns(entries, run) for run in range(len(stopped))]
    for history, step in zip(histories, stopped, strict=True):
        if step >= 0:
            history["stopped"] = [step]
    return list(zip(unstack(exact, len(stopped)), histories, strict=True))


def _stop(part: Part, step: int, state: State, hooks: _Hooks) -> None:
    if hooks.on_stop is not None and step in hooks.stops:
        field = state.field.with_precision(Precision.FLOAT32)
        if part.alone:
            field = jax.tree.map(lambda leaf: leaf[None], field)
        hooks.on_stop(step, part.places, field)


def _entry(
    task: Task, members: bool, step: int, seconds: float, losses: np.ndarray
) -> dict[str, Any]:
    """An entry of the history; what differs between the runs of a stack is a list.

    Args:
        members: whether the last axis of the losses is that of members.
    """
    own = losses.mean(axis=-1) if members else losses
    entry = {"step": step, "seconds": seconds, "loss": own[-1].tolist()}
    if members:
        entry["loss_worst"] = losses[-1].max(axis=-1).tolist()
    level = task.psnr_of_loss(own)
    if level is not None:
        entry["psnr"] = np.mean(level, axis=0).tolist()
    return entry


def _columns(entries: Sequence[dict[str, Any]], run: int = 0) -> History:
    """The history of a run alone, or of one in a stack."""
    columns: History = {"step": [], "seconds": [], "loss": []}
    for entry in entries:
        for name, value in entry.items():
            own = value[run] if isinstance(value, list) else value
            columns.setdefault(name, []).append(own)
    return columns
