"""`passband bench`."""

import dataclasses
from typing import Any

from ..errors import InputError
from ..options import option
from .options import Output


@dataclasses.dataclass(frozen=True)
class Options(Output):
    """Time the training step of the paper's image network (512-256-256-256-3): points a
    second, TFLOP/s and the share of the measured matrix-product peak; single and
    stacked, in each precision, beside PyTorch where it is installed."""

    points: int | None = option(
        None,
        "points a step (default: 65536 on a GPU, 8192 on a CPU)",
        least=1,
        most=2**31 - 1,
    )
    runs: str | None = option(
        None, "networks a stack (default: 1,16 on a GPU, 1,4 on a CPU)", metavar="N,N"
    )
    precision: str | None = option(
        None, "default: every one the device has", metavar="WORD,WORD"
    )
    steps: int | None = option(
        None, "steps a timed call (default: 200; 3 on a CPU)", least=1
    )
    repeats: int = option(5, "timed calls, of which the median counts", least=1)
    sizes: bool = option(False, "also time 4 sizes, to see that cost grows as the work")
    no_torch: bool = option(False, "leave PyTorch out")
    device: str = option("auto", "where to run", choices=("auto", "cpu", "gpu"))
    out: str | None = option(None, "write the JSON to a file too", metavar="FILE")
    overwrite: bool = option(False, "replace FILE if it exists")


def run(options: Options, given: set[str]) -> int:
    """Measure, then print a table."""
    from pathlib import Path

    from ..atomic_write import refuse_existing, write_bytes
    from .device import prepare

    if options.out is not None:
        refuse_existing([Path(options.out)], options.overwrite)
    prepare(options.device, keep=False)  # what compiling takes is measured too
    from ..json_text import to_json
    from .console import Console

    console = Console(json=options.json, quiet=options.quiet)
    content = _measure(options, console)
    if options.out is not None:
        write_bytes(Path(options.out), (to_json(content, indent=2) + "\n").encode())
    console.result(content, _table(content))
    return 0


def _measure(options: Options, console) -> dict[str, Any]:
    import datetime
    import os

    import jax

    from ..ops.mlp import Precision
    from ..train.device import device_name
    from ..train.throughput import Shape, copy_bandwidth, matmul_peak, measure, prepare
    from ..train.torch_peer import available, prepare_torch
    from ..version import __version__

    cpu, repeats = jax.default_backend() == "cpu", options.repeats
    shape = Shape(points=options.points or (8192 if cpu else 65_536))
    steps = options.steps or (3 if cpu else 200)
    words = ("float32",) if cpu else ("bfloat16", "tf32", "float32")
    if options.precision:
        words = tuple(options.precision.split(","))
    kinds = [Precision.resolve(w, jax.default_backend()) for w in words]
    counts = _counts(options.runs, (1, 4) if cpu else (1, 16))
    peaks = {}
    for kind in kinds:
        peaks[kind.value] = matmul_peak(kind, 1024 if cpu else 8192, repeats=repeats)
    rows = []

    def add(who: str, runs: int, kind: str, timing) -> None:
        row = {"who": who, "runs": runs, "precision": kind, "points": shape.points,
               **dataclasses.asdict(timing),
               "share_of_peak": timing.tflops / peaks[kind]}  # fmt: skip
        rows.append(row)
        console.say(_line(row))

    for kind in kinds:
        names, candidates = [], []
        for runs in counts:
            few = max(1, steps // (1 if runs == 1 else 2))
            names.append("passband")
            candidates.append(
                prepare(shape, runs=runs, precision=kind.value, steps=few)
            )
        if available() and not options.no_torch:
            # On a CPU the compiled peer needs a C++ compiler and gains nothing.
            for compiled in (False,) if cpu else (False, True):
                names.append("torch.compile" if compiled else "torch eager")
                candidates.append(
                    prepare_torch(
                        shape,
                        device="cpu" if cpu else "cuda",
                        precision=kind.value,
                        compiled=compiled,
                        steps=steps,
                    )
                )
        timings = measure(candidates, repeats=repeats)
        for who, candidate, timing in zip(names, candidates, timings, strict=True):
            add(who, candidate.runs, kind.value, timing)
    sizes = []
    for part in (4, 2, 1, 0.5) if options.sizes else ():
        smaller = dataclasses.replace(shape, points=int(shape.points / part))
        one = prepare(smaller, precision=kinds[0].value, steps=steps)
        [timing] = measure([one], repeats=repeats)
        sizes.append(
            {"points": smaller.points, "runs": 1, **dataclasses.asdict(timing)}
        )
    return {
        "device": device_name(),
        "cores": os.cpu_count(),
        "jax": jax.__version__,
        "version": __version__,
        "date": datetime.date.today().isoformat(),
        "network": "512-256-256-256-3",
        "flop_per_step": shape.flop,
        "matmul_peak_tflops": peaks,
        "copy_tb_per_second": copy_bandwidth(64 if cpu else 2048, repeats=repeats),
        "rows": rows,
        "sizes": sizes,
    }


def _counts(text: str | None, default: tuple[int, ...]) -> tuple[int, ...]:
    if text is None:
        return default
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        counts = (0,)
    if min(counts) < 1:
        raise InputError(f"`--runs` (={text}) must be whole numbers such as 1,16")
    return counts


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['who']:14s} {row['runs']:3d}  {row['precision']:9s} "
        f"{1e3 * row['seconds']:10.3f} ms  {row['points_per_second'] / 1e6:9.3f} M  "
        f"{row['tflops']:8.3f}  {row['share_of_peak']:5.0%}  "
        f"{row['compile_seconds']:6.1f} s"
    )


def _table(content: dict[str, Any]) -> str:
    peaks = ", ".join(f"{k} {v:.4g}" for k, v in content["matmul_peak_tflops"].items())
    lines = [
        f"{content['device']}: matrix products {peaks} TFLOP/s, copy "
        f"{content['copy_tb_per_second']:.3g} TB/s",
        f"{'':14s} {'runs':>4s} {'precision':9s} {'step':>13s} {'points/s':>12s} "
        f"{'TFLOP/s':>8s} {'peak':>6s} {'compile':>9s}",
    ]
    lines += [_line(row) for row in content["rows"]]
    if content["sizes"]:
        lines.append("points a step, ms a step, ns a point, MiB planned, MiB used")
    for row in content["sizes"]:
        lines.append(
            f"{row['points']:9d} {1e3 * row['seconds']:9.3f} "
            f"{1e9 * row['seconds'] / row['points']:9.2f} "
            f"{row['planned_bytes'] / 2**20:9.0f} {row['used_bytes'] / 2**20:9.0f}"
        )
    return "\n".join(lines)
