r"""Magnetic resonance: the samples of an image's Fourier transform that were measured.

Inside the package the image's origin and the frequency 0 are both at index 0, as in
`numpy.fft`, and the transform is orthonormal,

$$y_k = \frac{1}{\sqrt N} \sum_j s_c(j)\, x_j\, e^{-2\pi i\, j\cdot k/n},$$

times 1 where k was measured and 0 elsewhere. Files mostly have both origins in the
middle of the array (SigPy, BART, fastMRI): `from_centred` and `to_centred` convert.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Inexact

from .linear import LinearForward


class KSpace(LinearForward):
    """A masked Fourier transform in 2D or 3D, for one receiving coil or many.

    With sensitivity maps the measurements have a leading axis of coils. A complex image
    is a last axis of two, its real and imaginary parts.

    Args:
        mask: which frequencies were measured; frequency 0 is at index 0.
        maps: (coils, ...) sensitivities; None for one coil that hears all alike.
        pair: whether the image is complex.

    Example:
        >>> import jax.numpy as jnp, passband as pb
        >>> A = pb.forward.KSpace(jnp.ones((4, 4), bool))
        >>> A(jnp.ones((4, 4)))[0, 0]
        Array(4.+0.j, dtype=complex64)
    """

    mask: Bool[Array, "*sides"]
    """Which frequencies were measured; frequency 0 is at index 0."""
    maps: Complex[Array, "coils *sides"] | None = None
    pair: bool = eqx.field(static=True, default=False)
    """Whether the image is complex."""

    @property
    def input_shape(self) -> tuple[int, ...]:
        return (*self.mask.shape, 2) if self.pair else self.mask.shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.mask.shape if self.maps is None else self.maps.shape

    def __call__(self, values: Inexact[Array, "..."]) -> Complex[Array, "..."]:
        return jnp.where(self.mask, self.transform(values), 0)

    def transform(self, values: Inexact[Array, "..."]) -> Complex[Array, "..."]:
        """All frequencies, measured or not."""
        image = values[..., 0] + 1j * values[..., 1] if self.pair else values
        if self.maps is not None:
            image = self.maps * image
        return jnp.fft.fftn(image, axes=self._axes, norm="ortho")

    def zero_filled(self, measured: Complex[Array, "..."]) -> Inexact[Array, "..."]:
        r"""The image whose unmeasured frequencies are zero.

        Coils are combined as $\sum_c \bar s_c x_c / \sum_c |s_c|^2$, which is exact
        where everything was measured.
        """
        image = self.H(jnp.where(self.mask, measured, 0))
        if self.maps is None:
            return image
        power = jnp.sum(jnp.abs(self.maps) ** 2, axis=0)
        # Where no coil hears anything there is nothing to divide.
        power = jnp.where(power > 1e-6 * jnp.max(power), power, jnp.inf)
        return image / (power[..., None] if self.pair else power)

    @property
    def _axes(self) -> tuple[int, ...]:
        return tuple(range(-self.mask.ndim, 0))


def from_centred(
    samples: np.ndarray, sides: tuple[int, ...], *, normalised: bool = True
) -> np.ndarray:
    r"""k-space with both origins in the middle, as this package has it.

    SigPy's `fft` is $fftshift\,F\,ifftshift$. Its inner shift is a phase,
    $e^{2\pi i k (n//2)/n}$ along every axis, so the image itself never moves.

    Args:
        samples: a leading axis of coils, if any, then the `sides`.
        normalised: False for a transform without the factor $1/\sqrt N$.
    """
    axes = tuple(range(-len(sides), 0))
    out = np.fft.ifftshift(samples, axes) * np.conj(_middle(sides))
    return _kind(out if normalised else out / np.sqrt(np.prod(sides)), samples)


def to_centred(samples: np.ndarray, sides: tuple[int, ...]) -> np.ndarray:
    """The inverse of `from_centred`, orthonormal."""
    axes = tuple(range(-len(sides), 0))
    return _kind(np.fft.fftshift(samples * _middle(sides), axes), samples)


def crop(
    samples: np.ndarray, sides: tuple[int, ...], smaller: tuple[int, ...]
) -> np.ndarray:
    r"""The lowest frequencies, as the same image on a coarser grid would have them.

    Index j of the coarser grid is at index j n/s of the finer one, and samples shrink
    by $\sqrt{S/N}$ since the transform is orthonormal. Booleans do not. Along a side
    that becomes even its highest frequency, which stands for two, is set to zero.
    """
    out = samples
    for axis, (n, s) in enumerate(zip(sides, smaller, strict=True)):
        if s == n:
            continue
        at = axis - len(sides)
        k = np.fft.fftfreq(s, 1 / s).astype(int)
        out = np.take(out, k % n, axis=at)
        alone = np.ones(s, bool)
        alone[s // 2] = s % 2 == 1
        shape = [1] * len(sides)
        shape[axis] = s
        out = out * alone.reshape(shape)
    if samples.dtype == np.bool_:
        return out.astype(bool)
    return _kind(out * np.sqrt(np.prod(smaller) / np.prod(sides)), samples)


def _middle(sides: tuple[int, ...]) -> np.ndarray:
    """exp(2 pi i k (n//2)/n) along every axis, k in the order of numpy.fft."""
    phase = np.zeros(sides)
    for axis, n in enumerate(sides):
        shape = [1] * len(sides)
        shape[axis] = n
        # Whole turns are taken off as whole numbers.
        turns = (np.arange(n) * (n // 2) % n) / n
        phase = phase + turns.reshape(shape)
    return np.exp(2j * np.pi * phase)


def _kind(out: np.ndarray, like: np.ndarray) -> np.ndarray:
    return out.astype(np.result_type(like.dtype, np.complex64), copy=False)
