"""A fit's clock, from the command to the prompt: the first one, and those after it.

    python benchmarks/fit_clock.py --json FILE [--times 3] [-- OPTION ...]

Runs `passband fit image` on a 512 x 512 photograph so many times, the first with an
empty cache, and keeps each one's seconds by phase. OPTIONs go to every fit.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
from skimage.data import astronaut
from skimage.io import imsave

from passband.version import __version__

KEPT = ("metrics", "mapping", "steps", "step_points", "device", "precision", "phases")


def fit(place: Path, options: list[str]) -> dict[str, Any]:
    """What a fit says of itself, and its seconds."""
    words = ["fit", "image", "photo.png", "--out", "run", "--overwrite", "--json"]
    own = os.environ | {"XDG_CACHE_HOME": str(place / "kept")}
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "passband", *words, "--quiet", *options],
        cwd=place, stdout=subprocess.PIPE, check=True, env=own,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    result = json.loads(done.stdout)
    return {"seconds": round(seconds, 2)} | {name: result[name] for name in KEPT}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("options", nargs="*", help="of the fits, after --")
    args = parser.parse_args()
    about = {"passband": __version__, "jax": jax.__version__, "options": args.options}
    fits: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        imsave(Path(folder) / "photo.png", astronaut())
        for _ in range(args.times):
            fits.append(fit(Path(folder), args.options))
            print(fits[-1]["seconds"], fits[-1]["phases"], flush=True)
            args.json.write_text(json.dumps({**about, "fits": fits}, indent=1) + "\n")


if __name__ == "__main__":
    main()
