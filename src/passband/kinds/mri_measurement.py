"""k-space, mask, coil maps and truth in one form, read or simulated."""

import dataclasses
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..data.kspace_files import looks_like_coils, read_kspace, read_mask
from ..data.masks import gaussian_mask, hold_out, opposite, uniform_mask
from ..data.raw_kspace import RawKSpace
from ..data.volumes import Volume, volume_of
from ..errors import InputError
from ..forward.kspace import KSpace, crop, from_centred
from .mri_coils import coils_of, spared
from .mri_options import MriOptions
from .truth import Truth, in_units_of

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
    spare: np.ndarray | None = None
    """Frequencies that the coils' maps were estimated from."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
            spare=None if self.spare is None else crop(self.spare, self.sides, sides),
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
    scan = _simulated(options) if options.file is None else _read(options)
    pair, mask, sides = scan.pair, scan.mask, scan.mask.shape
    samples = np.where(mask, scan.samples, 0).astype(np.complex64)
    if not np.any(samples):
        raise InputError("what the mask leaves of k-space is 0 everywhere")
    warnings = scan.warnings
    if options.simulate is None:
        warnings += _warn_of_origin(samples, sides, options.origin)
    if not scan.coils and not pair:
        warnings += _warn_of_phase(samples, mask)
    spare = spared(options, mask, scan.calibration) if scan.coils else None
    train, test_mask = mask, None
    if options.holdout > 0:
        train, test_mask = hold_out(
            mask, options.holdout, seed=options.seed, spare=spare
        )
    maps, notes = None, scan.notes
    if scan.coils:
        maps, said = coils_of(options, samples, train, test_mask, scan.calibration)
        notes += said
    forward = KSpace(
        jnp.asarray(mask), None if maps is None else jnp.asarray(maps), pair
    )
    image = np.asarray(forward.zero_filled(jnp.asarray(samples)))
    size = np.linalg.norm(image, axis=-1) if pair else image
    high = MARGIN * float(size.max())
    if not high > 0:
        raise InputError("the image is nowhere positive; try `image=complex`")
    truth, place, said = _truth(options, scan, samples, forward)
    spacing, affine = _place(options, scan, place, len(sides))
    return Measurement(
        measured=samples / np.float32(high),
        train_mask=train,
        test_mask=test_mask,
        maps=maps,
        truth=truth,
        high=high,
        spacing=spacing,
        affine=affine,
        pair=pair,
        name=scan.name,
        spare=spare,
        warnings=warnings + said,
        notes=notes,
    )


@dataclasses.dataclass(frozen=True)
class _Scan:
    """k-space as this package has it, all that there is, and which of it counts."""

    samples: np.ndarray
    mask: np.ndarray
    coils: bool
    pair: bool
    name: str
    calibration: np.ndarray | None = None
    truth: np.ndarray | None = None
    place: Volume | None = None
    """Where the image lies, and the image itself if it was measured here."""
    spacing: tuple[float, ...] | None = None
    affine: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _read(options: MriOptions) -> _Scan:
    path = Path(str(options.file))
    raw = read_kspace(
        path, coils=options.sens is not None, axes=options.axes, array=options.array,
        slice_=options.slice, frame=options.frame,
    )  # fmt: skip
    if options.sens is not None and not raw.coils:
        raise InputError(f"`sens` (={options.sens}): `{path}` has one coil only")
    warnings = raw.warnings
    plain = not raw.centred and options.axes is None and not raw.coils
    if plain and looks_like_coils(raw.samples):
        warnings += (
            f"`{path}` is read as a volume of {raw.sides}, and its first axis looks "
            "like coils; if so, add `axes=cxy`",
        )
    mask = _mask_of(options, raw)

    def ours(samples: np.ndarray) -> np.ndarray:
        if options.origin == "middle":
            normalised = options.norm == "ortho"
            return from_centred(samples, raw.sides, normalised=normalised)
        if options.norm == "none":
            return samples / np.float32(np.sqrt(np.prod(raw.sides)))
        return samples

    pair = raw.coils if options.image is None else options.image == "complex"
    return _Scan(
        ours(raw.samples), mask, raw.coils, pair, path.stem, truth=raw.truth,
        calibration=None if raw.calibration is None else ours(raw.calibration),
        spacing=raw.spacing, affine=raw.affine, notes=raw.notes, warnings=warnings,
    )  # fmt: skip


def _simulated(options: MriOptions) -> _Scan:
    for name in ("sens", "truth", "axes", "array", "slice", "frame"):
        if getattr(options, name) is not None:
            raise InputError(f"`{name}` does not go with `simulate`")
    pair = options.image == "complex"
    volume = volume_of(str(options.simulate), allow_complex=pair, volume=options.volume)
    if not pair and volume.values.min() < 0:
        raise InputError(
            f"`{options.simulate}` holds negative values, down to "
            f"{volume.values.min():.3g}; a magnitude has none: shift or clip it, or "
            "take `image=complex`"
        )
    if not np.any(volume.values):
        raise InputError(f"`{options.simulate}` is 0 everywhere; nothing to measure")
    sides = volume.values.shape
    mask = _drawn(options, options.mask or "gaussian", sides)
    if mask is None:
        mask = _corner(read_mask(str(options.mask), sides), options)
    samples = np.fft.fftn(volume.values, norm="ortho")
    rng = np.random.default_rng(options.seed)
    noise = rng.normal(size=(2, *sides)) * options.noise * np.abs(volume.values).max()
    truth = volume.values.astype(np.complex64) if pair else volume.values
    return _Scan(
        samples + noise[0] + 1j * noise[1], mask, False, pair, volume.name,
        truth=truth, place=volume, notes=volume.notes,
    )  # fmt: skip


def _drawn(
    options: MriOptions, word: str | None, sides: tuple[int, ...]
) -> np.ndarray | None:
    """The mask of a word, frequency 0 at index 0."""
    if word not in ("gaussian", "uniform"):
        return None
    make = gaussian_mask if word == "gaussian" else uniform_mask
    return make(sides, options.fraction, seed=options.seed)


def _mask_of(options: MriOptions, raw: RawKSpace) -> np.ndarray:
    """What counts as measured: what the file has, and the mask leaves."""
    seen = raw.mask
    if seen is None:
        seen = raw.samples != 0
        seen = seen.any(axis=0) if raw.coils else seen
    drawn = _drawn(options, options.mask, raw.sides)
    if drawn is not None:
        return _corner(seen, options) & drawn
    if options.mask is None:
        return _corner(seen, options)
    given = read_mask(options.mask, raw.sides)
    # A format that says what was measured is believed; elsewhere 0 may be a sample.
    return _corner(given if raw.mask is None else given & raw.mask, options)


def _corner(mask: np.ndarray, options: MriOptions) -> np.ndarray:
    return np.fft.ifftshift(mask) if options.origin == "middle" else mask


def _truth(
    options: MriOptions, scan: _Scan, samples: np.ndarray, forward: KSpace
) -> tuple[np.ndarray | None, Volume | None, tuple[str, ...]]:
    """The image, if it is known, the file that says where it lies, and warnings."""
    if scan.place is not None:
        return scan.truth, scan.place, ()
    if options.truth == "rss":
        return _rss(scan), None, ()
    if options.truth is None:
        if scan.truth is None:
            return None, None, ()
        try:  # the file's own, which nobody asked for
            found = _in_units(scan.truth, samples, forward)
        except InputError as error:
            return None, None, (f"the file's own image is left out: {error}",)
        return found.values, None, found.warnings
    volume = volume_of(options.truth, allow_complex=forward.pair, volume=options.volume)
    if volume.values.shape != forward.mask.shape:
        raise InputError(
            f"`{options.truth}` has shape {volume.values.shape} and the k-space "
            f"{forward.mask.shape}; `truth` must be the image on the same grid"
        )
    truth = _in_units(volume.values, samples, forward)
    return truth.values, volume, truth.warnings


def _in_units(values: np.ndarray, samples: np.ndarray, forward: KSpace) -> Truth:
    """An image as the scan would have it."""

    def zero_filled(samples: Any) -> np.ndarray:
        """By magnitude: the phase of a scan is not that of a truth."""
        image = np.asarray(forward.zero_filled(jnp.asarray(samples)), np.float64)
        return np.linalg.norm(image, axis=-1) if forward.pair else np.abs(image)

    image = np.stack([np.real(values), np.imag(values)], -1) if forward.pair else values
    seen = forward(jnp.asarray(image, jnp.float32))
    return in_units_of(
        values, zero_filled(seen), zero_filled(samples), measures="the k-space"
    )


def _rss(scan: _Scan) -> np.ndarray:
    """The image of all that the file has: the coils' images as one length."""
    axes = tuple(range(-scan.mask.ndim, 0))
    share = float(np.mean(scan.samples != 0))
    if share < 0.99:
        raise InputError(
            f"`truth` (=rss) needs all of k-space, and the file has {share:.0%} of it"
        )
    image = np.abs(np.fft.ifftn(scan.samples, axes=axes, norm="ortho"))
    return (np.linalg.norm(image, axis=0) if scan.coils else image).astype(np.float32)


def _place(
    options: MriOptions, scan: _Scan, place: Volume | None, axes: int
) -> tuple[tuple[float, ...], np.ndarray | None]:
    """The size of a voxel and the affine: as asked for, of the truth, of the scan."""
    spacing, affine = scan.spacing, scan.affine
    if place is not None:
        spacing, affine = place.spacing, place.affine
    if options.spacing is None:
        return spacing or (1.0,) * axes, affine
    try:
        asked = tuple(float(part) for part in options.spacing.split(","))
    except ValueError:
        asked = ()
    if len(asked) != axes or not all(0 < s < float("inf") for s in asked):
        raise InputError(
            f"`spacing` (={options.spacing}) must be {axes} positive numbers, such "
            f"as {','.join(['1'] * axes)}"
        )
    return asked, affine


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
