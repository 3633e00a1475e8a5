"""The image task: pixel coordinate in, colour out (paper, section 6.2)."""

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, Scalar

from ..data.images import Image
from ..domain import check_count, crop_axes, grid_coords
from ..errors import InputError
from ..field import Field
from ..mappings import AnyKey
from .metrics import psnr, ssim
from .task import Task, half_mean_square_at, points_at_once

SHARED_FROM = 2**17
"""Pixels a step from which on several devices share them."""


class ImageTask(Task):
    """Fit a picture, or a part of its pixels, in the paper's order x, y."""

    pixels: Num[Array, "*runs h w c"]
    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    train: Int[Array, " n"] | None
    """Flat indices of the training pixels; None trains on every pixel."""
    test: Int[Array, " k"] | None
    batch: int | None = eqx.field(static=True)
    """Pixels a step, drawn with replacement; None takes all of them."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        h, w, c = self.pixels.shape
        if self.batch is not None:
            pick = jax.random.randint(key, (self.batch,), 0, self.train_size)
            index = pick if self.train is None else self.train[pick]
        else:
            index = jnp.arange(h * w) if self.train is None else self.train
        target = self.pixels.reshape(-1, c)[index].astype(jnp.float32)
        target = (target - self.low) / (self.high - self.low)
        coords = grid_coords(index, (h, w))
        return half_mean_square_at(field, coords, target, still=self.batch is None)

    def predict(self, field: Field) -> np.ndarray:
        h, w, _ = self.pixels.shape
        return render(field, (h, w), (h, w))

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """PSNR of all, trained and held-out pixels, and SSIM, against peak 1."""
        return self.scores(self.predict(field) if prediction is None else prediction)

    def scores(self, seen: np.ndarray) -> dict[str, float]:
        """The metrics of a picture, whoever made it."""
        truth = self.truth()
        found = {"psnr": psnr(seen, truth, data_range=1.0)}
        channels = seen.shape[-1]
        flat, flat_truth = seen.reshape(-1, channels), truth.reshape(-1, channels)
        for name, index in (("psnr_train", self.train), ("psnr_test", self.test)):
            if index is not None:
                found[name] = psnr(flat[index], flat_truth[index], data_range=1.0)
        found.setdefault("psnr_train", found["psnr"])
        found["ssim"] = ssim(seen, truth, data_range=1.0)
        return found

    def held_out_psnr(self, field: Field) -> float:
        """PSNR of the held-out pixels alone, at the cost of those."""
        if self.test is None:
            raise ValueError("this task holds no pixels out")
        h, w, c = self.pixels.shape
        seen = field.predict(grid_coords(self.test, (h, w)))
        return psnr(seen, self.truth().reshape(-1, c)[self.test], data_range=1.0)

    def truth(self) -> np.ndarray:
        """The picture in [0, 1]."""
        low, high = float(self.low), float(self.high)
        return (np.asarray(self.pixels, np.float32) - low) / (high - low)

    @property
    def train_size(self) -> int:
        h, w, _ = self.pixels.shape
        return h * w if self.train is None else self.train.shape[0]

    @property
    def step_points(self) -> int:
        return self.train_size if self.batch is None else self.batch

    @property
    def microbatch_points(self) -> int:
        return points_at_once(self.step_points)

    @property
    def shared_batch(self) -> int | None:
        worth = self.batch is not None and self.batch >= SHARED_FROM
        return self.batch if worth else None

    def share(self, count: int) -> "ImageTask":
        assert self.batch is not None
        return dataclasses.replace(self, batch=self.batch // count)

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def image_task(
    image: Image, *, holdout: str = "none", batch: int | None = None, seed: int = 0
) -> ImageTask:
    """The task of a picture with some pixels held out.

    Args:
        holdout: `none` trains on every pixel; `quarter` is the paper's split, train on
            [::2, ::2] and test on [1::2, 1::2]; a share such as `0.1` holds that part
            of the pixels out at random.
        batch: pixels a step; None, or as many as there are, is a full batch.
    """
    h, w, _ = image.values.shape
    check_count(h * w, f"`{image.name}`")
    train, test = split_pixels((h, w), holdout, seed)
    size = h * w if train is None else len(train)
    return ImageTask(
        jnp.asarray(image.values),
        jnp.float32(image.low),
        jnp.float32(image.high),
        None if train is None else jnp.asarray(train, jnp.int32),
        None if test is None else jnp.asarray(test, jnp.int32),
        None if batch is None or batch >= size else batch,
    )


def split_pixels(
    shape: tuple[int, int], holdout: str, seed: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Flat indices of training and held-out pixels; None stands for all, for none."""
    if holdout == "none":
        return None, None
    index = np.arange(shape[0] * shape[1]).reshape(shape)
    if holdout == "quarter":
        return index[::2, ::2].ravel(), index[1::2, 1::2].ravel()
    found = split_share(index.size, holdout, seed)
    if found is None:
        raise InputError(
            f"`holdout` (={holdout}) must be `none`, `quarter` or a share below 1"
        )
    return found


def split_share(
    size: int, share: str, seed: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Which of `size` samples train, and which are held out by chance: `0.1` is a tenth
    of them; None where that is no share."""
    try:
        part = float(share)
    except ValueError:
        return None
    count = round(part * size) if 0 < part < 1 else 0
    if not 0 < count < size:
        return None
    order = np.random.default_rng(seed).permutation(size)
    return np.sort(order[count:]), np.sort(order[:count])


def render(
    field: Field,
    shape: tuple[int, int],
    size: tuple[int, int],
    *,
    crop: tuple[float, float, float, float] | None = None,
    on_rows: Callable[[float], object] | None = None,
) -> np.ndarray:
    """A field of a picture of `shape` at any (rows, columns), streamed row by row.

    `crop` is (top, left, bottom, right) in pixels of the picture (`crop_axes`);
    `on_rows` is called with the share that is done.
    """
    y, x = crop_axes(shape, size, crop)
    rows, columns = size
    at_once = max(1, 262144 // columns)
    out = np.empty((rows, columns, field.mlp.biases[-1].shape[-1]), np.float32)
    for start in range(0, rows, at_once):
        part = y[start : start + at_once]
        grid = np.stack(np.meshgrid(x, part), axis=-1).reshape(-1, 2)
        out[start : start + len(part)] = field.predict(grid).reshape(
            len(part), columns, -1
        )
        if on_rows is not None:
            on_rows((start + len(part)) / rows)
    return out
