"""One word names a mapping: in commands, legends, file names and table rows.

none   basic   positional:6   gaussian:10   gaussian:10/10/3   dense:p=1
gaussian:26,units=rad   octaves:9,units=rad,rotate=zx45   none:scale=2,shift=-1
multigrid:256,levels=6,features=4   gaussian:auto   positional:auto
"""

import dataclasses
import difflib
import math
from typing import Any, get_type_hints

from .auto import Auto
from .errors import InputError
from .mappings import MAPPINGS, Mapping, Positional, Random, Scale

_SCALED = (Positional, Random)  # those that may say `auto`


def parse_mapping(word: str | Mapping) -> Mapping:
    """The mapping that a word names; a mapping is returned as it is.

    A word is `name:value,option=value,...`. The value is the scale (or `p`, or the
    count of octaves), in cycles per unit of the coordinates; `auto` leaves it to the
    data, and 10/10/3 gives one to every axis. The options are those of the class:
    `m`, `norm`, `units`, `rotate` and `train` of every Fourier mapping.

    Args:
        word: such as `gaussian:10`, `positional:6,m=128` or `none:scale=2,shift=-1`.

    Example:
        >>> import passband as pb
        >>> pb.parse_mapping("gaussian:10,m=64") == pb.Gaussian(10.0, m=64)
        True
        >>> str(pb.parse_mapping("gaussian:10/10/3,train=b"))
        'gaussian:10/10/3,train=b'
        >>> pb.parse_mapping("gausian:10")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        passband.errors.InputError: mapping `gausian:10` is unknown; did you mean ...
    """
    if isinstance(word, Mapping):
        return word
    if not isinstance(word, str):
        raise InputError(
            f"`mapping` (={word}) must be a word, such as `gaussian:10`, or a mapping"
        )
    name, _, rest = word.strip().partition(":")
    if name not in MAPPINGS:
        near = difflib.get_close_matches(name, MAPPINGS, n=1, cutoff=0.4)
        hint = f"did you mean `{near[0]}`? " if near else ""
        known = ", ".join(cls.example for cls in MAPPINGS.values())
        raise InputError(f"mapping `{word}` is unknown; {hint}known: {known}")
    cls = MAPPINGS[name]
    fields = {f.name: f for f in dataclasses.fields(cls)}
    types = get_type_hints(cls)
    given: dict[str, Any] = {}
    auto = False
    for k, item in enumerate(rest.split(",") if rest else []):
        option, equals, value = item.partition("=")
        if not equals:
            if k or cls.main is None:
                raise InputError(
                    f"mapping `{word}`: `{item}` must be written option=value"
                )
            option, value = cls.main, item
        if option not in fields:
            raise InputError(
                f"mapping `{word}` has no option `{option}`; it takes "
                f"{', '.join(fields)}"
            )
        if value == "auto" and option == cls.main and issubclass(cls, _SCALED):
            auto, value = True, "1"
        given[option] = _value(word, option, value, types[option])
    needed = [n for n, f in fields.items() if f.default is dataclasses.MISSING]
    if missing := [n for n in needed if n not in given]:
        raise InputError(
            f"mapping `{word}` needs its {missing[0]}, such as `{cls.example}`"
        )
    mapping = cls(**given)
    return Auto(mapping) if auto and isinstance(mapping, _SCALED) else mapping


def _value(word: str, option: str, text: str, kind: Any) -> Any:
    """The value of an option, read as its field's type."""
    if kind is str:
        return text
    try:
        if kind is int:
            return int(text)
        if kind is bool:
            return bool(("0", "1").index(text))
        if kind == Scale and "/" in text:
            return tuple(float(part) for part in text.split("/"))
        value = float(text)
    except ValueError:
        wanted = {int: "a whole number", bool: "0 or 1"}.get(kind, "a number")
        raise InputError(
            f"mapping `{word}`: `{option}` (={text}) must be {wanted}"
        ) from None
    if math.isnan(value):
        raise InputError(f"mapping `{word}`: `{option}` must be a number, not nan")
    return value
