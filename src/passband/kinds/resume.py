"""What a run that is resumed, or made again, was asked for."""

import dataclasses
import os
import typing
from collections.abc import Collection, Iterator
from typing import Any, TypeVar

import jax

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
BEFORE = {
    "recipe": "paper", "optimiser": "adam", "prior": "none", "descent": "direct",
    "near_surface": 0.0, "skip_empty": False,
}  # fmt: skip
"""What a run has that began when there was no such option, whatever is usual now."""
LEFT_OPEN = {"samples": {"cpu": 48}}
"""What a run has, by its device, whose config.json left it open."""
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
    changes = {}
    for f, theirs in _options_of(config, name, "`overwrite` starts anew"):
        mine = getattr(options, f.name)
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


def configured_options(
    options: T, given: Collection[str], config: dict[str, Any], name: str
) -> T:
    """The options of the run whose config.json this is, but for those that are given.

    What the run had chosen, its scale among it, is not chosen again.
    """
    if config["task"] != name:
        raise InputError(f"`config` is of task `{config['task']}`, not `{name}`")
    told = "`config` must be that of a run"
    changes = {
        f.name: theirs
        for f, theirs in _options_of(config, name, told)
        if f.name not in given
    }
    return dataclasses.replace(options, **changes)  # pyright: ignore[reportArgumentType]


def _options_of(
    config: dict[str, Any], name: str, advice: str
) -> Iterator[tuple[dataclasses.Field, Any]]:
    """The options of a kind as a run has them; a value that none can have is damage."""
    cls = row_of(name).options
    hints = typing.get_type_hints(cls)
    for f in dataclasses.fields(cls):
        if f.name in FREE:
            continue
        theirs = config.get(f.name, BEFORE.get(f.name, f.default))
        if theirs is None and f.name in LEFT_OPEN:
            theirs = LEFT_OPEN[f.name].get(jax.default_backend())
        bounded = not f.metadata.get("positional") and theirs is not None
        if not isinstance(theirs, hints[f.name]) or (
            bounded and what_it_must_be(theirs, f.metadata)
        ):
            raise InputError(
                f"config.json of the run is damaged: it has {theirs!r} for `{f.name}`; "
                f"{advice}"
            )
        yield f, theirs


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
