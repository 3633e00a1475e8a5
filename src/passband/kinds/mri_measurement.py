"""k-space, mask, coil maps and truth in one form, read or simulated."""

import dataclasses
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..data.kspace_files import read_kspace, read_maps, read_mask
from ..data.masks import gaussian_mask, hold_out, opposite, uniform_mask
from ..data.volumes import Volume, read_volume
from ..errors import InputError
from ..forward.kspace import KSpace, crop, from_centred
from .options import MriOptions
from .truth import in_units_of

MARGIN = 1.1
"""The brightest voxel may be so much brighter than the zero-filled image has it."""


@dataclasses.dataclass(frozen=True)
class Measurement:
    """k-space as this package has it (see `forward.kspace`), divided by `high`."""

    measured: np.ndarray
    train_mask: np.ndarray
    test_mask: np.ndarray | None
    maps: np.ndarray | None
    truth: np.ndarray | None
    """In the user's units."""
    high: float
    """The user's intensity at the field's 1."""
    spacing: tuple[float, ...]
    affine: np.ndarray | None
    pair: bool
    name: str
    warnings: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[int, ...]:
        return self.train_mask.shape

    def cropped(self, sides: tuple[int, ...]) -> "Measurement":
        """The centre of k-space: the same image on a coarser grid."""
        if sides == self.sides:
            return self
        return dataclasses.replace(
            self,
            measured=crop(self.measured, self.sides, sides),
            train_mask=crop(self.train_mask, self.sides, sides),
            test_mask=None
            if self.test_mask is None
            else crop(self.test_mask, self.sides, sides),
            maps=None if self.maps is None else _resampled(self.maps, sides),
            truth=None,
        )

    def forward(self) -> KSpace:
        maps = None if self.maps is None else jnp.asarray(self.maps)
        return KSpace(jnp.asarray(self.train_mask), maps, self.pair)


def measurement(options: MriOptions) -> Measurement:
    """Read or simulate."""
    if options.file is None and options.simulate is None:
        raise InputError("`file` is missing; give one of k-space, or `simulate`")
    if options.file is not None and options.simulate is not None:
        raise InputError("`file` and `simulate` exclude each other")
    pair = options.image == "complex"
    volume, maps = None, None
    if options.simulate is not None:
        samples, mask, volume = _simulated(options, pair)
        name, sides = volume.name, mask.shape
    else:
        path = Path(str(options.file))
        samples = read_kspace(path, coils=options.sens is not None)
        name = path.stem
        if options.sens is not None:
            maps = read_maps(options.sens, samples.shape)
        sides = samples.shape if maps is None else samples.shape[1:]
        mask = _mask_of(options, samples, sides)
        if options.origin == "middle":
            normalised = options.norm == "ortho"
            samples = from_centred(samples, sides, normalised=normalised)
        elif options.norm == "none":
            samples = samples / np.float32(np.sqrt(np.prod(sides)))
    samples = np.where(mask, samples, 0).astype(np.complex64)
    if not np.any(samples):
        raise InputError("what the mask leaves of k-space is 0 everywhere")
    warnings: tuple[str, ...] = ()
    if options.simulate is None:
        warnings += _warn_of_origin(samples, sides, options.origin)
    if not pair and maps is None:
        warnings += _warn_of_phase(samples, mask)
    train, test_mask = mask, None
    if options.holdout > 0:
        train, test_mask = hold_out(mask, options.holdout, seed=options.seed)
    forward = KSpace(
        jnp.asarray(mask), None if maps is None else jnp.asarray(maps), pair
    )
    image = np.asarray(forward.zero_filled(jnp.asarray(samples)))
    size = np.linalg.norm(image, axis=-1) if pair else image
    high = MARGIN * float(size.max())
    if not high > 0:
        raise InputError("the image is nowhere positive; try `image=complex`")
    truth, place, said = _truth(options, volume, samples, forward)
    return Measurement(
        measured=samples / np.float32(high),
        train_mask=train,
        test_mask=test_mask,
        maps=maps,
        truth=truth,
        high=high,
        spacing=_spacing(options, place, len(sides)),
        affine=None if place is None else place.affine,
        pair=pair,
        name=name,
        warnings=warnings + said,
    )


def _simulated(
    options: MriOptions, pair: bool
) -> tuple[np.ndarray, np.ndarray, Volume]:
    for name in ("sens", "truth"):
        if getattr(options, name) is not None:
            raise InputError(f"`{name}` does not go with `simulate`")
    volume = read_volume(str(options.simulate), allow_complex=pair)
    if not pair and volume.values.min() < 0:
        raise InputError(
            f"`{options.simulate}` holds negative values, down to "
            f"{volume.values.min():.3g}; a magnitude has none: shift or clip it, or "
            "take `image=complex`"
        )
    if not np.any(volume.values):
        raise InputError(f"`{options.simulate}` is 0 everywhere; nothing to measure")
    sides = volume.values.shape
    word = options.mask or "gaussian"
    if word in ("gaussian", "uniform"):
        make = gaussian_mask if word == "gaussian" else uniform_mask
        mask = make(sides, options.fraction, seed=options.seed)
    else:
        mask = _corner(read_mask(word, sides), options)
    samples = np.fft.fftn(volume.values, norm="ortho")
    rng = np.random.default_rng(options.seed)
    noise = rng.normal(size=(2, *sides)) * options.noise * np.abs(volume.values).max()
    return samples + noise[0] + 1j * noise[1], mask, volume


def _mask_of(
    options: MriOptions, samples: np.ndarray, sides: tuple[int, ...]
) -> np.ndarray:
    if options.mask is not None:
        return _corner(read_mask(options.mask, sides), options)
    seen = samples != 0
    return _corner(seen if seen.shape == sides else seen.any(axis=0), options)


def _corner(mask: np.ndarray, options: MriOptions) -> np.ndarray:
    return np.fft.ifftshift(mask) if options.origin == "middle" else mask


def _truth(
    options: MriOptions, volume: Volume | None, samples: np.ndarray, forward: KSpace
) -> tuple[np.ndarray | None, Volume | None, tuple[str, ...]]:
    """The image, if it is known, the file that says where it lies, and warnings."""
    if volume is not None or options.truth is None:
        return None if volume is None else volume.values, volume, ()
    sides = forward.mask.shape
    volume = read_volume(options.truth, allow_complex=forward.pair)
    if volume.values.shape != sides:
        raise InputError(
            f"`{options.truth}` has shape {volume.values.shape} and the k-space "
            f"{sides}; `truth` must be the image on the same grid"
        )

    def zero_filled(samples: Any) -> np.ndarray:
        """By magnitude: the phase of a scan is not that of a truth."""
        image = np.asarray(forward.zero_filled(jnp.asarray(samples)), np.float64)
        return np.linalg.norm(image, axis=-1) if forward.pair else np.abs(image)

    values = volume.values
    image = np.stack([np.real(values), np.imag(values)], -1) if forward.pair else values
    seen = forward(jnp.asarray(image, jnp.float32))
    truth = in_units_of(
        values, zero_filled(seen), zero_filled(samples), measures="the k-space"
    )
    return truth.values, volume, truth.warnings


def _spacing(options: MriOptions, place: Volume | None, axes: int) -> tuple[float, ...]:
    if options.spacing is None:
        return (1.0,) * axes if place is None else place.spacing
    try:
        spacing = tuple(float(part) for part in options.spacing.split(","))
    except ValueError:
        spacing = ()
    if len(spacing) != axes or not all(0 < s < float("inf") for s in spacing):
        raise InputError(
            f"`spacing` (={options.spacing}) must be {axes} positive numbers, such "
            f"as {','.join(['1'] * axes)}"
        )
    return spacing


def _warn_of_origin(
    samples: np.ndarray, sides: tuple[int, ...], origin: str
) -> tuple[str, ...]:
    """Images are brightest at low frequencies, and at the highest only by mistake."""
    size = np.abs(samples).reshape(-1, *sides).sum(axis=0)
    place = np.unravel_index(int(size.argmax()), sides)
    if any(k not in (n // 2, (n + 1) // 2) for k, n in zip(place, sides, strict=True)):
        return ()
    other = "corner" if origin == "middle" else "middle"
    return (
        "k-space is largest where the highest frequency should be; if frequency 0 "
        f"is in the file's {other}, add `origin={other}`",
    )


def _warn_of_phase(samples: np.ndarray, mask: np.ndarray) -> tuple[str, ...]:
    """A real image has y(-k) = conj y(k), to noise, wherever both were measured."""
    both = mask & opposite(mask)
    apart = np.where(both, samples - np.conj(opposite(samples)), 0)
    there = np.linalg.norm(np.where(both, samples, 0))
    share = np.linalg.norm(apart) / (2 * max(there, np.finfo(np.float32).tiny))
    if share <= 0.1:
        return ()
    return (
        f"the k-space is not that of a real image ({100 * share:.0f} % of it is odd): "
        "`image=complex` fits real and imaginary parts",
    )


def _resampled(maps: np.ndarray, sides: tuple[int, ...]) -> np.ndarray:
    """Sensitivities, which are smooth, at the points of a coarser grid."""
    from scipy.ndimage import map_coordinates

    full = maps.shape[1:]
    at = [np.arange(s) * n / s for n, s in zip(full, sides, strict=True)]
    where = np.stack(np.meshgrid(*at, indexing="ij"))
    parts = [
        map_coordinates(np.real(m), where, order=1)
        + 1j * map_coordinates(np.imag(m), where, order=1)
        for m in maps
    ]
    return np.stack(parts).astype(np.complex64)
