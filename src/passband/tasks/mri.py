"""The MRI task: voxel coordinate in, intensity out, seen through k-space (6.2)."""

import dataclasses
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int, Scalar

from ..domain import extent_of, grid_coords
from ..field import Field
from ..forward.kspace import KSpace
from ..ops.chunked import chunked_map
from ..ops.without_autotune import jit_without_autotune
from .instrument import InstrumentTask
from .metrics import psnr, ssim
from .prior import total_variation
from .splitting import Quadratic


class MriTask(InstrumentTask):
    r"""Fit an image or volume to the frequencies of it that were measured.

    The loss is half the *sum* of squares of what the orthonormal transform leaves. With
    one coil that is the paper's half mean over all frequencies without the factor
    $1/\sqrt N$, less what it counts where nothing was measured (protocol 7).

    The whole grid is evaluated at every step: each frequency needs all of it.
    """

    forward: KSpace  # pyright: ignore[reportIncompatibleVariableOverride]  never set
    """Its mask has the frequencies that train."""
    measured: Complex[Array, "*runs_and_samples"]
    test_mask: Bool[Array, "*sides"] | None = None
    """Measured too, but kept for testing."""
    truth: Float[Array, "*runs_and_sides"] | None = None
    extent: tuple[float, ...] = eqx.field(static=True, default=())
    """Lengths of the sides; the longest is 1."""
    at_once: int | None = eqx.field(static=True, default=None)
    """Voxels whose network is in memory together; None is all of them."""

    def with_prior(self, weight: float) -> "MriTask":
        """The same task with total variation in its loss (`TotalVariation`)."""
        sides = self.forward.mask.shape
        prior = total_variation(weight, 2 * self.empty_loss, sides, self.lengths)
        return dataclasses.replace(self, prior=prior)

    def loss_of(self, image: Float[Array, "..."]) -> Scalar:
        """The loss of an image, however it came about."""
        error = jnp.where(self.forward.mask, self._residual(image), 0)
        return 0.5 * jnp.sum(jnp.square(error.real) + jnp.square(error.imag))

    def quadratic(self) -> Quadratic:
        weight = jnp.where(self.forward.mask, 1.0, 0.0)
        return Quadratic(self.forward, 1.0, self.measured, weight)

    def held_out_error(self, values: Float[Array, "..."]) -> float:
        return self.errors(values).get("error_test", math.nan)

    @property
    def lengths(self) -> tuple[float, ...]:
        return self.extent or extent_of(self.forward.mask.shape)

    @property
    def empty_loss(self) -> float:
        """The loss of an image that is 0 everywhere."""
        return float(self.loss_of(jnp.zeros(self.forward.input_shape)))

    def image(self, field: Field) -> Float[Array, "..."]:
        """The field on the grid of the measurements."""
        sides, extent = self.forward.mask.shape, self.lengths
        n = self.grid_points

        def part(field: Field, index: Int[Array, " k"]) -> Float[Array, "k c"]:
            return field.batch(grid_coords(index, sides, extent), still=True)

        image = chunked_map(part, field, n, self.at_once or n)
        return image.reshape(self.forward.input_shape)

    def on_grid(self, field: Field) -> Float[Array, "..."]:
        return self.image(field)

    def predict(self, field: Field) -> np.ndarray:
        return np.asarray(_image(self, field))

    def metrics(
        self, field: Field, prediction: np.ndarray | None = None
    ) -> dict[str, float]:
        """PSNR and SSIM of the image clipped to [0, 1], where the truth is known, and
        the relative errors of the frequencies, trained and held out."""
        seen = self.predict(field) if prediction is None else prediction
        found: dict[str, float] = {}
        if self.truth is not None:
            found |= against(seen, np.asarray(self.truth), 1.0)
        return found | self.errors(seen)

    def errors(self, image: np.ndarray | Array) -> dict[str, float]:
        """How far an image's frequencies are from the measured ones, as a share."""
        trained, held_out = _errors(self, jnp.asarray(image))
        found = {"error_train": float(trained)}
        return (
            found
            if self.test_mask is None
            else {"error_test": float(held_out), **found}
        )

    @property
    def microbatch_points(self) -> int:
        if self.splitting is not None:
            return super().microbatch_points
        return min(self.step_points, self.at_once or self.step_points)

    @property
    def microbatched(self) -> bool:
        return self.at_once is not None

    def _residual(self, image: Float[Array, "..."]) -> Complex[Array, "..."]:
        return self.forward.transform(image) - self.measured


@jit_without_autotune
def _image(task: MriTask, field: Field) -> Array:
    return task.image(field)


@jit_without_autotune
def _errors(task: MriTask, image: Array) -> tuple[Array, Array]:
    residual = jnp.abs(task._residual(image))
    there = jnp.abs(task.measured)

    def share(mask: Array) -> Array:
        left, all_of_it = (
            jnp.linalg.norm(jnp.where(mask, x, 0)) for x in (residual, there)
        )
        return left / jnp.maximum(all_of_it, jnp.finfo(left.dtype).tiny)

    none = jnp.zeros_like(task.forward.mask)
    return share(task.forward.mask), share(
        none if task.test_mask is None else task.test_mask
    )


def against(
    image: np.ndarray, truth: np.ndarray, data_range: float
) -> dict[str, float]:
    """PSNR and SSIM of an image clipped to [0, data_range]; a complex one keeps all."""
    if np.iscomplexobj(truth):
        pair = [np.stack([np.real(x), np.imag(x)], axis=-1) for x in (image, truth)]
        return {"psnr": psnr(*pair, data_range=data_range)} | {
            "ssim": ssim(*map(np.abs, (image, truth)), data_range=data_range,
                         channel_axis=None)
        }  # fmt: skip
    image = np.clip(image, 0, data_range)
    return {
        "psnr": psnr(image, truth, data_range=data_range),
        "ssim": ssim(image, truth, data_range=data_range, channel_axis=None),
    }


@jit_without_autotune
def _part(field: Field, index: Array, sides: tuple, extent: tuple) -> Array:
    return field.batch(grid_coords(index, sides, extent))


def render(
    field: Field,
    sides: tuple[int, ...],
    extent: tuple[float, ...],
    *,
    on_part: Callable[[float], object] | None = None,
) -> Float[np.ndarray, "*sides c"]:
    """The field on any grid over the same box, chunk by chunk.

    `on_part` is called with the share that is done.
    """
    count = int(np.prod(sides))
    size = min(count, 8192 if jax.default_backend() == "cpu" else 2**18)
    out = np.empty((count, field.mlp.biases[-1].shape[-1]), np.float32)
    for start in range(0, count, size):
        index = jnp.minimum(start + jnp.arange(size), count - 1)
        stop = min(start + size, count)
        out[start:stop] = _part(field, index, sides, extent)[: stop - start]
        if on_part is not None:
            on_part(stop / count)
    return out.reshape(*sides, -1)
