"""Options as dataclass fields: one declaration for the command line and for Python.

Importing it costs nothing: `passband ... --help` must answer at once, so nothing here,
and no dataclass of options, may import JAX or matplotlib.
"""

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import InputError

Meta = Mapping[str, Any]
LARGEST_INT = 2**63 - 1


def option(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    metavar: str = "",
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    path: bool = False,
    words: tuple[str, ...] = (),
) -> Any:
    """A field that the command line has as a flag: `field_name` is `--field-name`.

    A number must be finite, from `least` to `most`, and greater than `above`. A `path`
    names a file, unless it is one of `words` or no file is there.
    """
    meta = {"help": help, "choices": choices, "metavar": metavar}
    meta |= {"path": path, "words": words}
    bounds = {"least": least, "most": most, "above": above}
    return dataclasses.field(default=default, kw_only=True, metadata=meta | bounds)


def argument(
    help: str, *, metavar: str, default: Any = dataclasses.MISSING, many: bool = False
) -> Any:
    """A field that the command line has by its place; one with a default may be left
    out."""
    meta = {"help": help, "metavar": metavar, "positional": True, "many": many}
    meta |= {"path": not many}
    return dataclasses.field(default=default, metadata=meta)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean ...? ` where one of the known words is near, else nothing."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean `{near[0]}`? " if near else ""


def what_it_must_be(value: Any, meta: Meta) -> str | None:
    """What an option's value fails to be, by the bounds that the option states."""
    if choices := meta["choices"]:
        if value in choices:
            return None
        return f"one of {', '.join(choices)}; {did_you_mean(value, choices)}".rstrip(
            "; "
        )
    if not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > LARGEST_INT:
        return f"at most {LARGEST_INT}"
    if not math.isfinite(value):
        return "a finite number"
    least, most, above = meta["least"], meta["most"], meta["above"]
    if least is not None and value < least:
        return f"at least {least}"
    if most is not None and value > most:
        return f"at most {most}"
    if above is not None and value <= above:
        return f"more than {above}"
    return None


def make_options(cls: type, given: Mapping[str, Any]) -> Any:
    """The options of these values, as Python gives them; each is checked."""
    fields = {f.name: f for f in dataclasses.fields(cls)}
    for name, value in given.items():
        if name not in fields:
            hint = did_you_mean(name, fields)
            raise InputError(
                f"`{name}` is no option here; {hint}there are {', '.join(fields)}"
            )
        meta = fields[name].metadata
        if value is None or meta.get("positional"):
            continue
        if (must := what_it_must_be(value, meta)) is not None:
            raise InputError(f"`{name}` (={value}) must be {must}")
    return cls(**given)
