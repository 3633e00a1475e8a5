"""`passband explore [FILE]`."""

import dataclasses
import os
from pathlib import Path

from ..atomic_write import refuse_existing
from ..errors import InputError
from ..options import argument, option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Train small networks of a picture at every sigma, and write one page that
    evaluates them as a slider moves, with the kernels and spectra behind them. Without
    FILE, the sample picture."""

    file: str | None = argument(
        "PNG, JPEG, TIFF, DICOM or NPY", metavar="FILE", default=None
    )
    out: str = option("explorer.html", "the page to write", metavar="FILE")
    layers: str = option("3", "matrices of the networks: one or more of 1 to 8, such "
                         "as 2,3,4", metavar="N,...")  # fmt: skip
    steps: int = option(400, "training steps of each network", least=1)
    seed: int = option(0, "of the frequencies, the weights and the pixels of a step")
    overwrite: bool = option(False, "replace the page if it exists")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Write the explorer of a picture."""
    from .device import prepare

    out, layers = Path(options.out), _layers(options.layers)
    refuse_existing([out], options.overwrite)
    if not os.path.isdir(out.parent):
        raise InputError(f"`{out}` cannot be written: `{out.parent}` is not a folder")
    prepare(options.device, quiet=options.quiet)
    from ..atomic_write import write_bytes
    from ..export.web.explorer_page import explorer_page
    from ..kinds.explore import explore, sample_picture
    from .console import Console

    console = Console.of(options)
    title = "What sigma does" if options.file is None else None
    picture = sample_picture(options.file)
    found = explore(
        picture, layers=layers, steps=options.steps, seed=options.seed, listener=console
    )
    text = explorer_page(found, title=title).encode(errors="replace")
    write_bytes(out, text)
    networks = found["networks"]
    best = max(networks, key=lambda name: networks[name]["test"])
    content = {
        "out": str(out),
        "bytes": len(text),
        "networks": len(networks),
        "best": networks[best]["word"],
        "psnr_test": networks[best]["test"],
        "seconds": found["made"]["seconds"],
    }
    console.result(
        content,
        f"{len(networks)} networks in {content['seconds']:g} s; the best of them on "
        f"pixels it has not seen: {content['best']}, {content['psnr_test']:.2f} dB\n"
        f"open {out}",
    )
    return 0


def _layers(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isdecimal() and 1 <= int(part) <= 8 for part in parts):
        raise InputError(
            f"`layers` (={text}) must be numbers from 1 to 8 with commas, such as 2,3,4"
        )
    return tuple(dict.fromkeys(map(int, parts)))
