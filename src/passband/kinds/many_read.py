"""Inputs read ahead of the training, each as a task whose arrays are on the host."""

import contextlib
import dataclasses
import queue
import threading
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import one_line
from ..tasks.task import Task
from .in_stacks import InStacks
from .kind import Kind, Training
from .many_inputs import Source
from .many_plan import SetPlan


@dataclasses.dataclass(frozen=True, eq=False)
class Ready:
    """An input that can be trained."""

    source: Source
    kind: Kind
    training: Training
    task: Task
    sha256: str

    @property
    def group(self) -> Any:
        """What is equal in inputs that train as one stack."""
        leaves, structure = jax.tree.flatten(self.task)
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        training, mapping = self.training, self.training.mapping
        same = tuple(
            getattr(training, f.name)
            for f in dataclasses.fields(training)
            if f.name not in ("mapping", "seed")
        )
        same += type(mapping), getattr(mapping, "m", None)  # scales may differ
        network = self.kind.network(training)
        return structure, shapes, same, dataclasses.replace(network, start=None)


class Failed(NamedTuple):
    """An input that cannot be fitted, and why."""

    source: Source
    error: str

    @property
    def row(self) -> dict[str, Any]:
        source = self.source
        found = {"name": source.name, "place": source.place, "source": source.path}
        return found | {"error": self.error}


def read_ahead(
    sources: Sequence[Source], plan: SetPlan, ahead: int
) -> Generator[Ready | Failed]:
    """The inputs in order, read by a thread that is at most so many ahead."""
    line: queue.Queue[Ready | Failed | None] = queue.Queue(ahead)
    stopped = threading.Event()

    def put(item: Ready | Failed | None) -> bool:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                line.put(item, timeout=0.1)
                return True
        return False

    def work() -> None:
        for source in sources:
            if not put(ready(source, plan)):
                return
        put(None)

    thread = threading.Thread(target=work, daemon=True, name="passband-reader")
    thread.start()
    try:
        while (found := line.get()) is not None:
            yield found
    finally:
        stopped.set()
        thread.join()


def ready(source: Source, plan: SetPlan) -> Ready | Failed:
    """An input, read and made into a task whose arrays are on the host."""
    try:
        asked = plan.asked_for(source)
        kind = dataclasses.replace(source.read(asked), beside=False)
        training = plan.training(kind, asked)
        task = kind.host_task(training) if isinstance(kind, InStacks) else None
        if task is None:
            with _on_host():
                task = jax.tree.map(_host_array, kind.task(training))
        return Ready(source, kind, training, task, kind.hashes(kind.options)[0])
    except Exception as error:  # whatever it is, it costs this input alone
        return Failed(source, one_line(error))


@contextlib.contextmanager
def _on_host() -> Iterator[None]:
    """Arrays are made beside the CPU, from where a whole stack goes to the device."""
    try:
        [host, *_] = jax.local_devices(backend="cpu")
    except RuntimeError:  # JAX was told to use nothing but a GPU
        yield
        return
    with jax.default_device(host):
        yield


def _host_array(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and not jnp.issubdtype(
        leaf.dtype, jax.dtypes.prng_key
    ):
        return np.asarray(leaf)
    return leaf
