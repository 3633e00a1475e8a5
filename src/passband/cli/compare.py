"""`passband compare KIND FILE`."""

import dataclasses
from pathlib import Path
from typing import Any

from ..kinds.table import Row
from ..options import option
from .options import Output, joined


@dataclasses.dataclass(frozen=True)
class CompareOptions(Output):
    """What is compared, and where it is left."""

    methods: str | None = option(
        None,
        "with commas between: fourier, siren, finer, gauss, wire, multigrid, relu, and "
        "the classical ones of the kind, such as bicubic or fbp (default: all)",
        metavar="A,B,...",
    )
    equal: str = option(
        "steps",
        "what every network gets as much of as ours",
        choices=("steps", "seconds", "parameters"),
    )
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))
    deterministic: bool = option(False, "the same bits on every run on a GPU too")
    out: str | None = option(
        None,
        "folder for table, strip and page (default: runs/NAME-compare)",
        metavar="DIR",
    )
    overwrite: bool = option(False, "replace a comparison in that folder")


def options_of(row: Row) -> type:
    """Those of a fit, and those of the comparison."""
    doc = f"Compare methods on {row.thing}: one table, one strip of pictures."
    return joined(doc, row.options, CompareOptions)


def run(row: Row, options: Any, given: set[str]) -> int:
    """Fit a file by several methods, and leave table, strip and page in a folder."""
    del given
    from .device import prepare

    prepare(options.device, options.deterministic, quiet=options.quiet)
    from ..kinds.compare import compare
    from ..kinds.comparison import Comparison, refuse_to_overwrite
    from ..kinds.fit import read_kind
    from .console import Console

    cls, console = row.load(), Console.of(options)
    folder = Path(options.out or f"runs/{cls.source(options).stem}-compare")
    refuse_to_overwrite(folder, options.overwrite)

    def on_row(so_far: Comparison) -> None:
        console.say(so_far.rows[-1].summary())
        so_far.save(folder, overwrite=True)  # one that is stopped leaves what it has

    found = compare(
        read_kind(cls, options, console),
        options,
        methods=options.methods,
        equal=options.equal,
        listener=console,
        on_row=on_row,
    )
    content = found.to_json() | {"out": str(folder)}
    console.result(content, f"{found.table()}\npage    {folder}/compare.html")
    return 0
