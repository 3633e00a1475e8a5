"""Arrays of three axes fitted directly, whole or slice by slice: the frames of a video,
the slices of a volume."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num, Scalar, Shaped

from ..domain import check_count, grid_coords, xy
from ..errors import InputError
from ..field import Field
from ..mappings import AnyKey
from .metrics import psnr, ssim
from .task import Task, half_mean_square_at, points_at_once

HOLDOUTS = ("none", "odd")
"""Of slices."""


class SlicesTask(Task):
    """Fit samples (row, column, slice) at (column, row, slice), or some of them."""

    samples: Num[Array, "*runs h w t c"]
    low: Float[Array, "*runs"]
    high: Float[Array, "*runs"]
    train: Int[Array, "*runs k"]
    """The slices that are trained on."""
    points: Int[Array, "*runs n"] | None = None
    """Flat numbers of the samples that are trained on, where others are held out one by
    one; None takes all of these slices."""
    batch: int | None = eqx.field(static=True, default=None)
    """Samples a step, drawn with replacement; None takes all of them."""
    extent: tuple[float, ...] | None = eqx.field(static=True, default=None)
    """Lengths of the sides (`extent_of`); None has samples as far apart along all."""

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del step
        *sides, c = self.samples.shape
        pick = jnp.arange(self.train_size)
        if self.batch is not None:
            pick = jax.random.randint(key, (self.batch,), 0, self.train_size)
        if self.points is None:
            index = index_in_slices(pick, self.train, sides[2])
        else:
            index = self.points[pick]
        target = self.samples.reshape(-1, c)[index].astype(jnp.float32)
        target = (target - self.low) / (self.high - self.low)
        coords = grid_coords(index, sides, self.extent)
        return half_mean_square_at(field, coords, target)

    def predict(
        self, field: Field, slices: Sequence[int] | np.ndarray | None = None
    ) -> np.ndarray:
        """(slices, rows, columns, channels) in [0, 1]; of all slices, or of these."""
        h, w, t, _ = self.samples.shape
        at = np.arange(t) if slices is None else np.asarray(slices)
        places = (np.arange(h), np.arange(w), at)
        axes = places_along(places, (h, w, t), self.extent)
        return render_slices(field, axes)

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """Of all slices."""
        seen = self.predict(field) if prediction is None else prediction
        return self.scores(seen, np.arange(self.samples.shape[2]))

    def scores(self, seen: np.ndarray, slices: np.ndarray) -> dict[str, float]:
        """`slice_scores` of these slices, whoever made them."""
        known = np.isin(slices, np.asarray(self.train))
        if self.points is not None:
            shape = self.samples.shape[:3]
            there = np.zeros(shape, bool)
            there.flat[np.asarray(self.points)] = True
            known = np.moveaxis(there, 2, 0)[slices]
        return slice_scores(seen, self.truth(slices), known)

    def truth(self, slices: np.ndarray | None = None) -> np.ndarray:
        """(slices, rows, columns, channels) in [0, 1]."""
        low, high = float(self.low), float(self.high)
        samples = np.moveaxis(np.asarray(self.samples), 2, 0)
        samples = samples if slices is None else samples[slices]
        return (samples.astype(np.float32) - low) / (high - low)

    @property
    def train_size(self) -> int:
        if self.points is not None:
            return self.points.shape[-1]
        h, w, _, _ = self.samples.shape[-4:]
        return h * w * self.train.shape[-1]

    @property
    def step_points(self) -> int:
        return self.train_size if self.batch is None else self.batch

    @property
    def microbatch_points(self) -> int:
        return points_at_once(self.step_points)

    def psnr_of_loss(self, loss: np.ndarray) -> np.ndarray:
        return -10 * np.log10(2 * np.maximum(loss, 1e-30))


def index_in_slices(
    pick: Int[Array, " n"], train: Int[Array, " k"], count: int
) -> Int[Array, " n"]:
    """Flat numbers of samples that are counted among those of some of `count` slices
    along the last axis."""
    few = train.shape[0]
    return pick // few * count + train[pick % few]


def slices_task(
    data: Any,
    *,
    holdout: str = "none",
    points: Int[np.ndarray, " n"] | None = None,
    batch: int | None = None,
    extent: tuple[float, ...] | None = None,
) -> SlicesTask:
    """The task of a video or a volume.

    Args:
        data: `values` (rows, columns, slices, channels), and what is 0 and 1 of them as
            `low` and `high`.
        holdout: `odd` trains on slices 0, 2, 4 ... and tests on those between them.
        points: flat numbers of the samples to train on, if not all.
        batch: samples a step; None, or as many as there are, is a full batch.
    """
    h, w, t, _ = data.values.shape
    check_count(h * w * t, f"`{data.name}`")
    train = train_slices(t, holdout)
    size = h * w * len(train) if points is None else len(points)
    return SlicesTask(
        jnp.asarray(data.values),
        jnp.float32(data.low),
        jnp.float32(data.high),
        jnp.asarray(train, jnp.int32),
        None if points is None else jnp.asarray(points, jnp.int32),
        None if batch is None or batch >= size else batch,
        extent,
    )


def slice_scores(
    seen: Float[np.ndarray, "n h w c"],
    truth: Float[np.ndarray, "n h w c"],
    known: Bool[np.ndarray, "..."],
) -> dict[str, float]:
    """PSNR of slices, of what was trained and of what was held out, against peak 1, and
    the mean of their SSIM.

    Args:
        known: which slices were trained on, (n,), or which of their samples, (n, h, w).
    """
    found = {"psnr": psnr(seen, truth, data_range=1.0)}
    for name, part in (("psnr_train", known), ("psnr_test", ~known)):
        if part.any():
            found[name] = psnr(seen[part], truth[part], data_range=1.0)
    alike = [ssim(a, b, data_range=1.0) for a, b in zip(seen, truth, strict=True)]
    found["ssim"] = float(np.mean(alike))
    return found


def train_slices(count: int, holdout: str) -> np.ndarray:
    """The slices that are trained on."""
    if holdout not in HOLDOUTS:
        raise InputError(f"`holdout` (={holdout}) must be {' or '.join(HOLDOUTS)}")
    if holdout == "odd" and count < 3:
        raise InputError(f"`holdout` (=odd) leaves one slice of {count}; take `none`")
    return np.arange(0, count, 1 if holdout == "none" else 2)


def places_along(
    places: Sequence[Shaped[np.ndarray, " _"]],
    sides: Sequence[int],
    extent: Sequence[float] | None = None,
) -> tuple[np.ndarray, ...]:
    """Coordinates x, y, z of rows, columns and slices, whole or between two."""
    lengths = [n / max(sides) for n in sides] if extent is None else extent
    each = zip(places, sides, lengths, strict=True)
    return xy([np.asarray(place) / n * e for place, n, e in each])


def each_slice(field: Field, axes: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """The field slice by slice, (rows, columns, channels), at these x, y, z."""
    x, y, z = axes
    across, down = np.meshgrid(x, y)
    for at in z:
        grid = np.stack([across, down, np.full_like(down, at)], axis=-1)
        found = field.predict(grid.reshape(-1, 3).astype(np.float32))
        yield found.reshape(len(y), len(x), -1)


def render_slices(
    field: Field,
    axes: Sequence[np.ndarray],
    *,
    on_slice: Callable[[float], object] | None = None,
) -> Float[np.ndarray, "slices rows columns c"]:
    """All slices; `on_slice` is called with the share that is done."""
    x, y, z = axes
    channels = field.mlp.biases[-1].shape[-1]
    out = np.empty((len(z), len(y), len(x), channels), np.float32)
    for k, found in enumerate(each_slice(field, axes)):
        out[k] = found
        if on_slice is not None:
            on_slice((k + 1) / len(z))
    return out


def mean_of_neighbours(
    truth: np.ndarray, train: np.ndarray, at: np.ndarray | None = None
) -> np.ndarray:
    """Every slice from the trained ones nearest before and behind it: their mean, by
    how near they are; after the last, the last.

    Args:
        at: the slices to make; all by default.
    """
    slices = np.arange(len(truth)) if at is None else at
    before = train[np.searchsorted(train, slices, side="right") - 1]
    behind = train[np.minimum(np.searchsorted(train, slices), len(train) - 1)]
    apart = np.maximum(behind - before, 1)
    share = ((slices - before) / apart)[:, None, None, None]
    share = np.where((before == behind)[:, None, None, None], 0.0, share)
    return ((1 - share) * truth[before] + share * truth[behind]).astype(np.float32)
