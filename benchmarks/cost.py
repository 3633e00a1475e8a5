"""What a training step costs against its size: points, networks, layers, width.

    python benchmarks/cost.py --json FILE --png FILE [--repeats 7]
    python benchmarks/cost.py --draw FILE --png FILE        # a stored result, drawn

Around the paper's image network (512 features, three hidden layers of 256, 3 outputs;
65,536 points on a GPU, 8192 on a CPU) one size changes at a time. All sizes take turns;
the median of the repeats is drawn, beside the line on which the cost would grow as the
work does.
"""

import argparse
import dataclasses
import datetime
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax

from passband.plot.style import INK, MUTED, axes_at, new_figure, png_bytes, styled
from passband.train.device import device_name
from passband.train.throughput import Shape, measure, prepare
from passband.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = "#D55E00"
LABELS = {
    "points": "points a step",
    "runs": "networks as one program",
    "layers": "layers",
    "width": "width of a hidden layer",
}


def cases(points: int) -> dict[str, list[tuple[int, Shape, int]]]:
    """By kind of size: the size, the network's shape and how many there are."""
    base = Shape(points=points)
    eighths = [points // 8 * k for k in (1, 2, 4, 8, 16)]
    some = {
        "points": [(n, dataclasses.replace(base, points=n), 1) for n in eighths],
        "runs": [(k, base, k) for k in (1, 2, 4, 8, 16)],
        "layers": [
            (k, dataclasses.replace(base, layers=k), 1) for k in (2, 3, 4, 6, 9)
        ],
    }
    widths = (64, 128, 256, 512)
    return some | {
        "width": [(w, dataclasses.replace(base, width=w), 1) for w in widths]
    }


def measured(points: int, repeats: int, steps: int) -> list[dict[str, Any]]:
    """A row for every size."""
    flat = [(kind, *one) for kind, some in cases(points).items() for one in some]
    ready = []
    for _, _, shape, runs in flat:
        work = runs * shape.flop / Shape(points=points).flop
        few = max(1, round(steps / max(1, work)))
        ready.append(prepare(shape, runs=runs, steps=few))
    rows = []
    for (kind, size, shape, runs), timing in zip(
        flat, measure(ready, repeats=repeats), strict=True
    ):
        rows.append({
            "kind": kind, "size": size, "gflop": runs * shape.flop / 1e9,
            "seconds": timing.seconds, "spread": timing.spread,
            "tflops": timing.tflops,
        })  # fmt: skip
        print(f"{kind} {size}: {1e3 * timing.seconds:.3f} ms, "
              f"{timing.tflops:.3g} TFLOP/s", flush=True)  # fmt: skip
    return rows


@styled
def draw(found: dict[str, Any]) -> "Figure":
    """Four panels: milliseconds a step against each kind of size."""
    figure = new_figure(9.6, 2.9)
    for k, (kind, label) in enumerate(LABELS.items()):
        rows = [row for row in found["rows"] if row["kind"] == kind]
        size, spent = ([row[n] for row in rows] for n in ("size", "seconds"))
        axes = axes_at(figure, 0.65 + 2.3 * k, 0.55, 1.75, 1.9)
        last = rows[-1]
        rate = last["seconds"] / last["gflop"]
        axes.plot(size, [1e3 * rate * row["gflop"] for row in rows], "--",
                  color=MUTED, linewidth=1)  # fmt: skip
        axes.plot(size, [1e3 * s for s in spent], "o-", color=OURS, markersize=4)
        for row, offset, side in (
            (rows[0], (0, 9), "center"),
            (last, (-7, -2), "right"),
        ):
            axes.annotate(
                f"{row['tflops']:.2g}", (row["size"], 1e3 * row["seconds"]),
                xytext=offset, textcoords="offset points", ha=side, fontsize=8,
                color=INK,
            )  # fmt: skip
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(size, [f"{n // 1024}k" if n >= 1024 else str(n) for n in size])
        ticks = [n * 10.0**e for e in range(-3, 5) for n in (1, 2, 5)]
        ticks = [t for t in ticks if min(spent) <= t / 1e3 <= 1.05 * max(spent)]
        axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        axes.set_xlabel(label, color=INK)
        if k == 0:
            axes.set_ylabel("ms a step", color=INK)
    figure.text(0.008, 0.985, f"{found['device']}, {found['points']:,} points but for "
                "the first; numbers are TFLOP/s; dashed: the cost of the largest, "
                "scaled with the work", va="top", fontsize=8, color=MUTED)  # fmt: skip
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--png", type=Path)
    parser.add_argument("--draw", type=Path, help="a stored result")
    parser.add_argument("--points", type=int)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    cpu = jax.default_backend() == "cpu"
    if args.draw is not None:
        found = json.loads(args.draw.read_text())
    else:
        points = args.points or (8192 if cpu else 65_536)
        found = {
            "device": device_name(), "cores": os.cpu_count(), "jax": jax.__version__,
            "version": __version__, "date": datetime.date.today().isoformat(),
            "points": points,
            "rows": measured(points, args.repeats, 3 if cpu else 100),
        }  # fmt: skip
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    if args.png is not None:
        args.png.write_bytes(png_bytes(draw(found)))


if __name__ == "__main__":
    main()
