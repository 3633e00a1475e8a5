"""The spread of members in the report and in the result."""

from typing import Any

import numpy as np

from ..plot.spread import spread_figure
from ..plot.volume_slices import planes
from .kind import Evaluation


def figures_of(found: Evaluation, mapping: str) -> dict[str, Any]:
    """The figures of a fit; of members also where they differ, and where they err.

    Args:
        mapping: the word in whose colour a signal's spread is drawn.
    """
    figures, spread = found.figures(), found.spread
    if spread is None or not spread.pictured:
        return figures
    error = None if spread.error is None else _flat(spread.error)
    drawn = spread_figure(_flat(spread.values), error, mapping=mapping)
    return figures | {"spread": drawn}


def members_facts(members: int, found: Evaluation) -> dict[str, Any]:
    """What the result says of members; of a single network nothing."""
    if members == 1:
        return {}
    spread = None if found.spread is None else float(np.mean(found.spread.values))
    return {"members": members, "spread": spread}


def _flat(values: np.ndarray) -> np.ndarray:
    """A picture, samples, or the middle of a volume."""
    while values.ndim > 3:
        values = values[len(values) // 2]
    return values if values.ndim < 3 else planes(values)[-1][0]
