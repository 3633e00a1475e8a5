"""Frequencies of the neighbouring libraries, in cycles per unit of our domain.

passband states every frequency in cycles per unit, with 2 pi inside the mapping, and
the longest side of sampled data is one unit long. Others leave 2 pi out, use [-1, 1],
or put the scale into the first layer. Each function here takes their number and gives
ours.
"""

import math


def from_radians(frequency: float) -> float:
    """An encoder that computes sin(b v) without 2 pi (the paper's NeRF notebook)."""
    return frequency / (2 * math.pi)


def to_radians(frequency: float) -> float:
    """Our cycles per unit as the b of an encoder that computes sin(b v)."""
    return frequency * 2 * math.pi


def from_symmetric(frequency: float) -> float:
    """Coordinates in [-1, 1] instead of [0, 1]: a unit there is half of ours."""
    return 2 * frequency


def from_nerf_octave(j: int, *, with_pi: bool = True) -> float:
    """Octave j of NeRF's sin(2^j pi x) on [-1, 1]; `with_pi=False` for sin(2^j x)."""
    return from_symmetric(2.0**j * (0.5 if with_pi else 1 / (2 * math.pi)))


def from_siren(omega_0: float, weight: float = 1.0) -> float:
    """SIREN's first layer sin(omega_0 w x) on [-1, 1]; |w| is at most 1 in 1D, and at
    most 1/d in d dimensions at its initialisation."""
    return from_symmetric(from_radians(omega_0 * weight))
