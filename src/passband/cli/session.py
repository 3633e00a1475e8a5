"""One sitting of a run: from where it stands to its end, or to a Ctrl-C."""

import signal
import time
from collections.abc import Callable

import jax

from ..tasks.task import Task
from ..train.loop import Config, Diverged, run
from ..train.run_folder import RunFolder
from ..train.state import State
from .console import Console, duration

OnLog = Callable[[State, dict[str, float]], bool]
"""Sees every entry of the history; True ends the run."""


class EarlyStop(Exception):
    """A run has come to its end before its last step."""


def train(
    task: Task,
    training: Config,
    state: State,
    seconds: float,
    *,
    key: jax.Array,
    folder: RunFolder,
    console: Console,
    save_every: float,
    on_log: OnLog,
) -> tuple[State, float]:
    """Train, and leave metrics and checkpoints in the folder.

    Gives the last state and all the seconds spent, those of earlier sittings too.
    However training ends, its last good state is saved.
    """
    begun = saved = time.perf_counter()
    last, interrupted = state, False
    first: tuple[float, float] | None = None

    def on_interrupt(*_: object) -> None:
        nonlocal interrupted
        interrupted = True  # on_chunk ends the run, as soon as there is a state to save
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C does not wait

    def on_chunk(state: State, entry: dict[str, float]) -> None:
        nonlocal last, saved, first
        last = state
        enough = on_log(state, entry)
        folder.log(entry)
        if time.perf_counter() - saved >= save_every:
            folder.checkpoint(state, entry["seconds"])
            saved = time.perf_counter()
        # The first chunk was compiled too: no measure of speed.
        first = first or (entry["step"], entry["seconds"])
        console.progress(progress_line(entry, first, training.steps, task.step_points))
        if interrupted:
            raise KeyboardInterrupt
        if enough:
            raise EarlyStop

    start = f"step {int(state.step)}/{training.steps}"
    console.progress(f"{start}  compiling", often=False)
    previous = signal.signal(signal.SIGINT, on_interrupt)
    try:
        run(task, state.field, training, key=key, state=state, seconds=seconds,
            on_chunk=on_chunk)  # fmt: skip
    except Diverged as error:
        folder.checkpoint(error.state, seconds + time.perf_counter() - begun)
        raise
    except EarlyStop:
        pass
    except KeyboardInterrupt:
        folder.checkpoint(last, seconds + time.perf_counter() - begun)
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
    seconds += time.perf_counter() - begun
    folder.checkpoint(last, seconds)
    return last, seconds


def progress_line(
    entry: dict[str, float], first: tuple[float, float], steps: int, points: int
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


def _short(value: float) -> str:
    for unit in ("", "k", "M"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}G"
