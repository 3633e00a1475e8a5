"""JSON that every reader takes."""

import json
import math
from typing import Any


def to_json(value: Any, *, indent: int | None = None) -> str:
    """JSON text; it has no infinity, so the PSNR of an exact fit becomes null."""
    return json.dumps(_plain(value), indent=indent)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
