"""What a run that is resumed was asked for."""

import dataclasses
import os
import typing
from collections.abc import Collection
from typing import Any, TypeVar

from ..errors import InputError
from ..options import what_it_must_be
from ..words import parse_mapping
from .fit import FREE
from .prior import parse_prior
from .provenance import same_file
from .table import row_of

T = TypeVar("T")
CHOSEN = ("mapping", "prior")
"""Options of which something may have been chosen when the run began; its config.json
has what was asked for as `mapping_given`, say."""
BEFORE = {"recipe": "paper", "optimiser": "adam", "prior": "none"}
"""What a run has that began when there was no such option, whatever is usual now."""
LOOSENED = {"allow_outside", "max_input"}
"""Options of a run that may be given anew when it is resumed."""


def resumed_options(
    options: T, given: Collection[str], config: dict[str, Any], name: str
) -> T:
    """The options of the run whose config.json this is; those given must not disagree.

    An option that the run's passband did not have is at its default, or as `BEFORE` has
    it.
    """
    if config["task"] != name:
        raise InputError(
            f"the run is of task `{config['task']}`; resume it by "
            f"`passband fit {config['task']}`"
        )
    for word in CHOSEN:
        if word in given and getattr(options, word) == config.get(f"{word}_given"):
            given = {*given} - {word}
    cls = row_of(name).options
    hints, changes = typing.get_type_hints(cls), {}
    for f in dataclasses.fields(cls):
        if f.name in FREE:
            continue
        usual = BEFORE.get(f.name, f.default)
        mine, theirs = getattr(options, f.name), config.get(f.name, usual)
        bounded = not f.metadata.get("positional") and theirs is not None
        if not isinstance(theirs, hints[f.name]) or (
            bounded and what_it_must_be(theirs, f.metadata)
        ):
            raise InputError(
                f"config.json of the run is damaged: it has {theirs!r} for `{f.name}`; "
                "`overwrite` starts anew"
            )
        if f.name in given and f.name in LOOSENED:
            continue
        if f.name in given and f.metadata.get("path") and _is_moved(mine, theirs):
            if same_file(mine, str(theirs), config):
                continue
            raise InputError(
                f"`{f.name}` (={mine}) disagrees with the run, which has {theirs}"
            )
        if f.name in given and not _same(f.name, mine, theirs):
            if f.name == "steps" and mine > theirs:
                continue
            more = "; it may only grow" if f.name == "steps" else ""
            raise InputError(
                f"`{f.name}` (={mine}) disagrees with the run, which has {theirs}{more}"
            )
        changes[f.name] = theirs
    return dataclasses.replace(options, **changes)  # pyright: ignore[reportArgumentType]


def _same(name: str, mine: Any, theirs: Any) -> bool:
    """Whether an option says what the run has, be it in other words."""
    if name == "mapping":
        return str(parse_mapping(mine)) == theirs
    if name == "prior":
        found = parse_prior(mine)
        return found is not None and found.word == theirs
    return mine == theirs


def _is_moved(mine: Any, theirs: Any) -> bool:
    """Whether two options name files, in other words."""
    both = isinstance(mine, str) and isinstance(theirs, str)
    return both and mine != theirs and os.path.exists(mine)
