"""Computed tomography: a field of densities, seen as line integrals (section 6.3)."""

import dataclasses
import itertools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Scalar

from ..data.images import Image
from ..data.sinograms import Sinogram
from ..domain import grid_coords
from ..errors import InputError
from ..field import Field
from ..forward.linear import LinearForward, relative_error
from ..forward.radon import radon
from ..mappings import AnyKey
from ..ops.without_autotune import jit_without_autotune
from .image import render
from .metrics import psnr, ssim
from .prior import TotalVariation, total_variation
from .task import Task

WHOLE_VIEWS = 40
"""From as many views on, whole ones are held out: a lone ray is known from those beside
it in its view, and tells little of what a view that was not taken would show."""


class CTTask(Task):
    """Fit a density in [0, 1] on the unit square to its projections.

    A step evaluates the field on the whole grid of `forward`: every point of it is seen
    by a ray of every view.
    """

    forward: LinearForward
    sinogram: Float[Array, "*runs views bins"]
    train_mask: Bool[Array, "views bins"] | None
    """The rays to train on; None for all."""
    side: int = eqx.field(static=True)
    """Rows and columns of the picture."""
    prior: TotalVariation | None = None

    def loss(self, field: Field, key: AnyKey, step: Int[Array, ""] | int = 0) -> Scalar:
        del key, step
        density = self.density(field)
        loss = self.loss_of(density)
        return loss if self.prior is None else loss + self.prior(density)

    def with_prior(self, weight: float) -> "CTTask":
        """The same task with total variation in its loss (`TotalVariation`)."""
        sides = self.forward.input_shape
        prior = total_variation(weight, 2 * self.empty_loss, sides, (1.0, 1.0))
        return dataclasses.replace(self, prior=prior)

    def loss_of(self, density: Float[Array, "side side"]) -> Scalar:
        """Half the mean squared error of the rays (protocol 6)."""
        error = self.forward(density) - self.sinogram
        if self.train_mask is None:
            return 0.5 * jnp.mean(error**2)
        error = jnp.where(self.train_mask, error, 0)
        return 0.5 * jnp.sum(error**2) / jnp.sum(self.train_mask)

    @property
    def empty_loss(self) -> float:
        """The loss of a density that is 0 everywhere."""
        train_mask = True if self.train_mask is None else np.asarray(self.train_mask)
        return 0.5 * float(np.mean(np.square(self.sinogram), where=train_mask))

    def density(self, field: Field) -> Float[Array, "side side"]:
        """The field on the grid of the instrument."""
        n, _ = self.forward.input_shape
        coords = grid_coords(jnp.arange(n * n), (n, n))
        return field.batch(coords).reshape(n, n)

    def project(self, field: Field) -> Float[Array, "views bins"]:
        """What the instrument sees of the field."""
        return self.forward(self.density(field))

    def predict(self, field: Field) -> np.ndarray:
        return render(field, (self.side, self.side), (self.side, self.side))[..., 0]

    def metrics(self, field: Field) -> dict[str, float]:
        """Relative errors of the rays that were trained on, and of those held out."""
        return self.errors(_project(self, field))

    def errors(self, seen: Float[Array, "views bins"]) -> dict[str, float]:
        """The metrics of a sinogram, whoever made it."""
        found = {"error_train": relative_error(seen, self.sinogram, self.train_mask)}
        if self.train_mask is not None:
            found["error_test"] = relative_error(seen, self.sinogram, ~self.train_mask)
        return found

    @property
    def step_points(self) -> int:
        return math.prod(self.forward.input_shape)


@jit_without_autotune
def _project(task: CTTask, field: Field) -> Array:
    return task.project(field)


def ct_task(
    sinogram: Sinogram,
    *,
    high: float,
    grid: int | None = None,
    pixel: float = 1.0,
    offset: float = 0.0,
    holdout: float = 0.05,
    seed: int = 0,
) -> CTTask:
    """The task of a sinogram in the user's units.

    Args:
        high: the density that becomes 1.
        grid: rows and columns that a step evaluates; as many as bins by default.
        pixel: the distance of two bins; densities are per unit of this length.
        offset: by how many bins the axis of rotation misses bin bins // 2.
        holdout: the share of rays (from 40 views up, of views) kept for testing.
    """
    views, bins = sinogram.values.shape
    if not 0 < high < math.inf:
        raise InputError(f"`high` (={high:g}) must be positive and finite")
    forward = radon(sinogram.angles, bins, side=grid, offset=offset, pixel=1 / bins)
    train_mask = kept_rays((views, bins), holdout, seed)
    return CTTask(
        forward,
        jnp.asarray(sinogram.values / (high * pixel * bins), jnp.float32),
        None if train_mask is None else jnp.asarray(train_mask),
        bins,
    )


def kept_rays(
    shape: tuple[int, int], share: float, seed: int
) -> Bool[np.ndarray, "views bins"] | None:
    """Which rays are trained on: all but a share of them, or of the views."""
    if not 0 <= share < 1:
        raise InputError(f"`holdout` (={share:g}) must be 0 or more and less than 1")
    if share == 0:
        return None
    views, rng = shape[0], np.random.default_rng(seed)
    if views < WHOLE_VIEWS:
        return rng.random(shape) >= share
    count = max(1, round(share * views))
    # One in every stretch, so that no two held out leave a gap between them.
    edges = np.linspace(0, views, count + 1).astype(int)
    gone = [rng.integers(a, b) for a, b in itertools.pairwise(edges)]
    train_mask = np.ones(shape, bool)
    train_mask[gone] = False
    return train_mask


def simulated(
    image: Image, angles: Float[np.ndarray, " views"], *, noise: float, seed: int
) -> tuple[Sinogram, Float32[np.ndarray, "side side"]]:
    """The sinogram of a picture, and the square of densities it shows.

    Colours are averaged. The square is as large as the circle that all views see needs
    to be to hold every pixel that is not 0. Noise is normal, its spread a share of the
    largest line integral.
    """
    if not 0 <= noise < math.inf:
        raise InputError(f"`noise` (={noise:g}) must be 0 or more")
    colours = image.values[..., : {2: 1, 4: 3}.get(image.values.shape[2])]
    square = squared(colours.astype(np.float32).mean(axis=2), None)
    side = len(square)
    clean = np.asarray(radon(angles, side)(jnp.asarray(square)))
    rng = np.random.default_rng([seed, 1])  # not the draw that holds rays out
    rough = rng.normal(size=clean.shape) * noise * clean.max()
    values = (clean + rough).astype(np.float32)
    return Sinogram(values, angles, image.name), square


def squared(
    density: Float32[np.ndarray, "h w"], side: int | None
) -> Float32[np.ndarray, "side side"]:
    """A picture in the middle of a square; without a side, of one that holds it all."""
    h, w = density.shape
    n = _room_for(density) if side is None else side
    if max(h, w) > n:
        raise InputError(
            f"a picture of {h} x {w} pixels does not fit into the {n} x {n} that {n} "
            "bins see; make its pixels as large as the bins"
        )
    out = np.zeros((n, n), np.float32)
    top, left = n // 2 - h // 2, n // 2 - w // 2
    out[top : top + h, left : left + w] = density
    return out


def _room_for(density: Float32[np.ndarray, "h w"]) -> int:
    """The side of a square whose circle holds every pixel that is not 0."""
    h, w = density.shape
    rows, columns = np.nonzero(density)
    reach = np.hypot(rows - h // 2, columns - w // 2).max(initial=0)
    return max(h, w, 2 * (math.ceil(reach) + 1))


def against_truth(
    values: Float[np.ndarray, "side side"],
    truth: Float[np.ndarray, "side side"],
    data_range: float,
) -> dict[str, float]:
    """PSNR and SSIM of a reconstruction, clipped to the truth's range."""
    shown = np.clip(values, truth.min(), truth.min() + data_range)
    return {
        "psnr": psnr(shown, truth, data_range=data_range),
        "ssim": ssim(shown, truth, data_range=data_range),
    }
