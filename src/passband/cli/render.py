"""`passband render MODEL --out FILE`."""

import dataclasses
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .options import Output, argument, option

if TYPE_CHECKING:
    from ..field import Field

# What each kind of file can hold; NPY and CSV have float32 whatever the bits.
BITS = {".png": (8, 16), ".tif": (8, 16, 32), ".tiff": (8, 16, 32), ".npy": (32,)}
PICTURES, SIGNALS = tuple(BITS), (".npy", ".csv", ".wav")


@dataclasses.dataclass
class Options(Output):
    """Evaluate a model at any resolution: a picture (PNG, TIFF, NPY) or a signal (NPY,
    CSV, WAV), in the units of the file it was fitted to."""

    model: str = argument("a model.safetensors", metavar="MODEL")
    out: str | None = option(None, "the file to write", metavar="FILE")
    size: str | None = option(
        None, "rows x columns of a picture (default: its own)", metavar="ROWSxCOLS"
    )
    resolution: int | None = option(
        None, "samples along the longest side, or of a signal", least=1
    )
    crop: str | None = option(
        None, "part of a picture, in its pixels", metavar="TOP,LEFT,BOTTOM,RIGHT"
    )
    bits: int | None = option(
        None, "8, 16 or 32 of a picture (default: those of the fitted file)"
    )
    overwrite: bool = option(False, "replace FILE if it exists")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Render a model."""
    from .device import prepare

    if options.out is None:
        raise InputError("`--out FILE` is missing; such as `--out picture.png`")
    out = Path(options.out)
    if os.path.lexists(out) and not options.overwrite:
        raise InputError(f"`{out}` exists; `--overwrite` replaces it")
    if not out.parent.is_dir():
        raise InputError(f"`{out}` cannot be written: `{out.parent}` is not a folder")
    prepare(options.device)
    from ..model_file import load_with_info
    from .console import Console

    field, about = load_with_info(options.model)
    ways = {"image": _image, "signal": _signal}
    if about.get("task") not in tuple(ways):
        raise InputError(
            f"`{options.model}` is of task `{about.get('task')}`; only a model made by "
            f"`passband fit {'|'.join(ways)}` says how it is to be rendered"
        )
    shape = ways[about["task"]](field, about, options, out)
    content = {"out": str(out), "shape": shape}
    Console(json=options.json, quiet=options.quiet).result(
        content, f"{out}: {' x '.join(map(str, shape))}"
    )
    return 0


def _image(
    field: "Field", about: dict[str, Any], options: Options, out: Path
) -> list[int]:
    from ..data.images import write_image
    from ..tasks.image import render

    suffix = _suffix(out, PICTURES)
    h, w, _ = _shape(field, about, 2)
    low, high = _range(about)
    if options.bits not in (None, *BITS[suffix]):
        raise InputError(
            f"`--bits` (={options.bits}) must be one of "
            f"{', '.join(map(str, BITS[suffix]))} for {suffix}"
        )
    own = about.get("bits") if about.get("bits") in BITS[suffix] else None
    crop = (0.0, 0.0, float(h), float(w))
    if options.crop is not None:
        crop = _crop(options.crop, h, w)
    size = _size(options, crop[2] - crop[0], crop[3] - crop[1])
    _check_room(math.prod(size) * field.mlp.biases[-1].size)
    picture = render(field, (h, w), size, crop=crop)
    bits = own if options.bits is None else options.bits
    write_image(out, picture, low=low, high=high, bits=bits)
    return list(picture.shape)


def _signal(
    field: "Field", about: dict[str, Any], options: Options, out: Path
) -> list[int]:
    import numpy as np

    from ..data.images import to_user
    from ..data.signals import write_signal

    for name in ("size", "crop", "bits"):
        if getattr(options, name) is not None:
            raise InputError(f"`--{name}` is for pictures, and this is a signal")
    suffix = _suffix(out, SIGNALS)
    n, _ = _shape(field, about, 1)
    low, high = _range(about)
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
    _check_room(count * field.mlp.biases[-1].size)
    values = field.predict(np.arange(count)[:, None] / count)
    write_signal(out, to_user(values, low, high), rate)
    return list(values.shape)


def _suffix(out: Path, known: tuple[str, ...]) -> str:
    suffix = out.suffix.lower()
    if suffix not in known:
        raise InputError(f"`--out` (={out}) must end in {', '.join(known)}")
    return suffix


def _size(options: Options, height: float, width: float) -> tuple[int, int]:
    if options.size is not None and options.resolution is not None:
        raise InputError("`--size` and `--resolution` exclude each other")
    scale = 1.0
    if options.size is not None:
        parts = options.size.lower().split("x")
        if len(parts) != 2 or not all(p.isdecimal() and int(p) > 0 for p in parts):
            raise InputError(
                f"`--size` (={options.size}) must be ROWSxCOLUMNS such as 1080x1920"
            )
        return int(parts[0]), int(parts[1])
    if options.resolution is not None:
        scale = options.resolution / max(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def _crop(text: str, h: int, w: int) -> tuple[float, float, float, float]:
    try:
        top, left, bottom, right = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"`--crop` (={text}) must be TOP,LEFT,BOTTOM,RIGHT in pixels"
        ) from None
    if not (0 <= top < bottom <= h and 0 <= left < right <= w):
        raise InputError(
            f"`--crop` (={text}) must lie inside the picture of {h} x {w}: "
            f"0 <= TOP < BOTTOM <= {h}, 0 <= LEFT < RIGHT <= {w}"
        )
    return top, left, bottom, right


def _shape(field: "Field", about: dict[str, Any], dims: int) -> list[int]:
    """The samples of the fitted file along each axis, and its channels."""
    shape, channels = about.get("shape"), field.mlp.biases[-1].size
    sides = shape[:-1] if isinstance(shape, list) else []
    if (
        len(sides) != dims
        or field.encoding.dims != dims
        or not all(isinstance(side, int) and 0 < side < 2**31 for side in sides)
        or shape != [*sides, channels]
        or (dims == 2 and channels > 4)
    ):
        raise InputError(
            f"the model's `shape` (={shape}) does not fit its network, which has "
            f"{field.encoding.dims} coordinates and {channels} channels"
        )
    return [*sides, channels]


def _range(about: dict[str, Any]) -> tuple[float, float]:
    """What 0 and 1 stand for in the user's units."""
    ends = about.get("low"), about.get("high")
    low, high = (
        float(e) if isinstance(e, int | float) and abs(e) < 1e39 else math.nan
        for e in ends
    )
    if not low < high:
        raise InputError(f"the model's `low` and `high` (={ends}) make no sense")
    return low, high


def _check_room(numbers: int) -> None:
    """Refuse what this machine cannot hold: the values, and a copy of them to write."""
    room = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 8 * numbers > room:
        raise InputError(
            f"{numbers:.3g} values need {8 * numbers / 2**30:.3g} GiB and this machine "
            f"has {room / 2**30:.3g}; take a smaller `--size` or `--resolution`"
        )
