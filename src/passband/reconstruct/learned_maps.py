r"""Sensitivities of coils learned with the image, as smooth fields of their own (Ying
and Sheng 2007, where they are polynomials): no whole centre of k-space is needed.

$$\min_{x, a} \sum_c |M F (s_c x) - y_c|^2 + \lambda |x|^2 + \mu |a|^2,\qquad
  s_c(r) = \sum_{|m| \le w/2} a_{cm} e^{2\pi i m r/n},$$

by turns in x and a, each by conjugate gradients. Only the product of map and image is
measured, so that maps are given length 1 over the coils at the end.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Complex, Complex64

from .coil_maps import CoilMaps

WIDTH, ROUNDS, INNER = 9, 12, 8
"""Frequencies of a map along each axis, turns, and iterations of each."""


def learned_maps(
    samples: Complex[np.ndarray, "coils *sides"],
    mask: Bool[np.ndarray, "*sides"],
    *,
    width: int = WIDTH,
    rounds: int = ROUNDS,
) -> CoilMaps:
    """Maps and image by turns, from any k-space that has frequency 0 at index 0.

    Args:
        mask: which samples were measured.
        width: frequencies of a map along each axis: smoother with fewer.
    """
    d = mask.ndim
    axes = tuple(range(1, d + 1))
    sides = mask.shape
    at = np.ix_(*[
        np.arange(-(min(width, n) // 2), (min(width, n) + 1) // 2) % n for n in sides
    ])  # fmt: skip
    y = np.where(mask, samples, 0).astype(np.complex64)
    y /= np.linalg.norm(y) / np.sqrt(y.size)

    def smooth(a: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(a), *sides), np.complex64)
        whole[(slice(None), *at)] = a
        return np.fft.ifftn(whole, axes=axes, norm="ortho")

    def coefficients(s: np.ndarray) -> np.ndarray:
        return np.fft.fftn(s, axes=axes, norm="ortho")[(slice(None), *at)]

    def back(samples: np.ndarray) -> np.ndarray:
        """F^H M of samples."""
        return np.fft.ifftn(np.where(mask, samples, 0), axes=axes, norm="ortho")

    def normal(images: np.ndarray) -> np.ndarray:
        return back(np.fft.fftn(images, axes=axes, norm="ortho"))

    maps, x = _unit(smooth(coefficients(_unit(smooth(_lowest(y, at)))))), 0
    seen = back(y)
    for _ in range(rounds):
        s = maps
        x = _solve(
            lambda x, s=s: np.sum(s.conj() * normal(s * x), axis=0),
            np.sum(s.conj() * seen, axis=0), x, 1e-3,
        )  # fmt: skip
        scale = np.sqrt(np.mean(np.abs(x) ** 2)) or 1.0
        image = x / scale

        def measured(a: np.ndarray, image: np.ndarray = image) -> np.ndarray:
            return coefficients(image.conj() * normal(image * smooth(a)))

        right = coefficients(image.conj() * seen / scale)
        a = _solve(measured, right, coefficients(maps), 1e-3)
        maps = _unit(smooth(a))
    found = maps.astype(np.complex64)
    return CoilMaps(found, np.ones(sides, np.float32))


def _lowest(y: np.ndarray, at: tuple[np.ndarray, ...]) -> Complex64[np.ndarray, "..."]:
    """The lowest frequencies of every coil, fading out."""
    part = y[(slice(None), *at)]
    for axis, index in enumerate(at):
        fade = np.hanning(index.size + 2)[1:-1].astype(np.float32)
        part = part * fade.reshape([-1 if k == axis else 1 for k in range(len(at))])
    return part


def _unit(maps: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(maps, axis=0)
    return maps / np.maximum(length, 1e-6 * length.max())


def _solve(
    operator: Callable[[np.ndarray], np.ndarray],
    right: np.ndarray,
    start: np.ndarray | int,
    weight: float,
) -> np.ndarray:
    """A few conjugate gradients of (A + weight) x = right, A >= 0."""
    x = np.zeros_like(right) + start
    r = right - operator(x) - weight * x
    p, power = r, np.vdot(r, r).real
    for _ in range(INNER):
        q = operator(p) + weight * p
        step = power / max(np.vdot(p, q).real, np.finfo(np.float32).tiny)
        x, r = x + step * p, r - step * q
        new = np.vdot(r, r).real
        p, power = r + new / max(power, np.finfo(np.float32).tiny) * p, new
    return x
