"""Signals that are larger than the memory: their samples are drawn from a file."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from ..data.images import Image
from ..domain import check_count, grid_coords
from ..field import Field
from ..file_gate import give_back
from ..mappings import AnyKey
from .image import ImageTask, image_task
from .slices import index_in_slices
from .task import Task, half_mean_square_at, points_at_once

AT_ONCE = 1 << 14
"""Samples after which what was touched of a file is given back: the system's to keep,
and no longer this process's. For each, Linux maps 16 pages: 1 GiB at most."""


class SampleFile:
    """The samples of a mapped file, a few at a time; equal only to itself, as what a
    program was compiled for must be."""

    def __init__(self, values: np.ndarray):
        self.values, self._touched = values, 0

    @property
    def sides(self) -> tuple[int, ...]:
        return self.values.shape[:-1]

    def fetch(self, index: Any) -> np.ndarray:
        """The values of samples by their flat numbers, as float32; read in the order in
        which they lie in the file."""
        places = np.unravel_index(np.asarray(index), self.sides)
        found = np.empty((len(places[0]), self.values.shape[-1]), np.float32)
        steps = self.values.strides[:-1]
        order = np.argsort(
            sum(at * step for at, step in zip(places, steps, strict=True))
        )
        for part in np.split(order, range(AT_ONCE, len(order), AT_ONCE)):
            found[part] = self.values[tuple(at[part] for at in places)]
            self._touched += len(part)
            if self._touched >= AT_ONCE:
                self.give_back()
        return found

    def give_back(self) -> None:
        """Let go of the pages that were read."""
        self._touched = 0
        give_back(self.values)


class StreamedTask(Task):
    """Fit a picture or a volume whose samples stay in their file, by batches drawn from
    all of it.

    The samples of a step are numbered on the device and fetched by the host, so that a
    resumed run draws what it would have drawn.
    """

    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    train: Int[Array, "*runs k"] | None
    """Places along the last axis that are trained on; None for all."""
    samples: SampleFile = eqx.field(static=True)
    batch: int = eqx.field(static=True)
    extent: tuple[float, ...] | None = eqx.field(static=True, default=None)
    """Lengths of the sides, as `SlicesTask` has them."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        sides, channels = self.samples.sides, self.samples.values.shape[-1]
        few = sides[-1] if self.train is None else self.train.shape[0]
        size = math.prod(sides[:-1]) * few
        index = jax.random.randint(key, (self.batch,), 0, size)
        if self.train is not None:
            index = index_in_slices(index, self.train, sides[-1])
        shape = jax.ShapeDtypeStruct((self.batch, channels), jnp.float32)
        target = jax.pure_callback(
            self.samples.fetch, shape, index, vmap_method="sequential"
        )
        target = (target - self.low) / (self.high - self.low)
        coords = grid_coords(index, sides, self.extent)
        return half_mean_square_at(field, coords, target)

    def predict(self, field: Field) -> np.ndarray:
        raise NotImplementedError(
            "a signal larger than the memory is rendered by parts"
        )

    def metrics(self, field: Field) -> dict[str, float]:
        raise NotImplementedError("its kind says what of it is evaluated")

    @property
    def step_points(self) -> int:
        return self.batch

    @property
    def shared_batch(self) -> int | None:
        return self.batch

    def share(self, count: int) -> "StreamedTask":
        return dataclasses.replace(self, batch=self.batch // count)

    @property
    def microbatch_points(self) -> int:
        return points_at_once(self.step_points)

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def streamed_task(
    data: Any,
    batch: int,
    *,
    train: np.ndarray | None = None,
    extent: tuple[float, ...] | None = None,
) -> StreamedTask:
    """The task of a picture or a volume that stays on the disk.

    Args:
        data: `values` with channels last, `low`, `high` and `name`.
        train: places along the last axis that are trained on, if not all.
    """
    check_count(math.prod(data.values.shape[:-1]), f"`{data.name}`")
    return StreamedTask(
        jnp.float32(data.low),
        jnp.float32(data.high),
        None if train is None else jnp.asarray(train, jnp.int32),
        SampleFile(data.values),
        batch,
        extent,
    )


def thinned_picture(task: StreamedTask, k: int) -> ImageTask:
    """The task of every kth row and column of a picture, in memory."""
    h, w = task.samples.sides
    part = np.array(task.samples.values[: h // k * k : k, : w // k * k : k])
    task.samples.give_back()
    return image_task(Image(part, float(task.low), float(task.high), "thinned"))
