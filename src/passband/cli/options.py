"""Options are dataclasses; this file turns one into a parser.

Importing it costs nothing: help must answer at once, so nothing here, and no dataclass
of options, may import JAX or matplotlib.
"""

import argparse
import contextlib
import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from ..errors import InputError

T = TypeVar("T")
Meta = Mapping[str, Any]


def option(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    metavar: str = "",
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
) -> Any:
    """A flag: `field_name` becomes `--field-name`.

    A number must be finite, from `least` to `most`, and greater than `above`.
    """
    meta = {"help": help, "choices": choices, "metavar": metavar}
    bounds = {"least": least, "most": most, "above": above}
    return dataclasses.field(default=default, kw_only=True, metadata=meta | bounds)


def argument(
    help: str, *, metavar: str, default: Any = dataclasses.MISSING, many: bool = False
) -> Any:
    """A positional argument; one with a default may be left out."""
    meta = {"help": help, "metavar": metavar, "positional": True, "many": many}
    return dataclasses.field(default=default, metadata=meta)


@dataclasses.dataclass
class Output:
    """How a verb speaks."""

    json: bool = option(False, "print one JSON object on stdout and nothing else there")
    quiet: bool = option(False, "no progress and no messages, errors excepted")


def parse(cls: type[T], prog: str, args: list[str]) -> tuple[T, set[str]]:
    """The options, and the names of those that were given."""
    parser = _Parser(
        prog=prog,
        description=cls.__doc__,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=88),
        allow_abbrev=False,
    )
    hints = typing.get_type_hints(cls)
    fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType]
    for f in fields:
        _add(parser, f, hints[f.name])
    given = vars(parser.parse_intermixed_args(args))
    for f in fields:
        if f.metadata.get("positional") and not given.get(f.name):
            given.pop(f.name, None)
            if f.default is dataclasses.MISSING:
                what = f.metadata["metavar"]
                raise InputError(f"{what} is missing; see `{prog} --help`")
    return cls(**given), set(given)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean ...? ` where one of the known words is near, else nothing."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean `{near[0]}`? " if near else ""


class _Parser(argparse.ArgumentParser):
    """argparse, with one line per error and the nearest flag named."""

    def error(self, message: str) -> NoReturn:
        see = f"see `{self.prog} --help`"
        if message.startswith("unrecognized arguments: "):
            word = message.split(": ", 1)[1].split()[0]
            if word.startswith("-"):
                known = [s for a in self._actions for s in a.option_strings]
                hint = did_you_mean(word.split("=")[0], known)
                raise InputError(f"option `{word}` is unknown; {hint}{see}")
            raise InputError(f"argument `{word}` is one too many; {see}")
        if found := re.fullmatch("argument (--[^:]*): expected one argument", message):
            flag = found[1]
            raise InputError(
                f"`{flag}` needs a value; one that starts with a minus is written "
                f"`{flag}=-...`"
            )
        # What a reader of values refused is a whole line; the rest is argparse's own.
        line = re.sub(r"^argument \S+: `", "`", message)
        raise InputError(f"{line}; {see}" if line == message else line)


def _add(parser: argparse.ArgumentParser, f: dataclasses.Field, hint: Any) -> None:
    help, metavar = f.metadata["help"].replace("%", "%%"), f.metadata["metavar"]
    if f.metadata.get("positional"):
        nargs = "*" if f.metadata["many"] else "?"
        parser.add_argument(f.name, nargs=nargs, help=help, metavar=metavar)
        return
    flag, kind = "--" + f.name.replace("_", "-"), _kind(hint)
    quiet = argparse.SUPPRESS  # so that only what was given is there
    if kind is bool:
        parser.add_argument(flag, action="store_true", default=quiet, help=help)
        return
    shown = "" if f.default in (None, "") else f" (default: {f.default})"
    parser.add_argument(
        flag,
        type=_reader(flag, kind, f.metadata),
        metavar=metavar or "|".join(f.metadata["choices"]) or kind.__name__.upper(),
        default=quiet,
        help=help + shown,
    )


def _kind(hint: Any) -> type:
    """The plain type behind `X | None`."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(a for a in typing.get_args(hint) if a is not type(None))
    return hint if isinstance(hint, type) else str


def _reader(flag: str, kind: type, meta: Meta) -> Callable[[str], Any]:
    """Reads the text of one option; its error is the whole line that is shown."""

    def read(text: str) -> Any:
        value, must = None, "a whole number" if kind is int else "a number"
        with contextlib.suppress(ValueError):
            value = kind(text)
            must = what_it_must_be(value, meta)
        if must is not None:
            # Not an InputError: argparse puts its own words for any ValueError.
            raise argparse.ArgumentTypeError(f"`{flag}` (={text}) must be {must}")
        return value

    return read


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
