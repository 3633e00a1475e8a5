"""Options are dataclasses; this file turns one into a parser.

Importing it costs nothing: help must answer at once, so nothing here, and no dataclass
of options, may import JAX or matplotlib.
"""

import argparse
import dataclasses
import difflib
import types
import typing
from typing import Any, NoReturn, TypeVar

from ..errors import InputError

T = TypeVar("T")


def option(
    default: Any, help: str, *, choices: tuple[str, ...] = (), metavar: str = ""
) -> Any:
    """A flag: `field_name` becomes `--field-name`."""
    return dataclasses.field(
        default=default,
        kw_only=True,
        metadata={"help": help, "choices": choices, "metavar": metavar},
    )


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


class _Parser(argparse.ArgumentParser):
    """argparse, with one line per error and the nearest flag named."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            word = message.split(": ", 1)[1].split()[0]
            if word.startswith("-"):
                known = [s for a in self._actions for s in a.option_strings]
                near = difflib.get_close_matches(word.split("=")[0], known, n=1)
                hint = f"did you mean `{near[0]}`? " if near else ""
                message = f"option `{word}` is unknown; {hint}see `{self.prog} --help`"
            else:
                message = f"argument `{word}` is one too many; see `{self.prog} --help`"
        raise InputError(message)


def parse(cls: type[T], prog: str, args: list[str]) -> tuple[T, set[str]]:
    """The options, and the names of those that were given."""
    parser = _Parser(
        prog=prog,
        description=cls.__doc__,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=88),
        allow_abbrev=False,
    )
    hints = typing.get_type_hints(cls)
    for f in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
        _add(parser, f, hints[f.name])
    given = vars(parser.parse_intermixed_args(args))
    for f in dataclasses.fields(cls):  # pyright: ignore[reportArgumentType]
        missing = f.default is dataclasses.MISSING and f.name not in given
        if missing or (given.get(f.name) is None and f.metadata.get("positional")):
            given.pop(f.name, None)
            if f.default is dataclasses.MISSING:
                raise InputError(
                    f"{f.metadata['metavar']} is missing; see `{prog} --help`"
                )
    return cls(**given), set(given)


def _add(parser: argparse.ArgumentParser, f: dataclasses.Field, hint: Any) -> None:
    help = f.metadata["help"]
    kind = _kind(hint)
    if f.metadata.get("positional"):
        nargs = "*" if f.metadata["many"] else "?"
        parser.add_argument(
            f.name, nargs=nargs, help=help, metavar=f.metadata["metavar"]
        )
        return
    flag = "--" + f.name.replace("_", "-")
    if kind is bool:
        parser.add_argument(
            flag, action="store_true", default=argparse.SUPPRESS, help=help
        )
        return
    shown = "" if f.default in (None, "") else f" (default: {f.default})"
    parser.add_argument(
        flag,
        type=_reader(flag, kind),
        choices=f.metadata["choices"] or None,
        metavar=f.metadata["metavar"] or (kind.__name__.upper() if not
                f.metadata["choices"] else None),
        default=argparse.SUPPRESS,
        help=(help + shown).replace("%", "%%"),
    )  # fmt: skip


def _kind(hint: Any) -> type:
    """The plain type behind `X | None`."""
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(a for a in typing.get_args(hint) if a is not type(None))
    return hint if isinstance(hint, type) else str


def _reader(flag: str, kind: type):
    words = {int: "a whole number", float: "a number"}

    def read(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise InputError(
                f"`{flag}` (={text}) must be {words.get(kind, kind.__name__)}"
            ) from None

    return read
