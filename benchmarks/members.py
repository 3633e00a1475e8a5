"""Members: what the mean of several networks gains on pixels that were held out.

    python benchmarks/members.py PICTURE... [--members 4] [--side 96] [--steps 500]
                                 [--width 64] [--mapping gaussian:5,m=64] [--json FILE]

A square from the middle of each picture is fitted by the paper's split. One row a
picture: PSNR of each member alone and of the mean, spread and error in the picture's
units, and the rank correlation of these two, all of the held-out pixels.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import passband as pb
from passband.data.images import read_image, write_image
from passband.members import Members
from passband.train.device import device_name


def measured(path: str, args: argparse.Namespace) -> dict[str, Any]:
    """What members of one picture show."""
    pixels = read_image(Path(path)).normalised()
    top, left = ((n - args.side) // 2 for n in pixels.shape[:2])
    square = pixels[top : top + args.side, left : left + args.side]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "square.png"
        write_image(file, square)
        begun = time.perf_counter()
        model = pb.fit(
            file, holdout="quarter", mapping=args.mapping, steps=args.steps,
            width=args.width, members=args.members, progress=False,
        )  # fmt: skip
    odd = np.arange(1, args.side, 2, dtype=float)
    coords = np.stack(np.meshgrid(odd, odd), axis=-1).reshape(-1, 2)
    truth = np.round(255 * square[1::2, 1::2].reshape(len(coords), -1))
    assert isinstance(model.field, Members)
    alone = [pb.Model(one, model.about)(coords) for one in model.field.each()]
    levels = [pb.metrics.psnr(x, truth, data_range=255.0) for x in alone]
    spread = model.spread(coords).mean(axis=1)
    error = np.abs(model(coords) - truth).mean(axis=1)
    return {
        "picture": Path(path).name,
        "alone": [round(level, 2) for level in levels],
        "mean": round(pb.metrics.psnr(model(coords), truth, data_range=255.0), 2),
        "spread": round(float(spread.mean()), 2),
        "error": round(float(error.mean()), 2),
        "rank": round(float(np.asarray(spearmanr(spread, error))[0]), 2),
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pictures", nargs="+")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--mapping", default="gaussian:5,m=64")
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = [measured(path, args) for path in args.pictures]
    for row in rows:
        print(row)
    if args.json:
        content = {"device": device_name(), "options": vars(args), "rows": rows}
        Path(args.json).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
