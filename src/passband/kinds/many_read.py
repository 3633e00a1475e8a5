"""Inputs read ahead of the training, each as a task whose arrays are on the host."""

import collections
import contextlib
import dataclasses
import itertools
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import one_line
from ..tasks.task import Task
from .in_stacks import InStacks
from .kind import Kind, Network, Training
from .many_inputs import Source
from .many_plan import SetPlan


@dataclasses.dataclass(frozen=True, eq=False)
class Ready:
    """An input that can be trained."""

    source: Source
    kind: Kind
    training: Training
    network: Network
    task: Task
    sha256: str
    group: Any
    """What is equal in inputs that train as one stack."""


def _group(training: Training, network: Network, task: Task) -> Any:
    leaves, structure = jax.tree.flatten(task)
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    mapping = training.mapping
    same = tuple(
        getattr(training, f.name)
        for f in dataclasses.fields(training)
        if f.name not in ("mapping", "seed")
    )
    same += type(mapping), getattr(mapping, "m", None)  # scales may differ
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
    """The inputs in order, read by a thread that is at most so many ahead. (Four are no
    faster: decoders of pictures hold Python's lock.)"""
    left = iter(sources)
    with ThreadPoolExecutor(1, "passband-reader") as reader:
        line = collections.deque(
            reader.submit(ready, source, plan)
            for source in itertools.islice(left, ahead)
        )
        try:
            while line:
                found = line.popleft().result()
                for source in itertools.islice(left, 1):
                    line.append(reader.submit(ready, source, plan))
                yield found
        finally:
            reader.shutdown(cancel_futures=True)


def ready(source: Source, plan: SetPlan) -> Ready | Failed:
    """An input, read and made into a task whose arrays are on the host."""
    try:
        asked = plan.asked_for(source)
        kind = dataclasses.replace(source.read(asked), beside=False)
        training = plan.training(kind, asked)
        task = kind.host_task(training) if isinstance(kind, InStacks) else None
        if task is None:
            with on_host():
                task = jax.tree.map(_host_array, kind.task(training))
        network = plan.network(kind, training)
        group = _group(training, network, task)
        sha256 = kind.hashes(kind.options)[0]
        return Ready(source, kind, training, network, task, sha256, group)
    except Exception as error:  # whatever it is, it costs this input alone
        return Failed(source, one_line(error))


@contextlib.contextmanager
def on_host() -> Iterator[None]:
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
