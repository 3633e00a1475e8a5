"""Many runs, one program: stacked states, each with its own scale, seed and target."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from ..field import Field
from ..mappings import AnyKey
from ..ops.mlp import Precision
from ..tasks.task import Task
from .loop import Config, History, start, unroll
from .memory import budget, bytes_of_run
from .state import Rate, State, adam, advance

T = TypeVar("T", bound=Task)


def run_population(
    tasks: Sequence[Task],
    fields: Sequence[Field],
    config: Config,
    *,
    keys: Sequence[AnyKey],
    rates: Sequence[float | Rate] | None = None,
    optimiser: optax.GradientTransformation | None = None,
    max_memory: int | None = None,
) -> tuple[list[Field], list[History]]:
    """Train every (task, field) pair; runs of one shape train together.

    Nothing reduces across runs: a run that turns bad is frozen at its last finite state
    (`history["stopped"]` holds the step) and its neighbours go on. Stacks are cut to
    what fits in memory and, where there are several devices, spread over them.
    """
    optimiser = optimiser or adam()
    rates = rates or [config.rate] * len(fields)
    states = [
        start(f, _with_rate(config, r), key=k, optimiser=optimiser)
        for f, r, k in zip(fields, rates, keys, strict=True)
    ]
    groups: dict[Any, list[int]] = {}
    for i, (task, state) in enumerate(zip(tasks, states, strict=True)):
        groups.setdefault(_shape((task, state)), []).append(i)
    done_fields: list[Field | None] = [None] * len(fields)
    histories: list[History] = [{} for _ in fields]
    room = budget() if max_memory is None else max_memory
    for members in groups.values():
        first = members[0]
        each = bytes_of_run(states[first].field, tasks[first].step_points)
        for part in _cut(members, max(1, int(room // each))):
            trained, history = _run_stack(
                [tasks[i] for i in part], [states[i] for i in part], config, optimiser
            )
            for i, field, entries in zip(part, trained, history, strict=True):
                done_fields[i], histories[i] = field, entries
    return [f for f in done_fields if f is not None], histories


def _run_stack(
    tasks: Sequence[Task],
    states: Sequence[State],
    config: Config,
    optimiser: optax.GradientTransformation,
) -> tuple[list[Field], list[History]]:
    task, axes = stack(tasks)
    state = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    task, state = _spread(task, axes, state, len(states))
    steps: list[int] = []
    losses: list[np.ndarray] = []
    done = 0
    while done < config.steps:
        length = min(config.every, config.steps - done)
        state, per_step = population_chunk(task, state, axes, optimiser, length)
        done += length
        steps.append(done)
        losses.append(np.asarray(per_step[-1]))
    fields = unstack(state.field.with_precision(Precision.FLOAT32), len(states))
    stopped = np.asarray(state.stopped)
    histories = []
    for i in range(len(states)):
        history: History = {"step": list(steps), "loss": [float(x[i]) for x in losses]}
        if stopped[i] >= 0:
            history["stopped"] = [int(stopped[i])]
        histories.append(history)
    return fields, histories


@eqx.filter_jit(donate="all-except-first")
def population_chunk(
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

    return jax.lax.scan(body, state, length=length, unroll=unroll())


def stack(tasks: Sequence[T]) -> tuple[T, PyTree]:
    """One task with a leading run axis, and which leaves have it.

    A leaf that is the same object in every task (the coordinates, say) is held once.
    """
    leaves = [jax.tree.leaves(t) for t in tasks]
    tree = jax.tree.structure(tasks[0])
    stacked, axes = [], []
    for same in zip(*leaves, strict=True):
        shared = all(leaf is same[0] for leaf in same)
        stacked.append(same[0] if shared else jnp.stack(same))
        axes.append(None if shared else 0)
    return jax.tree.unflatten(tree, stacked), jax.tree.unflatten(tree, axes)


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
    devices = jax.devices()
    count = max(k for k in range(1, len(devices) + 1) if runs % k == 0)
    if count == 1:
        return task, state
    mesh = Mesh(np.asarray(devices[:count]), ("run",))
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


def _with_rate(config: Config, rate: float | Rate) -> Config:
    return Config(config.steps, rate, config.every, config.precision, config.minutes)


def _shape(tree: PyTree) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return structure, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


def _cut(members: list[int], most: int) -> list[list[int]]:
    """Even parts of at most `most`, so that few programs are compiled."""
    parts = math.ceil(len(members) / most)
    size = math.ceil(len(members) / parts)
    return [members[k : k + size] for k in range(0, len(members), size)]
