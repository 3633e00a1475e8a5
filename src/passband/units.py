"""Frequencies of the neighbouring libraries, in cycles per unit of our domain.

passband states every frequency in cycles per unit, with 2 pi inside the mapping, and
the longest side of sampled data is one unit long. Others leave 2 pi out, use [-1, 1],
or put the scale into the first layer. Each function here takes their number and gives
ours.
"""

import math


def from_radians(frequency: float) -> float:
    """An encoder that computes sin(b v) without 2 pi (the paper's NeRF notebook).

    Args:
        frequency: b, in radians per unit of the coordinates.

    Returns:
        Cycles per unit: b / 2 pi.

    Example:
        >>> import passband as pb
        >>> round(pb.units.from_radians(26), 2)  # the paper's scenes
        4.14
    """
    return frequency / (2 * math.pi)


def to_radians(frequency: float) -> float:
    """Our cycles per unit as the b of an encoder that computes sin(b v).

    Args:
        frequency: in cycles per unit of the coordinates.

    Returns:
        Radians per unit: 2 pi times as many.

    Example:
        >>> import passband as pb
        >>> round(pb.units.to_radians(10), 1)
        62.8
    """
    return frequency * 2 * math.pi


def from_symmetric(frequency: float) -> float:
    """Coordinates in [-1, 1] instead of [0, 1]: a unit there is half of ours.

    Args:
        frequency: in cycles per unit of [-1, 1].

    Returns:
        Cycles per unit of [0, 1]: twice as many.

    Example:
        >>> import passband as pb
        >>> pb.units.from_symmetric(5)
        10
    """
    return 2 * frequency


def from_nerf_octave(j: int, *, with_pi: bool = True) -> float:
    """Octave j of NeRF's sin(2^j pi x) on [-1, 1]; `with_pi=False` for sin(2^j x).

    Args:
        j: number of the octave, from 0.
        with_pi: whether that encoder multiplies by pi: NeRF's paper does, its code
            does not.

    Returns:
        Cycles per unit of [0, 1].

    Example:
        >>> import passband as pb
        >>> pb.units.from_nerf_octave(9)
        512.0
        >>> round(pb.units.from_nerf_octave(9, with_pi=False), 1)
        163.0
    """
    return from_symmetric(2.0**j * (0.5 if with_pi else 1 / (2 * math.pi)))


def from_siren(omega_0: float, weight: float = 1.0) -> float:
    """SIREN's first layer sin(omega_0 w x) on [-1, 1].

    Args:
        omega_0: the factor in front of the first layer (30 in SIREN's paper).
        weight: w; |w| is at most 1 in 1D, and at most 1/d in d dimensions, at SIREN's
            initialisation.

    Returns:
        Cycles per unit of [0, 1].

    Example:
        >>> import passband as pb
        >>> round(pb.units.from_siren(30), 1)  # the highest that 1D begins with
        9.5
    """
    return from_symmetric(from_radians(omega_0 * weight))
