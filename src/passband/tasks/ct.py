"""Computed tomography: a field of densities, seen as line integrals (section 6.3)."""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Scalar

from ..data.ct_geometry import Geometry, settle
from ..data.images import Image
from ..data.sinograms import Sinogram
from ..domain import grid_coords
from ..errors import InputError
from ..field import Field
from ..forward.fan import Projector, fan
from ..forward.linear import relative_error
from ..forward.radon import radon
from ..ops.without_autotune import jit_without_autotune
from .image import render
from .instrument import InstrumentTask
from .metrics import psnr, ssim
from .prior import total_variation
from .splitting import Quadratic

WHOLE_VIEWS = 40
"""From as many views on, whole ones are held out: a lone ray is known from those beside
it in its view, and tells little of what a view that was not taken would show."""


class CTTask(InstrumentTask):
    """Fit a density in [0, 1] on the unit square to its projections.

    A step evaluates the field on the whole grid of `forward`: every point of it is seen
    by a ray of every view.
    """

    sinogram: Float[Array, "*runs_and_rays"]
    """(views, bins), or (views, rows, bins)."""
    train_mask: Bool[Array, "views *rows bins"] | None
    """The rays to train on; None for all."""
    side: int = eqx.field(static=True)
    """Rows and columns of the picture."""
    weights: Float[Array, "views *rows bins"] | None = None
    """How much each ray counts in the loss; None for all alike."""

    def with_prior(self, weight: float) -> "CTTask":
        """The same task with total variation in its loss (`TotalVariation`)."""
        sides = self.forward.input_shape
        prior = total_variation(weight, 2 * self.empty_loss, sides, (1.0, 1.0))
        return dataclasses.replace(self, prior=prior)

    def loss_of(self, density: Float[Array, "*rows side side"]) -> Scalar:
        """Half the mean squared error of the rays (protocol 6)."""
        square = (self.forward(density) - self.sinogram) ** 2
        if self.weights is not None:
            square = self.weights * square
        if self.train_mask is None:
            return 0.5 * jnp.mean(square)
        square = jnp.where(self.train_mask, square, 0)
        return 0.5 * jnp.sum(square) / jnp.sum(self.train_mask)

    def quadratic(self) -> Quadratic:
        weight = jnp.ones_like(self.sinogram) if self.weights is None else self.weights
        if self.train_mask is None:
            return Quadratic(self.forward, 1.0, self.sinogram, weight / weight.size)
        weight = jnp.where(self.train_mask, weight, 0) / jnp.sum(self.train_mask)
        return Quadratic(self.forward, 1.0, self.sinogram, weight)

    def held_out_error(self, values: Float[Array, "..."]) -> float:
        return self.errors(self.forward(values)).get("error_test", math.nan)

    @property
    def lengths(self) -> tuple[float, ...]:
        return 1.0, 1.0

    @property
    def empty_loss(self) -> float:
        """The loss of a density that is 0 everywhere."""
        train_mask = True if self.train_mask is None else np.asarray(self.train_mask)
        square = np.square(self.sinogram)
        if self.weights is not None:
            square = square * np.asarray(self.weights)
        return 0.5 * float(np.mean(square, where=train_mask))

    def density(self, field: Field) -> Float[Array, "*rows side side"]:
        """The field on the grid of the instrument."""
        n, _ = self.forward.input_shape
        coords = grid_coords(jnp.arange(n * n), (n, n))
        return field.batch(coords, still=True).reshape(n, n)

    def on_grid(self, field: Field) -> Float[Array, "*rows side side"]:
        return self.density(field)

    def project(self, field: Field) -> Float[Array, "views *rows bins"]:
        """What the instrument sees of the field."""
        return self.forward(self.density(field))

    def predict(self, field: Field) -> np.ndarray:
        return render(field, (self.side, self.side), (self.side, self.side))[..., 0]

    def metrics(self, field: Field) -> dict[str, float]:
        """Relative errors of the rays that were trained on, and of those held out."""
        return self.errors(_project(self, field))

    def errors(self, seen: Float[Array, "views *rows bins"]) -> dict[str, float]:
        """The metrics of a sinogram, whoever made it."""
        found = {"error_train": relative_error(seen, self.sinogram, self.train_mask)}
        if self.train_mask is not None:
            found["error_test"] = relative_error(seen, self.sinogram, ~self.train_mask)
        return found

    @property
    def plane_extent(self) -> float:
        """The length of a picture's side in units of the longest of all."""
        return 1.0


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
        grid: rows and columns that a step evaluates; the picture's by default.
        pixel: the distance of two bins, where the sinogram has no geometry of its own;
            densities are per unit of this length.
        offset: by how many bins the axis of rotation misses bin bins // 2, likewise.
        holdout: the share of rays (from 40 views up, of views) kept for testing.
    """
    views, bins = sinogram.values.shape
    if not 0 < high < math.inf:
        raise InputError(f"`high` (={high:g}) must be positive and finite")
    geometry = sinogram.geometry
    if geometry is None:
        geometry = settle({"pixel": pixel, "axis": bins // 2 + offset}, bins)
    train_mask = kept_rays((views, bins), holdout, seed)
    unit = high * geometry.side
    return CTTask(
        projector(geometry, sinogram.angles, bins, grid),
        jnp.asarray(sinogram.values / unit, jnp.float32),
        None if train_mask is None else jnp.asarray(train_mask),
        geometry.size,
        weights=None if sinogram.weights is None else jnp.asarray(sinogram.weights),
    )


def projector(
    geometry: Geometry,
    angles: Float[np.ndarray, " views"],
    bins: int,
    grid: int | None = None,
) -> Projector:
    """What a scanner sees of densities on the unit square.

    Args:
        grid: rows and columns over the picture's square; the picture's own by default.
    """
    side = geometry.size if grid is None else grid
    ratio = side / geometry.size
    offset, centre = geometry.axis - bins // 2, geometry.centre * ratio
    if geometry.type == "parallel":
        return radon(
            angles, bins, side=side, offset=offset, centre=centre,
            pixel=geometry.pitch / geometry.side,
            pitch=geometry.pitch / geometry.pixel * ratio,
        )  # fmt: skip
    assert geometry.source_origin is not None
    assert geometry.source_detector is not None
    return fan(
        angles, bins, side=side, offset=offset, centre=centre, pitch=geometry.pitch,
        source_origin=geometry.source_origin, arc=geometry.detector == "arc",
        source_detector=geometry.source_detector, pixel=geometry.pixel / ratio,
        unit=geometry.side,
    )  # fmt: skip


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
    image: Image,
    angles: Float[np.ndarray, " views"],
    *,
    noise: float,
    seed: int,
    asked: Mapping[str, Any] | None = None,
) -> tuple[Sinogram, Float32[np.ndarray, "side side"]]:
    """The sinogram of a picture, and the square of densities it shows.

    Colours are averaged. The square is as large as the circle that all views see needs
    to be to hold every pixel that is not 0. Noise is normal, its spread a share of the
    largest line integral.

    Args:
        asked: entries of a geometry (`data.ct_geometry`), whose detector is made wide
            enough to see all of that circle.
    """
    if not 0 <= noise < math.inf:
        raise InputError(f"`noise` (={noise:g}) must be 0 or more")
    colours = image.values[..., : {2: 1, 4: 3}.get(image.values.shape[2])]
    square = squared(colours.astype(np.float32).mean(axis=2), None)
    geometry, bins = scanner_of(len(square), dict(asked or {}))
    forward = projector(geometry, angles, bins)
    clean = geometry.side * np.asarray(forward(jnp.asarray(square)))
    values = with_noise(clean, noise, seed)
    return Sinogram(values, angles, image.name, geometry=geometry), square


def with_noise(
    clean: np.ndarray, noise: float, seed: int
) -> Float32[np.ndarray, "..."]:
    """Line integrals with normal noise, a share of the largest."""
    rng = np.random.default_rng([seed, 1])  # not the draw that holds rays out
    rough = rng.normal(size=clean.shape) * noise * clean.max()
    return (clean + rough).astype(np.float32)


def scanner_of(side: int, asked: dict[str, Any]) -> tuple[Geometry, int]:
    """A scanner that sees a square of so many pixels, and its bins."""
    if "source_origin" not in asked:
        return settle(asked | {"axis": side // 2}, side), side
    R, D = asked["source_origin"], asked.get("source_detector", math.nan)
    pitch = asked.get("pitch", asked.get("pixel", 1.0) * D / R)
    pixel = asked.get("pixel", pitch * R / D)
    outer = math.asin(min(0.99, side / 2 * pixel / R))
    reach = D * (outer if asked.get("detector") == "arc" else math.tan(outer))
    bins = side if not math.isfinite(reach) else 2 * math.ceil(reach / pitch) + 2
    said = {"pitch": pitch, "pixel": pixel, "size": side, "axis": (bins - 1) / 2}
    found = settle({k: v for k, v in asked.items() if k != "offset"} | said, bins)
    return dataclasses.replace(found, centre=float(side // 2)), bins


def squared(
    density: Float32[np.ndarray, "h w"], side: int | None
) -> Float32[np.ndarray, "side side"]:
    """A picture in the middle of a square; without a side, of one that holds it all."""
    h, w = density.shape
    n = room_for(density) if side is None else side
    if max(h, w) > n:
        raise InputError(
            f"a picture of {h} x {w} pixels does not fit into the {n} x {n} that {n} "
            "bins see; make its pixels as large as the bins"
        )
    out = np.zeros((n, n), np.float32)
    top, left = n // 2 - h // 2, n // 2 - w // 2
    out[top : top + h, left : left + w] = density
    return out


def room_for(density: Float32[np.ndarray, "h w"]) -> int:
    """The side of a square whose circle holds every pixel that is not 0."""
    h, w = density.shape
    rows, columns = np.nonzero(density)
    reach = np.hypot(rows - h // 2, columns - w // 2).max(initial=0)
    return max(h, w, 2 * (math.ceil(reach) + 1))


def against_truth(
    values: Float[np.ndarray, "*rows side side"],
    truth: Float[np.ndarray, "*rows side side"],
    data_range: float,
) -> dict[str, float]:
    """PSNR and SSIM of a reconstruction, clipped to the truth's range; of slices the
    PSNR of all, and the mean of their SSIM."""
    shown = np.clip(values, truth.min(), truth.min() + data_range)
    sides = truth.shape[-2:]
    pairs = zip(shown.reshape(-1, *sides), truth.reshape(-1, *sides), strict=True)
    alike = [ssim(a, b, data_range=data_range) for a, b in pairs]
    return {
        "psnr": psnr(shown, truth, data_range=data_range),
        "ssim": float(np.mean(alike)),
    }
