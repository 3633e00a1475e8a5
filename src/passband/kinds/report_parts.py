"""What a report shows of an evaluation, the spread of members with it."""

from typing import Any

import numpy as np

from ..plot.spread import spread_figure
from .kind import Evaluation
from .shown import middle_plane


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


def layers_of(found: Evaluation, mapping: str) -> dict[str, np.ndarray]:
    """Pictures to lay over each other: the target, ours under its mapping's word, those
    of other methods; of samples there are none."""
    shown = None if found.shown is None else found.shown()
    if shown is None or shown.values.ndim < 2:
        return {}
    first = {} if shown.truth is None else {"Target": shown.truth}
    return first | {mapping: shown.values} | dict(shown.others)


def members_facts(members: int, found: Evaluation) -> dict[str, Any]:
    """What the result says of members; of a single network nothing."""
    if members == 1:
        return {}
    spread = None if found.spread is None else float(np.mean(found.spread.values))
    return {"members": members, "spread": spread}


def _flat(values: np.ndarray) -> np.ndarray:
    """A picture, samples, or the middle of a volume."""
    return values if values.ndim < 3 else middle_plane(values)
