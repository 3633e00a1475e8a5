"""How much of a field can be evaluated in the time that is left."""

import time

import numpy as np

from ..field import Field

PROBE = 2**14
"""Points by which the pace is measured: a moment on a CPU."""


def points_in(seconds: float, field: Field) -> int:
    """Points at which this machine evaluates the field in so many seconds."""
    coords = np.zeros((PROBE, field.encoding.dims), np.float32)
    field.predict(coords)  # compiled now
    begun = time.perf_counter()
    field.predict(coords)
    return int(PROBE * seconds / max(time.perf_counter() - begun, 1e-6))
