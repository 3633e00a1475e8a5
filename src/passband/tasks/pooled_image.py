"""Pictures of several sizes that train as one program, each from a pool of pixels."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, Scalar

from ..field import Field
from ..mappings import AnyKey
from .image import ImageTask, render
from .task import Task, half_mean_square_at, points_at_once


def pool_size(count: int) -> int:
    """Pixels of the pool that so many go into: at most a quarter more, and four sizes
    between a power of two and the next."""
    step = 1 << max(0, count.bit_length() - 3)
    return -(-count // step) * step


class PooledImageTask(Task):
    """What `ImageTask` is for batches of all pixels of a picture, whose size is no part
    of the program: pictures with pools of one size stack."""

    pool: Num[Array, "*runs n c"]
    """The pixels row by row, and behind them whatever fills it up."""
    sides: Int[Array, "*runs 2"]
    """Rows and columns of the picture."""
    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    batch: int = eqx.field(static=True)
    """Pixels a step, drawn with replacement."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        rows, columns = self.sides[0], self.sides[1]
        index = jax.random.randint(key, (self.batch,), 0, rows * columns)
        target = self.pool[index].astype(jnp.float32)
        target = (target - self.low) / (self.high - self.low)
        places = jnp.stack([index % columns, index // columns], axis=-1)
        longest = jnp.maximum(rows, columns).astype(jnp.float32)
        return half_mean_square_at(field, places.astype(jnp.float32) / longest, target)

    def predict(self, field: Field) -> np.ndarray:
        rows, columns = map(int, self.sides)
        return render(field, (rows, columns), (rows, columns))

    def metrics(self, field: Field) -> dict[str, float]:
        return self.whole().scores(self.predict(field))

    def whole(self) -> ImageTask:
        """The same task with its picture as it is."""
        rows, columns = map(int, self.sides)
        pool = np.asarray(self.pool)
        pixels = pool[: rows * columns].reshape(rows, columns, -1)
        return ImageTask(
            jnp.asarray(pixels), jnp.asarray(self.low), jnp.asarray(self.high),
            None, None, self.batch,
        )  # fmt: skip

    @property
    def step_points(self) -> int:
        return self.batch

    @property
    def microbatch_points(self) -> int:
        return points_at_once(self.batch)

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def pooled(
    pixels: Num[np.ndarray, "h w c"], low: float, high: float, batch: int
) -> PooledImageTask:
    """The task of a picture, its arrays NumPy's, which are made faster than JAX's."""
    h, w, c = pixels.shape
    pool = pixels.reshape(-1, c)
    if (more := pool_size(h * w) - h * w) > 0:
        pool = np.concatenate([pool, np.zeros((more, c), pool.dtype)])
    ends = (np.asarray(end, np.float32) for end in (low, high))
    return jax.tree.unflatten(
        _structure(batch), (pool, np.asarray((h, w), np.int32), *ends)
    )


@functools.cache
def _structure(batch: int) -> Any:
    """How a task is put together."""
    one = jnp.zeros((), jnp.float32)
    task = PooledImageTask(
        jnp.zeros((1, 1), jnp.uint8), jnp.ones(2, jnp.int32), one, one, batch
    )
    return jax.tree.structure(task)
