"""The plane waves of Fig. 11, at every angle and four radii."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from ..errors import InputError

ANGLES = 17
"""Angles from 0 to pi, both included (the paper says 16)."""
RADII = (5.0, 10.0, 15.0, 20.0)
"""Cycles per picture."""


@dataclass(frozen=True)
class Sinusoid:
    """cos(2 pi (a x + b y)), one period of which is the unit square."""

    angle: float
    """Asked for, in radians."""
    radius: float
    """Asked for, in cycles per picture."""
    a: int
    """Cycles along the columns: radius sin(angle), rounded."""
    b: int
    """Cycles along the rows: radius cos(angle), rounded."""

    def image(self, size: int = 512) -> Float32[np.ndarray, "size size 1"]:
        """The wave at (column, row) / size, with values in [-1, 1]."""
        if size <= 2 * max(abs(self.a), abs(self.b)):
            raise InputError(
                f"`size` (={size}) cannot show {self.a} x {self.b} cycles; take more "
                f"than {2 * max(abs(self.a), abs(self.b))} pixels"
            )
        # Whole turns are dropped as integers, so that the phase is exact.
        k = np.arange(size)
        turns = (self.a * k[None, :] + self.b * k[:, None]) % size
        return np.cos(2 * np.pi * turns / size).astype(np.float32)[..., None]


def sinusoids(
    *, angles: int = ANGLES, radii: tuple[float, ...] = RADII
) -> Iterator[Sinusoid]:
    """Every radius at every one of `angles` angles from 0 to pi, angle by angle."""
    if angles < 2:
        raise InputError(f"`angles` (={angles}) must be at least 2: 0 and pi")
    for i in range(angles):
        angle = math.pi * i / (angles - 1)
        for radius in radii:
            a, b = radius * math.sin(angle), radius * math.cos(angle)
            yield Sinusoid(angle, radius, round(a), round(b))
