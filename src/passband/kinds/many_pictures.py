"""The worst and the best of a set, beside the truth."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..plot.field_set import Pair, pairs
from ..plot.style import png_bytes
from ..shard_file import Shard
from ..train.set_folder import SetFolder
from .many_inputs import Source
from .many_plan import SetPlan
from .many_read import Failed, ready

SHOWN = 6
"""Fields at each end."""
SECONDS = 10.0
"""That one evaluation may take."""


def pictures_of(
    plan: SetPlan,
    sources: Sequence[Source],
    folder: SetFolder,
    ranked: Sequence[Mapping[str, Any]],
    metric: str | None,
) -> dict[str, bytes]:
    """PNGs of the ends of a set, by what they show.

    Args:
        ranked: rows of the index, from worst to best.
    """
    if not ranked or metric is None:
        return {}
    by_name = {source.name: source for source in sources}
    half = max(1, min(SHOWN, len(ranked) // 2))
    ends = {"The worst": ranked[:half], "The best": ranked[: -half - 1 : -1]}
    if len(ranked) == 1:
        ends = {"The field": ranked}
    found = {}
    for title, rows in ends.items():
        items = []
        for row in rows:
            # A file may have gone since; the summary does without it.
            with contextlib.suppress(Exception):
                items.append(_pair(plan, by_name[row["name"]], folder, row, metric))
        if items:
            found[title] = png_bytes(pairs(items))
    return found


def _pair(
    plan: SetPlan,
    source: Source,
    folder: SetFolder,
    row: Mapping[str, Any],
    metric: str,
) -> Pair:
    one = ready(source, plan)
    if isinstance(one, Failed):
        raise ValueError(one.error)
    field, _ = Shard.open(folder.path / row["shard"]).field(row["row"])
    task = jax.tree.map(jnp.asarray, one.task)
    field = one.kind.unfinished(field)
    seen = one.kind.evaluate(task, field, one.training, seconds=SECONDS)
    value = row["metrics"][metric]
    score = "exact" if value is None else f"{metric} {value:.4g}"
    if seen.shown is None:
        preview = seen.preview()
        if not isinstance(preview, np.ndarray):
            raise ValueError("its preview is a figure of its own")
        return Pair(source.name, score, preview, None)
    shown = seen.shown()
    return Pair(source.name, score, shown.values, shown.truth)
