"""The video task: column, row and frame in, colour out."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Num, Scalar

from ..data.videos import Video
from ..domain import check_count, grid_coords
from ..errors import InputError
from ..field import Field
from ..mappings import AnyKey
from .metrics import psnr, ssim
from .task import Task, half_mean_square

HOLDOUTS = ("none", "odd")


class VideoTask(Task):
    """Fit the frames of a video, or some of them."""

    pixels: Num[Array, "*runs h w t c"]
    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    train: Int[Array, "*runs k"]
    """The frames that are trained on."""
    batch: int | None = eqx.field(static=True)
    """Pixels a step, drawn with replacement; None takes all of them."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        h, w, t, c = self.pixels.shape
        count, size = self.train.shape[0], self.train_size
        pick = jnp.arange(size)
        if self.batch is not None:
            pick = jax.random.randint(key, (self.batch,), 0, size)
        index = pick // count * t + self.train[pick % count]
        target = self.pixels.reshape(-1, c)[index].astype(jnp.float32)
        target = (target - self.low) / (self.high - self.low)
        return half_mean_square(field.batch(grid_coords(index, (h, w, t))), target)

    def predict(
        self, field: Field, frames: Sequence[int] | np.ndarray | None = None
    ) -> np.ndarray:
        """(frames, rows, columns, channels) in [0, 1]; of all frames, or of these."""
        h, w, t, _ = self.pixels.shape
        times = np.arange(t) if frames is None else np.asarray(frames)
        return render_frames(field, (h, w, t), times.astype(float), (h, w))

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """Of all frames."""
        seen = self.predict(field) if prediction is None else prediction
        return self.scores(seen, np.arange(self.pixels.shape[2]))

    def scores(self, seen: np.ndarray, frames: np.ndarray) -> dict[str, float]:
        """PSNR of these frames, of the trained and of the held-out among them, against
        peak 1, and the mean of their SSIM; whoever made them."""
        truth, known = self.truth(frames), np.isin(frames, np.asarray(self.train))
        found = {"psnr": psnr(seen, truth, data_range=1.0)}
        for name, part in (("psnr_train", known), ("psnr_test", ~known)):
            if part.any():
                found[name] = psnr(seen[part], truth[part], data_range=1.0)
        pairs = zip(seen, truth, strict=True)
        alike = [ssim(a, b, data_range=1.0) for a, b in pairs]
        found["ssim"] = float(np.mean(alike))
        return found

    def truth(self, frames: np.ndarray | None = None) -> np.ndarray:
        """(frames, rows, columns, channels) in [0, 1]."""
        low, high = float(self.low), float(self.high)
        pixels = np.moveaxis(np.asarray(self.pixels), 2, 0)
        pixels = pixels if frames is None else pixels[frames]
        return (pixels.astype(np.float32) - low) / (high - low)

    @property
    def train_size(self) -> int:
        h, w, _, _ = self.pixels.shape[-4:]
        return h * w * self.train.shape[-1]

    @property
    def step_points(self) -> int:
        return self.train_size if self.batch is None else self.batch

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def video_task(
    video: Video, *, holdout: str = "none", batch: int | None = None
) -> VideoTask:
    """The task of a video.

    Args:
        holdout: `odd` trains on frames 0, 2, 4 ... and tests on those between them.
        batch: pixels a step; None, or as many as there are, is a full batch.
    """
    h, w, t, _ = video.values.shape
    check_count(h * w * t, f"`{video.name}`")
    train = train_frames(t, holdout)
    size = h * w * len(train)
    return VideoTask(
        jnp.asarray(video.values),
        jnp.float32(video.low),
        jnp.float32(video.high),
        jnp.asarray(train, jnp.int32),
        None if batch is None or batch >= size else batch,
    )


def train_frames(count: int, holdout: str) -> np.ndarray:
    """The frames that are trained on."""
    if holdout not in HOLDOUTS:
        raise InputError(f"`holdout` (={holdout}) must be {' or '.join(HOLDOUTS)}")
    if holdout == "odd" and count < 3:
        raise InputError(f"`holdout` (=odd) leaves one frame of {count}; take `none`")
    return np.arange(0, count, 1 if holdout == "none" else 2)


def render_frames(
    field: Field,
    shape: tuple[int, int, int],
    times: Float[np.ndarray, " n"],
    size: tuple[int, int],
    *,
    on_frame: Callable[[float], object] | None = None,
) -> Float[np.ndarray, "n rows columns c"]:
    """A field of a video of `shape` (rows, columns, frames) at any times and size.

    Args:
        times: in frames; 3.5 lies between frames 3 and 4.
        on_frame: is called with the share that is done.
    """
    (h, w, _), (rows, columns), longest = shape, size, max(shape)
    x = w * np.arange(columns) / columns / longest
    y = h * np.arange(rows) / rows / longest
    channels = field.mlp.biases[-1].shape[-1]
    out = np.empty((len(times), rows, columns, channels), np.float32)
    across, down = np.meshgrid(x, y)
    for k, time in enumerate(times):
        grid = np.stack([across, down, np.full_like(down, time / longest)], axis=-1)
        found = field.predict(grid.reshape(-1, 3).astype(np.float32))
        out[k] = found.reshape(rows, columns, -1)
        if on_frame is not None:
            on_frame((k + 1) / len(times))
    return out


def mean_of_neighbours(truth: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Every frame from the trained ones nearest before and behind it: their mean, by
    how near they are; after the last, the last."""
    frames = np.arange(len(truth))
    before = train[np.searchsorted(train, frames, side="right") - 1]
    behind = train[np.minimum(np.searchsorted(train, frames), len(train) - 1)]
    apart = np.maximum(behind - before, 1)
    share = ((frames - before) / apart)[:, None, None, None]
    share = np.where((before == behind)[:, None, None, None], 0.0, share)
    return ((1 - share) * truth[before] + share * truth[behind]).astype(np.float32)
