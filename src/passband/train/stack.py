"""Runs side by side: trees with a run axis, cut to memory and spread over devices."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from ..field import Field
from ..tasks.task import Task
from .haste import Haste, haste_of
from .memory import bytes_of_run
from .programs import RUN
from .state import State, init_moments

T = TypeVar("T", bound=Task)
MOST_RUNS = 64
"""Runs in one stack: more are no faster."""
ON_HOST = 2**28
"""Bytes that are laid side by side sooner than a GPU compiles a program for it."""


class Part(NamedTuple):
    """Runs that train as one program: a stack, or one that is alone."""

    places: list[int]
    tasks: list[Task]
    states: list[State]
    haste: Haste
    alone: bool = False

    @property
    def mesh(self) -> Mesh | None:
        """The devices that share the runs, or the batch of one that is alone, if there
        are several."""
        if not self.alone:
            return _mesh(len(self.states))
        batch = self.tasks[0].shared_batch
        return None if batch is None else _mesh(batch)

    def arrays(
        self, optimiser: optax.GradientTransformation
    ) -> tuple[Task, State, PyTree]:
        """The task, the state and which leaves of the task have a run axis."""
        if self.alone:
            [task], [state], mesh = self.tasks, self.states, self.mesh
            if mesh is not None:
                everywhere = NamedSharding(mesh, PartitionSpec())
                task, state = jax.device_put((task, state), everywhere)
            return task, state, None
        task, axes = stack(self.tasks)
        first, runs = self.states[0], len(self.states)
        if all(state is first for state in self.states):
            moments = init_moments(first.field, optimiser)
            state = repeated(dataclasses.replace(first, moments=moments), runs)
        else:
            state = together(self.states)
            moments = _moments(state.field, optimiser)
            state = dataclasses.replace(state, moments=moments)
        task, state = _spread(task, axes, state, len(self.states))
        return task, state, axes

    def shapes(
        self, optimiser: optax.GradientTransformation
    ) -> tuple[Task, State, PyTree]:
        """What `arrays` gives, without laying anything side by side."""
        if self.alone:
            return self.arrays(optimiser)
        runs, first = len(self.states), self.states[0]
        along, whole = _shardings(runs)

        def shape(leaf: Any, axis: int | None = 0) -> jax.ShapeDtypeStruct:
            lead, place = ((), whole) if axis is None else ((runs,), along)
            return jax.ShapeDtypeStruct(
                (*lead, *leaf.shape), leaf.dtype, sharding=place
            )

        leaves, tree = jax.tree.flatten(self.tasks[0])
        axes = _axes(self.tasks)
        task = jax.tree.unflatten(tree, map(shape, leaves, axes))
        moments = jax.eval_shape(
            lambda field: init_moments(field, optimiser), first.field
        )
        first = dataclasses.replace(first, moments=moments)
        return task, jax.tree.map(shape, first), jax.tree.unflatten(tree, axes)


def parts_of(
    tasks: Sequence[Task], states: Sequence[State], steps: int, room: int
) -> list[Part]:
    """Runs of one shape together, as many as fit into so many bytes."""
    groups: dict[Any, list[int]] = {}
    for i, run in enumerate(zip(tasks, states, strict=True)):
        leaves, structure = jax.tree.flatten(run)
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        groups.setdefault((structure, shapes), []).append(i)
    parts = []
    for members in groups.values():
        task, field = tasks[members[0]], states[members[0]].field
        each = bytes_of_run(field, task.microbatch_points)
        haste = haste_of(field, task.step_points, steps * len(members))
        for some in _cut(members, min(MOST_RUNS, max(1, int(room // each)))):
            own = [tasks[i] for i in some], [states[i] for i in some]
            parts.append(Part(some, *own, haste))
    return parts


def stack(tasks: Sequence[T]) -> tuple[T, PyTree]:
    """One task with a leading run axis, and which leaves have it.

    A leaf that is the same object in every task (the coordinates, say) is held once.
    """
    leaves = zip(*(jax.tree.leaves(task) for task in tasks), strict=True)
    tree = jax.tree.structure(tasks[0])
    axes = _axes(tasks)
    laid = [
        same[0] if axis is None else _together(same)
        for same, axis in zip(leaves, axes, strict=True)
    ]
    return jax.tree.unflatten(tree, laid), jax.tree.unflatten(tree, axes)


def together(trees: Sequence[PyTree]) -> PyTree:
    """One tree with a leading run axis."""
    return jax.tree.map(lambda *leaves: _together(leaves), *trees)


def repeated(tree: PyTree, count: int) -> PyTree:
    """One tree so many times along a leading run axis: a large one where it is trained,
    a small one on the host, where no shape has to be compiled."""
    if count * sum(leaf.nbytes for leaf in jax.tree.leaves(tree)) > ON_HOST:
        return _repeated(tree, count)
    return together([tree] * count)


@functools.partial(jax.jit, static_argnums=1)
def _repeated(tree: PyTree, count: int) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), tree)


@functools.partial(jax.jit, static_argnums=1)
def _moments(fields: Field, optimiser: optax.GradientTransformation) -> PyTree:
    """What an optimiser remembers of each field of a stack at the start."""
    return jax.vmap(lambda field: init_moments(field, optimiser))(fields)


def unstack(tree: PyTree, count: int) -> list[PyTree]:
    """The first so many runs of a stack, one by one."""
    leaves, structure = jax.tree.flatten(tree)
    host = [leaf if _is_key(leaf) else np.asarray(leaf) for leaf in leaves]
    # In one call: a figure of small networks has twenty thousand leaves.
    runs = _on_device([[leaf[i] for leaf in host] for i in range(count)])
    return [jax.tree.unflatten(structure, run) for run in runs]


def _axes(tasks: Sequence[Task]) -> list[int | None]:
    """Of every leaf: 0 for a run axis, None where it is one object in all tasks."""
    leaves = zip(*(jax.tree.leaves(task) for task in tasks), strict=True)
    return [None if all(x is same[0] for x in same) else 0 for same in leaves]


def _together(leaves: Sequence[Array | np.ndarray]) -> Array:
    """Arrays along a new first axis; on the host, where no shape has to be compiled."""
    if _is_key(leaves[0]):
        # By their numbers: a concatenation of a thousand keys takes seconds to compile.
        seen = {id(key): np.asarray(jax.random.key_data(key)) for key in leaves}
        data = np.stack([seen[id(key)] for key in leaves])
        impl = jax.random.key_impl(leaves[0])
        return jax.random.wrap_key_data(_on_device(data), impl=impl)
    return _on_device(np.stack([np.asarray(leaf) for leaf in leaves]))


def _on_device(arrays: PyTree) -> Any:
    """Copies; `jnp.asarray` would make a program for each shape."""
    return jax.device_put(arrays, may_alias=False)


def _is_key(leaf: Array | np.ndarray) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _spread(task: Task, axes: PyTree, state: State, runs: int) -> tuple[Task, State]:
    """Lay the run axis over the devices, each of which trains its own runs."""
    along, whole = _shardings(runs)
    if along is None:
        return task, state
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
    return task, jax.tree.map(lambda leaf: jax.device_put(leaf, along), state)


def _shardings(runs: int) -> tuple[NamedSharding | None, NamedSharding | None]:
    """Of what has a run axis and of what has not; None where one device has all."""
    mesh = _mesh(runs)
    if mesh is None:
        return None, None
    along = NamedSharding(mesh, PartitionSpec(RUN))
    return along, NamedSharding(mesh, PartitionSpec())


def _mesh(runs: int) -> Mesh | None:
    """As many devices as take an equal number of runs each; None where that is one."""
    devices = jax.local_devices()  # of a job of several machines, those of this one
    most = max(k for k in range(1, len(devices) + 1) if runs % k == 0)
    return None if most == 1 else Mesh(np.asarray(devices[:most]), (RUN,))


def _cut(members: list[int], most: int) -> list[list[int]]:
    """Parts of at most `most`, all of one size if that takes less than twice as many:
    a part of another size is another program."""
    least = math.ceil(len(members) / most)
    even = (k for k in range(least, 2 * least) if len(members) % k == 0)
    parts = next(even, least)
    size = math.ceil(len(members) / parts)
    return [members[k : k + size] for k in range(0, len(members), size)]
