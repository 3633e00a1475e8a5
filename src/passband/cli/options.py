"""Options are dataclasses (`passband.options`); this file turns one into a parser."""

import argparse
import contextlib
import dataclasses
import re
import types
import typing
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

from ..errors import InputError
from ..options import Meta, did_you_mean, option, what_it_must_be

T = TypeVar("T")
TYPED: ContextVar[str | None] = ContextVar("TYPED", default=None)
"""The command that runs, as it was typed."""


@dataclasses.dataclass(frozen=True)
class Output:
    """How a verb speaks."""

    json: bool = option(False, "print one JSON object on stdout and nothing else there")
    quiet: bool = option(False, "no progress and no messages, errors excepted")


def joined(doc: str | None, first: type, *others: type) -> type:
    """A subclass of the first dataclass with the fields of the others too."""
    fields: dict[str, tuple[str, Any, Any]] = {}
    for part in others:
        hints = typing.get_type_hints(part)
        for f in dataclasses.fields(part):
            again = dataclasses.field(
                default=f.default, kw_only=f.kw_only, metadata=f.metadata
            )
            fields[f.name] = (f.name, hints[f.name], again)
    made = dataclasses.make_dataclass(
        "Options", fields.values(), bases=(first,), frozen=True
    )
    made.__doc__ = doc
    return made


def as_flags(text: str, options: type) -> str:
    """A message of the library with its arguments as this command has them: `size` is
    `--size`, `batch=64` is `--batch 64`, a positional one is its word."""
    for f in dataclasses.fields(options):
        if f.metadata.get("positional"):  # no file of that name: "`file` is a folder"
            where = rf"`{f.name}`(?= is missing| and `| or `| \(=)"
            text = re.sub(where, f.metadata["metavar"], text)
        else:
            flag = f"--{f.name.replace('_', '-')}"
            text = re.sub(rf"`{f.name}(?:=([^`]*))?`", _with_value(flag), text)
    return text


def _with_value(flag: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"`{flag} {found[1]}`" if found[1] else f"`{flag}`"


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
    flag, kind = "--" + f.name.replace("_", "-"), kind_of_option(hint)
    quiet = argparse.SUPPRESS  # so that only what was given is there
    if kind is bool:
        both = argparse.BooleanOptionalAction if f.default is None else "store_true"
        parser.add_argument(flag, action=both, default=quiet, help=help)
        return
    shown = "" if f.default in (None, "") else f" (default: {f.default})"
    parser.add_argument(
        flag,
        type=_reader(flag, kind, f.metadata),
        metavar=metavar or "|".join(f.metadata["choices"]) or kind.__name__.upper(),
        default=quiet,
        help=help + shown,
    )


def kind_of_option(hint: Any) -> type:
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
