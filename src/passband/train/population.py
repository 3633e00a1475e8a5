"""Many runs, one program: stacked states, each with its own scale, seed and target."""

import dataclasses
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from ..field import Field
from ..mappings import AnyKey
from ..ops.mlp import Precision
from ..ops.without_autotune import NO_AUTOTUNE
from ..tasks.task import Task
from .loop import Config, History, too_short_to_autotune, unroll
from .memory import budget, bytes_of_run
from .state import Rate, State, adam, advance, constant_rate, init_state
from .work import count

T = TypeVar("T", bound=Task)
MOST_RUNS = 64
"""Runs in one stack: more are no faster."""


class Part(NamedTuple):
    """Runs of one shape, as many as fit in memory."""

    places: list[int]
    tasks: list[Task]
    states: list[State]
    skip_autotune: bool
    """Whether compiling fast is worth more than running fast."""


class Stack(NamedTuple):
    """Runs of one shape, laid side by side."""

    task: Task
    axes: PyTree
    state: State
    runs: int


def run_population(
    tasks: Sequence[Task],
    fields: Sequence[Field],
    config: Config,
    *,
    keys: Sequence[AnyKey],
    rates: Sequence[float | Rate] | None = None,
    optimiser: optax.GradientTransformation | None = None,
    max_memory: int | None = None,
    on_stack: Callable[[int], None] | None = None,
) -> tuple[list[Field], list[History]]:
    """Train every (task, field) pair; runs of one shape train together.

    Nothing reduces across runs: a run that turns bad is frozen at its last finite state
    (`history["stopped"]` holds the step) and its neighbours go on. Stacks are cut to
    what fits in memory and, where there are several devices, spread over them.

    Args:
        on_stack: hears how many runs are trained, before each stack.
    """
    optimiser = optimiser or adam()
    rates = rates or [config.rate] * len(fields)
    states = _states(fields, rates, keys, config)
    groups: dict[Any, list[int]] = {}
    for i, (task, state) in enumerate(zip(tasks, states, strict=True)):
        groups.setdefault(_shape((task, state)), []).append(i)
    room = budget() if max_memory is None else max_memory
    parts: list[Part] = []
    for members in groups.values():
        task, field = tasks[members[0]], states[members[0]].field
        each = bytes_of_run(field, task.microbatch_points)
        short = too_short_to_autotune(
            field, task.step_points, config.steps * len(members)
        )
        for some in _cut(members, min(MOST_RUNS, max(1, int(room // each)))):
            own = [tasks[i] for i in some], [states[i] for i in some]
            parts.append(Part(some, *own, short))
    programs, ready = _compile(parts, optimiser, min(config.every, config.steps))
    done_fields: list[Field | None] = [None] * len(fields)
    histories: list[History] = [{} for _ in fields]
    done = 0
    for k, (part, program) in enumerate(zip(parts, programs, strict=True)):
        if on_stack is not None:
            on_stack(done)
        done += len(part.places)
        runs = ready.pop(k, None) or _stacked(part, optimiser)
        trained, history = _run_stack(runs, config, optimiser, program)
        count(trained[0], part.tasks[0].step_points, config.steps * len(trained))
        for i, field, entries in zip(part.places, trained, history, strict=True):
            done_fields[i], histories[i] = field, entries
    return [f for f in done_fields if f is not None], histories


def _states(
    fields: Sequence[Field],
    rates: Sequence[float | Rate],
    keys: Sequence[AnyKey],
    config: Config,
) -> list[State]:
    """Where each run starts, without moments: equal ones are one object."""
    precision = Precision.resolve(config.precision, jax.default_backend())
    states: list[State] = []
    made: dict[Any, State] = {}
    runs = list(zip(fields, rates, keys, strict=True))  # kept, so that an id is one's
    for field, rate, key in runs:
        name = id(field), rate if isinstance(rate, float) else id(rate), id(key)
        if name not in made:
            own = dataclasses.replace(config, rate=rate).rate  # checked
            own = own if isinstance(own, Rate) else constant_rate(own)
            exact = field.with_precision(precision)
            made[name] = init_state(exact, optax.identity(), own, key)
        states.append(made[name])
    return states


def _stacked(part: Part, optimiser: optax.GradientTransformation) -> Stack:
    task, axes = stack(part.tasks)
    state = jax.tree.map(lambda *leaves: _together(leaves), *part.states)
    moving = eqx.filter(state.field, state.field.trainable())
    state = dataclasses.replace(state, moments=jax.vmap(optimiser.init)(moving))
    task, state = _spread(task, axes, state, len(part.states))
    return Stack(task, axes, state, len(part.states))


def _compile(
    parts: Sequence[Part], optimiser: optax.GradientTransformation, length: int
) -> tuple[list[Callable], dict[int, Stack]]:
    """The program of every part; those that differ are compiled side by side, which
    for six shapes on a GPU takes 5 s and not 24. Also the stacks made for it, by the
    part's place."""
    names, ready = [], {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for k, part in enumerate(parts):
            shape = _shape((part.tasks[0], part.states[0]))
            size, shared = len(part.tasks), _shared(part.tasks)
            names.append(
                (
                    shape,
                    size,
                    shared,
                    _devices(size),
                    optimiser,
                    length,
                    part.skip_autotune,
                )
            )
            if names[-1] not in _PROGRAMS:
                ready[k] = runs = _stacked(part, optimiser)
                program = (
                    population_chunk_without_autotune
                    if part.skip_autotune
                    else population_chunk
                )
                lowered = program.lower(  # pyright: ignore[reportFunctionMemberAccess]
                    runs.task, runs.state, runs.axes, optimiser, length
                )
                _PROGRAMS[names[-1]] = pool.submit(lowered.compile)
    try:
        return [_PROGRAMS[name].result() for name in names], ready
    except BaseException:  # a program that could not be made is not one to keep
        for name in names:
            _PROGRAMS.pop(name, None)
        raise


_PROGRAMS: dict[Any, Future] = {}


def _run_stack(
    runs: Stack,
    config: Config,
    optimiser: optax.GradientTransformation,
    program: Callable,
) -> tuple[list[Field], list[History]]:
    task, axes, state, count = runs
    steps: list[int] = []
    losses: list[np.ndarray] = []
    done = 0
    while done < config.steps:
        length = min(config.every, config.steps - done)
        whole = length == min(config.every, config.steps)
        take = program if whole else population_chunk
        state, per_step = take(task, state, axes, optimiser, length)
        done += length
        steps.append(done)
        losses.append(np.asarray(per_step[-1]))
    fields = unstack(state.field.with_precision(Precision.FLOAT32), count)
    stopped = np.asarray(state.stopped)
    histories = []
    for i in range(count):
        history: History = {"step": list(steps), "loss": [float(x[i]) for x in losses]}
        if stopped[i] >= 0:
            history["stopped"] = [int(stopped[i])]
        histories.append(history)
    return fields, histories


def advance_stack(
    task: Task,
    state: State,
    axes: PyTree,
    optimiser: optax.GradientTransformation,
    length: int,
):
    """`length` steps of every run of a stack; losses are (length, runs)."""

    def body(carry, _):
        def one(task, state):
            return advance(task, state, optimiser)

        return eqx.filter_vmap(one, in_axes=(axes, eqx.if_array(0)))(task, carry)

    return jax.lax.scan(body, state, length=length, unroll=unroll(task))


population_chunk = eqx.filter_jit(advance_stack, donate="all-except-first")
population_chunk_without_autotune = eqx.filter_jit(  # pyright: ignore[reportCallIssue]
    advance_stack, donate="all-except-first", compiler_options=NO_AUTOTUNE
)


def stack(tasks: Sequence[T]) -> tuple[T, PyTree]:
    """One task with a leading run axis, and which leaves have it.

    A leaf that is the same object in every task (the coordinates, say) is held once.
    """
    leaves = [jax.tree.leaves(t) for t in tasks]
    tree = jax.tree.structure(tasks[0])
    stacked, axes = [], []
    for same, once in zip(zip(*leaves, strict=True), _shared(tasks), strict=True):
        stacked.append(same[0] if once else _together(same))
        axes.append(None if once else 0)
    return jax.tree.unflatten(tree, stacked), jax.tree.unflatten(tree, axes)


def _shared(tasks: Sequence[Task]) -> tuple[bool, ...]:
    """Which leaves are one object in all tasks."""
    leaves = zip(*(jax.tree.leaves(task) for task in tasks), strict=True)
    return tuple(all(leaf is same[0] for leaf in same) for same in leaves)


def _together(leaves: Sequence[Array]) -> Array:
    """Arrays along a new first axis; on the host, where no shape has to be compiled."""
    if jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
        return jnp.stack(leaves)
    return jnp.asarray(np.stack([np.asarray(leaf) for leaf in leaves]))


def unstack(tree: PyTree, count: int) -> list[PyTree]:
    """The runs of a stack, one by one."""
    leaves, structure = jax.tree.flatten(tree)
    host = [np.asarray(leaf) for leaf in leaves]
    return [
        jax.tree.unflatten(structure, [jnp.asarray(leaf[i]) for leaf in host])
        for i in range(count)
    ]


def _spread(task: Task, axes: PyTree, state: State, runs: int) -> tuple[Task, State]:
    """Lay the run axis over the devices; XLA then splits the program by itself."""
    devices = _devices(runs)
    if len(devices) == 1:
        return task, state
    mesh = Mesh(np.asarray(devices), ("run",))
    along = NamedSharding(mesh, PartitionSpec("run"))
    whole = NamedSharding(mesh, PartitionSpec())
    task = jax.tree.map(
        lambda leaf, axis: (
            leaf
            if leaf is None
            else jax.device_put(leaf, whole if axis is None else along)
        ),
        task,
        axes,
        is_leaf=lambda x: x is None,
    )
    state = jax.tree.map(lambda leaf: jax.device_put(leaf, along), state)
    return task, state


def _devices(runs: int) -> tuple[Any, ...]:
    """As many devices as take an equal number of runs each."""
    devices = jax.devices()
    most = max(k for k in range(1, len(devices) + 1) if runs % k == 0)
    return tuple(devices[:most])


def _shape(tree: PyTree) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


def _cut(members: list[int], most: int) -> list[list[int]]:
    """Parts of at most `most`, all of one size if that takes less than twice as many:
    a part of another size is another program."""
    least = math.ceil(len(members) / most)
    even = (k for k in range(least, 2 * least) if len(members) % k == 0)
    parts = next(even, least)
    size = math.ceil(len(members) / parts)
    return [members[k : k + size] for k in range(0, len(members), size)]
