"""How much of a volume a CPU looks at, and how often at what is held out."""

import math
from typing import Any

LOOK = 10
"""Steps between two looks at what is held out: each costs a third of a step."""


def coarser(sides: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    """Sides of about the same shape with at most `batch` points, even and 4 or more."""
    count = math.prod(sides)
    if batch is None or batch >= count:
        return sides
    scale = (batch / count) ** (1 / len(sides))
    return tuple(min(n, max(4, int(n * scale) // 2 * 2)) for n in sides)


def looks_of(steps: Any, errors: Any) -> list[tuple[float, float]]:
    """The steps of the history whose errors were new, and these."""
    looks, last = [], -math.inf
    for step, error in zip(steps, errors, strict=True):
        if step - last >= LOOK:
            looks.append((step, error))
            last = step
    return looks
