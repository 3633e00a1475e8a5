"""The options of `passband tune TASK`: those of `passband fit TASK` that decide what is
trained, and a few of its own."""

import dataclasses
import typing

from .fit_options import FitOptions
from .options import option

# What a choice has no use for: there is no run to resume, and trials end by themselves.
LEFT_OUT = {"resume", "overwrite", "minutes", "save_every"}


def tune_options(fit: type[FitOptions], what: str) -> type:
    """The dataclass of `passband tune` for a task, from that of `passband fit`."""
    mine = {
        "mapping": option(
            "gaussian:auto",
            "the family to choose a scale of: gaussian:auto, positional:auto, ...",
            metavar="WORD",
        ),
        "out": option(
            None, "folder for curve, JSON and report (default: runs/NAME-tune)",
            metavar="DIR",
        ),
        "steps": option(
            None, "of the longest trial (default: what the device does in time)",
            least=4, most=2**31 - 1,
        ),
        "kernel": option(
            False, "predict the curve by the kernel too, without training"
        ),
        "guess": option(
            False, "no training: the first guess, with --kernel the kernel's best"
        ),
        "fresh": option(False, "choose again, though the same was chosen before"),
    }  # fmt: skip
    kinds = typing.get_type_hints(fit) | {
        "mapping": str, "kernel": bool, "guess": bool, "fresh": bool,
    }  # fmt: skip
    fields = []
    for f in dataclasses.fields(fit):
        if f.name not in LEFT_OUT and f.name not in mine:
            again = dataclasses.field(
                default=f.default, kw_only=f.kw_only, metadata=f.metadata
            )
            fields.append((f.name, kinds[f.name], again))
    fields += [(name, kinds[name], field) for name, field in mine.items()]
    made = dataclasses.make_dataclass("Options", fields)
    made.__doc__ = f"Choose the scale of a mapping for {what}, from the data."
    return made
