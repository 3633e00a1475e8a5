"""What is known of densities before they are fitted: a bound, and the truth's units."""

import jax.numpy as jnp
import numpy as np

from ..data.ct_geometry import Geometry
from ..data.images import read_image
from ..data.sinograms import Sinogram
from ..errors import InputError
from ..reconstruct.backprojection import largest_density
from ..tasks.ct import projector, squared
from ..tasks.ct_rows import spread_over
from .ct_rows import read_slices
from .truth import Truth, in_units_of

CHECKED_VIEWS = 32  # by which the units of a truth are told


def known_truth(path: str, data: Sinogram) -> tuple[np.ndarray, float, tuple[str, ...]]:
    """The true densities in the units of the sinogram, their range, and warnings."""
    found, span = read_truth(path, data)
    flat = found if data.rows is None else found.mean(axis=0)
    checked = _in_units(flat, data.over_rows())
    return found / np.float32(checked.factor), span / checked.factor, checked.warnings


def read_truth(path: str, data: Sinogram) -> tuple[np.ndarray, float]:
    """The true densities, as the sinogram's picture or slices lie, and their range."""
    assert data.geometry is not None
    size = data.geometry.size
    if data.rows is None:
        image = read_image(path)
        density = image.values[..., : min(3, image.values.shape[2])]
        density = density.astype(np.float32).mean(axis=2)
        return squared(density, size), image.high - image.low
    slices = read_slices(path)
    if len(slices) != data.rows:
        raise InputError(
            f"`truth` (={path}) has {len(slices)} slices, and {data.rows} rows are "
            "fitted: one slice a row"
        )
    found = np.stack([squared(one, size) for one in slices])
    return found, float(found.max() - found.min())


def bound_of(data: Sinogram, geometry: Geometry) -> float:
    """The density at the field's 1: a bound on that of all rows."""
    forward = projector(geometry, data.angles, data.bins, min(geometry.size, 256))
    rows = [data]
    if data.rows is not None:
        brightest = int(data.values.max(axis=(0, 2)).argmax())
        rows = [data.row(k) for k in {brightest, *spread_over(data.rows, 3)}]
    return max(largest_density(one, forward=forward) for one in rows) / geometry.side


def _in_units(truth: np.ndarray, data: Sinogram) -> Truth:
    """The truth in the units of the sinogram, by what a few views would see of it."""
    views, bins = data.values.shape
    some = np.linspace(0, views - 1, min(views, CHECKED_VIEWS)).astype(int)
    assert data.geometry is not None
    forward = projector(data.geometry, data.angles[some], bins)
    seen = data.geometry.side * np.asarray(forward(jnp.asarray(truth)))

    def smooth(rays: np.ndarray) -> np.ndarray:
        """Noise is not smooth, and pixels of other sizes differ in the finest parts."""
        wide = max(1, bins // 16)
        from scipy.ndimage import uniform_filter1d

        return uniform_filter1d(rays.astype(np.float64), wide, mode="constant")

    return in_units_of(
        truth, smooth(seen), smooth(data.values[some]), measures="the sinogram"
    )
