"""`passband ntk --mapping WORD`."""

import dataclasses
import math

from ..atomic_write import refuse_existing
from ..errors import InputError
from ..options import option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Say which frequencies a network behind a mapping sees, and how soon it learns
    them: the kernel of its infinitely wide limit on the unit interval, that kernel's
    spectrum, and the convergence they predict."""

    mapping: str = option(
        "gaussian:10", "such as none, basic, dense:p=1, gaussian:10", metavar="WORD"
    )
    layers: int = option(4, "dense layers, the output included")
    width: int = option(256, "units of a hidden layer")
    activation: str = option("relu", "between the layers", metavar="WORD")
    points: int = option(128, "training points on [0, 1)")
    parameterization: str = option(
        "standard", "how weights are drawn and scaled", choices=("standard", "ntk")
    )
    w_std: float = option(1.0, "scale of the initial weights")
    b_std: float = option(0.0, "scale of the initial biases")
    seed: int = option(0, "draws the frequencies of a random mapping")
    out: str | None = option(None, "a PNG or SVG to draw them in", metavar="FILE")
    overwrite: bool = option(False, "replace FILE if it exists")


def run(options: Options, given: set[str]) -> int:
    """Print, and draw if asked, what the theory says of a mapping."""
    from pathlib import Path

    out = None if options.out is None else Path(options.out)
    if out is not None:
        if out.suffix.lower() not in (".png", ".svg"):
            raise InputError(f"`--out` (={out}) must end in .png or .svg")
        refuse_existing([out], options.overwrite)
    import jax
    import numpy as np

    from ..mappings import nyquist_warning
    from ..theory import survey
    from ..words import parse_mapping
    from .console import Console

    console = Console(json=options.json, quiet=options.quiet)
    mapping = parse_mapping(options.mapping)
    encoding = mapping.draw(jax.random.key(options.seed), 1)
    found = survey(
        encoding,
        options.points,
        layers=options.layers,
        width=options.width,
        activation=options.activation,
        parameterization=options.parameterization,
        w_std=options.w_std,
        b_std=options.b_std,
    )
    if warning := nyquist_warning(mapping, options.points / 2):
        console.warn(warning)
    bands = octave_bands(options.points // 2)
    half = found.half_time(bands)
    content = {
        "mapping": str(mapping),
        "features": encoding.features,
        "layers": options.layers,
        "width": options.width,
        "points": options.points,
        "parameterization": options.parameterization,
        "diagonal": float(found.kernel[options.points // 2]),
        "largest_eigenvalue": found.largest,
        "stable_rate": 2 / found.largest,
        "bands": [
            {
                "frequency": band,
                "power": float(found.power[band]),
                "half_time": float(t),
                "half_steps": float(t * found.largest),
            }
            for band, t in zip(bands, half, strict=True)
        ],
        "out": None if out is None else str(out),
    }
    if options.points <= 4096:
        content["kernel"] = {
            "offset": found.offset.tolist(),
            "k": found.kernel.tolist(),
        }
        content["spectrum"] = {
            "frequency": found.frequency.tolist(),
            "power": found.power.tolist(),
        }
    if out is not None:
        from ..atomic_write import write_bytes
        from ..plot.kernels import kernel_figure
        from ..plot.style import png_bytes, svg_bytes

        # Five times the slowest band's own time; where one never learns, long enough
        # to see that it does not.
        last = 5 * float(np.max(half * found.largest))
        steps = np.geomspace(0.1, last if math.isfinite(last) else 1e5, 200)
        figure = kernel_figure(
            found.offset,
            found.kernel if found.matrix is None else found.matrix,
            found.frequency,
            found.power,
            steps,
            found.error(steps / found.largest)[:, bands],
            bands=bands,
            mapping=str(mapping),
            network=_network(options),
        )
        draw = svg_bytes if out.suffix.lower() == ".svg" else png_bytes
        write_bytes(out, draw(figure))
    console.result(content, _table(options, content))
    return 0


def octave_bands(nyquist: int) -> list[int]:
    """0, 1, 2, 4, ... and Nyquist."""
    octaves = [2**j for j in range(max(nyquist, 1).bit_length())]
    return [0, *dict.fromkeys([*(b for b in octaves if b < nyquist), nyquist])]


def _network(options: Options) -> str:
    return (
        f"{options.layers} layers x {options.width}, {options.parameterization} "
        f"kernel at {options.points} points"
    )


def _table(options: Options, content: dict) -> str:
    lines = [
        f"{content['mapping']}: {_network(options)}",
        f"k(1/2, 1/2) = {content['diagonal']:.4g}, largest eigenvalue "
        f"{content['largest_eigenvalue']:.4g}: gradient descent on half the sum of",
        f"squares is stable below a rate of {content['stable_rate']:.3g}",
        "",
        "frequency       power  half learned at rate x steps  steps at rate 1/largest",
    ]
    for band in content["bands"]:
        time, steps = (
            "never" if math.isinf(x) else f"{x:.3g}" if x < 1e4 else f"{x:.2e}"
            for x in (band["half_time"], band["half_steps"])
        )
        lines.append(
            f"{band['frequency']:9d}  {band['power']:10.4g}  {time:>26s}  {steps:>23s}"
        )
    if content["out"]:
        lines += ["", f"drawn in {content['out']}"]
    return "\n".join(lines)
