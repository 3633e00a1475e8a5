"""What a training is worth before its first step: compiling fast, or running fast."""

import enum

from ..field import Field
from ..ops.mlp import Precision
from .work import flop_of

AUTOTUNE_FLOP = {False: 2e15, True: 3e14}
"""FLOP from which XLA's search for the fastest float32 products is worth its time (12
to 22 s on an H200), without and with many points a step. Unsearched, products of some
hundred points run at 32 TFLOP/s; those of 884,736 at 10, where the search finds 40."""
MANY_POINTS = 1 << 14


MOSAIC_FLOP = 3e15
"""FLOP from which programs of Mosaic GPU are worth what they cost before the first step
(H200): a fifth less of 10 s, and 2 to 5 s of Python and assembling."""


class Haste(enum.Enum):
    """What a training is worth before its first step."""

    BRIEF = "compiling fast is worth more than running fast"
    USUAL = "as XLA compiles"
    PATIENT = "and programs that take longer to make, too"


def haste_of(field: Field, points: int, steps: int) -> Haste:
    """Of a training of so many steps, by `AUTOTUNE_FLOP` and `MOSAIC_FLOP`."""
    flop = steps * flop_of(field, points)
    if field.precision is Precision.FLOAT32:
        short = flop < AUTOTUNE_FLOP[points > MANY_POINTS]
        return Haste.BRIEF if short else Haste.USUAL
    return Haste.USUAL if flop < MOSAIC_FLOP else Haste.PATIENT
