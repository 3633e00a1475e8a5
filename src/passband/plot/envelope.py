"""Long lines drawn with few points: the lowest and highest value of every stretch."""

import itertools

import numpy as np


def envelope(
    x: np.ndarray, y: np.ndarray, stretches: int = 1500
) -> tuple[np.ndarray, np.ndarray]:
    """The points a line of that many pixels needs, so no peak is lost.

    Of each of `stretches` equal runs of points it keeps the lowest and the highest, in
    their order, and of the whole line both ends. A short line comes back as it is.
    """
    count = len(y)
    if count <= 2 * stretches:
        return x, y
    edges = np.linspace(0, count, stretches + 1).astype(int)
    keep = {0, count - 1}
    for start, stop in itertools.pairwise(edges):
        part = y[start:stop]
        keep |= {start + int(part.argmin()), start + int(part.argmax())}
    index = np.array(sorted(keep))
    return x[index], y[index]
