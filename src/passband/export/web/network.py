"""A field as a page holds it: what it is in words, and its numbers in base64."""

import base64
from typing import Any

import numpy as np

from ...encodings import FourierFeatures, Grids, Identity
from ...errors import InputError
from ...field import Field
from ...members import Members


def network_data(field: Field, dtype: type = np.float32) -> dict[str, Any]:
    """What `Evaluator` of evaluator.js takes: `spec`, `members` and `weights`.

    Args:
        dtype: np.float32, or np.float16 in half the room, to 3 digits.
    """
    fields = field.each() if isinstance(field, Members) else [field]
    arrays = [a for one in fields for a in _arrays(one)]
    flat = np.concatenate([np.asarray(a, np.float32).ravel() for a in arrays])
    packed = flat.astype(np.dtype(dtype).newbyteorder("<"))
    if not np.isfinite(packed).all():
        raise InputError("the network has numbers that a page cannot hold")
    name, _, scales = field.mlp.activation.partition(":")
    return {
        "spec": {
            "d": field.encoding.dims,
            "activation": name,
            "scales": [float(s) for s in scales.split(",") if s],
            "output": field.output,
            "encoding": _encoding(fields[0]),
            "layers": [list(W.shape) for W in fields[0].mlp.weights],
        },
        "members": list(range(len(fields))),
        "weights": {
            "type": np.dtype(dtype).name,
            "data": base64.b64encode(packed.tobytes()).decode(),
        },
    }


def _encoding(field: Field) -> dict[str, Any]:
    encoding = field.encoding
    if isinstance(encoding, FourierFeatures):
        return {"type": "fourier", "m": encoding.amplitudes.shape[-1]}
    if isinstance(encoding, Grids):
        levels = [[level.shape[0], level.shape[-1]] for level in encoding.levels]
        return {"type": "grids", "levels": levels}
    if isinstance(encoding, Identity):
        return {"type": "identity"}
    raise InputError(
        f"a page has no encoding of type `{type(encoding).__name__}`; it has Fourier "
        "features, grids and none"
    )


def _arrays(field: Field) -> list[Any]:
    """In the order in which `readNetwork` takes them."""
    encoding, (weights, biases) = field.encoding, field.mlp.effective()
    if isinstance(encoding, FourierFeatures):
        first = [encoding.frequencies, encoding.amplitudes]
    elif isinstance(encoding, Grids):
        first = list(encoding.levels)
    else:
        first = [getattr(encoding, name) for name in ("scale", "shift")]
    layers = [a for pair in zip(weights, biases, strict=True) for a in pair]
    return [*first, *layers]
