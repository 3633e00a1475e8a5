"""Five comparisons: a picture, a slice, a volume, a mesh and a scene.

    python benchmarks/compare.py [KIND ...] --out DIR [--large] [--data FOLDER]

Cuts the inputs out of the data (`passband data`; FOLDER is $PASSBAND_DATA by default),
runs `passband compare` on each, and leaves DIR/KIND/{compare.json,table.md,strip.png}.
By default sizes for two CPU cores, minutes each; `--large` is for a GPU.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

KEPT = ("compare.json", "table.md", "strip.png")
SMALL = {
    "image": "sign.png --holdout quarter --steps 500"
    " --methods siren,finer,gauss,wire,multigrid,relu,bicubic,lanczos,spline",
    "ct": "--simulate slice.npy --steps 500 --width 128"
    " --methods siren,finer,multigrid,relu,no-prior,fbp,sart,tv",
    "mri": "--simulate head.npy --steps 300"
    " --methods siren,finer,relu,no-prior,zero-filled,total-variation",
    "shape": "armadillo.npz --steps 500 --batch 4096"
    " --methods siren,finer,multigrid,relu",
    "nerf": "lego --longest 64 --steps 1200 --batch 128 --samples 48 --width 128"
    " --methods siren,finer,multigrid,relu,nearest-photograph",
}
"""What stands behind `passband compare KIND`."""
LARGE = {
    "image": "sign.png --holdout quarter"
    " --methods siren,finer,gauss,wire,multigrid,relu,bicubic,lanczos,spline",
    "ct": "--simulate slice.npy"
    " --methods siren,finer,multigrid,relu,no-prior,fbp,sart,tv",
    "mri": "--simulate head.npy --width 128"
    " --methods siren,finer,relu,no-prior,zero-filled,total-variation",
    "shape": "armadillo.npz --steps 3000 --layers 5 --width 128"
    " --methods siren,finer,multigrid,relu",
    "nerf": "lego --longest 100 --steps 2000 --batch 512 --samples 32"
    " --methods siren,finer,multigrid,relu,nearest-photograph",
}


def mean_of_blocks(values: np.ndarray, side: int) -> np.ndarray:
    """An array of equal sides, reduced by means to so many samples along each."""
    part = values.shape[0] // side
    whole = values[tuple(slice(side * part) for _ in values.shape)]
    pairs = [n for _ in values.shape for n in (side, part)]
    axes = tuple(range(1, 2 * values.ndim, 2))
    return whole.reshape(pairs).mean(axis=axes, dtype=np.float64).astype(np.float32)


def cut(kind: str, data: Path, place: Path, large: bool) -> None:
    """The input of a comparison, as a file."""
    if kind == "image":
        whole = Image.open(data / "natural" / "test_data" / "01.png").convert("RGB")
        if not large:
            whole = whole.crop((192, 192, 320, 320))
        whole.save(place / "sign.png")
    elif kind == "ct":
        image = Image.open(data / "brain" / "ct_colin27" / "08_x387.png")
        slice_ = np.asarray(image.convert("L"), np.float32) / 255
        np.save(place / "slice.npy", mean_of_blocks(slice_, 512 if large else 128))
    elif kind == "mri":
        with np.load(data / "brain" / "mri96_stripped12.npz") as file:
            head = file["data"][0].astype(np.float32) / 255
        np.save(place / "head.npy", mean_of_blocks(head, 48 if large else 32))
    elif kind == "shape":
        shutil.copy(data / "meshes" / "armadillo.npz", place)
    else:
        shutil.copytree(data / "lego", place / "lego")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[*SMALL], metavar="KIND")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--large", action="store_true")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("PASSBAND_DATA", "."))
    )
    args = parser.parse_args()
    for kind in args.kinds:
        words = (LARGE if args.large else SMALL)[kind]
        print(f"passband compare {kind} {words}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            cut(kind, args.data, place, args.large)
            command = [sys.executable, "-m", "passband", "compare", kind]
            command += [*shlex.split(words), "--out", "out", "--quiet"]
            done = subprocess.run(command, cwd=place, check=False).returncode
            (args.out / kind).mkdir(parents=True, exist_ok=True)
            for name in KEPT:  # of one that was stopped, what it had
                if (place / "out" / name).is_file():
                    shutil.copy(place / "out" / name, args.out / kind / name)
            print(f"{kind}: exit status {done}", flush=True)


if __name__ == "__main__":
    main()
