"""Training as compiled programs: many steps in one, each compiled once a process."""

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, PyTree

from ..ops.fused import patience
from ..ops.without_autotune import NO_AUTOTUNE
from ..tasks.task import Task
from .haste import Haste
from .memory_maps import few_left
from .state import State, advance

RUN = "run"
"""The axis of a mesh along which the runs of a stack lie."""


def chunk(
    task: Task,
    state: State,
    axes: PyTree,
    optimiser: optax.GradientTransformation,
    length: int,
    mesh: Mesh | None = None,
    in_turn: bool = False,
    brief: bool = False,
) -> tuple[State, Float[Array, "length *runs"]]:
    """`length` steps of a run, and their losses.

    Args:
        axes: which leaves of a stack of tasks have a run axis (`stack.stack`); None
            where the run is alone.
        mesh: devices that share the runs of a stack, or the batch of a run alone. Of a
            stack each takes its own through the whole program and hears nothing of the
            others, so that ops which XLA cannot take apart (`ops.fused`) serve here
            too.
        in_turn: take the runs of a stack one after the other, as if each were alone:
            on a CPU, whose products of stacks are slow, and where the bits of a run
            then do not depend on its neighbours.
        brief: compiling fast is worth more than running fast.
    """
    if mesh is not None and axes is None:
        return _batch_shared(task, state, optimiser, length, mesh)
    if mesh is not None:
        return _on_each_device(
            task, state, axes, optimiser, length, mesh, in_turn, brief
        )
    if in_turn:
        return _in_turn(task, state, axes, optimiser, length)

    at_once = 1 if brief else unroll(task)
    if axes is None:

        def alone(state: State, length: int) -> tuple[State, Array]:
            ready = task.ready(state.field, state.step)
            return _scan(
                lambda *carry: advance(ready, carry[0], optimiser, carry[1]),
                state, length, at_once,
            )  # fmt: skip

        return _in_looks(alone, state, length, task.steps_a_look)

    run = eqx.if_array(0)

    @functools.partial(eqx.filter_vmap, in_axes=(axes, run, 0))
    def look_up(task, field, step):
        return task.look_up(field, step)

    @functools.partial(eqx.filter_vmap, in_axes=(axes, run, run, 0))
    def one(task, found, state, number):
        return advance(task.with_found(found), state, optimiser, number)

    def stacked(state: State, length: int) -> tuple[State, Array]:
        found = look_up(task, state.field, state.step)
        return _scan(lambda *carry: one(task, found, *carry), state, length, at_once)

    return _in_looks(stacked, state, length, task.steps_a_look)


def _in_looks(
    some: Callable[[State, int], tuple[State, Array]],
    state: State,
    length: int,
    look: int,
) -> tuple[State, Float[Array, "length *runs"]]:
    """`length` steps, so many at once as follow one look at the field; 1 is none."""
    whole, rest = divmod(length, look)
    if look == 1 or whole == 0 or (whole, rest) == (1, 0):
        return some(state, length)
    state, losses = jax.lax.scan(lambda at, _: some(at, look), state, length=whole)
    losses = losses.reshape(whole * look, *losses.shape[2:])
    if rest:
        state, last = some(state, rest)
        losses = jnp.concatenate([losses, last])
    return state, losses


def _scan(
    one: Callable[[State, Array], tuple[State, Array]],
    state: State,
    length: int,
    unroll: int,
) -> tuple[State, Float[Array, "length *runs"]]:
    """So many steps, each with its number."""
    after = jnp.arange(length, dtype=state.step.dtype)
    numbers = state.step + after.reshape(length, *[1] * state.step.ndim)
    return jax.lax.scan(one, state, numbers, unroll=unroll)


def _on_each_device(
    task: Task,
    state: State,
    axes: PyTree,
    optimiser: optax.GradientTransformation,
    length: int,
    mesh: Mesh,
    in_turn: bool,
    brief: bool,
) -> tuple[State, Float[Array, "length *runs"]]:
    """`chunk`, each device with its share of the runs."""
    along, whole = PartitionSpec(RUN), PartitionSpec()
    leaves, structure = jax.tree.flatten(task)
    specs = [whole if axis is None else along for axis in structure.flatten_up_to(axes)]

    def some(leaves: list[Array], state: State) -> tuple[State, Array]:
        task = jax.tree.unflatten(structure, leaves)
        return chunk(task, state, axes, optimiser, length, in_turn=in_turn, brief=brief)

    return jax.shard_map(
        some,
        mesh=mesh,
        in_specs=(specs, along),
        out_specs=(along, PartitionSpec(None, RUN)),
        check_vma=False,  # Pallas' programs do not say which devices they vary over
    )(leaves, state)


def _batch_shared(
    task: Task,
    state: State,
    optimiser: optax.GradientTransformation,
    length: int,
    mesh: Mesh,
) -> tuple[State, Float[Array, " length *members"]]:
    """`chunk` of one run: every device has the whole network and a part of the batch,
    and all take the same step."""
    mine, whole = task.share(mesh.size), PartitionSpec()
    leaves, structure = jax.tree.flatten(mine)

    def some(leaves: list[Array], state: State) -> tuple[State, Array]:
        task = jax.tree.unflatten(structure, leaves)

        return _scan(
            lambda state, number: advance(task, state, optimiser, number, RUN),
            state, length, 1,
        )  # fmt: skip

    return jax.shard_map(
        some, mesh=mesh, in_specs=(whole, whole), out_specs=(whole, whole),
        check_vma=False,
    )(leaves, state)  # fmt: skip


def _in_turn(
    task: Task,
    state: State,
    axes: PyTree,
    optimiser: optax.GradientTransformation,
    length: int,
) -> tuple[State, Float[Array, "length *runs"]]:
    """`chunk`, one run after the other."""
    leaves, structure = jax.tree.flatten(task)
    own = [axis is not None for axis in structure.flatten_up_to(axes)]

    def one(run: tuple[list[Array], State]) -> tuple[State, Array]:
        mine = iter(run[0])
        all_of_it = [
            next(mine) if moves else leaf
            for leaf, moves in zip(leaves, own, strict=True)
        ]
        alone = jax.tree.unflatten(structure, all_of_it)
        return chunk(alone, run[1], None, optimiser, length)

    moving = [leaf for leaf, moves in zip(leaves, own, strict=True) if moves]
    state, losses = jax.lax.map(one, (moving, state))
    return state, jnp.swapaxes(losses, 0, 1)


def unroll(task: Task) -> int:
    """Steps of a scan laid side by side: 4 on a GPU, where a lone step waits for the
    loop to come round (5 %), and 1 on a CPU, where compiling is what costs. Also 1
    where a step goes in parts: XLA works out the features of several together and
    keeps them.
    """
    return 1 if task.microbatched or jax.default_backend() == "cpu" else 4


class Call(NamedTuple):
    """What is to be compiled: a function, and its arguments or their shapes."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    haste: Haste = Haste.USUAL


class Program:
    """A compiled call, or one that is being made; all arrays but those of its first
    argument are donated."""

    def __init__(self, made: Future[jax.stages.Compiled]):
        self.made = made

    @property
    def compiled(self) -> jax.stages.Compiled:
        return self.made.result()

    def ready(self) -> "Program":
        """Wait until it is made."""
        global _COMPILE_SECONDS
        begun = time.perf_counter()
        self.made.result()
        _COMPILE_SECONDS += time.perf_counter() - begun
        return self

    def __call__(self, first: Any, *rest: Any) -> Any:
        return self.compiled(_arrays(first), _arrays(rest))


_PROGRAMS: dict[Any, Program] = {}
"""By function, and shapes, types and places of the arrays."""
_COMPILE_SECONDS = 0.0


def compile_seconds() -> float:
    """What waiting for programs has taken in this process."""
    return _COMPILE_SECONDS


def program(
    function: Callable[..., Any], *arguments: Any, haste: Haste = Haste.USUAL
) -> Program:
    """The compiled function, for arguments like these; made when first asked for."""
    return programs([Call(function, arguments, haste)])[0]


def programs(calls: Sequence[Call]) -> list[Program]:
    """The programs of several calls, all of them made."""
    with making(calls) as made:
        return [one.ready() for one in made]


@contextlib.contextmanager
def making(calls: Sequence[Call]) -> Iterator[list[Program]]:
    """The programs of several calls, while those that are new are being made.

    One thread traces them in their order, and they are compiled side by side, which for
    six shapes on a GPU takes 5 s and not 24: the first can run while the others are
    made. What is not begun when this is left is not made.
    """
    names = [_name(call) for call in calls]
    known = {name: _PROGRAMS[name] for name in names if name in _PROGRAMS}
    made = {name: one for name, one in known.items() if one.made.done()}
    if len(known) < len(set(names)) and few_left():
        forget()
    tracer, compilers = ThreadPoolExecutor(1), ThreadPoolExecutor(os.cpu_count())
    here = _settings()
    try:
        for name, call in zip(names, calls, strict=True):
            if name in made:
                continue
            if name in known:  # it is being made ahead
                program = compilers.submit(_or_anew, known[name].made, here, call)
            else:
                traced = tracer.submit(_lower_as_in, here, call)
                program = compilers.submit(_compile, traced)
            made[name] = Program(program)
        yield [made[name] for name in names]
    finally:
        for pool in (tracer, compilers):
            pool.shutdown(wait=False, cancel_futures=True)
        _PROGRAMS.update({n: one for n, one in made.items() if _succeeded(one.made)})


def make_ahead(calls: Callable[[], Sequence[Call]]) -> None:
    """Make the programs of these calls in a thread of its own, for whoever asks for
    them later. What goes wrong is left to whoever asks, who makes them anew."""
    here = _settings()

    def work() -> None:
        with contextlib.suppress(Exception):
            wanted = {_name(call): (call, Future()) for call in calls()}
            new = {n: one for n, one in wanted.items() if n not in _PROGRAMS}
            _PROGRAMS.update({n: Program(made) for n, (_, made) in new.items()})
            for name, (call, made) in new.items():
                try:
                    made.set_result(_lower_as_in(here, call).compile())
                except Exception as error:
                    _PROGRAMS.pop(name, None)
                    made.set_exception(error)

    threading.Thread(target=work, daemon=True, name="passband-programs").start()


def forget() -> None:
    """Give back all programs that nothing runs, JAX's own too; they are made anew."""
    _PROGRAMS.clear()
    jax.clear_caches()


def _compile(traced: Future[jax.stages.Lowered]) -> jax.stages.Compiled:
    return traced.result().compile()


def _or_anew(
    made: Future[jax.stages.Compiled], here: tuple[bool, Any], call: Call
) -> jax.stages.Compiled:
    """What is being made, or made here if it cannot be had."""
    try:
        return made.result()
    except Exception:
        return _lower_as_in(here, call).compile()


def _succeeded(made: Future[jax.stages.Compiled]) -> bool:
    return made.done() and not made.cancelled() and made.exception() is None


def _settings() -> tuple[bool, Any]:
    """Those of JAX that a thread has of its own."""
    return jax.config.jax_enable_x64, jax.config.jax_default_device  # pyright: ignore


def _lower_as_in(settings: tuple[bool, Any], call: Call) -> jax.stages.Lowered:
    """With the settings of JAX that the thread has which asks for it."""
    x64, device = settings
    with jax.enable_x64(x64), jax.default_device(device):
        return _lower(call)


def _lower(call: Call) -> jax.stages.Lowered:
    first, *rest = call.arguments
    leaves, structure = jax.tree.flatten(call.arguments)
    fixed = [None if _is_array(leaf) else leaf for leaf in leaves]
    places = [k for k, leaf in enumerate(leaves) if _is_array(leaf)]

    def function(kept: list[Any], donated: list[Any]) -> Any:
        whole = list(fixed)
        for k, leaf in zip(places, [*kept, *donated], strict=True):
            whole[k] = leaf
        return call.function(*jax.tree.unflatten(structure, whole))

    functools.update_wrapper(function, call.function, assigned=("__name__",))
    options = overlapping() | (NO_AUTOTUNE if call.haste is Haste.BRIEF else {})
    jitted = jax.jit(function, donate_argnums=1, compiler_options=options)
    with patience(call.haste is Haste.PATIENT):
        return jitted.lower(_arrays(first), _arrays(rest))


OVERLAPPING = {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"}
"""XLA's option for a CUDA graph whose kernels wait for what they read and not for one
another: sums of gradients and Muon's products run beside the backward pass."""


@functools.cache
def overlapping() -> dict[str, str]:
    """`OVERLAPPING` on a GPU, where this version of XLA knows it."""
    if jax.default_backend() != "gpu":
        return {}
    with contextlib.suppress(jax.errors.JaxRuntimeError):
        jax.jit(lambda: 0, compiler_options=OVERLAPPING).lower().compile()
        return OVERLAPPING
    return {}


def _name(call: Call) -> Any:
    leaves, structure = jax.tree.flatten(call.arguments)
    shapes = (
        (leaf.shape, leaf.dtype, getattr(leaf, "sharding", None))
        if _is_array(leaf)
        else leaf
        for leaf in leaves
    )
    return call.function, call.haste, structure, tuple(shapes)


def _arrays(tree: PyTree) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(tree) if _is_array(leaf)]


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | jax.ShapeDtypeStruct | np.ndarray | np.generic)
