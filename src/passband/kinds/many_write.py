"""Trained stacks judged, and written as shards by a thread behind the training."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..field import Field
from ..model_file import facts_of, tensors_of
from ..shard_file import write_shard
from ..train.driver import Stacked
from ..train.set_folder import Part
from .in_stacks import InStacks, Judged
from .kind import Kind
from .many_plan import SetPlan
from .many_read import Ready

DEAD = 0.9
"""A run is dead if its loss is this share of the first look's, and moves no more."""


@contextlib.contextmanager
def writer() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Does jobs in order in a thread of its own, at most two of them waiting; what goes
    wrong there is raised here."""
    jobs: queue.Queue[Callable[[], None] | None] = queue.Queue(2)
    wrong: list[BaseException] = []

    def work() -> None:
        while (job := jobs.get()) is not None:
            if not wrong:
                try:
                    job()
                except BaseException as error:
                    wrong.append(error)

    thread = threading.Thread(target=work, name="passband-writer")
    thread.start()

    def hand_over(job: Callable[[], None]) -> None:
        if wrong:
            raise wrong[0]
        jobs.put(job)

    try:
        yield hand_over
    finally:
        jobs.put(None)
        thread.join()
    if wrong:
        raise wrong[0]


def write_stack(
    part: Part,
    plan: SetPlan,
    kept: Sequence[Ready],
    field: Field,
    judged: Sequence[Judged],
    seconds: float,
) -> None:
    """Write the fields of a stack as one shard."""
    rows = []
    arrays: dict[str, list[np.ndarray]] = {}
    for one, (metrics, about) in zip(kept, judged, strict=True):
        rows.append(_row(one, metrics, about, seconds))
        for name, value in about.items():
            if isinstance(value, np.ndarray):
                arrays.setdefault(name, []).append(value)
    final = _finished([one.kind for one in kept], field)
    tensors, shared = _shared(tensors_of(final), plan, kept)
    more = {f"about.{k}": np.stack(v) for k, v in arrays.items()}
    facts = facts_of(final)
    if final.members > 1:
        facts["members"] = final.members
    write_shard(part.next_shard(), tensors | more, shared, facts, rows)


def failures_of(done: Stacked, count: int) -> dict[int, str]:
    """Runs of a stack that came to nothing, and why."""
    why = {}
    for k in range(count):
        own = done.losses[:, k]
        if (step := int(done.stopped[k])) >= 0:
            why[k] = f"its loss stopped being finite at step {step}"
        elif len(own) > 2 and own[-1] == own[-2] and own[-1] >= DEAD * own[0] > 1e-6:
            why[k] = "it learned nothing: its loss does not move"
    return why


def judge_together(
    stack: Sequence[Ready], field: Field
) -> Callable[[], Sequence[Judged]] | None:
    """Metrics and facts of a whole stack by one program, where its kind has one; the
    program is begun here, and waited for by who asks what it found."""
    cls = type(stack[0].kind)
    if not issubclass(cls, InStacks):
        return None
    return cls.judge_stack(
        [one.kind for one in stack], [one.task for one in stack], field
    )


def judge(kept: Sequence[Ready], field: Field) -> list[Judged]:
    """Metrics and facts of fields, one after the other."""
    judged = []
    for k, one in enumerate(kept):
        own = jax.tree.map(lambda leaf, k=k: jnp.asarray(leaf[k]), field)
        task = jax.tree.map(jnp.asarray, one.task)
        found = one.kind.evaluate(task, own, one.training)
        judged.append(Judged(found.metrics, found.about))
    return judged


def _finished(kinds: Sequence[Kind], field: Field) -> Field:
    """The stack as its models have it."""
    cls = type(kinds[0])
    if cls.finished is Kind.finished:
        return field
    each = [
        kind.finished(jax.tree.map(lambda leaf, k=k: jnp.asarray(leaf[k]), field))
        for k, kind in enumerate(kinds)
    ]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *each)


def _shared(
    tensors: dict[str, np.ndarray], plan: SetPlan, kept: Sequence[Ready]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The encoding once, where it is one for all and was not trained."""
    same = all(one.training.mapping == kept[0].training.mapping for one in kept)
    still = not any(name.startswith("encoding.level") for name in tensors)
    if plan.own_mappings or not same or not still or kept[0].training.mapping.trains:
        return tensors, []
    shared = [name for name in tensors if name.startswith("encoding.")]
    return {k: v[0] if k in shared else v for k, v in tensors.items()}, shared


def _row(
    one: Ready, metrics: dict[str, float], about: dict[str, Any], seconds: float
) -> dict[str, Any]:
    facts = {k: v for k, v in about.items() if not isinstance(v, np.ndarray)}
    row = {
        "name": one.source.name,
        "place": one.source.place,
        "source": one.source.path,
        "sha256": one.sha256,
        "task": one.kind.name,
        "mapping": str(one.training.mapping),
        "steps": one.training.steps,
        "seconds": round(seconds, 6),
        "metrics": {k: round(float(v), 5) for k, v in metrics.items()},
    }
    if one.kind.warnings:
        row["warning"] = one.kind.warnings[0]
    return row | {"about": facts}
