"""A signal model as samples of any count."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from ..data.images import to_user
from ..data.signals import write_signal
from ..errors import InputError
from ..field import Field
from .model_facts import check_room, range_of, shape_of, suffix_of
from .render import Options


def render(
    field: Field, about: dict[str, Any], options: Options, out: Path
) -> dict[str, Any]:
    """Write the samples."""
    for name in ("size", "crop", "bits"):
        if getattr(options, name) is not None:
            raise InputError(f"`--{name}` is for pictures, and this is a signal")
    suffix = suffix_of(out, (".npy", ".csv", ".wav"))
    n, _ = shape_of(field, about, 1)
    low, high = range_of(about)
    count = n if options.resolution is None else options.resolution
    rate = about.get("rate")
    if rate is not None:
        if not isinstance(rate, int | float) or not 0 < rate < math.inf:
            raise InputError(f"the model's `rate` (={rate}) makes no sense")
        rate = rate * count / n
    elif suffix == ".wav":
        raise InputError(
            f"`{out}`: a WAV file needs a sample rate, and the fitted file had none; "
            "write .npy or .csv"
        )
    check_room(count * field.mlp.biases[-1].size)
    values = field.predict(np.arange(count)[:, None] / count)
    write_signal(out, to_user(values, low, high), rate)
    return {"shape": list(values.shape)}
