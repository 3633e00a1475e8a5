"""What Muon costs: a step of Adam, of Muon and of optax's Muon, taking turns.

    python benchmarks/muon.py --json FILE [--small] [--few]

The image network alone and 16 stacked (65,536 points a step), and the network of a
scene (131,072 points in 3D, 4 outputs).
"""

import argparse
import dataclasses
import json
from pathlib import Path

import jax
import optax

from passband.train.device import device_name
from passband.train.muon import FEW, FEWER, JORDAN, MORE, muon_of_matrices
from passband.train.optimisers import MUON_SHARE, adam, weight_matrices
from passband.train.throughput import Shape, measure, prepare
from passband.version import __version__


def muon(matrices: optax.GradientTransformation) -> optax.GradientTransformation:
    return optax.partition({True: matrices, False: adam()}, weight_matrices)


OPTIMISERS = {
    "adam": adam(),
    "muon": muon(optax.chain(muon_of_matrices(FEW), optax.scale(MUON_SHARE))),
    "muon, 2 of the first": muon(muon_of_matrices(FEW, first=FEWER)),
    "muon, 1 of the first": muon(muon_of_matrices(FEW, first=FEWER[:1])),
    "muon, 4 iterations": muon(muon_of_matrices(MORE)),
    "muon, 5 iterations": muon(muon_of_matrices(JORDAN)),
    "muon of optax": muon(optax.contrib.muon(MUON_SHARE)),
}
BRIEF = ("adam", "muon", "muon, 2 of the first")
"""What `--few` times."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument(
        "--few", action="store_true", help="Adam and our Muon, one network"
    )
    args = parser.parse_args()
    cases = {
        "image network": (Shape(), 1),
        "16 image networks": (Shape(), 16),
        "scene": (Shape(points=131_072, out=4), 1),
    }
    if args.few:
        cases = {"image network": cases["image network"]}
    if args.small:
        cases = {"image network": (Shape(1024, 64, 64), 1)}
    rows = []
    for name, (shape, runs) in cases.items():
        few = 5 if args.small else max(8, 200 // runs)
        ready = {
            word: prepare(shape, runs=runs, steps=few, optimiser=moves)
            for word, moves in OPTIMISERS.items()
            if (runs == 1 or "optax" not in word) and (not args.few or word in BRIEF)
        }
        timings = dict(zip(ready, measure(list(ready.values())), strict=True))
        for word, t in timings.items():
            more = t.seconds / timings["adam"].seconds - 1
            rows.append({
                "case": name, "optimiser": word, "seconds": t.seconds,
                "spread": t.spread, "tflops": t.tflops, "more_than_adam": more,
            })  # fmt: skip
            print(f"{name}, {word}: {1e3 * t.seconds:.4f} ms, {t.tflops:.1f} TFLOP/s, "
                  f"{more:+.1%}", flush=True)  # fmt: skip
    about = {
        "passband": __version__, "jax": jax.__version__, "device": device_name(),
        "shapes": {n: dataclasses.asdict(s) for n, (s, _) in cases.items()},
    }  # fmt: skip
    args.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
