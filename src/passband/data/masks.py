"""Which frequencies an MRI scan measures, as booleans with frequency 0 at index 0."""

import math

import numpy as np
from jaxtyping import Bool

from ..errors import InputError

SPREAD = math.sqrt(2 * 96) / 96
"""Standard deviation of the paper's mask as a share of a side: 0.1443."""
PAPER_DRAWS = 200_000


def gaussian_mask(
    shape: tuple[int, ...], fraction: float, *, spread: float = SPREAD, seed: int = 0
) -> Bool[np.ndarray, "..."]:
    """Points drawn from a Gaussian about frequency 0 until that share is measured.

    Frequency 0 is always among them: it has the mean of the image, no scanner skips it,
    and without it classical methods are off by a constant. Where chance leaves it out,
    the point that was drawn last makes room for it.

    Args:
        spread: standard deviation along each axis, as a share of its side.
    """
    wanted = _wanted(shape, fraction)
    rng = np.random.default_rng(seed)
    mask = np.zeros(shape, bool)
    sides = np.asarray(shape)
    stuck, last = 0, 0
    while wanted > 0 and stuck < 20:
        near = rng.normal(size=(max(1000, wanted), len(shape))) * spread * sides
        index = np.rint(near).astype(int) + sides // 2
        index = index[np.all((index >= 0) & (index < sides), axis=1)]
        flat = np.atleast_1d(np.ravel_multi_index(tuple(index.T), shape))
        _, first = np.unique(flat, return_index=True)
        new = flat[np.sort(first)]
        new = new[~mask.ravel()[new]][:wanted]
        mask.ravel()[new] = True
        last = int(new[-1]) if len(new) else last
        wanted -= len(new)
        stuck = 0 if len(new) else stuck + 1
    if wanted > 0:
        raise InputError(
            f"`fraction` (={fraction:g}) is more than a Gaussian of {spread:g} of each "
            f"side reaches ({mask.mean():.3g}); ask for less, or for a `uniform` mask"
        )
    middle = tuple(sides // 2)
    if not mask[middle]:
        mask.ravel()[last], mask[middle] = False, True
    return np.fft.ifftshift(mask)


def paper_mask() -> Bool[np.ndarray, "96 96 96"]:
    """The mask of 2020 (protocol 7): the same bits, 12.56 % of 96^3.

    Points are truncated toward zero; negative indices wrap around and those past the
    end are dropped.
    """
    import jax
    import jax.numpy as jnp

    side = 96
    with jax.threefry_partitionable(False):
        near = jax.random.multivariate_normal(
            jax.random.PRNGKey(10),
            jnp.full(3, side / 2),
            2 * side * jnp.eye(3),
            (PAPER_DRAWS,),
        )
    index = np.asarray(near).astype(int)
    index = index[np.all(index < side, axis=1)]
    mask = np.zeros((side,) * 3, bool)
    mask[tuple(index.T)] = True
    return np.fft.fftshift(mask)


def uniform_mask(
    shape: tuple[int, ...],
    fraction: float,
    *,
    centre: float = 0.08,
    seed: int = 0,
) -> Bool[np.ndarray, "..."]:
    """A fully measured centre, and points drawn uniformly outside it.

    Args:
        centre: side of the centre as a share of the whole; it has frequency 0, however
            small it is.
    """
    wanted = _wanted(shape, fraction)
    mask = np.zeros(shape, bool)
    if not 0 <= centre <= 1:
        raise InputError(f"`centre` (={centre:g}) must be a share from 0 to 1")
    middle = tuple(
        slice(n // 2 - (w := max(1, round(centre * n))) // 2, n // 2 - w // 2 + w)
        for n in shape
    )
    mask[middle] = True
    left = wanted - int(mask.sum())
    if left < 0:
        raise InputError(
            f"`fraction` (={fraction:g}) is less than the measured centre has "
            f"({mask.mean():.3g}); ask for more, or for a smaller centre"
        )
    others = np.flatnonzero(~mask.ravel())
    drawn = np.random.default_rng(seed).choice(others, left, replace=False)
    mask.ravel()[drawn] = True
    return np.fft.ifftshift(mask)


def hold_out(
    mask: Bool[np.ndarray, "..."],
    share: float,
    *,
    keep: int = 2,
    seed: int = 0,
    spare: Bool[np.ndarray, "..."] | None = None,
) -> tuple[Bool[np.ndarray, "..."], Bool[np.ndarray, "..."]]:
    """The mask in two: to train on, and to test on.

    k and -k go the same way, because a real image gives one from the other. The centre,
    `keep` frequencies to each side of 0, always trains: no network can guess it, and
    its few samples would decide the error alone. So does what is to be spared: that
    which coil maps were estimated from would be no test of them.
    """
    if not 0 <= share < 1:
        raise InputError(f"`holdout` (={share:g}) must be a share from 0 to below 1")
    flat = np.arange(mask.size).reshape(mask.shape)
    pair = np.minimum(flat, opposite(flat))
    distance = np.zeros(mask.shape)
    for axis, n in enumerate(mask.shape):
        k = np.abs(np.fft.fftfreq(n, 1 / n))
        side = [1] * mask.ndim
        side[axis] = n
        distance = np.maximum(distance, k.reshape(side))
    free = mask & (distance > keep)
    if spare is not None:
        free &= ~(spare | opposite(spare))
    pairs = np.random.default_rng(seed).permutation(np.unique(pair[free]))
    target = round(share * mask.sum())
    # Some pairs were measured on one side only, so they count as they come.
    sizes = np.bincount(pair[free], minlength=mask.size)[pairs]
    count = 1 + int(np.searchsorted(np.cumsum(sizes), target)) if target else 0
    chosen = pairs[:count]
    if share and (not len(chosen) or len(chosen) == len(pairs)):
        raise InputError(
            f"`holdout` (={share:g}) leaves nothing to train or test on: only "
            f"{int(free.sum())} samples lie outside the centre; 0 trains on all of them"
        )
    held = free & np.isin(pair, chosen)
    return mask & ~held, held


def opposite(values: np.ndarray) -> np.ndarray:
    """The array with k and -k exchanged, frequency 0 at index 0."""
    axes = tuple(range(values.ndim))
    return np.roll(np.flip(values, axes), 1, axes)


def _wanted(shape: tuple[int, ...], fraction: float) -> int:
    if not 0 < fraction <= 1:
        raise InputError(f"`fraction` (={fraction:g}) must be a share above 0, up to 1")
    return max(1, round(fraction * math.prod(shape)))
