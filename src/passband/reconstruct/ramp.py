"""The ramp filter of back-projection, band-limited and made in space."""

import numpy as np
from jaxtyping import Float


def ramp(
    bins: int, *, window: str = "ramp", bend: float = 0.0
) -> Float[np.ndarray, " k"]:
    """The filter's response at the frequencies of `numpy.fft.rfft`, padded so that no
    bin is filtered by those at the other end (Kak and Slaney, eq. 61 of chapter 3).

    Args:
        window: `hann` rolls it off towards the highest frequency.
        bend: radians from bin to bin of an arc, whose filter is (a / sin a)^2 times the
            straight one's (their eq. 84); 0 for parallel rays and flat detectors.
    """
    size = 2 ** int(np.ceil(np.log2(2 * bins)))
    n = np.fft.fftfreq(size, 1 / size)
    odd = n.astype(int) % 2 == 1
    space = np.where(odd, -1 / np.square(np.pi * np.where(odd, n, 1)), 0)
    space[0] = 0.25
    if bend:
        angle = np.where(np.abs(n) < bins, n * bend, 0)
        space = space / np.square(np.sinc(angle / np.pi))
    response = np.fft.rfft(space).real
    if window == "hann":
        response *= 0.5 + 0.5 * np.cos(2 * np.pi * np.fft.rfftfreq(size))
    return response
