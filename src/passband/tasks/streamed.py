"""A picture that is larger than the memory: its pixels are drawn from a file."""

import mmap
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Scalar

from ..data.images import Image
from ..domain import check_count, grid_coords
from ..field import Field
from ..mappings import AnyKey
from .image import ImageTask, image_task
from .task import Task, half_mean_square_at, points_at_once

PAGE = 4096
HELD = 1 << 28
"""Bytes of pages that the draws may have touched before they are given back: they are
the system's to keep, and no longer this process's."""


class PixelFile:
    """The pixels of a mapped file, a few at a time; equal only to itself, as what a
    program was compiled for must be."""

    def __init__(self, values: np.ndarray):
        self.values, self._touched = values, 0

    def fetch(self, index: Any) -> np.ndarray:
        """The values of pixels by their flat numbers, as float32."""
        rows, columns = np.divmod(np.asarray(index), self.values.shape[1])
        found = self.values[rows, columns].astype(np.float32)
        self._touched += PAGE * len(rows)
        if self._touched > HELD:
            self.give_back()
        return found

    def give_back(self) -> None:
        """Let go of the pages that were read."""
        self._touched = 0
        whole = getattr(self.values, "_mmap", None)
        if isinstance(whole, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            whole.madvise(mmap.MADV_DONTNEED)


class StreamedImageTask(Task):
    """Fit a picture whose pixels stay in their file, by batches drawn from all of it.

    The pixels of a step are numbered on the device and fetched by the host, so that a
    resumed run draws what it would have drawn.
    """

    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    pixels: PixelFile = eqx.field(static=True)
    batch: int = eqx.field(static=True)

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        h, w, c = self.pixels.values.shape
        index = jax.random.randint(key, (self.batch,), 0, h * w)
        shape = jax.ShapeDtypeStruct((self.batch, c), jnp.float32)
        target = jax.pure_callback(
            self.pixels.fetch, shape, index, vmap_method="sequential"
        )
        target = (target - self.low) / (self.high - self.low)
        return half_mean_square_at(field, grid_coords(index, (h, w)), target)

    def thinned(self, k: int) -> ImageTask:
        """The task of every kth row and column, in memory."""
        h, w, _ = self.pixels.values.shape
        part = np.array(self.pixels.values[: h // k * k : k, : w // k * k : k])
        self.pixels.give_back()
        return image_task(Image(part, float(self.low), float(self.high), "thinned"))

    def predict(self, field: Field) -> np.ndarray:
        raise NotImplementedError(
            "a picture larger than the memory is rendered by parts"
        )

    def metrics(self, field: Field) -> dict[str, float]:
        raise NotImplementedError("`thinned` says what is evaluated")

    @property
    def step_points(self) -> int:
        return self.batch

    @property
    def shared_batch(self) -> int | None:
        return self.batch

    def share(self, count: int) -> "StreamedImageTask":
        return StreamedImageTask(self.low, self.high, self.pixels, self.batch // count)

    @property
    def microbatch_points(self) -> int:
        return points_at_once(self.step_points)

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def streamed_task(image: Image, batch: int) -> StreamedImageTask:
    """The task of a picture that stays on the disk."""
    h, w, _ = image.values.shape
    check_count(h * w, f"`{image.name}`")
    return StreamedImageTask(
        jnp.float32(image.low), jnp.float32(image.high), PixelFile(image.values), batch
    )
