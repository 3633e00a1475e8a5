"""JSON that every reader takes, and JSON that anybody may have written."""

import json
import math
from typing import Any

_DIGITS = 18  # of whole numbers that are kept exactly: all of them fit 64 bits


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text; it has no infinity, so the PSNR of an exact fit becomes null."""
    return json.dumps(_plain(value), indent=indent)


def from_json(text: str | bytes) -> Any:
    """What a JSON text says; anything wrong with it is a ValueError.

    A whole number of more than 18 digits becomes a float, which may be infinite: no
    arithmetic of Python's own on it can run out of range later.
    """
    try:
        return json.loads(text, parse_int=_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
