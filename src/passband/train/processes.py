"""Several processes of one job, on JAX's own runtime: who this one is, and what all
agree on."""

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from ..errors import InputError, one_line
from ..json_text import from_json, to_json

T = TypeVar("T")
LARGEST = 1 << 20  # bytes of what processes agree on


@dataclasses.dataclass(frozen=True)
class Processes:
    """How many processes share the work, and which of them this one is."""

    index: int = 0
    count: int = 1

    def share(self, work: Sequence[T]) -> list[T]:
        """What this process has to do: every `count`th piece, so that all have as
        much, whatever the order."""
        return list(work[self.index :: self.count])

    def agreed(self, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What process 0 makes, in all of them; an error there is one everywhere."""
        if self.count == 1:
            return make()
        from jax.experimental import multihost_utils

        buffer, error = np.zeros(LARGEST, np.uint8), None
        if self.index == 0:
            try:
                text = to_json({"made": make()})
            except InputError as found:
                error, text = found, to_json({"error": str(found)})
            data = text.encode()
            buffer[: len(data)] = np.frombuffer(data, np.uint8)
        with _stdout_kept():
            seen = np.asarray(multihost_utils.broadcast_one_to_all(buffer))
        found = from_json(seen.astype(np.uint8).tobytes().rstrip(b"\0"))
        if error is not None:
            raise error
        if "error" in found:
            raise InputError(found["error"])
        return found["made"]


ALONE = Processes()


def distributed(
    coordinator: str | None = None,
    processes: int | None = None,
    process: int | None = None,
) -> Processes:
    """Join the processes of a job; to be called before JAX is used.

    Under Slurm (`srun`), Open MPI (`mpirun`) and in an indexed Job of Kubernetes
    nothing has to be said. Each process takes the GPUs that are its own: all of its
    node where it is alone there, its share of them where it is not. A process that is
    lost later does not end the others.

    Args:
        coordinator: HOST:PORT of process 0.
        processes: how many there are.
        process: which of them this one is, from 0.

    Example:
        >>> import passband as pb
        >>> pb.distributed("localhost:1234", processes=1, process=0)
        Processes(index=0, count=1)
    """
    said = (coordinator, processes, process)
    if None in said and said != (None, None, None):
        raise InputError("`coordinator`, `processes` and `process` go together")
    if processes == 1:
        return ALONE
    if coordinator is None:
        _check_cluster(os.environ)
    if hasattr(jax.config, "jax_enable_recoverability"):
        # Else a process that is lost ends the others.
        jax.config.update("jax_enable_recoverability", True)
    try:
        with _stdout_kept():
            jax.distributed.initialize(
                coordinator_address=coordinator,
                num_processes=processes,
                process_id=process,
                local_device_ids=local_devices(os.environ),
            )
            jax.local_devices()  # they find each other now
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the processes did not find each other: {one_line(error)}; give "
            "`coordinator`, `processes` and `process`"
        ) from error
    return here()


@contextlib.contextmanager
def _stdout_kept() -> Iterator[None]:
    """Send what the runtime's C++ says of its peers to stderr: stdout has results."""
    try:
        kept = os.dup(1)
    except OSError:  # there is none
        yield
        return
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def here() -> Processes:
    """Those that were joined, or this one alone."""
    return Processes(jax.process_index(), jax.process_count())


def _check_cluster(env: Mapping[str, str]) -> None:
    """Refuse half-set variables of Slurm: those of a shell inside a job's allocation,
    from which JAX would read a number that is not there."""
    needed = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_NODELIST")
    missing = [name for name in needed if name not in env]
    if "SLURM_JOB_ID" in env and missing and "OMPI_MCA_orte_hnp_uri" not in env:
        raise InputError(
            f"this is inside a Slurm job but no task of it: {', '.join(missing)} "
            "is not set; start it by `srun`, or give `coordinator`, `processes` and "
            "`process`"
        )


def local_devices(env: Mapping[str, str]) -> list[int] | None:
    """The GPUs of this process, as numbers among those it can see.

    JAX gives process k of a node its kth GPU, whether or not it sees that many: with
    one process a node seven of eight would idle, and where Slurm shows each process its
    own GPU alone, there is no kth. None leaves it to JAX.
    """
    if "JAX_LOCAL_DEVICE_IDS" in env:
        return None
    seen = env.get("CUDA_VISIBLE_DEVICES")
    if not seen or seen in ("-1", "NoDevFiles"):
        return None
    count = len(seen.split(","))
    rank, here = _on_this_node(env)
    if here is None or rank is None or here < 1:
        return None
    if here == 1 or count == 1:
        return list(range(count))
    if count < here:
        raise InputError(
            f"{here} processes of this node share {count} GPUs; start at most one for "
            "each"
        )
    return list(range(rank * count // here, (rank + 1) * count // here))


def _on_this_node(env: Mapping[str, str]) -> tuple[int | None, int | None]:
    """Which process of its node this is, and how many there are on it."""
    try:
        if "OMPI_COMM_WORLD_LOCAL_RANK" in env:
            return (
                int(env["OMPI_COMM_WORLD_LOCAL_RANK"]),
                int(env["OMPI_COMM_WORLD_LOCAL_SIZE"]),
            )
        if "SLURM_LOCALID" in env:
            # "4(x2),3": that many on each node; the first is as good as any.
            tasks = env.get("SLURM_STEP_TASKS_PER_NODE", env["SLURM_TASKS_PER_NODE"])
            return int(env["SLURM_LOCALID"]), int(tasks.split(",")[0].split("(")[0])
    except (KeyError, ValueError):
        pass
    return None, None


class Heartbeat:
    """Tells others by a file that this process is alive, until `stop`."""

    def __init__(self, folder: Path, every: float):
        self.path, self.every = folder / "alive", every
        self._stop = threading.Event()
        self._touch()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _touch(self) -> None:
        self.path.touch()
        os.utime(self.path)

    def _work(self) -> None:
        while not self._stop.wait(self.every):
            try:
                self._touch()
            except OSError:  # the folder is gone: so is the reason to speak
                return

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def wait_for(
    folders: Sequence[Path],
    done: Callable[[Path], bool],
    mine: Path,
    lost_after: float,
    tell: Callable[[str], None],
) -> list[Path]:
    """Wait until all are done; give those that fell silent before.

    Ages are those of files on one file system, so that clocks may differ.

    Args:
        mine: the file that this process touches.
    """
    lost: list[Path] = []
    begun = time.monotonic()
    while True:
        left = [f for f in folders if f not in lost and not done(f)]
        if not left:
            return lost
        os.utime(mine)
        now = mine.stat().st_mtime
        for folder in left:
            try:
                silent = now - (folder / "alive").stat().st_mtime
            except OSError:
                silent = time.monotonic() - begun
            if silent > lost_after:
                lost.append(folder)
        tell(f"waiting for {len(left)} other processes")
        time.sleep(min(1.0, lost_after / 10))
