"""Fits without a flag on a CPU, from the command to the prompt, beside other ways.

    python benchmarks/two_cores.py [INPUT ...] --json FILE [--ways NAME ...]
                                   [--data FOLDER] [--keep DIR]

Cuts the inputs out of the data (`passband data`; FOLDER is $PASSBAND_DATA by default)
and runs `passband fit` on each, once for every way. FILE is written after each run, and
gets what the run's own result says: metrics, classical methods and seconds.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from skimage.data import astronaut
from skimage.io import imsave

from passband.data.phantoms import paper_phantoms

WAYS = {
    "default": "",
    "direct": "--descent direct",
    "paper": "--recipe paper",
    "no-prior": "--prior none",
}
"""What stands behind `passband fit KIND FILE`. `direct` is of CT and MRI alone."""


def slice_of_head(k: int, **options: float) -> Callable[[Path, Path], list[str]]:
    def cut(data: Path, place: Path) -> list[str]:
        from skimage.io import imread

        file = sorted((data / "brain" / "ct_colin27").glob("*.png"))[k]
        image = imread(file, as_gray=True).astype(np.float32)
        image = image.reshape(256, 2, 256, 2).mean(axis=(1, 3)) / 255
        np.save(place / "slice.npy", image)
        given = [word for n, v in options.items() for word in (f"--{n}", f"{v:g}")]
        return ["ct", "--simulate", "slice.npy", *given]

    return cut


def phantom(data: Path, place: Path) -> list[str]:
    np.save(place / "phantom.npy", paper_phantoms(256, 16)[0])
    return ["ct", "--simulate", "phantom.npy"]


def head(k: int) -> Callable[[Path, Path], list[str]]:
    def cut(data: Path, place: Path) -> list[str]:
        with np.load(data / "brain" / "mri96_stripped12.npz") as file:
            np.save(place / "head.npy", file["data"][k].astype(np.float32) / 255)
        return ["mri", "--simulate", "head.npy"]

    return cut


def photograph(data: Path, place: Path) -> list[str]:
    imsave(place / "astronaut.png", astronaut())
    return ["image", "astronaut.png"]


def mesh(data: Path, place: Path) -> list[str]:
    shutil.copy(data / "meshes" / "armadillo.npz", place)
    return ["shape", "armadillo.npz"]


def scene(data: Path, place: Path) -> list[str]:
    (place / "lego").symlink_to((data / "lego").resolve())
    return ["nerf", "lego"]


INPUTS: dict[str, Callable[[Path, Path], list[str]]] = {
    "photograph": photograph,
    "mesh": mesh,
    "ct head 0": slice_of_head(0),
    "ct head 3": slice_of_head(3),
    "ct head 8": slice_of_head(8),
    "ct head 0, 1 % noise": slice_of_head(0, noise=0.01),
    "ct head 0, 5 % noise": slice_of_head(0, noise=0.05),
    "ct head 8, 60 views": slice_of_head(8, views=60),
    "ct phantom": phantom,
    "mri head 1": head(1),
    "mri head 6": head(6),
    "scene": scene,
}
"""Heads 0 to 7, volumes 0 to 5 and the phantom are of the paper's sweeps, the others of
its tests."""


def run(words: list[str], place: Path) -> dict[str, Any]:
    """What a fit says of itself, and its seconds from the command to the prompt: of the
    first one, that finds nothing kept by another."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "passband", "fit", *words, "--out", "run"]
    own = os.environ | {"XDG_CACHE_HOME": str(place / "kept")}
    done = subprocess.run([*command, "--json", "--quiet", "--overwrite"], cwd=place,
                          stdout=subprocess.PIPE, check=True, env=own)  # fmt: skip
    seconds = time.perf_counter() - begun
    result = json.loads(done.stdout)
    kept = ("metrics", "baselines", "mapping", "steps", "prior")
    found = {name: result[name] for name in kept if name in result}
    return {"wall": round(seconds, 1), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("inputs", nargs="*", default=[*INPUTS], metavar="INPUT")
    parser.add_argument("--ways", nargs="+", default=["default"], choices=[*WAYS])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="where run folders stay")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("PASSBAND_DATA", "."))
    )
    args = parser.parse_args()
    rows = json.loads(args.json.read_text()) if args.json.exists() else []
    for name in args.inputs:
        for way in args.ways:
            with tempfile.TemporaryDirectory() as folder:
                words = INPUTS[name](args.data, Path(folder))
                words += shlex.split(WAYS[way])
                print("passband fit", shlex.join(words), flush=True)
                row = {"input": name, "way": way, "command": shlex.join(words)}
                row |= run(words, Path(folder))
                if args.keep is not None:
                    kept = args.keep / f"{name}, {way}".replace(" ", "-")
                    shutil.rmtree(kept, ignore_errors=True)
                    shutil.move(Path(folder) / "run", kept)
            print(json.dumps(row["metrics"]), row["wall"], flush=True)
            same = name, way
            rows = [r for r in rows if (r["input"], r["way"]) != same] + [row]
            args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
