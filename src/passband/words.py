"""One word names a mapping: in commands, legends, file names and table rows.

none   basic   positional:6   gaussian:10   gaussian:10/10/3   dense:p=1
gaussian:26,units=rad   octaves:9,units=rad,rotate=zx45   none:scale=2,shift=-1
gaussian:auto   positional:auto
"""

import dataclasses
import difflib
import math
from typing import Any

from . import mappings as mp
from .auto import Auto
from .errors import InputError

_NAMES: dict[str, type[mp.Mapping]] = {
    "none": mp.NoMapping,
    "basic": mp.Basic,
    "positional": mp.Positional,
    "octaves": mp.Octaves,
    "gaussian": mp.Gaussian,
    "uniform": mp.Uniform,
    "loguniform": mp.LogUniform,
    "laplace": mp.Laplace,
    "dense": mp.Dense,
}
_WORDS = {cls: name for name, cls in _NAMES.items()}
_EXAMPLES = "none, basic, positional:6, octaves:9, gaussian:10, uniform:64, " \
    "loguniform:80, laplace:20, dense:p=1"  # fmt: skip
_SCALED = (mp.Positional, mp.Random)  # those that may say `auto`
# The field a bare value after the colon sets.
_MAIN = {"positional": "octaves", "octaves": "count", "dense": "p"}


def parse_mapping(word: str | mp.Mapping) -> mp.Mapping:
    """The mapping that a word names."""
    if isinstance(word, mp.Mapping):
        return word
    name, _, rest = word.strip().partition(":")
    if name not in _NAMES:
        near = difflib.get_close_matches(name, _NAMES, n=1, cutoff=0.4)
        hint = f"did you mean `{near[0]}`? " if near else ""
        raise InputError(f"mapping `{word}` is unknown; {hint}known: {_EXAMPLES}")
    cls = _NAMES[name]
    fields = {f.name: f for f in dataclasses.fields(cls)}
    main = _MAIN.get(name, "scale" if name not in ("none", "basic") else None)
    given: dict[str, Any] = {}
    auto = False
    for k, item in enumerate(rest.split(",") if rest else []):
        option, equals, value = item.partition("=")
        if not equals:
            if k or main is None:
                raise InputError(
                    f"mapping `{word}`: `{item}` must be written option=value"
                )
            option, value = main, item
        if option not in fields:
            raise InputError(
                f"mapping `{word}` has no option `{option}`; it takes "
                f"{', '.join(fields)}"
            )
        if value == "auto" and option == main and issubclass(cls, _SCALED):
            auto, value = True, "1"
        given[option] = _value(word, option, value)
    needed = [n for n, f in fields.items() if f.default is dataclasses.MISSING]
    if missing := [n for n in needed if n not in given]:
        raise InputError(
            f"mapping `{word}` needs its {missing[0]}, such as "
            f"`{next(e for e in _EXAMPLES.split(', ') if e.startswith(name))}`"
        )
    mapping = cls(**given)
    return Auto(mapping) if auto and isinstance(mapping, _SCALED) else mapping


def format_mapping(mapping: mp.Mapping) -> str:
    """The shortest word that parses back to this mapping."""
    auto = isinstance(mapping, Auto)
    mapping = mapping.base if isinstance(mapping, Auto) else mapping
    name = _WORDS[type(mapping)]
    main = _MAIN.get(name, "scale" if name not in ("none", "basic") else None)
    items = []
    for f in dataclasses.fields(mapping):
        value = getattr(mapping, f.name)
        if f.name == main:
            text = "auto" if auto else _text(value)
            items.insert(0, f"p={text}" if name == "dense" else text)
        elif value != f.default:
            items.append(f"{f.name}={_text(value)}")
    return f"{name}:{','.join(items)}" if items else name


def mapping_names() -> list[str]:
    """Every mapping there is, by the first part of its word."""
    return list(_NAMES)


def _value(word: str, option: str, text: str) -> Any:
    if option in ("units", "rotate", "train"):
        return text
    try:
        if option in ("m", "count"):
            return int(text)
        if option == "norm":
            return bool(("0", "1").index(text))
        if option == "scale" and "/" in text:
            return tuple(float(part) for part in text.split("/"))
        value = float(text)
    except ValueError:
        kind = {"m": "a whole number", "count": "a whole number", "norm": "0 or 1"}
        raise InputError(
            f"mapping `{word}`: `{option}` (={text}) must be "
            f"{kind.get(option, 'a number')}"
        ) from None
    if math.isnan(value):
        raise InputError(f"mapping `{word}`: `{option}` must be a number, not nan")
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return "/".join(_text(v) for v in value)
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return str(value)
