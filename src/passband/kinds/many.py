"""Many inputs of one kind to a set of fields: read, trained in stacks, and written.

A reader thread is ahead of the training by a stack, a writer thread behind it by
another, so that the three overlap and memory does not grow with the number of inputs.
Whatever goes wrong with an input is a row of the index; the others go on.
"""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from ..errors import one_line
from ..field import Field
from ..train.driver import Config, Running, Stacked, begin_stack
from ..train.memory import budget, bytes_of_run
from ..train.optimisers import optimiser
from ..train.schedules import schedule
from ..train.set_folder import Part
from .drawn import draw_as_one
from .in_stacks import Judged
from .kind import SILENT, Listener
from .many_inputs import Source
from .many_plan import SetPlan
from .many_read import Failed, Ready, read_ahead
from .many_write import failures_of, judge, judge_together, write_stack, writer

STACK_POINTS = 2**20
"""Points of a step of all fields of a stack together: more are no faster, and small
stacks overlap better with reading and writing."""
MOST, CPU_MOST = 1024, 64
"""Fields of a stack."""
PENDING = 4
"""Stacks of inputs that may wait for others of their shape."""
FAULTS = (RuntimeError, MemoryError, ValueError)
"""What a stack may end with, XLA's errors among them."""
ENTRIES = range(8, 2, -1)
"""Looks at the losses of a stack: as many of them as divide its steps, since another
number of steps is another program."""


@dataclasses.dataclass
class Progress:
    """How far the set is."""

    total: int
    listener: Listener
    done: int = 0
    failed: list[Failed] = dataclasses.field(default_factory=list)
    begun: float = dataclasses.field(default_factory=time.perf_counter)

    def fail(self, failed: Failed) -> None:
        self.failed.append(failed)
        self.listener.say(f"failed: {failed.source.name}: {failed.error}")

    first: tuple[float, int] | None = None
    """When the first stack was trained, and how many fields it had."""

    def add(self, count: int) -> None:
        """So many more fields are trained."""
        self.done += count
        self.first = self.first or (time.perf_counter(), self.done)
        self.tell()

    def steady(self) -> float | None:
        """Fields a second since the first stack, which compiles what the others use."""
        if self.first is None or self.done == self.first[1]:
            return None
        spent = time.perf_counter() - self.first[0]
        return (self.done - self.first[1]) / max(spent, 1e-9)

    def tell(self, more: str = "") -> None:
        spent = time.perf_counter() - self.begun
        text = f"{self.done}/{self.total} fitted"
        if self.failed:
            text += f", {len(self.failed)} failed"
        if self.done:
            text += f", {self.done / spent:.3g} fields/s"
        self.listener.progress(text + more)


def fit_sources(
    sources: Sequence[Source],
    plan: SetPlan,
    part: Part,
    *,
    stack: int | None = None,
    listener: Listener = SILENT,
) -> Progress:
    """Fit inputs and leave their shards in a part of the set's folder.

    Args:
        stack: fields that train as one program; by default what the device does well.
    """
    progress = Progress(len(sources), listener)
    runner = _Runner(plan, part, progress)
    waiting: dict[Any, list[Ready]] = {}
    sizes: dict[Any, int] = {}
    ahead = stack or (CPU_MOST if jax.default_backend() == "cpu" else MOST)
    with (
        writer() as runner.write,
        contextlib.closing(read_ahead(sources, plan, ahead)) as read,
    ):
        for found in read:
            if isinstance(found, Failed):
                progress.fail(found)
                continue
            group = found.group
            if group not in sizes:
                sizes[group] = stack or _stack_size(found)
            waiting.setdefault(group, []).append(found)
            if len(waiting[group]) >= sizes[group]:
                runner.train(waiting.pop(group), sizes[group])
            elif sum(map(len, waiting.values())) >= PENDING * ahead:
                largest = max(waiting, key=lambda g: len(waiting[g]))
                runner.train(waiting.pop(largest), sizes[largest])
        for group, left in waiting.items():
            runner.train(left, sizes[group])
        runner.finish()
    part.failed([failed.row for failed in progress.failed])
    return progress


def _stack_size(found: Ready) -> int:
    """Fields that a device trains together as fast as it can, if they fit."""
    most = CPU_MOST if jax.default_backend() == "cpu" else MOST
    many = max(16, STACK_POINTS // max(1, found.task.step_points))
    draw, key = found.training.draw, jax.random.key(0)
    shapes = eqx.filter_eval_shape(draw, found.network, key)
    each = bytes_of_run(shapes, found.task.microbatch_points)
    each += sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(found.task))
    devices = jax.local_device_count()
    room = budget() if found.training.max_memory is None else found.training.max_memory
    return max(1, min(most, many, int(room // (2 * each)))) * devices


class _Started(NamedTuple):
    """A stack that a device trains and then judges."""

    stack: list[Ready]
    running: Running
    judged: Callable[[], Sequence[Judged]] | None


class _Runner:
    """Trains stacks, and hands what is to be written to the writer.

    A GPU is asked for the next stack before what it made of one is looked at, so that
    it need not wait for the host.
    """

    def __init__(self, plan: SetPlan, part: Part, progress: Progress):
        self.plan, self.part, self.progress = plan, part, progress
        self.write: Callable[[Callable[[], None]], None] = lambda job: job()
        self._optimisers: dict[Any, Any] = {}
        self._drawn: dict[Any, tuple[Field, jax.Array]] = {}
        self._whole: set[Any] = set()
        self._started: _Started | None = None
        self._free = 0.0

    def train(self, stack: list[Ready], size: int) -> None:
        """Fit inputs of one shape; too many for the device are halved."""
        self.progress.tell(f"; training {len(stack)} at once")
        try:
            started = self._start(stack, size)
        except FAULTS as error:
            self.finish()
            self._fail(stack, error)
            return
        self.finish()
        self._started = started
        if jax.default_backend() == "cpu":  # the same cores would do both
            self.finish()

    def finish(self) -> None:
        """See what came of the stack that was begun last."""
        started, self._started = self._started, None
        if started is None:
            return
        try:
            done = started.running.result(self._free)
            judged = None if started.judged is None else started.judged()
        except FAULTS as error:
            self._fail(started.stack, error)
            return
        self._free = time.perf_counter()
        self._leave(started.stack, done, judged)

    def _fail(self, stack: list[Ready], error: Exception) -> None:
        if "RESOURCE_EXHAUSTED" not in str(error) or len(stack) == 1:
            for one in stack:
                self.progress.fail(Failed(one.source, one_line(error)))
            return
        half = (len(stack) + 1) // 2
        for some in (stack[:half], stack[half:]):
            self.train(some, half)
            self.finish()

    def _start(self, stack: list[Ready], size: int) -> _Started:
        """Begin a stack, filled up to the size of a program that there is."""
        first = stack[0].training
        group = stack[0].group
        devices = jax.local_device_count()
        # A loop of one turn is none to XLA's CPU: a run alone would have other bits.
        least = 2 * devices if jax.default_backend() == "cpu" else devices
        full, runs = (
            max(least, -(-count // devices) * devices) for count in (size, len(stack))
        )
        # A stack that is not full takes the program of a full one, if there is one.
        if group in self._whole:
            runs = full
        if runs == full:
            self._whole.add(group)
        filled = [*stack, *stack[-1:] * (runs - len(stack))]
        word = first.optimiser
        moves = self._optimisers.setdefault(word, optimiser(word))
        rate = schedule(first.schedule, first.lr, first.steps)
        fields, keys = zip(*map(self._begin, filled), strict=True)
        config = Config(
            steps=first.steps,
            every=_every(first.steps),
            precision=first.precision,
        )
        running = begin_stack(
            [one.task for one in filled], fields, config, keys=keys,
            lrs=[rate] * runs, optimiser=moves,
        )  # fmt: skip
        return _Started(stack, running, judge_together(filled, running.field))

    def _begin(self, one: Ready) -> tuple[Field, jax.Array]:
        """The field of an input before its first step, and the key of its batches; one
        object for all that begin alike."""
        training, network = one.training, one.network
        name = network, training
        if name not in self._drawn:
            if self.plan.own_mappings:
                self._drawn.clear()  # nobody asks for it again
            first, key = jax.random.split(jax.random.key(training.seed))
            self._drawn[name] = draw_as_one(training, network, first), key
        return self._drawn[name]

    def _leave(
        self, stack: list[Ready], done: Stacked, judged: Sequence[Judged] | None
    ) -> None:
        """Hand the good fields over to be written."""
        why = failures_of(done, len(stack))
        good = [k for k in range(len(stack)) if k not in why]
        for k, error in why.items():
            self.progress.fail(Failed(stack[k].source, error))
        if not good:
            return
        field = done.field
        if len(good) < len(field.mlp.biases[0]):
            field = jax.tree.map(lambda leaf: leaf[np.asarray(good)], field)
        kept = [stack[k] for k in good]
        scores = judge(kept, field) if judged is None else [judged[k] for k in good]
        self.progress.add(len(kept))
        part, plan, each = self.part, self.plan, done.seconds / len(stack)
        self.write(lambda: write_stack(part, plan, kept, field, scores, each))


def _every(steps: int) -> int:
    """Steps between two looks at the losses."""
    looks = next((k for k in ENTRIES if steps % k == 0), 1)
    return steps // looks
