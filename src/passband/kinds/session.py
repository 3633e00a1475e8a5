"""One sitting of a run: from where it stands to its end, or to a Ctrl-C."""

import contextlib
import dataclasses
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from ..data.images import write_image
from ..ops.mlp import Precision
from ..tasks.task import Task
from ..train.driver import Config, Diverged, train
from ..train.run_folder import RunFolder, add_entry
from ..train.schedules import Cosine
from ..train.state import State
from .ahead import import_ahead
from .kind import Kind, Listener

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run with its state saved."""
LANDING = 0.2
"""Share of the minutes in which the rate falls to 0 before all steps are taken."""


class Collapse(Exception):
    """A run has come to where it learns nothing more."""

    def __init__(self, step: int, reason: str):
        super().__init__(reason)
        self.step = step


@dataclasses.dataclass(frozen=True, eq=False)
class Sat:
    """How far a run has come."""

    state: State
    seconds: float
    """All that were spent, those of earlier sittings too."""
    history: dict[str, list[float]]


def sit(
    kind: Kind,
    task: Task,
    config: Config,
    begun: Sat,
    *,
    key: jax.Array,
    optimiser: optax.GradientTransformation,
    name: str,
    folder: RunFolder | None,
    listener: Listener,
    save_every: float,
    on_log: Callable[[dict[str, float]], bool | None] | None = None,
) -> Sat:
    """Train, and leave metrics and checkpoints in the folder, if there is one.

    However training ends, its last good state is saved.
    """
    started = saved = time.perf_counter()
    last, history = begun.state, {k: list(v) for k, v in begun.history.items()}
    first: tuple[float, float] | None = None

    def spent() -> float:
        return begun.seconds + time.perf_counter() - started

    def log(state: State, entry: dict[str, float]) -> bool:
        nonlocal last, saved, first
        last = state
        exact = state.field.with_precision(Precision.FLOAT32)
        health = kind.health(task, exact, entry, history)
        if health.collapse is not None:
            raise Collapse(int(entry["step"]), health.collapse)
        entry |= health.more
        add_entry(history, entry)
        if folder is not None:
            folder.log(entry)
            if health.preview is not None:
                write_image(folder.path / "preview.png", health.preview)
            if time.perf_counter() - saved >= save_every:
                folder.checkpoint(state, entry["seconds"])
                saved = time.perf_counter()
        # The first chunk was compiled too: no measure of speed.
        first = first or (entry["step"], entry["seconds"])
        listener.progress(progress_line(entry, first, config.steps, task.step_points))
        if interrupted:
            raise KeyboardInterrupt
        asked = on_log is not None and on_log(dict(entry))
        return health.stop or bool(asked)

    start = f"step {int(begun.state.step)}/{config.steps}"
    listener.progress(f"{start}  compiling", often=False)
    if folder is not None:
        import_ahead()
    with _interrupts() as interrupted:
        try:
            train(
                [task], [begun.state.field], config, keys=[key], optimiser=optimiser,
                state=begun.state, seconds=begun.seconds, on_log=log, name=name,
            )  # fmt: skip
        except Diverged as error:
            if folder is not None:
                folder.checkpoint(error.state, spent())
            raise
        except KeyboardInterrupt:
            if folder is not None:
                folder.checkpoint(last, spent())
            raise
    seconds = spent()
    if folder is not None:
        folder.checkpoint(last, seconds)
    return Sat(last, seconds, history)


def falls(state: State) -> bool:
    """Whether the rate falls to 0 at the end of the run: a state on the way there is
    worth less than its loss could be."""
    return isinstance(state.rate, Cosine)


def land(
    task: Task,
    config: Config,
    since: int,
    ended: Sat,
    *,
    key: jax.Array,
    optimiser: optax.GradientTransformation,
) -> State:
    """Where a run that was out of time comes to if its rate now falls to 0, in a
    quarter of the steps of its sitting; what it would be resumed from stays.

    By a cosine whose end these steps are, so that no other program is made.

    Args:
        since: the step at which the sitting began.
    """
    state, every = ended.state, config.every
    now, left = int(state.step), config.steps - int(state.step)
    share = LANDING / (1 - LANDING)
    steps = min(left, every * max(1, round(share * (now - since) / every)))
    if not (left and isinstance(state.rate, Cosine)):
        return state
    end = jnp.float32(now + steps)
    high = state.rate(state.step) / Cosine(jnp.float32(1), end)(state.step)
    state = jax.tree.map(lambda x: x.copy() if eqx.is_array(x) else x, state)
    state = dataclasses.replace(state, rate=Cosine(high, end))
    config = dataclasses.replace(config, steps=now + steps, minutes=None)
    [field], _ = train(
        [task], [state.field], config, keys=[key], optimiser=optimiser, state=state
    )
    return dataclasses.replace(ended.state, field=field)


@contextlib.contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Notes a first Ctrl-C, TERM or HUP in a list, so that the run ends where there is
    a state to save; a second one does not wait."""
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted  # signals are the main thread's
        return

    def note(number: int, _: Any) -> None:
        noted.append(number)
        signal.signal(number, signal.SIG_DFL)

    previous = {s: signal.getsignal(s) for s in STOPS}
    # A process that was told to be deaf stays so: `nohup passband fit ...`.
    deaf = {s for s in STOPS[1:] if previous[s] is signal.SIG_IGN}
    heard = [s for s in STOPS if s not in deaf]
    for number in heard:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        for number in heard:
            signal.signal(number, previous[number])


def progress_line(
    entry: Mapping[str, float], first: tuple[float, float], steps: int, points: int
) -> str:
    """Where a run stands: step, loss, PSNR, points a second, time left."""
    parts = [f"step {entry['step']:.0f}/{steps}", f"loss {entry['loss']:.3g}"]
    if "psnr" in entry:
        parts.append(f"psnr {entry['psnr']:.2f} dB")
    done, spent = entry["step"] - first[0], entry["seconds"] - first[1]
    if done and spent > 0:
        parts.append(f"{_short(done * points / spent)} points/s")
        parts.append(f"{duration((steps - entry['step']) * spent / done)} left")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as minutes and seconds."""
    seconds = round(seconds)
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d}"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def _short(value: float) -> str:
    for unit in ("", "k", "M"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}G"
