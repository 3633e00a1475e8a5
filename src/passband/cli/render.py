"""`passband render MODEL --out FILE`."""

import dataclasses

from ..errors import InputError
from .options import Output, argument, option


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
        None, "samples along the longest side, or of a signal"
    )
    crop: str | None = option(
        None, "part of a picture, in its pixels", metavar="TOP,LEFT,BOTTOM,RIGHT"
    )
    bits: int | None = option(None, "8, 16 or 32 (default: those of the fitted file)")
    overwrite: bool = option(False, "replace FILE if it exists")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))


def run(options: Options, given: set[str]) -> int:
    """Render a model."""
    from pathlib import Path

    from .device import prepare

    if options.out is None:
        raise InputError("`--out FILE` is missing; such as `--out picture.png`")
    out = Path(options.out)
    if out.exists() and not options.overwrite:
        raise InputError(f"`{out}` exists; `--overwrite` replaces it")
    prepare(options.device, False)
    from ..model_file import load_with_info
    from .console import Console

    field, about = load_with_info(options.model)
    ways = {"image": _image, "signal": _signal}
    if about.get("task") not in ways:
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


def _image(field, about, options: Options, out) -> list[int]:
    from ..data.images import write_image
    from ..tasks.image import render

    h, w, _ = _numbers(about, "shape", 3)
    crop = None
    if options.crop is not None:
        crop = _crop(options.crop)
    top, left, bottom, right = crop or (0, 0, h, w)
    size = _size(options, bottom - top, right - left)
    picture = render(field, (h, w), size, crop=crop)
    bits = options.bits
    if bits is None and not (out.suffix == ".png" and about["bits"] == 32):
        bits = about["bits"]
    write_image(out, picture, low=about["low"], high=about["high"], bits=bits)
    return list(picture.shape)


def _signal(field, about, options: Options, out) -> list[int]:
    import numpy as np

    from ..data.images import to_user
    from ..data.signals import write_signal

    n, _ = _numbers(about, "shape", 2)
    count = n if options.resolution is None else options.resolution
    if count < 1:
        raise InputError(f"`--resolution` (={count}) must be at least 1")
    values = field.predict(np.arange(count)[:, None] / count)
    rate = about.get("rate")
    rate = None if rate is None else rate * count / n
    write_signal(out, to_user(values, about["low"], about["high"]), rate)
    return list(values.shape)


def _size(options: Options, height: float, width: float) -> tuple[int, int]:
    if options.size is not None and options.resolution is not None:
        raise InputError("`--size` and `--resolution` exclude each other")
    if options.size is not None:
        parts = options.size.lower().split("x")
        if len(parts) != 2 or not all(p.isdigit() and int(p) > 0 for p in parts):
            raise InputError(
                f"`--size` (={options.size}) must be ROWSxCOLUMNS such as 1080x1920"
            )
        return int(parts[0]), int(parts[1])
    if options.resolution is None:
        return max(1, round(height)), max(1, round(width))
    if options.resolution < 1:
        raise InputError(f"`--resolution` (={options.resolution}) must be at least 1")
    scale = options.resolution / max(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def _crop(text: str) -> tuple[float, float, float, float]:
    try:
        top, left, bottom, right = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"`--crop` (={text}) must be TOP,LEFT,BOTTOM,RIGHT in pixels"
        ) from None
    return top, left, bottom, right


def _numbers(about: dict, name: str, count: int) -> list[int]:
    value = about.get(name)
    if not isinstance(value, list) or len(value) != count:
        raise InputError(f"the model's `{name}` (={value}) is not {count} numbers")
    if not all(isinstance(v, int) and 0 < v < 2**31 for v in value):
        raise InputError(f"the model's `{name}` (={value}) makes no sense")
    return value
