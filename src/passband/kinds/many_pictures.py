"""The worst and the best of a set, beside the truth."""

import contextlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..data.images import quantise
from ..data.raster import write_png_to
from ..export.set_page import Card
from ..plot.field_set import Pair, pairs
from ..plot.style import png_bytes
from ..shard_file import Shard
from ..train.set_folder import SetFolder
from .in_stacks import InStacks
from .many_inputs import Source
from .many_plan import SetPlan
from .many_read import Failed, on_host, ready

LARGEST = 384
"""Pixels along the longer side of a picture on the page."""
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
) -> dict[str, bytes | list[Card]]:
    """Pictures of the ends of a set, by what they show.

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
    found: dict[str, bytes | list[Card]] = {}
    for title, rows in ends.items():
        items = []
        for row in rows:
            # A file may have gone since; the summary does without it.
            with contextlib.suppress(Exception), on_host():
                items.append(_pair(plan, by_name[row["name"]], folder, row, metric))
        if items and all(np.ndim(item.values) > 1 for item in items):
            found[title] = [_card(item) for item in items]
        elif items:
            found[title] = png_bytes(pairs(items))
    return found


def _card(item: Pair) -> Card:
    """A pair as two small PNGs: no figure has to be drawn."""
    truth = None if item.truth is None else _png(np.asarray(item.truth))
    return Card(item.name, item.score, truth, _png(np.asarray(item.values)))


def _png(values: np.ndarray) -> bytes:
    step = -(-max(values.shape[:2]) // LARGEST)
    shown = quantise(values[::step, ::step], 8)
    data = io.BytesIO()
    grey = shown.ndim == 3 and shown.shape[2] == 1
    write_png_to(data, shown[..., 0] if grey else shown)
    return data.getvalue()


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
    value = row["metrics"][metric]
    score = "exact" if value is None else f"{metric} {value:.4g}"
    if isinstance(one.kind, InStacks):
        shown = one.kind.pictured(field)
        return Pair(source.name, score, shown.values, shown.truth)
    task = jax.tree.map(jnp.asarray, one.task)
    field = one.kind.unfinished(field)
    seen = one.kind.evaluate(task, field, one.training, seconds=SECONDS)
    if seen.shown is None:
        preview = seen.preview()
        if not isinstance(preview, np.ndarray):
            raise ValueError("its preview is a figure of its own")
        return Pair(source.name, score, preview, None)
    shown = seen.shown()
    return Pair(source.name, score, shown.values, shown.truth)
