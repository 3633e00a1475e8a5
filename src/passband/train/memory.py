"""How much memory a run takes, known from its shapes before it starts."""

import os
from pathlib import Path

import jax

from ..errors import InputError
from ..field import Field
from ..ops.fused import fits
from ..ops.mlp import Precision


def bytes_of_run(field: Field, points: int) -> int:
    """Peak bytes of one training step.

    What each point keeps; then weights, gradients and two moments, each twice over
    while the step's select holds old and new.
    """
    leaves = jax.tree.leaves(field)
    weights = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
    return points * bytes_of_point(field, points) + 8 * weights


def bytes_of_point(field: Field, points: int) -> int:
    """Of one point in a step of so many, in every member.

    Kept for the backward pass: the features, every hidden layer, its slopes too where
    they cannot be told from it, and gradients of the widest layer while they are passed
    back: two of them, and in bfloat16 a float32 one besides, or a single one where the
    step is fused.
    """
    half = field.precision is Precision.BFLOAT16
    item = 2 if half else 4
    *hidden, out = (w.shape[-1] for w in field.mlp.weights)
    widest = max([*hidden, 1])
    between = field.mlp.nonlinearity
    fused = fits(
        points, field.encoding.dims, field.mlp.weights, field.precision, between
    )
    passed_back = item if fused else 2 * item + (4 if half else 0)
    layers = sum(hidden) * (1 if between.pullback else 2)
    kept = item * (field.encoding.features + layers) + passed_back * widest
    return field.members * (kept + 4 * 4 * (out + field.encoding.dims))


# Volumes of complex numbers that a step holds beside the network's layers, and how much
# more than planned from their shapes the layers take by XLA's own account.
VOLUMES, SLACK, FUSED_SLACK = 6, 1.3, 1.05


def microbatch_voxels(field: Field, count: int, coils: int, room: int) -> int:
    """How many of `count` voxels may have their layers in so many bytes together."""
    alone = bytes_of_run(field, 0) + VOLUMES * 8 * count * coils
    plain = bytes_of_point(field, 1)
    fits = int((room - alone) / (SLACK * plain))
    fused = bytes_of_point(field, fits // 2)  # parts are equal, so none is below half
    if fused < plain:
        fits = int((room - alone) / (FUSED_SLACK * fused))
    if fits < 1:
        raise InputError(
            f"{count} voxels and {coils} coil(s) need more than {human(alone)}, and "
            f"{human(room)} may be used; a smaller `batch` trains on a coarser grid"
        )
    return min(count, fits)


def budget() -> int:
    """Bytes that training may take: four fifths of what the device has."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(0.8 * stats["bytes_limit"])
    try:  # free pages alone would leave out what Linux lends to its file cache
        text = Path("/proc/meminfo").read_text()
        free = 1024 * int(text.split("MemAvailable:")[1].split()[0])
    except (OSError, LookupError, ValueError):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(0.8 * free)


def check_fits(field: Field, points: int, max_memory: int | None = None) -> int:
    """The bytes a run is planned to take; an error with the numbers if too many."""
    need = bytes_of_run(field, points)
    room = budget() if max_memory is None else max_memory
    if need > room:
        alone = bytes_of_run(field, 0)
        batch = int(points * (room - alone) / (need - alone))
        hint = f"a `batch` of {batch} fits" if batch > 0 else "take a smaller network"
        raise InputError(
            f"a step of {points} points needs {human(need)} but {human(room)} may be "
            f"used; {hint}"
        )
    return need


def human(count: float) -> str:
    """Bytes as a person reads them."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GiB"


def parse_bytes(text: str) -> int:
    """`1GiB`, `500MB`, `2e9` as a number of bytes."""
    units = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 1e3, "mb": 1e6, "gb": 1e9,
             "k": 2**10, "m": 2**20, "g": 2**30, "b": 1, "": 1}  # fmt: skip
    number = text.strip().lower().rstrip("bgikm")
    unit = text.strip().lower()[len(number) :]
    try:
        value = float(number) * units[unit]
    except (ValueError, KeyError):
        value = -1.0
    if not 0 < value < float("inf"):
        raise InputError(f"`max_memory` (={text}) must be a size such as 1GiB or 500MB")
    return int(value)
